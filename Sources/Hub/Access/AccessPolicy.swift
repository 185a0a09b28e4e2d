internal import HeapModule
internal import TelltaleModel
internal import TelltaleWire

/// Decides who may do what: which principal each connection speaks for, what that principal may do, and how much.
///
/// Without principals (``isEnforced`` is `false`) every connection may do everything that this server does.
///
/// Invariants:
/// - A connection without a credential may say `HELLO`, `PING`, `HELP` and `BYE`, for 10 s, and has three attempts. The time that
///   the server takes for its tokens does not end it.
/// - A request is allowed as a whole or refused as a whole; it is never narrowed.
/// - A connection keeps its rights, gains rights, or ends. It never continues with fewer.
/// - The counts of one principal do not influence those of another.
/// - Signatures are checked elsewhere: a `HELLO` with a signed token is decided after the performer has checked it.
struct AccessPolicy: ~Copyable {
    private let addressOnly = AddressOnly()
    private var directory: PrincipalDirectory?
    private var connections: [SessionID: AccessState] = [:]
    /// For whom the clients of other nodes act. Their nodes have authenticated them, and end them.
    private var guests: [SessionID: Principal] = [:]
    private var usage = PrincipalUsage()
    /// Deadlines of connections that are ending or have no credential.
    private var deadlines = Heap<SessionDeadline<MonotonicTime>>()
    private var expiries = ExpiryWatch()
    /// The directory has changed since the connections were last reviewed.
    private var needsReview = false
    private var notices: [String] = []
    /// How many more notices may be logged before ``noticesEnd``.
    private var noticeRoom = 0
    private var noticesEnd = MonotonicTime.distantPast
    /// Signed tokens that the performer must check.
    private var checks: [TokenCheck] = []
    /// How many tokens were rejected.
    private(set) var failureCount = 0

    private struct AccessState {
        var credential: Credential?
        var check = Check.idle
        /// When the check of its last token was first asked for.
        var checkBegan = Timestamp.distantPast
        var failureCount = 0
        /// When the connection is examined next. Its other entries in the heap are stale.
        var deadline = MonotonicTime.distantFuture
        /// When its token expires, if expiry is watched. Its other entries are stale.
        var expiry: Timestamp?
        /// It was notified that it will be closed.
        var isEnding = false
    }

    /// The progress of the signature check for a connection's next `HELLO`.
    private enum Check {
        case idle, underWay
        case done(TokenVerdict)

        /// Whether a `HELLO` waits for the check, or is decided next.
        var isPending: Bool { if case .idle = self { false } else { true } }
    }

    /// The result of an accepted `HELLO`.
    struct Admission {
        var principal: String
        /// `nil` = it sees every account's activities.
        var account: String?
        var until: Timestamp?
        /// Requests a second of the principal; `nil` = no limit.
        var rate: Int?
    }

    /// Why a connection ends.
    enum Ending {
        /// It sent no valid `HELLO` in time.
        case unauthenticated
        case expired
        case revoked
        /// It did not read the farewell in time.
        case cut
    }

    /// How long a connection may be without a credential.
    private static let patience = Milliseconds.seconds(10)
    /// How long a closing connection has to read the farewell. With the 2 s between reads of the file, a revocation takes at most
    /// 3 s.
    private static let farewell = Milliseconds.seconds(1)
    private static let attemptLimit = 3
    /// Notices per second, so that a flood of bad tokens does not flood the log.
    private static let noticeLimit = 8
    private static let noticeSpan = Milliseconds.seconds(1)

    /// Whether connections need a token. Stored, because every request reads it and reading the directory would copy it.
    private(set) var isEnforced = false
    /// Whether a request may be refused before it is decided. Stored for the same reason.
    private(set) var mayRefuse = false
    /// The handover that an operator requested: ``Hub/takeHandover()``.
    var handover: Handover?
    /// The role of this server in its cluster: a standby refuses most requests.
    var status: ClusterStatus? {
        didSet { mayRefuse = isEnforced || status.map { $0.role != .leader } == true }
    }

