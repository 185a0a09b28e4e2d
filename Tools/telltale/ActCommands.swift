import ArgumentParser
import Cards
import TelltaleModel
import TelltaleWire

/// Prints the outcome: the attributes of the reply, or one JSON object of them.
private func show(_ line: ServerLine, key: Key, json: Bool) {
    let attributes = line.attributes.filter { $0.name != "id" && $0.name != "key" }
    guard json else {
        let row = line.tail.map { " \(JSON.object($0))" } ?? ""
        let words = attributes.map { $0.name == "verdict" ? $0.value : "\($0.name)=\($0.value)" }
        return Output.line(words.isEmpty && row.isEmpty ? "done" : words.joined(separator: " ").harmless + row)
    }
    var object = JSONObject()
    object["key"] = .string(key.text)
    for attribute in attributes {
        let number = ["rev", "skip"].contains(attribute.name) ? Int64(attribute.value) : nil
        object[attribute.name] = number.map(JSON.integer) ?? .string(attribute.value)
    }
    object["row"] = line.tail.map(JSON.object)
    Output.line(JSON.object(object).description)
}

struct PostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Tells the daemon that something happened to an activity.",
        discussion: """
            EVENT is start, update or end, or an event of the kind's own machine. It prints the verdict: applied, noop,
            duplicate, stale, ignored or deferred. When it returns, the event is on disk. With --eid the same event may
            be posted again safely.

              telltale post coffee-order/7 start --data '{"attributes":{"item":"Flat white","shop":"Hoegi"}}' --for alice
              telltale post coffee-order/7 ready --data '{"content-state":{"shelf":"B"}}'
              telltale post coffee-order/7 end
            """)

    @Argument(help: "kind/id") var key: Key
    @Argument(help: "The event's name.") var event: String
    @Option(help: ArgumentHelp("attributes, content-state, alert, stale-date, … (Apple's names).", valueName: "json"))
    var data: String?
    @Option(help: "The event's own id: the same one from the same --src counts once.") var eid: String?
    @Option(help: ArgumentHelp("Who sends it. Default: telltale/0.1.", valueName: "source")) var src: String?
    @Option(help: ArgumentHelp("When it happened, in Unix milliseconds. Default: now.", valueName: "ms")) var at: Int64?
    @Option(help: ArgumentHelp("The source's version number of this key.", valueName: "n")) var ver: Int64?
    @Option(
        name: .customLong("for"), help: ArgumentHelp("The accounts that may see it, when it starts.", valueName: "a,b"))
    var accounts: String?
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        _ = try command()
    }

    func run() throws {
        show(try daemon.ask(.event(try command())), key: key, json: output.json)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "-"): true
        case _: false
        }
    }

    private func command() throws -> EventCommand {
        var command = EventCommand(key: key, type: event)
        guard (1...64).contains(event.utf8.count), event.utf8.allSatisfy(Self.isNameByte) else {
            throw ValidationError("EVENT is to be 1 to 64 of [A-Za-z0-9_.:-], not '\(event)'.")
        }
        for (name, value) in [("--eid", eid), ("--src", src), ("--for", accounts)] { try WireValue.check(name, value) }
        for (name, value) in [("--at", at), ("--ver", ver)] {
            if let value, value < 0 { throw ValidationError("\(name) is to be 0 or more.") }
        }
        command.eid = eid
        command.source = src
        command.happenedAt = at.map(Timestamp.init(milliseconds:))
        command.version = ver
        command.accounts = accounts?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        // With the empty parts removed the list could be empty, which addresses everyone.
        guard Set(command.accounts).count == command.accounts.count, !command.accounts.contains("") else {
            throw ValidationError(
                "--for is to be accounts with single commas between, each once, not '\(accounts ?? "")'.")
        }
        if let data {
            do {
                guard let object = try JSONParser.parse(data).object else {
                    throw ValidationError("--data is to be a JSON object, {…}.")
                }
                command.tail = object
            } catch let error as JSONError {
                throw ValidationError("--data is no JSON: \(error)")
            }
        }
        return command
    }
}

struct SetCommand: ParsableCommand {
    enum Value: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Switches a toggle to a value.",
        discussion: "It returns when the wish is on disk; `telltale watch KEY` shows what came of it.")

    @Argument(help: "kind/id") var key: Key
    @Argument(help: "on or off; never a flip.") var value: Value
    @Option(
        name: .customLong("if"),
        help: ArgumentHelp("Only if the row that was looked at, of this rev, is current.", valueName: "rev"))
    var seenRev: Int64?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let seenRev, seenRev < 0 { throw ValidationError("--if is to be 0 or more.") }
    }

    func run() throws {
        var command = TelltaleWire.SetCommand(key: key, value: value == .on)
        command.seenRev = seenRev
        show(try daemon.ask(.set(command), account: who.account), key: key, json: output.json)
    }
}

struct PressCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "press", abstract: "Presses a button.")

    @Argument(help: "kind/id") var key: Key
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        show(try daemon.ask(.press(key, eid: nil), account: who.account), key: key, json: output.json)
    }
}

struct OpenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "What a desktop shows when its menu-bar item is selected, and the deep link.")

    @Argument(help: "kind/id") var key: Key
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        show(try daemon.ask(.open(key), account: who.account), key: key, json: output.json)
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
