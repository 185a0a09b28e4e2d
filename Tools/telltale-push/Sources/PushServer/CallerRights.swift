internal import ApplePush
internal import Gateway
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The rights of a caller. The daemon decides: a caller registers what its token may read, and for its own account.
struct CallerRights: Sendable {
    let connector: DaemonConnector
    let group: any EventLoopGroup
    private let underWay = RequestCount()

    init(connector: DaemonConnector, group: any EventLoopGroup) {
        self.connector = connector
        self.group = group
    }

    private static let patience = TimeAmount.seconds(10)

    /// - Parameter isStored: Whether it comes from the store, and not from the caller.
    func check(_ registration: PushRegistration, _ token: String?, isStored: Bool = false) async throws(Problem) {
        // A key that does not exist yet may be registered for. To read a kind, a caller must be allowed to read all of
        // its keys.
        let command: Command =
            registration.key.map { .get($0, view: .full) } ?? .kind(registration.kind)
        let own = try await ask([command], token, account: registration.account)
        // A registration without an account covers all of them, so its caller must be allowed to see all.
        if registration.account.isEmpty, let own {
            throw Problem(
                "forbidden",
                isStored
                    ? "this registration is for all accounts, and the token is of the account \"\(own)\" alone"
                    : "the token is of the account \"\(own)\"; say \"account\":\"\(own)\"")
        }
    }

    /// Requires a caller who may read every kind and the daemon's statistics.
    func checkOperator(_ token: String?) async throws(Problem) {
        _ = try await ask([.stats, .kinds], token, account: "")
    }

    func checkKnown(_ token: String?) async throws(Problem) {
        _ = try await ask([.ping], token, account: "")
    }

    /// - Returns: The account that the daemon limits the caller to; `nil` = the caller sees all of them.
    private func ask(_ commands: [Command], _ token: String?, account: String) async throws(Problem) -> String? {
        // Each check uses its own connection.
        guard underWay.begin() else {
            throw Problem("busy", "too many callers register at once; ask again in a moment")
        }
        defer { underWay.end() }
        var configuration = ClientConfiguration(name: "telltale-push", eventIDPrefix: "push")
        configuration.token = token
        configuration.account = account.isEmpty ? nil : account
        configuration.reconnects = false
        configuration.keepsRows = false
        let own = Mutex<String?>(nil)
        let client = AsyncClient(
            to: connector, configuration: configuration, failsFast: true, on: group.next(),
            onGreeting: { _, hello in own.withLock { $0 = hello?["account"] } })
        client.start()
        defer { client.close() }
        for command in commands {
            do throws(RequestFailure) {
                let answer = try await client.request(command, timeout: Self.patience)
                if let refusal = answer.refusal, refusal["code"] != "unknown_key" { throw .refused("", refusal) }
            } catch {
                switch error {
                case .refused(_, let line?) where line.verb == "ERR": throw Problem(line)
                default: throw Problem("daemon_unreachable", "the daemon does not answer (\(error)); ask again later")
                }
            }
        }
        return own.withLock { $0 }
    }
}

/// The number of callers being checked.
private final class RequestCount: Sendable {
    private let count = Mutex(0)
    private static let limit = 64

    func begin() -> Bool {
        count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
    }

    func end() { count.withLock { $0 -= 1 } }
}