    /// Replaces the directory of principals.
    mutating func loaded(_ directory: PrincipalDirectory) {
        let generation = self.directory.map { $0.generation + 1 } ?? 0
        self.directory = directory
        self.directory?.generation = generation
        isEnforced = true
        mayRefuse = true
        needsReview = true
    }

    // MARK: Connections

    mutating func opened(_ id: SessionID, at now: MonotonicTime) {
        guard isEnforced else { return }
        connections[id] = AccessState()
        watch(id, at: now + Self.patience)
    }

    mutating func introduce(_ guest: SessionID, as principal: Principal?) { guests[guest] = principal }

    mutating func closed(_ id: SessionID) {
        if !guests.isEmpty { guests[id] = nil }
        guard let access = connections.removeValue(forKey: id), let name = access.credential?.principal.name else {
            return
        }
        usage.closed(name)
    }

    /// Principals whose usage is kept.
    var principalCount: Int { usage.count }
    /// Expiries in the heap, stale ones included.
    var expiryCount: Int { expiries.count }

    /// The principal that a connection speaks for.
    func principal(of id: SessionID) -> Principal? { connections[id]?.credential?.principal ?? guests[id] }

    // MARK: HELLO

    /// Whether a `HELLO` is waiting for its token to be checked. The first call queues the check for ``takeChecks()``.
    mutating func awaitsCheck(_ hello: Hello, from id: SessionID, at now: HubTime) -> Bool {
        guard let token = hello.token, let access = connections[id], let directory,
            let issuers = directory.checkers(of: token)
        else { return false }
        switch access.check {
        case .underWay: return true
        case .done(let verdict) where verdict.token == token:
            guard directory.isOutdated(verdict) else { return false }
        case .idle, .done:
            // A connection over its rate limit is refused without a check.
            if let own = access.credential?.principal, rateRefusal(of: own, at: now.monotonic) != nil { return false }
            connections[id]?.checkBegan = now.wall
        }
        connections[id]?.check = .underWay
        checks.append(
            TokenCheck(
                session: id, token: token, issuers: issuers, generation: directory.generation, wall: now.wall))
        return true
    }

    /// Returns the checks queued since the last call.
    mutating func takeChecks() -> [TokenCheck] {
        guard !checks.isEmpty else { return [] }
        defer { checks = [] }
        return checks
    }

    /// Records the result of a check.
    ///
    /// - Returns: Whether its `HELLO` is still waiting and can be decided now.
    mutating func checked(_ verdict: TokenVerdict) -> Bool {
        guard case .underWay? = connections[verdict.session]?.check else { return false }
        connections[verdict.session]?.check = .done(verdict)
        return true
    }

    /// Takes the verdict on a `HELLO`'s token. A verdict serves one `HELLO`.
    private mutating func takeVerdict(on token: String?, of id: SessionID) -> TokenVerdict? {
        guard case .done(let verdict)? = connections[id]?.check else { return nil }
        connections[id]?.check = .idle
        return verdict.token == token ? verdict : nil
    }

