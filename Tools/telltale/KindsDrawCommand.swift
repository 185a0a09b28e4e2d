import ArgumentParser
import Cards
import Glibc
import Kinds
import Surfaces
import TelltaleModel
import ToolSupport

/// `telltale kinds draw`.
struct KindsDrawCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, dot, mermaid, svg
    }

    static let configuration = CommandConfiguration(
        commandName: "draw", abstract: "Draw a kind's machine, or a widget's families.",
        discussion: """
            On a terminal a tree, into a pipe Graphviz DOT. A picture without further programs: telltale kinds draw FILE \
            --format svg > machine.svg

            Of a widget each family is drawn, in text, with the sample content of its preview.
            """
    )

    @Argument(help: "A kind file of type activity or widget.") var file: String
    @Option(help: "text, dot (Graphviz), mermaid or svg.") var format: Format?

    func run() throws {
        let kind = try KindFiles.kind(file)
        if case .widget(let widget) = kind.body { return try draw(kind, widget) }
        guard let drawing = MachineDrawing(kind) else {
            throw ExitCode.failed("\(file): only a live activity has a machine to draw, and a widget its families")
        }
        let picture =
            switch format ?? (isatty(STDOUT_FILENO) == 1 ? .text : .dot) {
            case .text: drawing.text()
            case .dot: drawing.dot()
            case .mermaid: drawing.mermaid()
            case .svg: try svg(drawing)
            }
        // Titles and the names of states and events come from the kind's author.
        Output.write(Output.drawable(picture.harmlessLines))
    }

    private func draw(_ kind: Kind, _ widget: WidgetKind) throws {
        guard format ?? .text == .text else {
            throw ExitCode.failed("\(file): a widget is drawn in text alone")
        }
        Output.draw(
            Gallery.draw(Self.previews(of: kind, widget), at: .ofThisMachine, width: Output.size.width))
    }

    /// A preview of each family, on the first surface that has it.
    private static func previews(of kind: Kind, _ widget: WidgetKind) -> [JSONObject] {
        let key = Key(kind: kind.name, id: widget.instances.first ?? "sample")
        return widget.families.compactMap { family in
            let scenes = Surface.allCases.lazy.compactMap { surface in
                WidgetScene(widget, surface: surface, place: .gallery, family: family, isSample: true)
            }
            guard let key, let scene = scenes.first else { return nil }
            var writer = JSONWriter()
            WidgetRow.writePreview(
                key: key, kind: kind, definition: widget, scene: scene, control: { _, _, _ in false }, to: &writer)
            return (try? JSONParser().parse(writer.bytes.span))?.object
        }
    }

    private func svg(_ drawing: MachineDrawing) throws -> String {
        guard let diagram = Diagram(drawing) else {
            throw ExitCode.failed("\(file): the machine is too large for a picture; --format text draws it")
        }
        return diagram.svg(isStandalone: true)
    }
}
