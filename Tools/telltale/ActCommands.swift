import ArgumentParser
import Cards
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// Prints the outcome: the attributes of the reply, or one JSON object of them.
func show(_ line: ServerLine, key: Key, json: Bool) { show(line, subject: .key(key), json: json) }

/// - Parameter subject: The key or pattern that the reply is about.
func show(_ line: ServerLine, subject: TelltaleModel.Pattern, json: Bool) {
    let attributes = line.attributes.filter { $0.name != "id" && $0.name != "key" }
    guard json else {
        let row = line.message.map { " (\($0.harmless))" } ?? line.tail.map { " \(JSON.object($0))" } ?? ""
        let words = attributes.map { $0.name == "verdict" ? $0.value : "\($0.name)=\($0.value)" }
        return Output.line(words.isEmpty && row.isEmpty ? "done" : words.joined(separator: " ").harmless + row)
    }
    let numbers: Set = ["rev", "skip", "count", "applied", "deferred", "noop"]
    var object = JSONObject()
    object[subject.isKey ? "key" : "pattern"] = .string(subject.description)
    for attribute in attributes {
        let number = numbers.contains(attribute.name) ? Int64(attribute.value) : nil
        object[attribute.name] = number.map(JSON.integer) ?? .string(attribute.value)
    }
    if let message = line.message {
        object["msg"] = .string(message)
    } else {
        object["row"] = line.tail.map(JSON.object)
    }
    Output.line(JSON.object(object).description)
}

struct SetCommand: ParsableCommand {
    enum Value: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Switches a toggle to a value.",
        discussion: """
            It returns when the wish is on disk; with --wait done when the provider has switched, and with exit code 1 if that \
            fails. `telltale watch KEY` shows what came of it too.
            """)

    @Argument(help: "kind/id") var key: Key
    @Argument(help: "on or off; never a flip.") var value: Value
    @Option(
        name: .customLong("if"),
        help: ArgumentHelp("Only if the row that was looked at, of this rev, is current.", valueName: "rev"))
    var seenRev: Int64?
    @OptionGroup var wait: WaitOptions
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let seenRev, seenRev < 0 { throw ValidationError("--if is to be 0 or more.") }
    }

    func run() throws {
        let command = TapCommand(key, .set(value == .on), seenRev: seenRev)
        _ = try wait.perform(.tap(command), on: key, account: who.account, output: output, daemon: daemon)
    }
}

struct PressCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "press", abstract: "Presses a button.")

    @Argument(help: "kind/id") var key: Key
    @OptionGroup var wait: WaitOptions
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let command = TapCommand(key, .press)
        _ = try wait.perform(.tap(command), on: key, account: who.account, output: output, daemon: daemon)
    }
}

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Lets widgets ask their provider for a new timeline.",
        discussion: """
            deferred: the widget asked within the last minutes, and asks again when they are over. noop: it has no provider. \
            Of several widgets the numbers are told.
            """)

    @Argument(help: "kind/id, 'kind/*' or '*'") var pattern: TelltaleModel.Pattern
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        show(try daemon.ask(.reload(pattern)), subject: pattern, json: output.json)
    }
}

struct OpenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "What a desktop shows when its menu-bar item is selected, and the deep link.",
        discussion: "On a terminal it is drawn; into a pipe it is one line, rev=N and the row as JSON.")

    @Argument(help: "kind/id") var key: Key
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try daemon.withClient(account: who.account) { (client) throws(ClientFailure) in
            let line = try client.answer(to: .open(key))
            guard output.isForPeople, let body = line.tail else { return show(line, key: key, json: output.json) }
            let card = Card(key: key.text, body: body)
            Output.draw(TerminalScreen.opened(card, at: client.now, width: Output.size.width))
        }
    }
}

struct DismissCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss", abstract: "Swipes an activity away, on all devices of an account.",
        discussion: "The order itself is untouched, and other accounts keep it. An account is needed: --account.")

    @Argument(help: "kind/id") var key: Key
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        show(try daemon.ask(.dismiss(key), account: who.account), key: key, json: output.json)
    }
}
