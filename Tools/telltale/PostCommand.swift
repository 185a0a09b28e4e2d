import ArgumentParser
import Kinds
import TelltaleModel
import TelltaleWire
import ToolSupport

struct PostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Tells the daemon that something happened to an activity.",
        discussion: """
            EVENT is start, update or end, or an event of the kind's own machine. It prints the verdict: applied, noop, \
            duplicate, stale, ignored or deferred. When it returns, the event is on disk. With --eid the same event may \
            be posted again safely.

              telltale post coffee-order/7 start --attributes '{"item":"Tea"}' --for ana
              telltale post coffee-order/7 ready --content '{"shelf":"B"}'
              telltale post coffee-order/7 end
              telltale post - <events.txt

            Content of an event of the machine is merged into what is there (a null takes a member out); that of start and \
            update is the whole content. Attributes are taken at the start alone. --data is the tail of EVT, \
            as the protocol has it: {"attributes":{...},"content-state":{...},"alert":{...}}.

            With - each line of standard input is an event: KEY EVENT, then attributes of the protocol such as eid=, and \
            the tail. Empty lines and those that begin with # are passed over. Many are on their way at once, and are \
            answered in order; an event that is refused is told with its line, and makes the exit status 1.
            """)

    @Argument(help: ArgumentHelp("kind/id, or - for events from standard input.", valueName: "key")) var target: String
    @Argument(help: "The event's name.") var event: String?
    @Option(help: ArgumentHelp("The content that comes with it.", valueName: "json")) var content: String?
    @Option(help: ArgumentHelp("What does not change, at the start.", valueName: "json")) var attributes: String?
    @Option(
        help: ArgumentHelp(
            "The whole tail: attributes, content-state, alert, stale-date and others (Apple's names).",
            valueName: "json"))
    var data: String?
    @Option(help: ArgumentHelp("The event's own id: the same one from the same --src counts once.")) var eid: String?
    @Option(help: ArgumentHelp("Who sends it. Default: telltale/0.1.", valueName: "source")) var src: String?
    @Option(help: ArgumentHelp("When it happened, in Unix milliseconds. Default: now.", valueName: "ms")) var at: Int64?
    @Option(help: ArgumentHelp("The source's version number of this key.", valueName: "n")) var ver: Int64?
    @Option(
        name: .customLong("for"), help: ArgumentHelp("The accounts that may see it, when it starts.", valueName: "a,b"))
    var accounts: String?
    @Flag(help: "An event that changes nothing because it was ignored or stale makes the exit status 1.") var strict =
        false
    @OptionGroup var wait: WaitOptions
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    private var isBulk: Bool { target == "-" }

    func validate() throws {
        guard !isBulk else {
            let single: [Any?] = [event, content, attributes, data, eid, src, at, ver, accounts, wait.wait]
            guard single.allSatisfy({ $0 == nil }) else {
                throw ValidationError("With - the events, and all that belongs to them, stand on standard input.")
            }
            return
        }
        _ = try command()
    }

    func run() throws {
        guard !isBulk else { return try PostedLines(isStrict: strict, json: output.json, daemon: daemon).run() }
        let command = try command()
        let reply = try wait.perform(
            .event(command), on: command.key, account: nil, output: output, daemon: daemon)
        for hint in EventHints.hints(for: command) { complain("telltale: \(hint)") }
        if strict, EventHints.isLost(reply) {
            throw ExitCode.failed("the event changed nothing (--strict)")
        }
    }

    private func command() throws -> EventCommand {
        guard let key = Key(target) else { throw ValidationError("KEY is to be kind/id, or -, not '\(target)'.") }
        guard let event else {
            throw ValidationError("EVENT is missing: start, update, end, or one of the kind's own.")
        }
        guard EventName.isValid(event) else {
            throw ValidationError("EVENT is to be 1 to 64 of [A-Za-z0-9_.:-], not '\(event)'.")
        }
        var command = EventCommand(key: key, type: event)
        for (name, value) in [("--eid", eid), ("--src", src), ("--for", accounts)] { try WireValue.check(name, value) }
        for (name, value) in [("--at", at), ("--ver", ver)] {
            if let value, value < 0 { throw ValidationError("\(name) is to be 0 or more.") }
        }
        command.eid = eid
        command.source = src
        command.happenedAt = at.map(Timestamp.init(milliseconds:))
        command.version = ver
        command.accounts = accounts?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        // An empty list would mean all accounts, so empty parts are an error.
        guard Set(command.accounts).count == command.accounts.count, !command.accounts.contains("") else {
            throw ValidationError(
                "--for is to be accounts with single commas between, each once, not '\(accounts ?? "")'.")
        }
        command.tail = try tail()
        return command
    }

    /// The tail of `--data`, with the members of `--content` and `--attributes`.
    private func tail() throws -> JSONObject {
        var tail = try data.map { try Self.object($0, of: "--data") } ?? JSONObject()
        for (option, name, text) in [
            ("--content", "content-state", content), ("--attributes", "attributes", attributes),
        ] {
            guard let text else { continue }
            guard tail[name] == nil else {
                throw ValidationError("\(option) and \(name) in --data are the same: give one.")
            }
            tail[name] = .object(try Self.object(text, of: option))
        }
        return tail
    }

    private static func object(_ text: String, of option: String) throws -> JSONObject {
        do {
            guard let object = try JSONParser.parse(text).object else {
                throw ValidationError("\(option) is to be a JSON object, {…}.")
            }
            return object
        } catch let error as JSONError {
            guard let fault = JSONFault.first(in: Array(text.utf8)) else {
                throw ValidationError("\(option) is no JSON: \(error)")
            }
            let line = fault.line > 1 ? "line \(fault.line), " : ""
            throw ValidationError(
                "\(option) is no JSON: \(line)column \(fault.column): \(fault.message) (\(fault.advice)).")
        }
    }
}

/// Hints for events that are valid but probably not intended.
enum EventHints {
    static func hints(for command: EventCommand) -> [String] {
        var hints: [String] = []
        if let at = command.happenedAt, (1_000_000_000..<100_000_000_000).contains(at.milliseconds) {
            hints.append(
                "at=\(at.milliseconds) is a day of the year 1970 to 1973, in Unix milliseconds; "
                    + "seconds would be at=\(at.milliseconds * 1000)")
        }
        // The tail of a widget's timeline has its own members.
        let own = command.type == "timeline" ? ["entries", "policy"] : []
        let unknown = EventTail.unknownMembers(of: command.tail).filter { !own.contains($0) }
        if !unknown.isEmpty {
            hints.append(
                "an event has no \(unknown.joined(separator: ", ")), so that is dropped; "
                    + "what an activity shows is its content: --content '{…}', or \"content-state\" in the tail")
        }
        return hints
    }

    /// Whether the event was accepted but had no effect.
    static func isLost(_ reply: ServerLine) -> Bool { ["ignored", "stale"].contains(reply["verdict"]) }
}
