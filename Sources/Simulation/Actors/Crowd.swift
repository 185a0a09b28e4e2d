/// The clients of a scenario at a daemon in another process: everything but the sockets and the clock.
///
/// The owner carries out its ``ConnectionCommand``s, hands it what its connections receive, and calls ``advance(to:)`` at
/// ``nextMoment``. The crowd makes the faults of clients and wires. It cannot make those of a daemon.
public final class Crowd: StagedWorld {
    let scenario: Scenario
    let climate: FaultProfile
    private(set) var setting: Setting
    let ledger = ObservationLog()
    private(set) var isCalm = false
    private var clock: CrowdClock
    private(set) var inputCount = 0
    private(set) var clients: [any SimulatedClient] = []
    private(set) var stage: ScriptRunner?
    private(set) var player: TracePlayer?
    private var queue = TimedQueue<() -> Void>()
    private var links = CrowdLinks()
    private var askers: [Int: Asker] = [:]
    private var random: SimulationRandom
    private var wires: SimulationRandom
    private var arrivalCount = 0
    private var stormCount = 0
    public var trace: TraceSink?
    private var isPastArrivals: Bool
    private var finale: LiveConvergenceCheck?

    private var daemonClock: DaemonClock?

    /// The reason why the crowd cannot go on.
    public private(set) var failure: String?
    /// Whether the scenario has ended and all checks have run.
    public private(set) var isOver = false
    private var calmSince: Int64?
    /// A check of the screens when all inputs were posted, where no script is played.
    private(set) var moments: [StoryScene] = []
    /// Of all clients, at a daemon with principals: with every right, any account and any source.
    public var token: String?

    /// - Parameters:
    ///   - tag: A suffix of every id, letters and digits, so that runs at the same daemon do not share keys.
    ///   - speed: How many times as fast as real time the scenario's own time runs.
    public init(_ scenario: Scenario, tag: String, speed: Double) {
        self.scenario = scenario
        clock = CrowdClock(speed: speed)
        climate = scenario.climate
        setting = scenario.setting.forRun(tag: tag)
        random = SimulationRandom(seed: scenario.climate.seed)
        wires = random.fork()
        isPastArrivals = scenario.setting.arrivals == nil
        ledger.latency = LatencyBook()
    }

    // MARK: The run

    /// Asks the daemon for its kinds. The clients connect once it has all kinds of the scenario.
    public func begin(at instant: Int64) {
        clock.observe(instant)
        clock.restart()
        ask(["HELLO id=hello client=\(setting.tagged("looks"))", "KINDS id=kinds"]) { lines in
            lines.contains { $0["id"] == "kinds" }
        } then: { [unowned self] lines in
            let known = Set(lines.filter { $0.verb == "KIND" }.compactMap { $0["name"] })
            let missing = setting.kindNames.filter { !known.contains($0) }
            guard missing.isEmpty else {
                failure =
                    "the daemon does not know the kind \(missing.joined(separator: ", ")); start it with --kinds and a folder that holds it"
                return
            }
            populate()
        }
    }

    private func populate() {
        var all = Population(of: self)
        all.addCrowd(providers: setting.cast.controlKinds.isEmpty ? 0 : climate.providers, &random)
        clients = all.clients
        (stage, player) = ScriptRunner.set(in: self, expectations: scenario.expectations, clients: &clients)
        clock.restart()
        for client in clients { queue.insert({ [self] in move(client) }, at: random.pick(0...500)) }
        stage?.begin()
        player?.begin()
        planArrival()
        queue.insert({ [self] in check() }, at: 100)
    }

    private func move(_ client: any SimulatedClient) {
        client.move()
        queue.insert({ [self] in move(client) }, at: now + client.untilNextMove)
    }

    private func planArrival() {
        guard let next = setting.arrivals?.next(after: now, index: arrivalCount, random: &random) else {
            isPastArrivals = true
            return
        }
        queue.insert({ [self] in arrived(next.count) }, at: next.time)
    }

    private func arrived(_ count: Int) {
        guard !isCalm else { return }
        arrivalCount += 1
        let systems = clients.prefix(climate.producers)
        (systems[random.below(max(1, systems.count))] as? OrderSystem)?.arrive(count)
        planArrival()
    }

    private var isBusy: Bool {
        if stage?.isDone == false || player?.isDone == false { return true }
        guard climate.producers + climate.fingers > 0, inputCount < climate.inputs else { return false }
        return setting.arrivals == nil || !isPastArrivals
    }

    /// The moment at which ``advance(to:)`` is due, in microseconds of the owner's clock; `nil` when nothing is due before
    /// something arrives.
    public var nextMoment: Int64? {
        guard !isPaused, let time = queue.nextTime else { return nil }
        return clock.instant(of: time)
    }

    /// Performs everything that is due until `instant`, in microseconds of the owner's clock.
    public func advance(to instant: Int64) {
        clock.observe(instant)
        guard !isPaused else { return }
        let time = clock.time
        while let (due, body) = queue.pop(by: time) {
            clock.reach(due)
            body()
        }
        clock.reach(time)
    }

