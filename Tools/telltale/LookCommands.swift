import ArgumentParser
import Cards
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// One row as commands print it.
private func show(_ line: ServerLine, json: Bool) {
    let key = line["key"] ?? ""
    let body = line.tail ?? JSONObject()
    if json {
        Output.line("{\"key\":\(JSON.string(key)),\"rev\":\(line.integer("rev") ?? 0),\"row\":\(JSON.object(body))}")
    } else {
        Output.line("\(key) rev=\(line["rev"] ?? "0")".harmless + " \(JSON.object(body))")
    }
}

struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "One activity or control, as it is now.",
        discussion: "On a terminal it is drawn; into a pipe it is one line, KEY rev=N and the row as JSON.")

    @Argument(help: "kind/id") var key: Key
    @Option(help: "full, or a surface.") var view: ViewName?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try daemon.withClient(account: who.account) { (client) throws(ClientFailure) in
            let line = try client.answer(to: .get(key, view: view ?? .full))
            guard output.isForPeople else { return show(line, json: output.json) }
            let card = Card(key: key.text, body: line.tail ?? JSONObject())
            let width = Output.size.width
            guard let view, view != .full else {
                let titles = try client.titles(of: [card.kind])
                return Output.draw(TerminalScreen.cards([card], titles: titles, at: client.now, width: width))
            }
            Output.draw(TerminalScreen.draw([card], view: view, at: client.now, width: width))
        }
    }
}

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "All activities and controls that match a pattern.",
        discussion: """
            On a terminal a table, a section for each kind; into a pipe one line each: KEY rev=N and the row as JSON.
            """)

    @Argument(help: "kind/id, 'kind/*' or '*'") var pattern: TelltaleModel.Pattern = .all
    @Option(help: "full, or a surface.") var view: ViewName?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try daemon.withClient(account: who.account) { (client) throws(ClientFailure) in
            var lines: [ServerLine] = []
            _ = try client.answer(to: .list(pattern, view: view ?? .full)) { lines.append($0) }
            guard output.isForPeople else { return lines.forEach { show($0, json: output.json) } }
            let cards = lines.map { Card(key: $0["key"] ?? "", body: $0.tail ?? JSONObject()) }
            Output.draw(try table(cards, client))
        }
    }

    private func table(_ cards: [Card], _ client: BlockingClient) throws(ClientFailure) -> Block {
        let (width, now) = (Output.size.width, client.now)
        guard let view, view != .full else {
            let titles = try client.titles(of: cards.map(\.kind))
            return TerminalScreen.table(cards, titles: titles, at: now, width: width)
        }
        var table = Table(["KEY", view.description.uppercased()])
        for card in cards { table.append([Line(card.key), card.brief(at: now)]) }
        return table.draw(width: width)
    }
}

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "What happened to one key, when, and when we heard of it.",
        discussion: """
            Oldest first. The first column is when it happened, in UTC; `heard` is when the daemon got it, where that \
            differs; attributes and content are those of the event. On a terminal, what is \
            longer than the screen goes through the pager that PAGER names (less).
            """)

    @Argument(help: "kind/id") var key: Key
    @Option(help: ArgumentHelp("Only the newest of them.", valueName: "n")) var last: Int?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last is to be 1 or more.") }
    }

    func run() throws {
        var lines: [ServerLine] = []
        _ = try daemon.ask(.history(key), account: who.account) { lines.append($0) }
        let shown = lines.suffix(last ?? lines.count).map { output.json ? Self.object($0) : Self.text($0).harmless }
        if output.isForPeople, shown.count >= Output.size.height, Pager.show(shown.map(Output.drawable)) {
            return
        }
        for line in shown { Output.line(line) }
    }

    private static func object(_ line: ServerLine) -> String {
        var object = line.tail ?? JSONObject()
        for name in ["rev", "at", "heard"] { object[name] = line.integer(name).map(JSON.integer) }
        for name in ["key", "type", "verdict"] { object[name] = line[name].map(JSON.string) }
        return JSON.object(object).description
    }

    private static func text(_ line: ServerLine) -> String {
        let at = Timestamp(milliseconds: line.integer("at") ?? 0)
        let heard = line.integer("heard").map(Timestamp.init(milliseconds:)) ?? at
        var text =
            "\(at.internetDate)  \((line["type"] ?? "-").padded(to: 16)) \((line["verdict"] ?? "-").padded(to: 9)) rev=\(line["rev"] ?? "-")"
        if let state = line.tail?["state"]?.string { text += "  \(state)" }
        if heard != at { text += "  heard \(heard.internetDate)" }
        if let source = line.tail?["src"]?.string { text += "  from \(source)" }
        if let principal = line.tail?["by"]?.string { text += "  by \(principal)" }
        for (name, member) in [("attributes", "attributes"), ("content", "content-state")] {
            if let value = line.tail?[member] { text += "  \(name)=\(value)" }
        }
        return text
    }
}

/// `telltale kinds` without a subcommand: the kinds of the daemon.
struct KindsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "The kinds that the daemon has loaded. (This is what `telltale kinds` does.)")

    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        var table = Table(["NAME", "TYPE", "VERSION", "TITLE"])
        _ = try daemon.ask(.kinds) { line in
            let name = line["name"] ?? ""
            let columns = [
                name, line["type"] ?? "", "v\(line["version"] ?? "")", line.tail?["title"]?.string ?? "",
            ]
            if output.isForPeople {
                table.append(columns)
            } else if output.json {
                var object = line.tail ?? JSONObject()
                object["name"] = .string(name)
                object["type"] = line["type"].map(JSON.string)
                object["version"] = line.integer("version").map(JSON.integer)
                Output.line(JSON.object(object).description)
            } else {
                Output.line(zip(columns, [24, 9, 4, 0]).map { $0.padded(to: $1) }.joined(separator: " ").harmless)
            }
        }
        if !table.isEmpty { Output.table(table) }
    }
}
