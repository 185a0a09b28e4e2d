import Hub
import Recordings
import TelltaleModel
import TelltaleWire

/// A daemon, a network and a crowd, all from one seed.
///
/// Nothing in it asks the real time or draws real chance, and nothing depends on the order of a dictionary: the same
/// climate gives the same history to the byte.
final class World: Environment {
    let climate: FaultProfile
    let bug: SeededBug?
    private(set) var now: Int64 = 0
    var queue = EventQueue()
    var random: SimulationRandom
    var wires: SimulationRandom
    private(set) var daemon: SimulatedDaemon!
    private(set) var clients: [any SimulatedClient] = []
    let ledger = ObservationLog()
    private(set) var records: HistoryChecker!
    var chronicle: HistoryChecker? { records }
    let setting: Setting
    private(set) var stage: ScriptRunner?
    private(set) var player: TracePlayer?
    /// Is asked before each thing that happens, with its time, whether it may: for who watches.
    var mayGoOn: ((Int64) -> Bool)?
    private var arrivalCount = 0
    private var isPastArrivals = false
    /// Milliseconds by which the wall clock is ahead of where it began.
    private var wallOffset: Int64 = 0
    /// The part of the offset that the clock was set ahead by, in milliseconds.
    private var leap: Int64 = 0
    /// The hub's time. It does not go back when the wall's does, but what a crash undoes takes it back to its newest record.
    private var hubClock = World.begin
    /// From now on no fault happens, and nothing new is sent.
    private(set) var isCalm = false
    private(set) var inputCount = 0
    private var crashesLeft = 0
    /// Where there are guests.
    private(set) var principals: SimulatedPrincipals?
    /// Where there are widgets.
    var widgetSource: WidgetSource?
    var budgets = BudgetCheck()
    private var lastJump: Int64 = -1_000_000
    var tampering: BugInjector?
    private(set) var steps = 0

    /// Where every run's calendar begins.
    static let begin: Int64 = 1_763_719_200_000

    let trace: TraceSink?

    init(
        _ climate: FaultProfile, setting: Setting = Setting(), bug: SeededBug?, trace: TraceSink?
    ) throws(SimulatedKinds.KindFault) {
        self.climate = climate
        self.setting = setting
        self.bug = bug
        self.trace = trace
        random = SimulationRandom(seed: climate.seed)
        wires = random.fork()
        if let bug { tampering = BugInjector(bug, random: SimulationRandom(seed: climate.seed &+ 77)) }
        var configuration = HubConfiguration()
        configuration.decisions.retention = .seconds(Int64(climate.retention))
        configuration.limits.heartbeat = .seconds(5)
        setBudget(of: &configuration)
        configuration.limits.requestsInFlight = climate.requestsInFlight
        setSteps(of: &configuration.limits)
        configuration.decisions.clockSpeed = Double(setting.clockSpeed)
        records = HistoryChecker(world: self)
        daemon = SimulatedDaemon(
            world: self,
            kinds: try kinds(edition: 0),
            configuration: configuration)
        daemon.disk.refusedGap = { [unowned self] sequence, last in
            violated("P1", "record \(sequence) is written after record \(last)")
        }
        daemon.disk.written = { [unowned self] in records.take($0) }
        clients = Population.clients(
            in: self, providers: climate.providers, churnClients: climate.wanderers, random: &random)
        clients += makeWidgetClients()
        if climate.guests > 0 { addGuests() }
    }

    /// Puts one more client into it, before it runs.
    func add(_ client: any SimulatedClient) { clients.append(client) }

    /// A look at a crowd's screens at the end of each storm.
    private(set) var moments: [StoryScene] = []

    /// Puts the scenario's script and trace into it.
    func stageScenario(_ expectations: Expectations) {
        ledger.latency = LatencyBook()
        (stage, player) = ScriptRunner.set(in: self, expectations: expectations, clients: &clients)
    }

    private func addGuests() {
        let principals = SimulatedPrincipals(world: self, count: climate.guests, random: random.fork())
        self.principals = principals
        for number in 0..<climate.guests {
            clients.append(
                GuestClient(
                    world: self, index: clients.count, number: number, principals: principals, random: random.fork()))
        }
    }

    /// In every third world nearly every snapshot, resume and projection is a walk over the table, in small steps.
    var hasSmallSteps: Bool { climate.seed % 3 == 1 }

    // MARK: Time

    /// The real clock was set within the time that the daemon may take to see it.
    var hasJustJumped: Bool { now < lastJump + SimulatedPrincipals.promptness }
    var needsHello: Bool { principals != nil }

    /// A process counts leaps of the clock from its own start.
    func daemonStarts() {
        (leap, budgets) = (0, BudgetCheck())
        tampering?.startCount += 1
    }