    /// Runs regularly. When all inputs are posted, the clients calm down; when they wait for nothing more, the final checks
    /// begin.
    private func check() {
        guard finale == nil else { return }
        queue.insert({ [self] in check() }, at: now + max(10, Int64(20 * speed)))
        if !isCalm {
            guard !isBusy else { return }
            if stage == nil { moments.append(glimpse.scene("After \(inputCount) inputs")) }
            isCalm = true
            calmSince = instant
            for client in clients { client.calmDown() }
        } else if clients.allSatisfy({ !$0.isWaiting }), !isAnythingPending || instant - (calmSince ?? 0) > 90_000_000 {
            finale = LiveConvergenceCheck(self) { [unowned self] in isOver = true }
            finale?.begin()
        } else if instant - (calmSince ?? 0) > 120_000_000 {
            violated("P4", "it does not come to rest within two minutes")
            isOver = true
        }
    }

    private var isAnythingPending: Bool { clients.contains { ($0 as? Screen)?.feed.hasPendingControl == true } }

    /// Whether a key is of this run.
    func isOwn(_ key: String) -> Bool { key.hasSuffix("~\(setting.tag)") }

    // MARK: Time

    /// How many times as fast as real time the scenario's time runs.
    public var speed: Double { clock.speed }
    public var isPaused: Bool { clock.isPaused }
    var now: Int64 { clock.now }
    var instant: Int64 { clock.instant }

    public func pause(_ isPaused: Bool, at instant: Int64) {
        advance(to: instant)
        clock.pause(isPaused)
    }

    /// Performs the next event while the crowd is paused.
    public func step(at instant: Int64) {
        clock.observe(instant)
        clock.rebase()
        guard isPaused, let (due, body) = queue.pop(by: .max) else { return }
        clock.step(to: due)
        body()
    }

    public func setSpeed(_ speed: Double, at instant: Int64) {
        advance(to: instant)
        clock.setSpeed(speed)
    }

    // MARK: Environment

    var daemonTime: Int64 { daemonClock?.time(at: instant) ?? 0 }
    private var daemonSpeed: Double { daemonClock?.speed ?? 1 }
    var durableSequence: Int64 { .max }
    func countInput() {
        inputCount += 1
        // The storms are spread evenly over the inputs, so that clients come back to new rows.
        guard stormCount < climate.storms, inputCount * (climate.storms + 1) >= climate.inputs * (stormCount + 1) else {
            return
        }
        stormCount += 1
        queue.insert({ [self] in if !isCalm { for client in clients { client.vanish() } } }, at: now)
    }
    /// At least two seconds of real time, because the daemon's time is real.
    func patience(_ span: Int64) -> Int64 { max(span, Int64(2_000 * speed)) }
    func wasHungUp(_ link: SimulatedLink) -> Bool { link.hasEnded }

    func violated(_ promise: String, _ what: String) {
        if ledger.violations.count < 100 {
            ledger.violations.append(Violation(promise: promise, what: what, time: now))
        }
    }

