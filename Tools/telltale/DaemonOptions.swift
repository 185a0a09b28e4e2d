public import ArgumentParser
import Cards
import Glibc
import TelltaleClient
import TelltaleEventLoop
public import TelltaleModel
import TelltaleWire

/// Where the daemon is, and as whom to speak to it: what all commands have that need one.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon. Default: TELLTALE_CONNECT, else 127.0.0.1:7878.", valueName: "host:port|unix:path"))
    var connect: String?

    func validate() throws {
        _ = try endpoint()
    }

    func endpoint() throws -> Endpoint {
        let (text, source) =
            if let connect {
                (connect, "--connect")
            } else if let variable = Output.environment("TELLTALE_CONNECT"), !variable.isEmpty {
                (variable, "TELLTALE_CONNECT")
            } else {
                ("127.0.0.1:7878", "")
            }
        guard let endpoint = Endpoint(text) else {
            throw ValidationError("\(source) is to be HOST:PORT or unix:PATH, not '\(text)'.")
        }
        return endpoint
    }

    static func configuration(account: String? = nil) -> ClientConfiguration {
        // Another run of this program is another sender of events, so its ids must differ.
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        // The server remembers event ids under this name, so it stays as it is whatever the release.
        var configuration = ClientConfiguration(name: "telltale/0.1", eventIDPrefix: "cli-\(run)")
        configuration.account = account
        return configuration
    }

    /// Asks one thing. A refusal and a missing daemon are told on standard error, and end the program.
    ///
    /// - Parameter onItem: Is given each line of an answer that has several, when all of it is there: whoever reads what
    ///   this writes may pause, and the daemon does not wait for that.
    func ask(
        _ command: Command, account: String? = nil, onItem: (ServerLine) -> Void = { _ in }
    ) throws -> ServerLine {
        try answer(to: command, account: account, onItem: onItem).line
    }

    /// The same, with what the daemon said first: its clock, for one.
    func answer(
        to command: Command, account: String?, onItem: (ServerLine) -> Void = { _ in }
    ) throws -> (line: ServerLine, greeting: ServerGreeting?) {
        let endpoint = try endpoint()
        do throws(ClientFailure) {
            let client = try BlockingClient(
                to: endpoint, configuration: Self.configuration(account: account), timeout: .seconds(20))
            var items: [ServerLine] = []
            let reply = try client.request(command) { items.append($0) }
            guard reply.isOK else { throw ClientFailure.refused(Self.describe(reply.line)) }
            for item in items { onItem(item) }
            return (reply.line, client.greeting)
        } catch {
            throw Self.exit(after: error)
        }
    }

    static func describe(_ error: ServerLine) -> String {
        let message = error.message ?? "no reason given"
        // Many messages say themselves what to do.
        let advice =
            switch message.contains("again") ? nil : error["retry"] {
            case "now"?: " (try again)"
            case "later"?: " (try again later)"
            case "resync"?: " (look again, and then decide again)"
            case _: ""
            }
        return "\(error["code"] ?? "error"): \(message)\(advice)".harmless
    }

    /// Says on standard error why there is no answer, and gives the exit code for it.
    static func exit(after failure: ClientFailure) -> ExitCode {
        switch failure {
        case .refused(let reason):
            StandardError.write("telltale: \(reason.harmless)")
            return .failure
        case .unreachable(let reason):
            StandardError.write(
                "telltale: \(reason.harmless). Is telltaled running there? --connect or TELLTALE_CONNECT names it.")
            return noDaemon
        case .lost, .timedOut:
            StandardError.write("telltale: \(failure.description.harmless)")
            return noDaemon
        }
    }

    /// The same, for a connection that went before it was of any use.
    ///
    /// - Parameter farewell: The daemon's own word about it, if it had one: then it is there, and will not have us.
    static func exit(afterNoReady reason: String, _ farewell: ServerLine?) -> ExitCode {
        exit(after: farewell.map { .refused($0.message ?? reason) } ?? .unreachable(reason))
    }

    /// EX_UNAVAILABLE of sysexits.h.
    static let noDaemon = ExitCode(69)
}

extension Key: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}

extension TelltaleModel.Pattern: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}

extension ViewName: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }

    public static var allValueStrings: [String] { ["full"] + Surface.allCases.map(\.rawValue) }
}

/// Who looks or acts.
struct AccountOption: ParsableArguments {
    @Option(help: ArgumentHelp("Whose device this is; without it, everybody's activities are seen.", valueName: "name"))
    var account: String?

    func validate() throws { try WireValue.check("--account", account) }
}

/// What people write that goes out as a value of the protocol, as it stands.
enum WireValue {
    static func check(_ name: String, _ value: String?) throws {
        guard let value else { return }
        guard !value.isEmpty, value.utf8.count <= WireLimits.valueLength,
            value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ValidationError(
                "\(name) is to be 1 to \(WireLimits.valueLength) visible ASCII characters without a space.")
        }
    }
}

struct JSONFlag: ParsableArguments {
    @Flag(help: "JSON for programs, one object a line.") var json = false
}
