public import ArgumentParser
import Cards
import TelltaleClient
import TelltaleEventLoop
public import TelltaleModel
import TelltaleWire
import ToolSupport

/// The daemon of a command, and requests with a single answer.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon, or several with commas between. Default: --context, else TELLTALE_CONNECT, else the context in use, else 127.0.0.1:7878.",
            valueName: "host:port|tls://host:port|unix:path"))
    var connect: DaemonPlace?
    @Option(
        help: ArgumentHelp(
            "The daemon, its token and its authorities, as `telltale context add` keeps them. Default: TELLTALE_CONTEXT.",
            valueName: "name"))
    var context: String?
    @OptionGroup var access: DaemonAccess

    func validate() throws { _ = try DaemonPlace.ofEnvironment() }

    /// The daemon's address and the client's configuration. Reads the files of the context and of the token.
    func connection(account: String? = nil) throws -> (endpoint: EndpointList, configuration: ClientConfiguration) {
        // Another run of this program is another sender of events, so its ids must differ.
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        // The server remembers event ids under this name, so it must stay the same in every release.
        var configuration = ClientConfiguration(name: "telltale/0.1", eventIDPrefix: "cli-\(run)")
        let target = try target()
        configuration.account = account ?? target.account
        configuration.token = target.token
        if target.place.isEncrypted { configuration.tls = ClientTLS(authorities: target.authorities) }
        return (target.place.endpoint, configuration)
    }

    // MARK: Flags, environment, contexts

    /// The daemon's address and this user's credentials.
    private struct Target {
        var place: DaemonPlace
        var token: String?
        var authorities: String?
        var account: String?
    }

    /// Flags take precedence over the environment, and the environment over the context in use.
    private func target() throws -> Target {
        let named = try context.map { try load($0) }
        let placeOfEnvironment = try DaemonPlace.ofEnvironment()
        // The token of an implicit context is sent only to that context's own daemon.
        let ambient = connect == nil && named == nil && placeOfEnvironment == nil ? try contextInUse() : nil
        let place = try connect ?? named.map(Self.place) ?? placeOfEnvironment ?? ambient.map(Self.place) ?? .usual
        var target = Target(place: place)
        target.token =
            if access.tokenFile != nil {
                // An empty file is no token, whatever else there is.
                try access.tokenOfFlag()
            } else if let token = try named.flatMap(Self.token(of:)) {
                token
            } else {
                try DaemonAccess.tokenOfEnvironment() ?? ambient.flatMap(Self.token(of:))
            }
        target.authorities =
            access.ca ?? named?.authorities ?? DaemonAccess.authoritiesOfEnvironment ?? ambient?.authorities
        target.account = (named ?? ambient)?.account
        return target
    }

    private func contextInUse() throws -> Context? {
        if let name = Output.variable("TELLTALE_CONTEXT") { return try load(name) }
        guard let name = ContextStore().selected() else { return nil }
        return try load(name)
    }

    private func load(_ name: String) throws -> Context {
        try ContextCommand.run { (store) throws(ContextFailure) in try store.read(name) }
    }

    private static func place(_ context: Context) throws -> DaemonPlace {
        guard let place = DaemonPlace(argument: context.connect) else {
            throw ExitCode.failed("the context's address '\(context.connect)' is none".harmless)
        }
        return place
    }

    private static func token(of context: Context) throws -> String? {
        try context.tokenFile.flatMap { try DaemonAccess.token(in: $0, named: "the context's token file") }
            ?? context.token
    }

    /// Sends one request. A refusal and a missing daemon are reported on standard error, and end the program.
    ///
    /// - Parameter onItem: Called with each line of an answer that has several, after all of it was received: a reader
    ///   of this program's output may pause, and the daemon does not wait for that.
    func ask(
        _ command: Command, account: String? = nil, onItem: (ServerLine) -> Void = { _ in }
    ) throws -> ServerLine {
        try withClient(account: account) { (client) throws(ClientFailure) in
            try client.answer(to: command, onItem: onItem)
        }
    }

    /// Connects, and makes requests. A refusal and a missing daemon are reported on standard error, and end the program.
    func withClient<Value>(
        account: String?, _ body: (BlockingClient) throws(ClientFailure) -> Value
    ) throws -> Value {
        let (endpoint, configuration) = try connection(account: account)
        do throws(ClientFailure) {
            return try body(BlockingClient(to: endpoint, configuration: configuration, timeout: .seconds(20)))
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

    /// Reports on standard error why there is no answer, and returns the exit code for it.
    static func exit(after failure: ClientFailure) -> ExitCode {
        switch failure {
        case .refused(let reason):
            complain("telltale: \(reason.harmless)")
            return .failure
        case .unreachable(let reason):
            // The reason of a failed handshake, or of an unreadable --ca, is enough: something answers there.
            let question =
                reason.contains(" with TLS")
                ? "" : ". Is telltaled running there? --connect or TELLTALE_CONNECT names it."
            complain("telltale: \(reason.harmless)\(question)")
            return .noDaemon
        case .lost, .timedOut:
            complain("telltale: \(failure.description.harmless)")
            return .noDaemon
        }
    }

    /// The same, for a connection that was lost before it was ready.
    ///
    /// - Parameter farewell: The daemon's farewell, if any: then it is running, and refuses this client.
    static func exit(afterNoReady reason: String, _ farewell: ServerLine?) -> ExitCode {
        exit(after: farewell.map { .refused($0.message ?? reason) } ?? .unreachable(reason))
    }
}

extension BlockingClient {
    /// The last line of an answer that is no refusal.
    ///
    /// - Parameter onItem: As in ``DaemonOptions/ask(_:account:onItem:)``.
    func answer(to command: Command, onItem: (ServerLine) -> Void = { _ in }) throws(ClientFailure) -> ServerLine {
        var items: [ServerLine] = []
        let reply = try request(command) { items.append($0) }
        guard reply.isOK else { throw ClientFailure.refused(DaemonOptions.describe(reply.line)) }
        for item in items { onItem(item) }
        return reply.line
    }

    /// The titles of kinds. A kind that may not be read has none.
    func titles(of kinds: some Sequence<String>) throws(ClientFailure) -> KindTitles {
        let names = Array(Set(kinds))
        var titles = KindTitles()
        try request(all: names.map { .kind($0) }) { place, reply in
            if reply.isOK, let definition = reply.line.tail { titles.add(names[place], definition) }
        }
        return titles
    }

    /// Now, on the daemon's clock, which dates in rows are on.
    var now: Timestamp { greeting?.now ?? .ofThisMachine }
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

    /// Whether a person reads the output: on a terminal, and without `--json`. A pipe has the same lines as ever.
    var isForPeople: Bool { Output.isTerminal && !json }
}
