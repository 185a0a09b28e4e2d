internal import ApplePush
internal import Gateway
internal import Logging
internal import TelltaleModel

/// Performs what a ``PushState`` decides: it writes a turn to disk, then sends, and brings the answers back.
actor PushDispatcher {
    private var ledger: PushState
    private let store: PushStore
    private let connection: AppleConnection?
    private let web: WebPushSender?
    private let cryptography: PushCryptography
    private let log: Logger
    nonisolated let history = SentHistory()
    /// Rows of earlier connections are ignored.
    private(set) var generation = 0
    private var isTurnDue = false
    private var wake: (at: Timestamp, task: Task<Void, Never>)?
    private var onWatches: (@Sendable ([PushState.Watch]) -> Void)?
    private var isStopping = false

    /// Rows and alerts of one commit arrive within this time, and become one push.
    private static let pause = Duration.milliseconds(10)

    init(
        _ ledger: PushState, _ store: sending PushStore, _ connection: AppleConnection?, _ web: WebPushSender?,
        _ cryptography: PushCryptography, _ log: Logger
    ) {
        self.ledger = ledger
        self.store = store
        self.connection = connection
        self.web = web
        self.cryptography = cryptography
        self.log = log
    }

    // MARK: Rows

    /// Starts with a daemon's history.
    ///
    /// - Returns: The generation of the rows that follow.
    func begin(epoch: String) throws -> Int {
        generation += 1
        ledger.forgetRows()
        if let known = try store.epoch(), known != epoch {
            log.warning("the daemon has another history; every activity is told anew")
            ledger.newHistory(at: SystemClock.now)
        }
        // After the change of every lane, so that a process killed in between starts with it again.
        turn()
        try store.write(epoch: epoch)
        return generation
    }

    func follow(_ onWatches: @escaping @Sendable ([PushState.Watch]) -> Void) {
        self.onWatches = onWatches
        onWatches(ledger.watches)
    }

    func row(_ row: JSONObject, of key: Key, rev: Int64, in watch: PushState.Watch, _ generation: Int) {
        guard generation == self.generation else { return }
        ledger.receive(row: row, of: key, rev: rev, in: watch)
        turnSoon()
    }

    func surface(_ row: JSONObject, of key: Key, rev: Int64, in watch: PushState.Watch, _ generation: Int) {
        guard generation == self.generation else { return }
        ledger.receive(surface: row, of: key, rev: rev, in: watch)
        turnSoon()
    }

    /// The public key that browsers subscribe with; `nil` = there is no Web Push.
    nonisolated var webKey: String? { web?.cipher.publicKey }

    func alert(
        _ alert: OutgoingPush.Alert, of key: Key, rev: Int64, in watch: PushState.Watch, _ generation: Int
    ) {
        guard generation == self.generation else { return }
        ledger.receive(alert: alert, of: key, rev: rev, in: watch)
        turnSoon()
    }

    func deletion(of key: Key, rev: Int64, in watch: PushState.Watch, _ generation: Int) {
        guard generation == self.generation else { return }
        ledger.takeDeletion(of: key, rev: rev, in: watch, at: SystemClock.now)
        turnSoon()
    }

    func live(_ watch: PushState.Watch, _ generation: Int) {
        guard generation == self.generation else { return }
        ledger.takeLive(watch)
        turnSoon()
    }

    // MARK: Registrations

    /// - Returns: When it is on disk.
    func register(_ registration: PushRegistration) throws(Problem) -> PushState.RegistrationOutcome {
        if let subscription = registration.web {
            guard let web else { throw Problem("not_found", "the configuration has no \"web-push\"") }
            guard subscription.isOf(hosts: web.hosts) else {
                throw Problem("forbidden", "\(subscription.host) is none of the hosts of \"web-push\"")
            }
        } else if !ledger.isForm(ofKind: registration.kind) {
            throw Problem("unknown_kind", "no app of the configuration has the kind \(registration.kind)")
        }
        let outcome = ledger.register(registration, at: SystemClock.now)
        guard outcome != .full else {
            throw Problem("limit_keys", "there are \(PushState.registrationLimit) registrations; remove some")
        }
        turn()
        onWatches?(ledger.watches)
        return outcome
    }

    func unregister(_ id: String) -> Bool {
        let found = ledger.unregister(id)
        turn()
        if found { onWatches?(ledger.watches) }
        return found
    }

    func bundle(ofKind kind: String) -> String? { ledger.bundle(ofKind: kind) }

    func registration(_ id: String) -> PushRegistration? { ledger.registrations[id] }

    var registrations: [PushRegistration] {
        ledger.registrations.values.sorted { $0.id < $1.id }
    }

    // MARK: Turns

    private func turnSoon() {
        guard !isTurnDue else { return }
        isTurnDue = true
        Task {
            try? await Task.sleep(for: Self.pause)
            isTurnDue = false
            turn()
        }
    }

    private func turn() {
        guard !isStopping else { return }
        let turn = ledger.takeTurn(at: SystemClock.now)
        do {
            try store.write(turn)
        } catch {
            // Nothing is sent that is not on disk. The ledger is ahead of the disk, so the process exits and the next
            // one starts from the disk.
            log.critical("the registrations cannot be written", metadata: ["why": "\(error)"])
            PushService.exit(1)
        }
        for sending in turn.sendings { send(sending) }
        for refusal in turn.refusals {
            let kind = refusal.lane.key.map { String($0.kind) } ?? "-"
            log.error(
                "a push is too large; a smaller \"content\" of its app helps",
                metadata: ["key": "\(refusal.lane.key?.text ?? "-")", "kind": "\(kind)", "bytes": "\(refusal.count)"])
            var record = record(refusal.lane, refusal.attempt, size: refusal.count)
            record.reason = "too large"
            record.answer = .refused
            history.remember(record)
        }
        sleep()
    }

    private func sleep() {
        guard let next = ledger.nextWake else { return }
        if let wake, wake.at <= next, wake.at > SystemClock.now { return }
        wake?.task.cancel()
        let span = max(1, (next - SystemClock.now).count)
        // Setting the clock must not delay a push for ever.
        let task = Task {
            try? await Task.sleep(for: .milliseconds(min(span, 60_000)))
            guard !Task.isCancelled else { return }
            wake = nil
            turn()
        }
        wake = (next, task)
    }

    private func record(_ lane: PushState.LaneID, _ attempt: PushTarget.Attempt, size: Int) -> SentHistory.Record {
        var event = attempt.role == .start ? "start" : attempt.state.isEnd ? "end" : "update"
        if lane.key == nil { event = "content-changed" }
        return SentHistory.Record(
            at: SystemClock.now, registration: lane.registration, key: lane.key?.text,
            token: PushRegistration.name(ofToken: attempt.token, cryptography), event: event, rev: attempt.state.rev,
            priority: attempt.priority, alerts: attempt.alerts, isThrottled: attempt.isThrottled, size: size)
    }

    private func send(_ sending: PushState.Sending) {
        let record = record(sending.lane, sending.attempt, size: sending.push.body.count)
        let completion: @Sendable (AppleAnswer) -> Void = { [weak self] answer in
            Task { await self?.answered(sending.lane, sending.attempt.number, answer, record) }
        }
        if let subscription = sending.web {
            guard let web else { return completion(AppleAnswer(kind: .refused, reason: "no web-push")) }
            web.send(sending.push, to: subscription, completion)
        } else {
            guard let connection else { return completion(AppleAnswer(kind: .refused, reason: "no apns-url")) }
            connection.send(sending.push, completion)
        }
    }

    private func answered(
        _ lane: PushState.LaneID, _ number: Int64, _ answer: AppleAnswer, _ record: SentHistory.Record
    ) {
        var record = record
        record.status = answer.status
        record.reason = answer.reason
        record.answer = answer.kind
        record.span = SystemClock.now - record.at
        let wasRegistered = ledger.registrations[lane.registration] != nil
        ledger.receive(answer.kind, to: lane, number, at: SystemClock.now)
        record.isRetired = wasRegistered && ledger.registrations[lane.registration] == nil
        history.remember(record)
        log(record, answer)
        if record.isRetired {
            log.info(
                "token retired",
                metadata: ["registration": "\(lane.registration)", "token": "\(record.token)"])
            onWatches?(ledger.watches)
        }
        turnSoon()
    }

    private func log(_ record: SentHistory.Record, _ answer: AppleAnswer) {
        let metadata: Logger.Metadata = [
            "registration": "\(record.registration)", "key": "\(record.key ?? "-")", "token": "\(record.token)",
            "event": "\(record.event)", "rev": "\(record.rev)", "priority": "\(record.priority)",
            "status": "\(record.status)", "reason": "\(record.reason ?? "-")", "ms": "\(record.span?.count ?? 0)",
        ]
        switch answer.kind {
        case .accepted: log.debug("pushed", metadata: metadata)
        case .refused: log.error("push refused", metadata: metadata)
        default: log.info("push not taken", metadata: metadata)
        }
        if record.isThrottled, answer.kind == .accepted {
            log.notice("priority 10 beyond the budget of the device; it may hold the push back", metadata: metadata)
        }
    }

    /// Sends nothing more. The next process settles unanswered pushes.
    func stop() { isStopping = true }
}
