import TelltaleModel
import TelltaleWire

/// A scenario's crowd at a daemon elsewhere: everything but the sockets and the clock.
///
/// Whoever owns it does its ``ConnectionCommand``es, tells it what its connections hear, and calls ``advance(to:)`` at
/// ``nextMoment``. The faults of clients and wires are made here, on the clients' side; those of a daemon are not.
public final class Crowd: Environment {
    /// What is to be done about a connection, which is named by a number.
    public enum ConnectionCommand: Sendable {
        case connect(Int)
        case write(Int, [UInt8])
        case shutWrite(Int)
        case close(Int)
        case pauseReading(Int)
        case resumeReading(Int)
    }

    private enum Event {
        case move(Int)
        case later(Int, Int)
        case write(Link, [UInt8])
        case shutWrite(Link)
        case read(Link)
        case storm
        case arrival(Int)
        case check
        case call(() -> Void)
    }

    let scenario: Scenario
    let climate: FaultProfile
    private(set) var setting: Setting
    let ledger = ObservationLog()
    private(set) var isCalm = false
    private(set) var now: Int64 = 0
    private(set) var instant: Int64 = 0
    private(set) var inputCount = 0
    private(set) var clients: [any SimulatedClient] = []
    private(set) var stage: ScriptRunner?
    private(set) var player: TracePlayer?
    private var queue = TimedQueue<Event>()
    private var wishes: [ConnectionCommand] = []
    private var links: [Int: Link] = [:]
    private var linkCount = 0
    private var random: SimulationRandom
    private var wires: SimulationRandom
    private var arrivalCount = 0
    private var stormCount = 0
    /// Is told every piece that a client reads and sends, with its time and the client's number.
    public var trace: ((_ time: Int64, _ client: Int, _ text: String) -> Void)?
    private var isPastArrivals: Bool
    private var finale: LiveConvergenceCheck?

    /// The daemon's greeting, of the first connection.
    private var greetedAt: Int64 = 0
    private var greetedTime: Int64 = 0
    private(set) var daemonSpeed = 1.0

    /// The scenario's time runs so many times as fast as real time.
    public private(set) var speed: Double
    public private(set) var isPaused = false
    private var baseInstant: Int64 = 0
    private var baseTime: Int64 = 0

    /// Why it cannot go on.
    public private(set) var failure: String?
    /// Everything is done and was looked at.
    public private(set) var isOver = false
    var calmSince: Int64?

    /// - Parameters:
    ///   - tag: Behind every id, so that this run meets no other one at the same daemon; letters and digits.
    ///   - speed: How many times as fast as real time the scenario's own time runs.
    public init(_ scenario: Scenario, tag: String, speed: Double) {
        self.scenario = scenario
        self.speed = speed
        climate = scenario.climate
        setting = scenario.setting
        setting.tag = tag
        let names = scenario.setting
        var named = names
        named.tag = tag
        setting.cast.toggles = names.cast.toggles.map { named.tagged($0) }
        setting.cast.buttons = names.cast.buttons.map { named.tagged($0) }
        setting.cast.reportsControls = true
        random = SimulationRandom(seed: scenario.climate.seed)
        wires = random.fork()
        isPastArrivals = scenario.setting.arrivals == nil
        ledger.latency = LatencyBook()
    }

    // MARK: The run

    /// Looks who is there; the crowd comes when the daemon has told that it knows the kinds.
    public func begin(at instant: Int64) {
        self.instant = instant
        (baseInstant, baseTime) = (instant, 0)
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
        func add(_ make: (Int, SimulationRandom) -> any SimulatedClient) {
            clients.append(make(clients.count, random.fork()))
        }
        for number in 0..<climate.producers {
            add { OrderSystem(world: self, index: $0, number: number, random: $1) }
        }
        for number in 0..<climate.screens { add { Screen(world: self, index: $0, number: number, random: $1) } }
        if !setting.cast.controlKinds.isEmpty {
            for number in 0..<climate.providers {
                add { LampProvider(world: self, index: $0, number: number, random: $1) }
            }
        }
        for number in 0..<climate.fingers { add { TapClient(world: self, index: $0, number: number, random: $1) } }
        (stage, player) = ScriptRunner.set(in: self, expectations: scenario.expectations, clients: &clients)
        (baseInstant, baseTime, now) = (instant, 0, 0)
        for client in clients { queue.insert(.move(client.index), at: random.pick(0...500)) }
        stage?.begin()
        player?.begin()
        planArrival()
        queue.insert(.check, at: 100)
    }

    private func planArrival() {
        guard let next = setting.arrivals?.next(after: now, index: arrivalCount, random: &random) else {
            isPastArrivals = true
            return
        }
        queue.insert(.arrival(next.count), at: next.time)
    }

    private var isBusy: Bool {
        if stage?.isDone == false || player?.isDone == false { return true }
        guard climate.producers + climate.fingers > 0, inputCount < climate.inputs else { return false }
        return setting.arrivals == nil || !isPastArrivals
    }