    var wall: Timestamp { Timestamp(milliseconds: Self.begin + now + wallOffset) }
    var hubTime: HubTime {
        let time = Timestamp(milliseconds: wall.milliseconds + now * (setting.clockSpeed - 1))
        return HubTime(
            time: time, wall: wall, monotonic: MonotonicTime(milliseconds: now),
            leap: Milliseconds(bug == .leapForgotten ? 0 : leap))
    }
    var instant: Int64 { now * 1_000 }
    var daemonTime: Int64 { hubTime.time.milliseconds }
    var durableSequence: Int64 { daemon.disk.durableSequence }
    func patience(_ span: Int64) -> Int64 { span }
    func isOwn(_ key: String) -> Bool { true }
    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64) {
        schedule(.later(client: client.index, what: what), after: delay)
    }

    func schedule(_ event: EventQueue.Event, after delay: Int64) {
        queue.schedule(event, at: now + max(0, delay))
    }

    func wireDelay() -> Int64 { wires.pick(0...Int64(max(1, climate.slowestWire))) }
    func syncDelay() -> Int64 { wires.pick(1...Int64(max(1, climate.slowestSync))) }

    // MARK: Run

    /// Lives through storms and calms. What was not kept is in ``ledger``.
    func run() {
        setDisk(isFull: climate.startsFull)
        if climate.startsFull { schedule(.disk(isFull: false), after: random.pick(100...10_000)) }
        daemon.start()
        for client in clients { schedule(.move(client: client.index), after: random.pick(0...2_000)) }
        stage?.begin()
        player?.begin()
        arrive()
        let storms = stage == nil ? 3 : 1
        let crashesBefore = climate.crashes
        for storm in 0..<storms where ledger.violations.isEmpty {
            isCalm = false
            let quota = climate.inputs * (storm + 1) / storms
            let crashes = crashesBefore * (storm + 1) / storms - crashesBefore * storm / storms
            planFaults(crashes: crashes)
            while isGoingOn(quota), ledger.violations.isEmpty, now < 36_000_000, step() {}
            calm(isLast: storm == storms - 1)
        }
    }

    private func isGoingOn(_ quota: Int) -> Bool {
        if crashesLeft > 0 || stage?.isDone == false || player?.isDone == false { return true }
        return inputCount < quota && climate.producers + climate.fingers > 0 && !isPastArrivals
    }

    /// The next arrivals of an open model.
    private func arrive() {
        guard let arrivals = setting.arrivals else { return }
        guard let next = arrivals.next(after: now, index: arrivalCount, random: &random) else {
            isPastArrivals = true
            return
        }
        schedule(.arrival(count: next.count), after: next.time - now)
    }

    private func planFaults(crashes: Int) {
        crashesLeft = crashes
        // Within the storm, as far as its length can be told beforehand.
        let span = max(5_000, min(60_000, Int64(climate.inputs) * 20))
        for _ in 0..<crashes { schedule(.crash, after: random.pick(1_000...span)) }
        for _ in 0..<climate.fullDisks {
            let start = random.pick(1_000...60_000)
            schedule(.disk(isFull: true), after: start)
            schedule(.disk(isFull: false), after: start + random.pick(500...8_000))
        }
        for _ in 0..<climate.stops { schedule(.stop, after: random.pick(1_000...span)) }
        for _ in 0..<climate.failedSyncs { schedule(.syncFails, after: random.pick(1_000...span)) }
        for _ in 0..<10 * climate.guests { schedule(.rightsChange, after: random.pick(1_000...span)) }
        if hasWidgets { for _ in 0..<2 { schedule(.kindsChange, after: random.pick(1_000...span)) } }
        for _ in 0..<climate.storms { schedule(.storm, after: random.pick(1_000...span)) }
        for _ in 0..<climate.clockJumps {
            schedule(
                .clockJump(random.chance(500) ? random.pick(-20_000...0) : random.pick(0...90_000)),
                after: random.pick(1...60_000))
        }
    }

    /// Faults stop and writes stop; then everybody must end on the newest state (P4).
    private func calm(isLast: Bool) {
        guard ledger.violations.isEmpty else { return }
        if stage == nil, ledger.latency != nil { moments.append(glimpse(at: now).scene("After \(inputCount) inputs")) }
        isCalm = true
        setDisk(isFull: false)
        for client in clients { client.calmDown() }
        let end = now + 90_000
        while let next = queue.nextTime, next < end, ledger.violations.isEmpty { guard step() else { break } }
        // Until what is on the wires has arrived.
        // A thin wire with much to carry takes its minutes.
        let latest = now + 600_000
        while !isQuiet, now < latest, ledger.violations.isEmpty { guard step() else { break } }
        guard ledger.violations.isEmpty else { return }
        guard isQuiet else { return violated("P4", "it does not come to rest") }
        ConvergenceCheck(world: self, isLast: isLast).run()
    }

    private func setDisk(isFull: Bool) {
        daemon.disk.isFull = isFull
        trace?(now, -1, isFull ? "the disk is full" : "the disk has room")
        if isFull {
            records.outages.begin(.fullDisk, at: hubClock)
        } else {
            // A refused batch is tried again after a second.
            records.outages.end(.fullDisk, at: hubClock + 1_010 + 2 * Int64(climate.slowestSync))
        }
    }

    /// The daemon decides nothing any more.
    func daemonIsEnding() { records.outages.begin(.down, at: hubClock) }

    /// The daemon has ended; a supervisor starts it again.
    func daemonExited() {
        trace?(now, -1, "exit")
        records.outages.begin(.down, at: hubClock)
        schedule(.start, after: random.pick(10...3_000))
    }

    func chance(_ share: Int) -> Bool { random.chance(share) }

    /// The daemon has come back, with what was on the disk.
    func recovered(to clock: Int64) {
        hubClock = max(clock, wall.milliseconds)
        records.outages.recovered(at: hubClock)
    }

    private var isQuiet: Bool {
        daemon.isUp && daemon.isIdle
            && clients.allSatisfy { client in
                guard let link = client.link else { return true }
                return link.buffered == 0 && link.unsent.isEmpty && link.arrived.isEmpty && !client.isWaiting
            }
    }

    /// One thing happens.
    private func step() -> Bool {
        if let mayGoOn, let next = queue.nextTime, !mayGoOn(next) { return false }
        guard let (time, event) = queue.pop() else { return false }
        now = max(now, time)
        hubClock = max(hubClock, wall.milliseconds)
        steps += 1
        switch event {
        case .toServer(let link, let bytes): daemon.received(bytes, on: link)
        case .toClient(let link, let bytes): arrived(bytes, at: link)
        case .halfClosed(let link): daemon.inputEnded(link)
        case .lostAtServer(let link): daemon.lost(link)
        case .lostAtClient(let link): lostAtClient(link)
        case .read(let link):
            link.isReadScheduled = false
            read(link)
        case .move(let client):
            clients[client].move()
            schedule(.move(client: client), after: clients[client].untilNextMove)
        case .later(let client, let what): clients[client].doLater(what)
        case .synced(let generation): if generation == daemon.generation, daemon.isUp { daemon.synced() }
        case .snapshotWritten(let generation):
            if generation == daemon.generation, daemon.isUp { daemon.snapshotWritten() }
        case .daemonTimer(let generation, let version):
            if generation == daemon.generation { daemon.timerFired(version: version) }
        case .lookAtBlocked(let generation): if generation == daemon.generation, daemon.isUp { daemon.lookAtBlocked() }
        case .crash:
            guard !isCalm else { break }
            guard daemon.isUp else {
                schedule(.crash, after: 1_000)
                break
            }
            crashesLeft -= 1
            trace?(now, -1, "crash")
            daemon.crash(keepingUnsynced: random.chance(500))
            records.outages.begin(.down, at: hubClock)
            schedule(.start, after: random.pick(10...3_000))
        case .stop:
            guard !isCalm else { break }
            trace?(now, -1, "stop")
            daemon.stop()
        case .stopIsDue(let generation): if generation == daemon.generation, daemon.isUp { daemon.stopIsDue() }
        case .syncFails:
            guard !isCalm else { break }
            trace?(now, -1, "the next sync fails")
            daemon.disk.keepsFailed = random.chance(500)
            daemon.disk.failsNext = true
        case .start:
            if !daemon.isUp {
                trace?(now, -1, "start")
                daemon.start()
            }
        case .disk(let isFull): setDisk(isFull: isFull && !isCalm)
        case .clockJump(let span):
            guard !isCalm else { break }
            // Nobody tells the daemon; it sees when it wakes, and it looks at its readers every second.
            records.outages.jump(from: wall.milliseconds, to: wall.milliseconds + span + 1_010)
            wallOffset += span
            lastJump = now
            leap += max(0, span)
            records.leapt(by: max(0, span))
            trace?(now, -1, "the clock jumps by \(span) ms")
        case .rightsChange: if !isCalm { principals?.change() }
        case .kindsChange: if !isCalm { daemon.reloadKinds() }
        case .principals(isPromise: false, _): daemon.principalsChanged()
        case .principals(isPromise: true, let guest):
            for case let client as GuestClient in clients.dropFirst(clients.count - climate.guests + guest).prefix(1) {
                client.checkPromise()
            }
        case .storm: if !isCalm { for client in clients { client.vanish() } }
        case .arrival(let count):
            let systems = clients.prefix(climate.producers)
            if !isCalm, !systems.isEmpty {
                arrivalCount += 1
                (systems[random.below(systems.count)] as? OrderSystem)?.arrive(count)
                arrive()
            } else if isCalm {
                // Until the next storm.
                schedule(.arrival(count: count), after: 1_000)
            }
        }
        return true
    }

    func countInput() { inputCount += 1 }

    func violated(_ promise: String, _ what: String) {
        ledger.violations.append(Violation(promise: promise, what: what, time: now))
    }
}
