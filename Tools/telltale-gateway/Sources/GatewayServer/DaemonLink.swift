internal import Gateway
internal import ListenerLimits
internal import Metrics
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The gateway's connections to its daemon: a pipelined one for each token, and a separate one for each request with
/// another viewer.
///
/// Each sends `HELLO` with its caller's token, so that only the daemon decides what the caller may do.
final class DaemonLink: Sendable {
    /// How long a request waits for a daemon that does not answer.
    static let patience = TimeAmount.seconds(10)
    /// How long an idle connection is kept.
    static let idleSpan = TimeAmount.seconds(60)
    static let connectionLimit = 256

    private struct Entry {
        var client: AsyncClient
        var lastUsed = NIODeadline.now()
        var requestCount = 0
    }

    private struct Own {
        var client: AsyncClient?
        var status: PrincipalStatus?
        var hasServed = false
        var isClosed = false
    }

    private struct Pool {
        var entries: [String: Entry] = [:]
        var isClosed = false
    }

    let connector: DaemonConnector
    let group: any EventLoopGroup
    /// The gateway's own token: for hooks, readiness and metrics, never for a caller's request.
    let ownToken: String?
    private let pool = Mutex(Pool())
    private let greeting = Mutex<ServerGreeting?>(nil)
    private let principals = Mutex<[String: PrincipalStatus]>([:])
    private let own = Mutex(Own())

    init(_ connector: DaemonConnector, group: any EventLoopGroup, ownToken: String?) {
        self.connector = connector
        self.group = group
        self.ownToken = ownToken
    }

    static let reconnects = Counter(label: "telltale_gateway_daemon_reconnects_total")

    func start() {
        // Counters that begin at their first increment hide that increment from Prometheus.
        for counter in [Self.reconnects, ListenerConnections.refusals] { counter.increment(by: 0) }
        for counter in StreamFigures.counters { counter.increment(by: 0) }
        renewOwn(nil)
    }

    /// Replaces a refused client, which stays refused. The daemon may have learned the token since.
    private func renewOwn(_ refused: AsyncClient?) {
        let fresh = AsyncClient(
            to: connector, configuration: Self.configuration(ownToken, Situation()), failsFast: true,
            on: group.next(),
            onGreeting: { [weak self] greeting, hello in
                guard let self else { return }
                heard(greeting)
                guard hello != nil else { return }
                let isFirst = own.withLock { own in
                    defer { own.hasServed = true }
                    own.status = hello.flatMap { PrincipalStatus($0) }
                    return !own.hasServed
                }
                if !isFirst { Self.reconnects.increment() }
            })
        let isWanted = own.withLock { own in
            guard own.client === refused, !own.isClosed else { return false }
            own.client = fresh
            return true
        }
        guard isWanted else { return }
        fresh.start()
        refused?.close()
    }

    /// Whether the daemon requires no tokens. Assumed until it is known, because the `Host` is checked then.
    var isOpen: Bool { greeting.withLock { $0?.authentication ?? "none" } == "none" }

    /// Whether the daemon lets everybody in. A daemon that has never greeted is asked first: until then, what the
    /// gateway does by itself is not open.
    ///
    /// - Parameter token: The caller's; `nil` for none.
    /// - Throws: The daemon's refusal, or the lack of an answer.
    func letsEverybodyIn(asking token: String?) async throws(Problem) -> Bool {
        if !isKnown { _ = try await ask(.ping, token: token) }
        return isOpen
    }

    /// Whether a daemon has ever greeted.
    var isKnown: Bool { greeting.withLock { $0 != nil } }

    /// The daemon's release; `nil` before it has greeted.
    var version: String? { greeting.withLock { $0?.server } }

    /// The node of the cluster that serves this gateway, and its term if it leads; `nil` without a cluster.
    var node: (name: String, term: Int64?, address: String)? {
        greeting.withLock { greeting in
            guard let greeting, let name = greeting.node else { return nil }
            return (name, greeting.term, connector.choice.address?.description ?? "")
        }
    }

    func heard(_ greeting: ServerGreeting) { self.greeting.withLock { $0 = greeting } }