    /// The moment at which ``advance(to:)`` is due, in microseconds of the owner's clock; `nil`: when something comes.
    public var nextMoment: Int64? {
        guard !isPaused, let time = queue.nextTime else { return nil }
        return baseInstant + Int64(Double(time - baseTime) * 1_000 / speed)
    }

    /// Lives on until `instant`.
    public func advance(to instant: Int64) {
        self.instant = max(self.instant, instant)
        guard !isPaused else { return }
        let time = self.time
        while let (due, event) = queue.pop(by: time) {
            now = max(now, due)
            perform(event)
        }
        now = max(now, time)
    }

    private var time: Int64 { baseTime + Int64(Double(instant - baseInstant) / 1_000 * speed) }

    private func perform(_ event: Event) {
        switch event {
        case .move(let index):
            clients[index].move()
            queue.insert(.move(index), at: now + clients[index].untilNextMove)
        case .later(let index, let what): clients[index].doLater(what)
        case .write(let link, let bytes): if link.isOpenAtClient { wishes.append(.write(link.number, bytes)) }
        case .shutWrite(let link): if link.isOpenAtClient { wishes.append(.shutWrite(link.number)) }
        case .read(let link):
            link.isReadScheduled = false
            read(link)
        case .storm: if !isCalm { for client in clients { client.vanish() } }
        case .arrival(let count):
            guard !isCalm else { return }
            arrivalCount += 1
            let systems = clients.prefix(climate.producers)
            (systems[random.below(max(1, systems.count))] as? OrderSystem)?.arrive(count)
            planArrival()
        case .check: check()
        case .call(let body): body()
        }
    }

    /// Looks now and then whether all is done: then everybody comes to rest, and is held against the daemon.
    private func check() {
        guard finale == nil else { return }
        queue.insert(.check, at: now + max(10, Int64(20 * speed)))
        if !isCalm {
            guard !isBusy else { return }
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

    private var isAnythingPending: Bool {
        clients.contains { client in
            (client as? Screen)?.table.contains { key, shown in
                let phase = shown.body?["phase"]?.string
                return (phase == "pending" || phase == "performing")
            } == true
        }
    }

    /// Whether a key is of this run.
    func isOwn(_ key: String) -> Bool { key.hasSuffix("~\(setting.tag)") }

    // MARK: For who watches

    public func pause(_ isPaused: Bool, at instant: Int64) {
        advance(to: instant)
        rebase()
        self.isPaused = isPaused
    }

    /// While it is paused: the next thing happens.
    public func step(at instant: Int64) {
        self.instant = max(self.instant, instant)
        rebase()
        guard isPaused, let (due, event) = queue.pop(by: .max) else { return }
        now = max(now, due)
        baseTime = now
        perform(event)
    }

    public func setSpeed(_ speed: Double, at instant: Int64) {
        advance(to: instant)
        rebase()
        self.speed = speed
    }

    private func rebase() {
        if !isPaused { baseTime = time }
        baseInstant = instant
    }

    public var glimpse: Glimpse {
        Glimpse(
            clients: clients, stage: stage, time: now, daemonTime: daemonTime, progress: progress, isCalm: isCalm,
            inputs: inputCount)
    }

    public var progress: Double {
        var parts: [Double] = []
        if climate.producers + climate.fingers > 0 { parts.append(Double(inputCount) / Double(max(1, climate.inputs))) }
        if let stage { parts.append(Double(stage.next) / Double(max(1, setting.steps.count))) }
        if let player {
            parts.append(player.isDone ? 1 : Double(inputCount) / Double(max(1, setting.plan?.posts.count ?? 1)))
        }
        return min(1, parts.min() ?? 0)
    }

    public var outcome: ScenarioOutcome {
        var outcome = ScenarioOutcome()
        outcome.collect(from: ledger, clients: clients)
        outcome.inputs = inputCount
        outcome.milliseconds = now
        outcome.unmetSights = stage?.conclude() ?? []
        outcome.states = finale?.states ?? [:]
        return outcome
    }

    /// What this run could not do as the scenario says.
    public var notes: [String] {
        var notes: [String] = []
        var left: [String] = []
        if climate.crashes > 0 { left.append("crashes") }
        if climate.fullDisks > 0 { left.append("fullDisks") }
        if climate.startsFull { left.append("startsFull") }
        if climate.clockJumps > 0 { left.append("clockJumps") }
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

    // MARK: Environment

    var daemonTime: Int64 { greetedTime + Int64(Double(instant - greetedAt) / 1_000 * daemonSpeed) }
    var durableSequence: Int64 { .max }
    func countInput() {
        inputCount += 1
        // Spread over what is posted, so that there is something to come back to.
        guard stormCount < climate.storms, inputCount * (climate.storms + 1) >= climate.inputs * (stormCount + 1) else {
            return
        }
        stormCount += 1
        queue.insert(.storm, at: now)
    }
    /// The daemon's time is real: at least two seconds of it.
    func patience(_ span: Int64) -> Int64 { max(span, Int64(2_000 * speed)) }
    func wasHungUp(_ link: Link) -> Bool { link.hasEnded }

    func violated(_ promise: String, _ what: String) {
        if ledger.violations.count < 100 {
            ledger.violations.append(Violation(promise: promise, what: what, time: now))
        }
    }

    func afterRealTime(milliseconds: Int64, _ body: @escaping () -> Void) {
        queue.insert(.call(body), at: now + Int64(Double(milliseconds) * speed))
    }

    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64) {
        queue.insert(.later(client.index, what), at: now + max(0, delay))
    }

    // MARK: Connections

    public func takeWishes() -> [ConnectionCommand] {
        defer { wishes = [] }
        return wishes
    }

    func connect(_ client: any SimulatedClient) -> Link { connect(index: client.index) }

    private func connect(index: Int) -> Link {
        linkCount += 1
        let link = Link(client: index, capacity: 0, generation: 0)
        link.number = linkCount
        links[linkCount] = link
        wishes.append(.connect(linkCount))
        return link
    }

    func send(_ text: String, on link: Link) {
        guard link.isOpenAtClient else { return }
        trace?(now, link.client, "> " + text)
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            let isSliced = !isCalm && climate.slices > 0 && wires.chance(climate.slices)
            let count = isSliced ? 1 + wires.below(bytes.count) : bytes.count
            let piece = Array(bytes.prefix(count))
            bytes.removeFirst(count)
            later(.write(link, piece), on: link)
        }
    }

    func halfClose(_ link: Link) { later(.shutWrite(link), on: link) }

    /// After everything that goes before it on the same link, and the wire's delay.
    private func later(_ event: Event, on link: Link) {
        let delay = !isCalm && climate.slowestWire > 1 ? wires.pick(0...Int64(climate.slowestWire)) : 0
        link.lastArrivalAtServer = max(link.lastArrivalAtServer, now + delay)
        if link.lastArrivalAtServer <= now {
            perform(event)
        } else {
            queue.insert(event, at: link.lastArrivalAtServer)
        }
    }

    func reset(_ link: Link) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        links[link.number] = nil
        wishes.append(.close(link.number))
    }

