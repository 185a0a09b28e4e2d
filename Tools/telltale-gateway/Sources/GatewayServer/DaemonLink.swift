internal import Gateway
internal import ListenerLimits
internal import Metrics
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The gateway's connections to its daemon: one a token, pipelined, and one for each request that looks with other eyes.
///
/// Each says `HELLO` with its caller's own token, so that the daemon alone decides what the caller may do.
final class DaemonLink: Sendable {
    /// How long a request waits for a daemon that does not answer.
    static let patience = TimeAmount.seconds(10)
    /// How long a connection is kept that nothing is asked on.
    static let idleSpan = TimeAmount.seconds(60)
    static let connectionLimit = 256

    private struct Entry {
        var client: AsyncClient
        var lastUsed = NIODeadline.now()
        var requestCount = 0
    }

    private struct Own {
        var client: AsyncClient?
        var standing: Standing?
        var hasServed = false
        var isClosed = false
    }

    private struct Pool {
        var entries: [String: Entry] = [:]
        var isClosed = false
    }

    let connector: DaemonConnector
    let group: any EventLoopGroup
    /// The gateway's own token: for hooks, readiness and figures, never for a caller's request.
    let ownToken: String?
    private let pool = Mutex(Pool())
    private let greeting = Mutex<(authentication: String, version: String, node: String?, term: Int64?)?>(nil)
    private let principals = Mutex<[String: Standing]>([:])
    private let own = Mutex(Own())

    init(_ connector: DaemonConnector, group: any EventLoopGroup, ownToken: String?) {
        self.connector = connector
        self.group = group
        self.ownToken = ownToken
    }

    static let reconnects = Counter(label: "telltale_gateway_daemon_reconnects_total")

    func start() {
        // Counters that begin at their first increment hide that increment from Prometheus.
        for counter in [Self.reconnects, ConnectionTable.refusals] { counter.increment(by: 0) }
        for counter in StreamFigures.counters { counter.increment(by: 0) }
        renewOwn(nil)
    }

    /// A client that the daemon refused stays refused; the next one may find that the daemon has learned its token.
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
                    own.standing = hello.flatMap { Standing($0) }
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

    /// Whether the daemon wants no tokens; so until it is known to want them, for the `Host` is checked then.
    var isOpen: Bool { greeting.withLock { $0?.authentication ?? "none" } == "none" }

    /// Whether the daemon lets everybody in. One that has never greeted is asked: until then nothing is open that the gateway
    /// does by itself.
    ///
    /// - Parameter token: The caller's; `nil` for none.
    /// - Throws: The daemon's refusal, or that there is no answer.
    func letsEverybodyIn(asking token: String?) async throws(Problem) -> Bool {
        if !isKnown { _ = try await ask(.ping, token: token) }
        return isOpen
    }

    /// Whether a daemon has ever greeted.
    var isKnown: Bool { greeting.withLock { $0 != nil } }

    /// The daemon's release; `nil` before it has greeted.
    var version: String? { greeting.withLock { $0?.version } }

    /// The daemon of a cluster that leads; `nil` without a cluster.
    var leader: (node: String, term: Int64, address: String)? {
        greeting.withLock { greeting in
            guard let greeting, let node = greeting.node else { return nil }
            return (node, greeting.term ?? 0, connector.choice.address?.description ?? "")
        }
    }

    func heard(_ greeting: ServerGreeting) {
        self.greeting.withLock { $0 = (greeting.authentication, greeting.server, greeting.node, greeting.term) }
    }

    /// The principal that the daemon named for a token, for the log; `nil` before it did, and without tokens.
    func principal(of token: String?) -> String? { standing(of: token)?.principal }

    private func standing(of token: String?) -> Standing? {
        token.flatMap { token in principals.withLock { $0[token] } }
    }

    /// Requests a minute that the daemon takes with a token, or `*`; `nil` where it is not known without one.
    ///
    /// - Throws: The daemon's refusal of the token.
    func allowance(of token: String?) async throws(Problem) -> String? {
        if isOpen { return "*" }
        guard token != nil else { return nil }
        // Its connection has said HELLO then.
        _ = try await ask(.ping, token: token)
        return standing(of: token)?.allowance
    }

    /// The same of the gateway's own token, which hooks are posted by.
    var ownAllowance: String? { isOpen ? "*" : own.withLock { $0.standing }?.allowance }

    /// Keeps the standing of a token.
    func learned(_ standing: Standing?, token: String?) {
        guard let standing, let token else { return }
        let pooled = pool.withLock { Set($0.entries.keys) }
        principals.withLock { known in
            if known.count >= 4 * Self.connectionLimit { known = known.filter { pooled.contains($0.key) } }
            known[token] = standing
        }
    }

    static func configuration(_ token: String?, _ situation: Situation) -> ClientConfiguration {
        // Every request brings an id of its own, so that the prefix is never used.
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

    /// Asks by the gateway's own token.
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

    /// Whether a refusal is of the client as a whole, and for good.
    private static func isOver(_ problem: Problem) -> Bool { problem.retry == "auth" || problem.status == 502 }

    /// Asks for a caller.
    ///
    /// - Parameter token: The caller's; `nil` for none.
    /// - Throws: The daemon's refusal, or that there is no answer.
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
            // A refused client is over, and the next request of that token begins anew.
            giveBack(name, client, isOver: Self.isOver(error))
            throw error
        }
    }

    /// Asks several things for a caller, in order; each has its own answer or refusal.
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

    /// A client of a connection of its own, which the caller closes.
    func makeClient(_ token: String?, _ situation: Situation) -> AsyncClient {
        let client = AsyncClient(
            to: connector, configuration: Self.configuration(token, situation), failsFast: !isKnown,
            on: group.next(),
            onGreeting: { [weak self] greeting, hello in
                self?.heard(greeting)
                self?.learned(hello.flatMap { Standing($0) }, token: token)
            })
        client.start()
        return client
    }

    /// Asks on a connection of the caller's own.
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

    /// Closes the connection of a token that waits in the pool, to make room for another one.
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

    /// Closes what nothing was asked on for long; to be called every few seconds.
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
