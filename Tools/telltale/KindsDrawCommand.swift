import ArgumentParser
import Glibc
import Kinds
import TelltaleModel
import ToolSupport

/// `telltale kinds draw`.
struct KindsDrawCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, dot, mermaid, svg
    }

    static let configuration = CommandConfiguration(
        commandName: "draw", abstract: "Draw a kind's machine.",
        discussion: """
            On a terminal a tree, into a pipe Graphviz DOT. A picture without further programs: telltale kinds draw FILE \
            --format svg > machine.svg
            """
    )

    @Argument(help: "A kind file of type activity.") var file: String
    @Option(help: "text, dot (Graphviz), mermaid or svg.") var format: Format?

    func run() throws {
        guard let drawing = MachineDrawing(try KindFiles.kind(file)) else {
            complain("telltale: \(file): only a live activity has a machine to draw")
            throw ExitCode.failure
        }
        let picture =
            switch format ?? (isatty(STDOUT_FILENO) == 1 ? .text : .dot) {
            case .text: drawing.text()
            case .dot: drawing.dot()
            case .mermaid: drawing.mermaid()
            case .svg: try svg(drawing)
            }
        // Titles, and the names of states and events, are the kind author's.
        Output.write(Output.drawable(picture.harmlessLines))
    }

    private func svg(_ drawing: MachineDrawing) throws -> String {
        guard let diagram = Diagram(drawing) else {
            complain("telltale: \(file): the machine is too large for a picture; --format text draws it")
            throw ExitCode.failure
        }
        return diagram.svg(isStandalone: true)
    }
}