    /// The principal that the daemon named for a token, for the log; `nil` before it did, and without tokens.
    func principal(of token: String?) -> String? { status(of: token)?.principal }

    private func status(of token: String?) -> PrincipalStatus? {
        token.flatMap { token in principals.withLock { $0[token] } }
    }

    /// Requests a minute that the daemon accepts with a token, or `*`; `nil` if it is unknown without one.
    ///
    /// - Throws: The daemon's refusal of the token.
    func allowance(of token: String?) async throws(Problem) -> String? {
        if isOpen { return "*" }
        guard token != nil else { return nil }
        // After this, its connection has sent HELLO.
        _ = try await ask(.ping, token: token)
        return status(of: token)?.allowance
    }

    /// The same for the gateway's own token, with which hooks post.
    var ownAllowance: String? { isOpen ? "*" : own.withLock { $0.status }?.allowance }

    /// Keeps the status of a token.
    func learned(_ status: PrincipalStatus?, token: String?) {
        guard let status, let token else { return }
        let pooled = pool.withLock { Set($0.entries.keys) }
        principals.withLock { known in
            if known.count >= 4 * Self.connectionLimit { known = known.filter { pooled.contains($0.key) } }
            known[token] = status
        }
    }

    static func configuration(_ token: String?, _ situation: Situation) -> ClientConfiguration {
        // Every request has its own id, so the prefix is never used.
        var configuration = ClientConfiguration(name: gatewayClientName, eventIDPrefix: "gw")
        configuration.token = token
        configuration.surface = situation.surface
        configuration.account = situation.account
        (configuration.traits, configuration.capabilities) = (situation.traits, situation.capabilities)
        configuration.keepsRows = false
        configuration.backoff.shortest = Milliseconds(20)
        configuration.backoff.longest = Milliseconds(100)
        return configuration
    }

    /// Connections of callers, streams aside.
    var connectionCount: Int { pool.withLock { $0.entries.count } }

    // MARK: Asking

    /// Sends a request with the gateway's own token.
    func askForSelf(_ command: Command, timeout: TimeAmount = DaemonLink.patience) async throws(Problem) -> Answer {
        guard let client = own.withLock({ $0.client }) else {
            throw Problem("daemon_unreachable", "the gateway has not started, or goes down; ask again later")
        }
        do throws(Problem) {
            return try await Self.ask(client, command, timeout)
        } catch {
            if Self.isOver(error) { renewOwn(client) }
            throw error
        }
    }

    /// Whether a refusal concerns the whole client, and is final.
    private static func isOver(_ problem: Problem) -> Bool { problem.retry == "auth" || problem.status == 502 }

    /// Asks for a caller.
    ///
    /// - Parameter token: The caller's; `nil` for none.
    /// - Throws: The daemon's refusal, or the lack of an answer.
    func ask(_ command: Command, token: String?, _ situation: Situation = Situation()) async throws(Problem) -> Answer {
        guard situation.isDefault else {
            let client = makeClient(token, situation)
            defer { client.close() }
            return try await Self.ask(client, command, Self.patience)
        }
        let name = token ?? ""
        let client = try borrow(name)
        do throws(Problem) {
            let answer = try await Self.ask(client, command, Self.patience)
            giveBack(name, client)
            return answer
        } catch {
            // A refused client is dropped, and the next request with that token starts a new one.
            giveBack(name, client, isOver: Self.isOver(error))
            throw error
        }
    }

    /// Sends several requests for a caller, in order; each has its own answer or refusal.
    func ask(all commands: [Command], token: String?) async -> [Result<Answer, Problem>] {
        let client: AsyncClient
        do throws(Problem) {
            client = try borrow(token ?? "")
        } catch {
            return commands.map { _ in .failure(error) }
        }
        let answers = await client.request(all: commands, timeout: Self.patience)
        let results = answers.map { answer -> Result<Answer, Problem> in
            switch answer {
            case .success(let answer):
                if let refusal = answer.refusal { .failure(Problem(refusal)) } else { .success(answer) }
            case .failure(let failure): .failure(Problem(failure, acts: true))
            }
        }
        let isOver = results.contains { if case .failure(let problem) = $0 { Self.isOver(problem) } else { false } }
        giveBack(token ?? "", client, isOver: isOver)
        return results
    }

