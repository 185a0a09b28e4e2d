import ArgumentParser
import Cards
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale gallery`.
struct GalleryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gallery", abstract: "The widgets that a person can place, with previews.",
        discussion: """
            On a terminal each kind is drawn in its families, as it looks on the surface; into a pipe it is one line, its \
            name, its families and its title. --view full lists the kinds with all of their families, and draws none.
            """)

    @Option(help: "A surface, or full.") var view: ViewName = .surface(.phone)
    @Option(help: "Only what is shown in this place, as lockScreen.") var placement: String?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        var lines: [ServerLine] = []
        let (_, greeting) = try daemon.answer(to: .gallery(view: view, placement: placement), account: who.account) {
            lines.append($0)
        }
        // On the daemon's clock, which dates in views are on.
        let now = greeting?.now ?? .ofThisMachine
        for (index, line) in lines.enumerated() {
            if output.json {
                Output.line(JSON.object(Self.object(line)).description)
            } else if Output.isTerminal {
                if index > 0 { Output.text("") }
                draw(line, at: now)
            } else {
                let title = line.tail?["title"]?.string ?? ""
                Output.line("\(line["name"] ?? "") \(line["families"] ?? "") \(title)".harmless)
            }
        }
        if lines.isEmpty, !output.json { complain("telltale: no widget is offered there") }
    }

    private static func object(_ line: ServerLine) -> JSONObject {
        var object = line.tail ?? JSONObject()
        object["name"] = line["name"].map(JSON.string)
        object["families"] = .array((line["families"] ?? "").split(separator: ",").map { .string(String($0)) })
        return object
    }

    private func draw(_ line: ServerLine, at now: Timestamp) {
        let (name, body) = (line["name"] ?? "", line.tail ?? JSONObject())
        let about = body["description"]?.string.map { "  \($0)" } ?? ""
        Output.text("\(name)  \(body["title"]?.string ?? "")\(about)".harmless)
        for parameter in body["parameters"]?.array ?? [] {
            var options = (parameter["options"]?.array ?? []).map { $0.string ?? $0.description }
            if let more = parameter["more"]?.integer { options.append("and \(more) more") }
            let title = parameter["title"]?.string ?? parameter["name"]?.string ?? ""
            let text = options.isEmpty ? parameter["type"]?.string ?? "" : options.joined(separator: ", ")
            Output.text("  \(title): \(text)".harmless)
        }
        let recommended = (body["recommended"]?.array ?? []).compactMap { $0["key"]?.string }
        if !recommended.isEmpty { Output.text("  Recommended: \(recommended.joined(separator: ", "))".harmless) }
        let previews = (body["previews"]?.array ?? []).compactMap { $0.object }
        guard !previews.isEmpty else { return Output.text("  \(line["families"] ?? "")".harmless) }
        Output.draw(Gallery.draw(previews, at: now, width: Output.size.width))
    }
}