    /// Decides on a `HELLO`.
    ///
    /// - Parameter account: The connection's account before this `HELLO`.
    /// - Throws: `auth_required`, `auth_failed`, `forbidden`, `limit_rate` or `limit_conns`; the connection keeps its former
    ///   rights.
    mutating func admit(
        _ hello: Hello, from id: SessionID, account: String?, at now: HubTime
    ) throws(WireError) -> Admission {
        guard let directory, let access = connections[id] else { throw .authenticationRequired }
        let verdict = takeVerdict(on: hello.token, of: id)
        // A checked `HELLO` was counted against the rate when its check began.
        if verdict == nil, let own = access.credential?.principal,
            let error = rateRefusal(of: own, at: now.monotonic)
        {
            throw error
        }
        let credential: Credential
        if let token = hello.token {
            do throws(PrincipalDirectory.Refusal) {
                credential =
                    if let verdict {
                        try directory.credential(of: verdict)
                    } else {
                        try directory.credential(of: token, at: now.wall)
                    }
            } catch {
                throw failed(error, of: id, at: now.monotonic)
            }
        } else {
            guard let own = access.credential else { throw .authenticationRequired }
            credential = own
        }
        let principal = credential.principal
        if let own = access.credential, own.principal.name != principal.name {
            throw WireError(
                .forbidden, "this connection speaks for \(own.principal.name); open another one for another principal")
        }
        // The new token has its own rights, but existing subscriptions were allowed under the old one.
        if let own = access.credential, !principal.includes(own.principal) {
            throw WireError(
                .forbidden,
                "this token has fewer rights than the one before, or another account; open another connection")
        }
        if let account = hello.account, !principal.may(use: account) {
            var error = WireError(.forbidden, "\(principal.name) has no account \(account)")
            // Its check may have outlasted the connection's time, which begins again. So it is one of three attempts too.
            if access.credential == nil { error.endsConnection = countFailure(of: id) }
            throw error
        }
        if access.credential == nil { try admitPrincipal(principal, at: now.monotonic) }
        connections[id]?.credential = credential
        connections[id]?.deadline = .distantFuture
        watchExpiry(of: id, at: now)
        return Admission(
            principal: principal.name, account: hello.account ?? account ?? principal.defaultAccount,
            until: credential.expires, rate: principal.rate)
    }

    private mutating func failed(
        _ refusal: PrincipalDirectory.Refusal, of id: SessionID, at now: MonotonicTime
    ) -> WireError {
        failureCount += 1
        if now >= noticesEnd { (noticeRoom, noticesEnd) = (Self.noticeLimit, now + Self.noticeSpan) }
        if noticeRoom > 0 {
            noticeRoom -= 1
            notices.append(Self.notice(of: refusal, from: id))
        }
        var error = WireError(.authenticationFailed, "this token is not accepted; ask for a new one")
        error.endsConnection = countFailure(of: id)
        return error
    }

    /// - Returns: Whether the connection has used up its attempts.
    private mutating func countFailure(of id: SessionID) -> Bool {
        connections[id]?.failureCount += 1
        return (connections[id]?.failureCount ?? 0) >= Self.attemptLimit
    }

    private static func notice(of refusal: PrincipalDirectory.Refusal, from id: SessionID) -> String {
        let what =
            switch refusal {
            case .malformed: "not a token"
            case .unknown(let id): "token \(id) is not known"
            case .wrongSecret(let id): "token \(id) has another secret"
            case .expired(let id): "token \(id) has expired"
            case .assertion(let refusal): "a signed token \(refusal.reason)"
            }
        return "authentication failed on connection c\(id.counter): \(what)"
    }

    private mutating func admitPrincipal(_ principal: Principal, at now: MonotonicTime) throws(WireError) {
        let count = usage.connectionCount(of: principal.name)
        if let limit = principal.connections, count >= limit {
            var error = WireError(
                .limitConnections, "\(principal.name) has \(count) connections already; close one, or try again later")
            error.endsConnection = true
            throw error
        }
        usage.opened(principal.name, at: now)
    }

    // MARK: Requests

    /// Decides on a request other than `HELLO`.
    ///
    /// - Returns: The error with which it is refused; `nil` = it is allowed.
    mutating func refusal(of need: AccessNeed, from id: SessionID, at now: MonotonicTime) -> WireError? {
        // Its node has counted the request.
        if !guests.isEmpty, let principal = guests[id] { return need.refusal(for: principal) }
        guard let principal = connections[id]?.credential?.principal else {
            return need == .nothing || need == .farewell ? nil : .authenticationRequired
        }
        guard need != .farewell else { return nil }
        return rateRefusal(of: principal, at: now) ?? need.refusal(for: principal)
    }

    private mutating func rateRefusal(of principal: Principal, at now: MonotonicTime) -> WireError? {
        guard let rate = principal.rate, let wait = usage.chargePrincipal(principal.name, rate: rate, at: now) else {
            return nil
        }
        var details = JSONObject()
        details["wait"] = .integer(wait.count)
        return WireError(.limitRate, "\(principal.name) may ask \(rate) times a second; wait", details: details)
    }