    func afterRealTime(milliseconds: Int64, _ body: @escaping () -> Void) {
        queue.insert(body, at: now + Int64(Double(milliseconds) * speed))
    }

    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64) {
        queue.insert({ client.doLater(what) }, at: now + max(0, delay))
    }

    // MARK: Connections

    /// The commands since the last call.
    public func takeCommands() -> [ConnectionCommand] { links.takeCommands() }

    func connect(_ client: any SimulatedClient) -> SimulatedLink { links.open(for: client.index) }

    func send(_ text: String, on link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        trace?(now, link.client, "> " + text)
        let text = Self.introducing(text, token: token, name: &link.name)
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            let isSliced = !isCalm && climate.slices > 0 && wires.chance(climate.slices)
            let count = isSliced ? 1 + wires.below(bytes.count) : bytes.count
            let piece = Array(bytes.prefix(count))
            bytes.removeFirst(count)
            later(on: link) { [self] in links.write(piece, on: link) }
        }
    }

    func halfClose(_ link: SimulatedLink) { later(on: link) { [self] in links.shutWrite(link) } }

    /// Does it after the wire's delay, behind all that was on its way on the same link.
    private func later(on link: SimulatedLink, _ body: @escaping () -> Void) {
        let delay = !isCalm && climate.slowestWire > 1 ? wires.pick(0...Int64(climate.slowestWire)) : 0
        let arrival = link.arrivalAtServer(now + delay)
        if arrival <= now { body() } else { queue.insert(body, at: arrival) }
    }

    func reset(_ link: SimulatedLink) { links.close(link) }

    public func received(_ bytes: [UInt8], on number: Int, at instant: Int64) {
        arrive(at: instant)
        guard let link = links[number] else { return }
        link.received.append(bytes)
        read(link)
        if !link.received.isEmpty { links.pauseReading(link) }
    }

    func read(_ link: SimulatedLink) {
        guard link.isOpenAtClient, !link.received.isEmpty, !link.isReadScheduled else { return }
        let count = min(link.readingLimit ?? .max, link.received.count)
        let bytes = link.received.dequeue(count)
        deliver(bytes, on: link)
        if link.received.isEmpty {
            links.resumeReading(link)
        } else if link.readingLimit != nil {
            link.isReadScheduled = true
            queue.insert(
                { [self] in
                    link.isReadScheduled = false
                    read(link)
                }, at: now + link.pause)
        }
    }

    private func deliver(_ bytes: [UInt8], on link: SimulatedLink) {
        trace?(now, link.client, "< " + String(decoding: bytes, as: UTF8.self))
        if let asker = askers[link.client] {
            asker.received(bytes, on: link)
        } else {
            clients[link.client].received(bytes, on: link)
        }
    }

    /// - Parameter hasEnded: Whether the daemon shut its side; otherwise the connection failed.
    public func lost(_ number: Int, hasEnded: Bool, at instant: Int64) {
        arrive(at: instant)
        guard let link = links.forget(number) else { return }
        // The bytes that came before the end are read before it.
        link.readingLimit = nil
        link.isReadScheduled = false
        read(link)
        link.isOpenAtClient = false
        link.hasEnded = hasEnded
        if let asker = askers[link.client] { asker.lost(link) } else { clients[link.client].lost(link) }
    }

    private func arrive(at instant: Int64) {
        clock.observe(instant)
        if !isPaused { clock.reach(clock.time) }
    }

    // MARK: Questions

    /// Sends `lines` on a connection of their own, and calls `then` with the lines received once `isDone` accepts them.
    func ask(
        _ lines: [String], until isDone: @escaping ([ClientLine]) -> Bool, then: @escaping ([ClientLine]) -> Void
    ) {
        let index = -1 - askers.count
        let hello = token == nil || lines.first?.hasPrefix("HELLO") == true ? "" : "HELLO\n"
        let asker = Asker(skipsGreeting: !hello.isEmpty, until: isDone) { [unowned self] lines in
            if daemonClock == nil, let greeting = lines.first {
                daemonClock = DaemonClock(greeting: greeting, at: instant)
            }
            then(lines)
        }
        askers[index] = asker
        asker.begin = { [unowned self, unowned asker] in
            let link = links.open(for: index)
            asker.link = link
            let text = hello + lines.map { $0 + "\n" }.joined()
            links.write(Array(Self.introducing(text, token: token, name: &link.name).utf8), on: link)
        }
        asker.end = { [unowned self] link in reset(link) }
        asker.begin()
    }

    // MARK: Reports

    /// The state of the run at this moment, for a display.
    public var glimpse: Glimpse { glimpse(at: now) }

    public var outcome: ScenarioOutcome {
        var outcome = commonOutcome
        outcome.states = finale?.states ?? [:]
        return outcome
    }

    /// The parts of the scenario that a run against a daemon in another process cannot perform as written.
    public var notes: [String] {
        var notes: [String] = []
        var left: [String] = []
        if climate.crashes > 0 { left.append("crashes") }
        if climate.fullDisks > 0 { left.append("fullDisks") }
        if climate.startsFull { left.append("startsFull") }
        if climate.clockJumps > 0 { left.append("clockJumps") }
        if climate.widgets > 0 { left.append("widgets") }
        if !left.isEmpty {
            notes.append("\(left.joined(separator: ", ")): only a world in process can do that; left out here")
        }
        if setting.clockSpeed != 1, Double(setting.clockSpeed) != daemonSpeed {
            notes.append(
                "the scenario's clock runs at \(setting.clockSpeed), the daemon's at \(daemonSpeed): start it with --clock-speed \(setting.clockSpeed)"
            )
        }
        if climate.slowestWire > 1 {
            notes.append(
                "event to view holds the scenario's own delay of up to \(climate.slowestWire) ms between a sender and the daemon"
            )
        }
        return notes
    }

    // MARK: A daemon with principals: one token speaks for the whole crowd

    /// The lines of a client, with the token in its `HELLO`, and its own name as the `src=` of its events: without that
    /// the source of all events would be the one principal.
    ///
    /// - Parameter name: The client's name, which its `HELLO` says; kept for the next lines.
    private static func introducing(_ text: String, token: String?, name: inout String?) -> String {
        guard let token else { return text }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            if line.hasPrefix("HELLO") {
                name = line.split(separator: " ").first { $0.hasPrefix("client=") }.map { String($0.dropFirst(7)) }
                return line + " token=\(token)"
            }
            let words = line.split(separator: " ", maxSplits: 2)
            guard let name, words.count == 3, words[0] == "EVT", !line.contains(" src=") else { return String(line) }
            return "EVT \(words[1]) src=\(name) \(words[2])"
        }
        return lines.joined(separator: "\n")
    }
}
