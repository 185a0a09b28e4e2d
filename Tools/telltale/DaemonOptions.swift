public import ArgumentParser
import Cards
import Foundation
import Glibc
import TelltaleClient
import TelltaleEventLoop
public import TelltaleModel
import TelltaleWire
import ToolSupport

/// The daemon of a command, and the questions that one request answers.
struct DaemonOptions: ParsableArguments {
    @OptionGroup var address: DaemonAddress
    @Option(
        help: ArgumentHelp(
            "A file that holds the token for a daemon with --auth. Default: TELLTALE_TOKEN_FILE; else the token is TELLTALE_TOKEN.",
            valueName: "file"))
    var tokenFile: String?
    @Option(
        help: ArgumentHelp(
            "A PEM file of the authorities that are trusted for tls://. Default: TELLTALE_CA, else those of the system.",
            valueName: "file"))
    var ca: String?

    var endpoint: Endpoint { get throws { try address.place.endpoint } }

    func configuration(account: String? = nil) throws -> ClientConfiguration {
        // Another run of this program is another sender of events, so its ids must differ.
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        // The server remembers event ids under this name, so it stays as it is whatever the release.
        var configuration = ClientConfiguration(name: "telltale/0.1", eventIDPrefix: "cli-\(run)")
        configuration.account = account
        configuration.token = try token()
        if try address.place.isEncrypted {
            let authorities = ca ?? Output.environment("TELLTALE_CA") ?? ""
            configuration.tls = ClientTLS(authorities: authorities.isEmpty ? nil : authorities)
        }
        return configuration
    }

    /// The token: never an argument, which every user of the machine could read.
    private func token() throws -> String? {
        let file = tokenFile ?? Output.environment("TELLTALE_TOKEN_FILE")
        guard let file, !file.isEmpty else {
            let token = Output.environment("TELLTALE_TOKEN") ?? ""
            return token.isEmpty ? nil : token
        }
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            complain("telltale: --token-file \(file): the file cannot be read".harmless)
            throw ExitCode.failure
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return token.isEmpty ? nil : token
    }

    /// Sends one request. A refusal and a missing daemon are reported on standard error, and end the program.
    ///
    /// - Parameter onItem: Called with each line of an answer that has several, after all of it was received: a reader
    ///   of this program's output may pause, and the daemon does not wait for that.
    func ask(
        _ command: Command, account: String? = nil, onItem: (ServerLine) -> Void = { _ in }
    ) throws -> ServerLine {
        try answer(to: command, account: account, onItem: onItem).line
    }

    /// The same, with the daemon's greeting, which tells its clock.
    func answer(
        to command: Command, account: String?, onItem: (ServerLine) -> Void = { _ in }
    ) throws -> (line: ServerLine, greeting: ServerGreeting?) {
        let (endpoint, configuration) = (try endpoint, try configuration(account: account))
        do throws(ClientFailure) {
            let client = try BlockingClient(to: endpoint, configuration: configuration, timeout: .seconds(20))
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
        // Many messages contain the advice already.
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
            complain("telltale: \(reason.harmless)")
            return .failure
        case .unreachable(let reason):
            complain(
                "telltale: \(reason.harmless). Is telltaled running there? --connect or TELLTALE_CONNECT names it.")
            return .noDaemon
        case .lost, .timedOut:
            complain("telltale: \(failure.description.harmless)")
            return .noDaemon
        }
    }

    /// The same, for a connection that went before it was of any use.
    ///
    /// - Parameter farewell: The daemon's own word about it, if it had one: then it is there, and will not have us.
    static func exit(afterNoReady reason: String, _ farewell: ServerLine?) -> ExitCode {
        exit(after: farewell.map { .refused($0.message ?? reason) } ?? .unreachable(reason))
    }
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

/// The account that looks or acts.
struct AccountOption: ParsableArguments {
    @Option(help: ArgumentHelp("Whose device this is; without it, everybody's activities are seen.", valueName: "name"))
    var account: String?

    func validate() throws { try WireValue.check("--account", account) }
}

/// Values from the command line that are sent as they are.
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