    public func received(_ bytes: [UInt8], on number: Int, at instant: Int64) {
        arrive(at: instant)
        guard let link = links[number], link.isOpenAtClient else { return }
        link.received.append(bytes)
        read(link)
        if !link.received.isEmpty { wishes.append(.pauseReading(number)) }
    }

    func read(_ link: Link) {
        guard link.isOpenAtClient, !link.received.isEmpty, !link.isReadScheduled else { return }
        let count = min(link.readingLimit ?? .max, link.received.count)
        let bytes = link.received.take(count)
        deliver(bytes, on: link)
        if link.received.isEmpty {
            wishes.append(.resumeReading(link.number))
        } else if link.readingLimit != nil {
            link.isReadScheduled = true
            queue.insert(.read(link), at: now + link.pause)
        }
    }

    private func deliver(_ bytes: [UInt8], on link: Link) {
        trace?(now, link.client, "< " + String(decoding: bytes, as: UTF8.self))
        if let asker = askers[link.client] {
            asker.received(bytes, on: link)
        } else {
            clients[link.client].received(bytes, on: link)
        }
    }

    /// - Parameter hasEnded: The daemon shut its side, rather than that something failed.
    public func lost(_ number: Int, hasEnded: Bool, at instant: Int64) {
        arrive(at: instant)
        guard let link = links.removeValue(forKey: number), link.isOpenAtClient else { return }
        // What came before the end is read before it.
        link.readingLimit = nil
        link.isReadScheduled = false
        read(link)
        link.isOpenAtClient = false
        link.hasEnded = hasEnded
        if let asker = askers[link.client] { asker.lost(link) } else { clients[link.client].lost(link) }
    }

    private func arrive(at instant: Int64) {
        self.instant = max(self.instant, instant)
        if !isPaused { now = max(now, time) }
    }

    // MARK: Questions

    private var askers: [Int: Asker] = [:]

    /// Asks on a connection of its own.
    func ask(
        _ lines: [String], until isDone: @escaping ([ClientLine]) -> Bool, then: @escaping ([ClientLine]) -> Void
    ) {
        let index = -1 - askers.count
        let asker = Asker(until: isDone) { [unowned self] lines in
            if let greeting = lines.first, greeting.verb == "TELLTALE", greetedAt == 0 {
                greetedAt = instant
                greetedTime = greeting.integer("now") ?? 0
                daemonSpeed = greeting["speed"].flatMap { Double($0) } ?? 1
            }
            then(lines)
        }
        askers[index] = asker
        asker.begin = { [unowned self, unowned asker] in
            let link = connect(index: index)
            asker.link = link
            wishes.append(.write(link.number, Array(lines.map { $0 + "\n" }.joined().utf8)))
        }
        asker.end = { [unowned self] link in reset(link) }
        asker.begin()
    }
}