    /// A client with a separate connection, which the caller closes.
    func makeClient(_ token: String?, _ situation: Situation) -> AsyncClient {
        let client = AsyncClient(
            to: connector, configuration: Self.configuration(token, situation), failsFast: !isKnown,
            on: group.next(),
            onGreeting: { [weak self] greeting, hello in
                self?.heard(greeting)
                self?.learned(hello.flatMap { PrincipalStatus($0) }, token: token)
            })
        client.start()
        return client
    }

    /// Sends a request on a separate connection.
    func ask(_ command: Command, on client: AsyncClient) async throws(Problem) -> Answer {
        try await Self.ask(client, command, Self.patience)
    }

    private static func ask(_ client: AsyncClient, _ command: Command, _ timeout: TimeAmount) async throws(Problem)
        -> Answer
    {
        do throws(RequestFailure) {
            let answer = try await client.request(command, timeout: timeout)
            if let refusal = answer.refusal { throw Self.refused(refusal) }
            return answer
        } catch {
            throw Problem(error, acts: command.acts)
        }
    }

    private static func refused(_ line: ServerLine) -> RequestFailure { .refused("", line) }

    private func borrow(_ name: String) throws(Problem) -> AsyncClient {
        let result: Result<(AsyncClient, AsyncClient?), Problem> = pool.withLock { pool in
            if pool.isClosed {
                return .failure(Problem("shutting_down", "the gateway goes down; ask again in a moment"))
            }
            if var entry = pool.entries[name] {
                entry.requestCount += 1
                entry.lastUsed = .now()
                pool.entries[name] = entry
                return .success((entry.client, nil))
            }
            var closed: AsyncClient?
            if pool.entries.count >= Self.connectionLimit {
                let idle = pool.entries.filter { $0.value.requestCount == 0 }.min {
                    $0.value.lastUsed < $1.value.lastUsed
                }
                guard let idle else {
                    return .failure(
                        Problem("limit_conns", "\(Self.connectionLimit) callers are being served; ask again later"))
                }
                closed = pool.entries.removeValue(forKey: idle.key)?.client
            }
            let client = makeClient(name.isEmpty ? nil : name, Situation())
            pool.entries[name] = Entry(client: client, requestCount: 1)
            return .success((client, closed))
        }
        let (client, closed) = try result.get()
        closed?.close()
        return client
    }

    private func giveBack(_ name: String, _ client: AsyncClient, isOver: Bool = false) {
        let closed: AsyncClient? = pool.withLock { pool in
            guard var entry = pool.entries[name], entry.client === client else { return nil }
            entry.requestCount -= 1
            entry.lastUsed = .now()
            pool.entries[name] = isOver ? nil : entry
            return isOver ? client : nil
        }
        closed?.close()
    }

    /// Closes a token's idle connection in the pool, to make room for another one.
    ///
    /// - Returns: Whether there was one.
    func releaseIdle(_ token: String?) -> Bool {
        let closed: AsyncClient? = pool.withLock { pool in
            guard pool.entries[token ?? ""]?.requestCount == 0 else { return nil }
            return pool.entries.removeValue(forKey: token ?? "")?.client
        }
        closed?.close()
        return closed != nil
    }

    /// Closes connections that were idle for long. Call it every few seconds.
    func sweep() {
        let closed: [AsyncClient] = pool.withLock { pool in
            let limit = NIODeadline.now() - Self.idleSpan
            let idle = pool.entries.filter { $0.value.requestCount == 0 && $0.value.lastUsed < limit }
            for name in idle.keys { pool.entries[name] = nil }
            return idle.values.map(\.client)
        }
        for client in closed { client.close() }
    }

    func close() {
        let closed: [AsyncClient] = pool.withLock { pool in
            pool.isClosed = true
            defer { pool.entries = [:] }
            return pool.entries.values.map(\.client)
        }
        for client in closed { client.close() }
        own.withLock { own in
            own.client?.close()
            own.client = nil
            own.isClosed = true
        }
    }
}
