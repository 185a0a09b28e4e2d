import Model
import Wire

/// A scenario's crowd at a daemon elsewhere: everything but the sockets and the clock.
///
/// Whoever owns it does its ``Wish``es, tells it what its connections hear, and calls ``advance(to:)`` at
/// ``nextMoment``. The faults of clients and wires are made here, on the clients' side; those of a daemon are not.
public final class Crowd: Surroundings {
    /// What is to be done about a connection, which is named by a number.
    public enum Wish: Sendable {
        case connect(Int)
        case write(Int, [UInt8])
        case shutWrite(Int)
        case close(Int)
        case pauseReading(Int)
        case resumeReading(Int)
    }

    enum Event {
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
    let climate: Climate
    private(set) var setting: Setting
    let ledger = Ledger()
    private(set) var isCalm = false
    var now: Int64 = 0
    var instant: Int64 = 0
    private(set) var inputCount = 0
    private(set) var clients: [any SimulatedClient] = []
    private(set) var stage: Stage?
    private(set) var player: TracePlayer?
    var queue = TimedQueue<Event>()
    var wishes: [Wish] = []
    var links: [Int: Link] = [:]
    var linkCount = 0
    private var random: SimulationRandom
    var wires: SimulationRandom
    private var arrivalCount = 0
    private var stormCount = 0
    /// Is told every piece that a client reads and sends, with its time and the client's number.
    public var trace: ((_ time: Int64, _ client: Int, _ text: String) -> Void)?
    private var isPastArrivals: Bool
    var finale: Finale?
    /// Who asks on connections of their own, by numbers below 0.
    var askers: [Int: Asker] = [:]

    /// The daemon's greeting, of the first connection.
    var greetedAt: Int64 = 0
    var greetedTime: Int64 = 0
    var daemonSpeed = 1.0

    /// The scenario's time runs so many times as fast as real time.
    public internal(set) var speed: Double
    public internal(set) var isPaused = false
    var baseInstant: Int64 = 0
    var baseTime: Int64 = 0

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
        for number in 0..<climate.fingers { add { Finger(world: self, index: $0, number: number, random: $1) } }
        (stage, player) = Stage.set(in: self, expectations: scenario.expectations, clients: &clients)
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

    var time: Int64 { baseTime + Int64(Double(instant - baseInstant) / 1_000 * speed) }

    func perform(_ event: Event) {
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
            finale = Finale(self) { [unowned self] in isOver = true }
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

    // MARK: Surroundings

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
}
