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
            name, its families and its title. --view full lists the kinds with all of their families, as a table.
            """)

    @Option(help: "A surface, or full.") var view: ViewName = .surface(.phone)
    @Option(help: "Only what is shown in this place, as lockScreen.") var placement: String?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try daemon.withClient(account: who.account) { (client) throws(ClientFailure) in
            var lines: [ServerLine] = []
            _ = try client.answer(to: .gallery(view: view, placement: placement)) { lines.append($0) }
            if output.isForPeople, !lines.isEmpty { return draw(lines, at: client.now) }
            for line in lines {
                if output.json {
                    Output.line(JSON.object(Self.object(line)).description)
                } else {
                    let title = line.tail?["title"]?.string ?? ""
                    Output.line("\(line["name"] ?? "") \(line["families"] ?? "") \(title)".harmless)
                }
            }
            if lines.isEmpty, !output.json { complain("telltale: no widget is offered there") }
        }
    }

    private func draw(_ lines: [ServerLine], at now: Timestamp) {
        guard view != .full else {
            var table = Table(["WIDGET", "TITLE", "FAMILIES"])
            for line in lines {
                let families = (line["families"] ?? "").split(separator: ",").joined(separator: ", ")
                table.append([line["name"] ?? "", line.tail?["title"]?.string ?? "", families])
            }
            return Output.table(table)
        }
        for (index, line) in lines.enumerated() {
            if index > 0 { Output.text("") }
            draw(line, at: now)
        }
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