    // MARK: Ends

    /// When ``nextEnding(at:)`` should be called next; `nil` = no deadline is set.
    var nextDeadline: MonotonicTime? {
        guard !needsReview else { return .distantPast }
        guard let look = expiries.nextCheck else { return deadlines.min?.time }
        return deadlines.min.map { min($0.time, look) } ?? look
    }

    /// Checks every connection against the current directory.
    ///
    /// - Returns: The connections to close, in the order of their numbers.
    mutating func review(at now: HubTime) -> [SessionID] {
        guard needsReview, let directory else { return [] }
        needsReview = false
        var revoked: [SessionID] = []
        for (id, access) in connections {
            guard let credential = access.credential, !access.isEnding else { continue }
            if let renewed = directory.renewed(credential), renewed.principal.includes(credential.principal) {
                connections[id]?.credential = renewed
                watchExpiry(of: id, at: now)
            } else {
                revoked.append(id)
            }
        }
        return revoked.sorted { $0.number < $1.number }
    }

    /// The next connection whose deadline has passed. One whose token came in time and is being checked is left out: its `HELLO` is
    /// accepted, or the deadline is set again by ``refused(_:at:)``.
    mutating func nextEnding(at now: HubTime) -> (SessionID, Ending)? {
        while let next = deadlines.min, next.time <= now.monotonic {
            _ = deadlines.popMin()
            guard let access = connections[next.session], access.deadline == next.time else { continue }
            connections[next.session]?.deadline = .distantFuture
            if access.isEnding { return (next.session, .cut) }
            if access.credential == nil, !access.check.isPending { return (next.session, .unauthenticated) }
        }
        while let due = expiries.takeDue(at: now) {
            guard let access = connections[due.session], access.expiry == due.time, !access.isEnding else { continue }
            connections[due.session]?.expiry = nil
            // A token that comes after the expiry saves nothing, else one after another would.
            if access.check.isPending, access.checkBegan < due.time { continue }
            return (due.session, .expired)
        }
        return nil
    }

    /// Records that the `HELLO` of a connection was refused. If a deadline passed during its check, a connection without a
    /// credential has its time again, and one with an expired token ends.
    mutating func refused(_ id: SessionID, at now: HubTime) {
        guard let access = connections[id] else { return }
        if access.credential == nil, access.deadline == .distantFuture {
            watch(id, at: now.monotonic + Self.patience)
        }
        watchExpiry(of: id, at: now)
    }

    /// Marks a connection as closing, after its farewell has been sent.
    mutating func ending(_ id: SessionID, at now: MonotonicTime) {
        connections[id]?.isEnding = true
        watch(id, at: now + Self.farewell)
    }

    /// Returns the log lines noted since the last call.
    mutating func takeNotices() -> [String] {
        guard !notices.isEmpty else { return [] }
        defer { notices = [] }
        return notices
    }

    private mutating func watchExpiry(of id: SessionID, at now: HubTime) {
        guard let access = connections[id], access.credential?.ends != access.expiry else { return }
        connections[id]?.expiry = access.credential?.ends
        guard let ends = access.credential?.ends else { return }
        expiries.insert(ends, of: id, at: now)
        guard expiries.count > 2 * connections.count + Self.spareMomentCount else { return }
        var moments: [SessionDeadline<Timestamp>] = []
        for (id, access) in connections {
            if let expiry = access.expiry { moments.append(SessionDeadline(time: expiry, session: id)) }
        }
        expiries.replaceAll(with: moments)
    }

    /// How many stale moments the heap may hold, besides one for each connection.
    private static let spareMomentCount = 64

    private mutating func watch(_ id: SessionID, at time: MonotonicTime) {
        connections[id]?.deadline = time
        if time < .distantFuture { deadlines.insert(SessionDeadline(time: time, session: id)) }
    }
}

extension WireError {
    static var authenticationRequired: WireError {
        WireError(.authenticationRequired, "this server wants a token; say HELLO client=NAME token=TOKEN first")
    }
}
