import ApplePush
import TelltaleModel
import TelltaleWire

/// `telltale-push` in a simulated world: it follows rows over a connection, keeps on a disk what a turn decides, and sends to a
/// ``SimulatedPushService``. It is killed between any two of its steps.
final class SimulatedPushProgram: ConnectedClient {
    var seat: Seat
    let bug: PushBug?
    var service = SimulatedPushService()

    // The process.
    var ledger = SimulatedPushProgram.emptyLedger
    private var feed = PushSubscriptions()
    private var generation = 0
    private var isDead = false
    private var isTurnDue = false
    /// The starts whose end is not on disk, and whether this process has heard it: the next one cannot know of them.
    private var openStarts: [PushState.LaneID: (start: SimulatedPushService.Start, isHeard: Bool)] = [:]

    // The disk.
    private var lanes: [PushState.LaneID: [UInt8]] = [:]
    private var registrations: [String: (registration: PushRegistration, at: Timestamp)] = [:]
    private var epoch: String?

    // The apps on the devices.
    private var tokenCount = 0
    /// The registrations that apps still have to hand in.
    var unregistered: [PushRegistration] = []
    private(set) var kills = 0

    static let kinds = ["order", "ride"]
    static let accounts = ["", "alice", "bob"]

    private static var emptyLedger: PushState {
        let forms = kinds.map {
            ($0, OutgoingPush.Form(bundle: "com.example.shop", attributesType: $0, stateName: "status"))
        }
        let cryptography = PushCryptography(
            sha256: { bytes in
                let hash = StableHash.of(bytes.span)
                return (0..<32).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * ($0 % 8))) }
            }, tag: { _ in [] }, verify: { _, _, _ in false })
        return PushState(forms: Dictionary(uniqueKeysWithValues: forms), flightLimit: 20, cryptography)
    }

    init(_ seat: Seat, bug: PushBug?) {
        self.seat = seat
        self.bug = bug
        for account in Self.accounts {
            for kind in Self.kinds {
                unregistered.append(
                    PushRegistration(
                        id: Self.startID(account, kind), .start(kind: kind), account: account, token: makeToken()))
            }
            // A card that a person began within the app, or will begin.
            if let key = Key("order/shared-1") { addCard(of: key, account: account) }
        }
        unregistered.append(
            PushRegistration(id: "widgets", .reload(.widgets, kind: "order"), token: makeToken()))
    }

    private var now: Timestamp { Timestamp(milliseconds: world.daemonTime) }

    private func makeToken() -> String {
        tokenCount += 1
        return "a0" + (tokenCount < 16 ? "0" : "") + String(tokenCount, radix: 16) + (tokenCount < 256 ? "" : "0")
    }

    static func startID(_ account: String, _ kind: String) -> String { "start-\(account)-\(kind)" }

    private static func card(_ key: Key, _ account: String) -> String { "card-\(account)-\(key.kind)-\(key.id)" }

    /// The app hands in the token of a card.
    private func addCard(of key: Key, account: String) {
        let token = makeToken()
        service.addCard(token, account: account, key: key)
        unregistered.append(
            PushRegistration(
                id: Self.card(key, account), .update(key), account: account, token: token,
                isFrequent: random.chance(300)))
    }

    // MARK: A client

    var isWaiting: Bool { isDead || link != nil && !feed.isWhole || !unregistered.isEmpty }
    var untilNextMove: Int64 { random.pick(200...4_000) }

    func move() {
        guard !isDead else { return }
        guard link != nil else { return connect() }
        registerAll()
        guard !world.isCalm else { return }
        if random.chance(world.climate.resets) { return vanish() }
        if random.chance(15) { return kill() }
        if random.chance(30) { rotate() }
    }

    private enum Later: Int {
        case turn, wake, restart, deliver
    }

    private func later(_ what: Later, after delay: Int64) {
        world.scheduleLater(what.rawValue, for: self, after: delay)
    }

    func doLater(_ what: Int) {
        switch Later(rawValue: what) {
        case .turn:
            isTurnDue = false
            turn()
        case .wake: turn()
        case .restart: if isDead { restart() }
        case .deliver: hear(service.due(at: world.now))
        case nil: break
        }
    }

    func calmDown() {
        if isDead { restart() } else if link == nil { connect() }
    }

    // MARK: Kills

    private func isKilled(_ permille: Int) -> Bool { !world.isCalm && random.chance(permille) }

    private func kill() {
        kills += 1
        for open in openStarts.values { service.doubt(open.start) }
        openStarts = [:]
        vanish()
        isDead = true
        generation += 1
        later(.restart, after: random.pick(10...3_000))
    }

    private func restart() {
        isDead = false
        feed = PushSubscriptions()
        ledger = Self.emptyLedger
        for (_, kept) in registrations.sorted(by: { $0.key < $1.key }) {
            ledger.restore(kept.registration, registeredAt: kept.at)
        }
        for (id, bytes) in lanes.sorted(by: {
            ($0.key.registration, $0.key.key?.text ?? "") < ($1.key.registration, $1.key.key?.text ?? "")
        }) {
            do throws(BinaryError) { try ledger.restore(id, bytes) } catch { world.violated("pushes", "\(error)") }
        }
        if bug == .livesTooEarly { for watch in ledger.watches { ledger.takeLive(watch) } }
        turn()
        if !isDead { connect() }
    }

    // MARK: Registrations

    /// An app that has no answer asks again.
    private func registerAll() {
        let due = unregistered
        unregistered = []
        for registration in due {
            guard !isDead else {
                unregistered.append(registration)
                continue
            }
            _ = ledger.register(registration, at: now)
            turn()
            let isAnswered =
                bug == .registrationsForgotten
                ? !isDead : registrations[registration.id]?.registration == registration
            // A card that has ended by now has no registration to be asked for.
            if !isAnswered, isDead || ledger.registrations[registration.id] != nil { unregistered.append(registration) }
        }
        if !isDead { follow() }
    }

    private func rotate() {
        let cards = ledger.registrations.values.filter { $0.key != nil && service.cards[$0.token] != nil }
        guard !cards.isEmpty else { return }
        var registration = random.pick(of: cards.sorted { $0.id < $1.id })
        let fresh = makeToken()
        service.rotate(registration.token, to: fresh)
        registration.token = fresh
        unregistered.removeAll { $0.id == registration.id }
        unregistered.append(registration)
    }

    // MARK: Turns

    private func turnSoon() {
        guard !isTurnDue else { return }
        isTurnDue = true
        later(.turn, after: 10)
    }

    private func turn() {
        guard !isDead else { return }
        let turn = ledger.takeTurn(at: now)
        for sending in turn.sendings where sending.attempt.role == .start {
            guard let key = sending.lane.key else { continue }
            let start = SimulatedPushService.Start(
                registration: sending.lane.registration, key: key, startedAt: startedAt(of: sending.lane))
            openStarts[sending.lane] = (start, false)
        }
        if bug == .sendsFirst { for sending in turn.sendings { send(sending) } }
        let risk = turn.sendings.isEmpty ? 5 : 40
        if isKilled(risk) { return kill() }
        write(turn)
        if isKilled(risk) { return kill() }
        for (index, sending) in turn.sendings.enumerated() where bug != .sendsFirst {
            if index > 0, isKilled(20) { return kill() }
            send(sending)
        }
        guard let next = ledger.nextWake else { return }
        later(.wake, after: min(60_000, max(1, (next - now).count)))
    }

    private func write(_ turn: PushState.Turn) {
        if bug != .registrationsForgotten {
            for (id, registration, at) in turn.registrations { registrations[id] = registration.map { ($0, at) } }
        }
        if bug != .lanesForgotten { for (id, bytes) in turn.lanes { lanes[id] = bytes } }
        for (id, _) in turn.lanes where openStarts[id]?.isHeard == true { openStarts[id] = nil }
    }

    private func send(_ sending: PushState.Sending) {
        service.deliverPush(
            sending, at: world.now, generation: generation, startedAt: startedAt(of: sending.lane),
            isCalm: world.isCalm, random: &random)
        if let next = service.nextTime { later(.deliver, after: max(0, next - world.now)) }
    }

    /// When the activity of a way began.
    private func startedAt(of lane: PushState.LaneID) -> Int64 {
        lane.key.flatMap { feed.startedAt($0, ledger.registrations[lane.registration]?.watch) } ?? 0
    }

    private func hear(_ deliveries: [SimulatedPushService.Delivery]) {
        if let fault = service.fault { world.violated(fault.promise, fault.what) }
        for delivery in deliveries {
            if delivery.arrives, delivery.sending.attempt.role == .start { begun(delivery.sending.lane) }
            // A process does not hear the answers to the one before.
            guard delivery.generation == generation, !isDead else { continue }
            var answer = delivery.answer
            if answer == .unknown {
                if bug == .silenceBelieved { answer = .accepted }
                if bug == .silenceRepeated, random.chance(500) {
                    send(delivery.sending)
                    continue
                }
            }
            if bug == .unsentDoubted, answer == .unsent { answer = .unknown }
            if bug == .answerForgotten, random.chance(50) { continue }
            openStarts[delivery.sending.lane]?.isHeard = true
            ledger.receive(answer, to: delivery.sending.lane, delivery.sending.attempt.number, at: now)
            turnSoon()
        }
        if let next = service.nextTime { later(.deliver, after: max(0, next - world.now)) }
    }

    /// The device has a card, and its app hands in the token.
    private func begun(_ lane: PushState.LaneID) {
        guard let key = lane.key else { return }
        for account in Self.accounts where lane.registration.hasPrefix("start-\(account)-") {
            let id = Self.card(key, account)
            guard ledger.registrations[id] == nil, !unregistered.contains(where: { $0.id == id }) else { return }
            return addCard(of: key, account: account)
        }
    }

    // MARK: Rows

    func connect() {
        guard !isDead else { return }
        let link = open()
        // A daemon that refuses the token for a while ends the subscriptions, and other ones begin.
        if random.chance(300) {
            feed = PushSubscriptions()
            if bug != .rowsKept { ledger.forgetRows() }
        }
        feed.begin()
        world.send("HELLO client=telltale-push\n", on: link)
        follow()
    }

    private func follow() {
        guard let link else { return }
        for line in feed.follow(ledger.watches) { world.send(line + "\n", on: link) }
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let (lines, fault) = seat.connection.read(bytes, on: link) else { return }
        if let fault { world.violated("protocol", "telltale-push is sent what is no line: \(fault)") }
        for line in lines {
            if line.verb == "TELLTALE" { greeted(line["epoch"] ?? "") }
            if line.verb == "ERR" { return vanish() }
            for event in feed.readLine(line) { handleEvent(event) }
        }
        turnSoon()
    }

    private func greeted(_ fresh: String) {
        if let epoch, epoch != fresh { ledger.newHistory(at: now) }
        epoch = fresh
    }

    private func handleEvent(_ event: PushSubscriptions.Event) {
        switch event {
        case .row(let row, let key, let rev, var watch):
            if bug == .accountMixed, watch.account == "alice" { watch.account = "bob" }
            ledger.receive(row: row, of: key, rev: rev, in: watch)
        case .alert(let alert, let key, let rev, let watch): ledger.receive(alert: alert, of: key, rev: rev, in: watch)
        case .deletion(let key, let rev, let watch):
            if bug != .deletionUnheard { ledger.takeDeletion(of: key, rev: rev, in: watch, at: now) }
        case .live(let watch): ledger.takeLive(watch)
        }
    }

    // MARK: The end

    /// Goes on until nothing is under way and nothing is waited for, at whatever time that is.
    ///
    /// - Returns: Whether it came to rest.
    func settle() -> Bool {
        var time = now
        for _ in 0..<4_000 where service.fault == nil {
            let due = service.due(at: .max)
            for delivery in due where delivery.generation == generation {
                ledger.receive(delivery.answer, to: delivery.sending.lane, delivery.sending.attempt.number, at: time)
            }
            let turn = ledger.takeTurn(at: time)
            write(turn)
            for sending in turn.sendings { send(sending) }
            guard service.underWay.isEmpty else { continue }
            guard let next = ledger.nextWake else { return true }
            time = max(time + Milliseconds(1), next)
        }
        return false
    }
}
