import Hub
import Kinds
import Surfaces
import TelltaleModel

/// A daemon, a network and a crowd, all from one seed.
///
/// Nothing in it asks the real time or draws real chance, and nothing depends on the order of a dictionary: the same
/// climate gives the same history to the byte.
final class World: StagedWorld {
    let climate: FaultProfile
    let bug: SeededBug?
    private(set) var now: Int64 = 0
    private var queue = TimedQueue<() -> Void>()
    private var random: SimulationRandom
    private var wires: SimulationRandom
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
    private var widgetSource: WidgetSource?
    private(set) var budgets = BudgetCheck()
    private var lastJump: Int64 = -1_000_000
    private var tampering: BugInjector?
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
        records = HistoryChecker(world: self)
        daemon = SimulatedDaemon(world: self, kinds: try kinds(edition: 0), configuration: configuration)
        daemon.disk.refusedGap = { [unowned self] sequence, last in
            violated("P1", "record \(sequence) is written after record \(last)")
        }
        daemon.disk.written = { [unowned self] in records.checkRecord($0) }
        populate()
    }

    /// Only the simulation's own cast has kinds of widgets.
    var hasWidgets: Bool { climate.widgets > 0 && setting.cast == .simulated }
    /// People arrange boards, and devices show them. There is nothing to place where there are no widgets.
    var hasBoards: Bool { climate.boards > 0 && hasWidgets }
    /// Watches have boards on which widgets come and go by themselves, and operators reload all widgets: in worlds without people
    /// who arrange boards, whose models have no place for them.
    var hasRelevantTiles: Bool { climate.relevantTiles > 0 && hasWidgets && !hasBoards }
    /// The slots of a schedule are days apart: in every seventh world.
    var hasWeeklyHours: Bool { climate.seed % 7 == 6 }
    /// In every third world nearly every snapshot, resume and projection is a scan of the table, in small steps.
    private var hasSmallSteps: Bool { climate.seed % 3 == 1 }
    /// In worlds of small steps, views of accounts leave activities out.
    var activitiesPerView: Int { hasSmallSteps ? 3 : Limits().activitiesPerView }
    /// Of a view of an account with more activities, a cursor from before more changes than these is not resumed.
    var keysFilledAtOnce: Int { configuration.limits.keysFilledAtOnce }

    private func populate() {
        var all = Population(of: self)
        all.addCrowd(providers: climate.providers, wanderers: climate.wanderers, &random)
        if hasWidgets {
            all.add(1, &random) { seat in
                let source = WidgetSource(seat)
                widgetSource = source
                return source.client
            }
            all.add(climate.widgets, &random, WidgetScreen.init)
            all.add(2, &random, NoticeReader.init)
            all.add(2, &random, WeatherStation.init)
        }
        if hasBoards {
            all.add(3, &random, BoardWriter.init)
            all.add(climate.boards, &random, BoardScreen.init)
        }
        if hasRelevantTiles {
            all.add(2, &random, ReloadClient.init)
            all.add(climate.relevantTiles, &random, RelevantWidgetScreen.init)
        }
        if climate.guests > 0 {
            let principals = SimulatedPrincipals(world: self, count: climate.guests, random: random.fork())
            self.principals = principals
            all.add(climate.guests, &random) { GuestClient($0, in: self, principals: principals) }
        }
        clients = all.clients
    }

    // MARK: The daemon's configuration

    private var configuration: HubConfiguration {
        var configuration = HubConfiguration()
        configuration.decisions.retention = .seconds(Int64(climate.retention))
        configuration.decisions.clockSpeed = Double(setting.clockSpeed)
        // A budget of minutes, which a run of minutes uses up, and a floor between two refreshes that is as short.
        configuration.decisions.widgetFloor = Milliseconds(bug == .askFloorUnread ? 5_000 : ReferenceForecast.floor)
        configuration.widgetRowsPerDay = bug == .budgetOff ? nil : BudgetCheck.rowsPerDay
        configuration.widgetBurst = BudgetCheck.burst * (bug == .burstMisread ? 3 : 1)
        if hasBoards {
            // Small boards, whose limits people meet, and a hold that ends within a run.
            configuration.limits.tilesPerBoard = SimulatedBoards.limit + (bug == .boardLimitMisread ? 1 : 0)
            configuration.surfaces.stackHold = Milliseconds(bug == .holdForgotten ? 0 : SimulatedBoards.hold)
        }
        configuration.limits.heartbeat = .seconds(5)
        configuration.limits.requestsInFlight = climate.requestsInFlight
        if hasSmallSteps { configuration.limits.makeSmallSteps() }
        configuration.limits.activitiesPerView = activitiesPerView
        if hasRelevantTiles {
            // The number of keys that a batch takes of a scan differs from world to world: a run has few keys.
            configuration.limits.keysPerScan = 1 + Int(climate.seed % 8)
            configuration.limits.boardsPerBatch = 1 + Int(climate.seed % 2)
        }
        return configuration
    }

    /// The kinds of an edition, which is how often those of widgets were edited.
    func kinds(edition: Int) throws(SimulatedKinds.KindFault) -> [Kind] {
        let widgets = SimulatedWidgets.Edition(
            number: edition, hasBoards: hasBoards, hasRelevantTiles: hasRelevantTiles, hasWeeklyHours: hasWeeklyHours)
        return try SimulatedKinds.load(for: setting, bug: bug, edition: hasWidgets ? widgets : nil)
    }

    /// Puts one more client into it, before it runs.
    func add(_ client: any SimulatedClient) { clients.append(client) }

    /// A check of a crowd's screens at the end of each storm.
    private(set) var moments: [StoryScene] = []

    /// Puts the scenario's script and trace into it.
    func stageScenario(_ expectations: Expectations) {
        ledger.latency = LatencyBook()
        (stage, player) = ScriptRunner.set(in: self, expectations: expectations, clients: &clients)
    }

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
    var daemonTime: Int64 { hubTime.time.milliseconds }
    var durableSequence: Int64 { daemon.disk.durableSequence }
    /// The moment as of which the daemon draws.
    var drawnMoment: Int64 { max(daemonTime, records.boards?.time ?? 0) }

    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64) {
        schedule(after: delay) { client.doLater(what) }
    }

    func schedule(after delay: Int64, _ body: @escaping () -> Void) { queue.insert(body, at: now + max(0, delay)) }

    /// Something happens then, unless the storm is over.
    private func plan(after delay: Int64, _ body: @escaping () -> Void) {
        schedule(after: delay) { [self] in if !isCalm { body() } }
    }

    // MARK: Run

    /// Lives through storms and calms. What was not kept is in ``ledger``.
    func run() {
        setDisk(isFull: climate.startsFull)
        if climate.startsFull { schedule(after: random.pick(100...10_000)) { [self] in setDisk(isFull: false) } }
        daemon.start()
        for client in clients { schedule(after: random.pick(0...2_000)) { [self] in move(client) } }
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
        // Events that wait hold the world.
        queue = TimedQueue()
    }

    private func move(_ client: any SimulatedClient) {
        client.move()
        schedule(after: client.untilNextMove) { [self] in move(client) }
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
        schedule(after: next.time - now) { [self] in arrived(next.count) }
    }

    /// So many events of an open model are due.
    private func arrived(_ count: Int) {
        let systems = clients.prefix(climate.producers)
        if !isCalm, !systems.isEmpty {
            arrivalCount += 1
            (systems[random.below(systems.count)] as? OrderSystem)?.arrive(count)
            arrive()
        } else if isCalm {
            // Until the next storm.
            schedule(after: 1_000) { [self] in arrived(count) }
        }
    }

    private func planFaults(crashes: Int) {
        crashesLeft = crashes
        // Within the storm, as far as its length can be reported beforehand.
        let span = max(5_000, min(60_000, Int64(climate.inputs) * 20))
        func often(_ count: Int, within span: ClosedRange<Int64>, _ body: @escaping () -> Void) {
            for _ in 0..<count { plan(after: random.pick(span), body) }
        }
        often(crashes, within: 1_000...span) { [self] in crash() }
        for _ in 0..<climate.fullDisks {
            let start = random.pick(1_000...60_000)
            schedule(after: start) { [self] in setDisk(isFull: !isCalm) }
            schedule(after: start + random.pick(500...8_000)) { [self] in setDisk(isFull: false) }
        }
        often(climate.stops, within: 1_000...span) { [self] in
            trace?(now, -1, "stop")
            daemon.stop()
        }
        often(climate.failedSyncs, within: 1_000...span) { [self] in
            trace?(now, -1, "the next sync fails")
            daemon.disk.keepsFailed = random.chance(500)
            daemon.disk.failsNext = true
        }
        often(10 * climate.guests, within: 1_000...span) { [self] in principals?.change() }
        if hasWidgets { often(2, within: 1_000...span) { [self] in daemon.reloadKinds() } }
        often(climate.storms, within: 1_000...span) { [self] in for client in clients { client.vanish() } }
        for _ in 0..<climate.clockJumps {
            let jump = random.chance(500) ? random.pick(-20_000...0) : random.pick(0...90_000)
            plan(after: random.pick(1...60_000)) { [self] in jumpClock(by: jump) }
        }
    }

    private func crash() {
        guard daemon.isUp else { return plan(after: 1_000) { [self] in crash() } }
        crashesLeft -= 1
        trace?(now, -1, "crash")
        daemon.crash(keepingUnsynced: random.chance(500))
        startLater()
    }

    /// A supervisor starts the daemon again.
    private func startLater() {
        records.outages.begin(.down, at: hubClock)
        schedule(after: random.pick(10...3_000)) { [self] in
            guard !daemon.isUp else { return }
            trace?(now, -1, "start")
            daemon.start()
        }
    }

    private func jumpClock(by span: Int64) {
        // Nobody reports the daemon; it sees when it wakes, and it looks at its readers every second.
        records.outages.jump(from: wall.milliseconds, to: wall.milliseconds + span + 1_010)
        wallOffset += span
        lastJump = now
        leap += max(0, span)
        records.leapt(by: max(0, span))
        trace?(now, -1, "the clock jumps by \(span) ms")
    }

    /// The daemon has read the file of principals, or must have ended what was revoked in it.
    func principalsChange(of guest: Int, readAfter delay: Int64) {
        schedule(after: delay) { [self] in daemon.principalsChanged() }
        schedule(after: SimulatedPrincipals.promptness) { [self] in
            for case let client as GuestClient in clients.dropFirst(clients.count - climate.guests + guest).prefix(1) {
                client.checkPromise()
            }
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

    func daemonExited() {
        trace?(now, -1, "exit")
        startLater()
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
        guard let (time, body) = queue.pop(by: .max) else { return false }
        now = max(now, time)
        hubClock = max(hubClock, wall.milliseconds)
        steps += 1
        body()
        return true
    }

    func countInput() { inputCount += 1 }

    func violated(_ promise: String, _ what: String) {
        ledger.violations.append(Violation(promise: promise, what: what, time: now))
    }

    // MARK: Network

    // Sockets have a limited size, wires have delays, and bytes arrive in pieces.

    private func wireDelay() -> Int64 { wires.pick(0...Int64(max(1, climate.slowestWire))) }
    func syncDelay() -> Int64 { wires.pick(1...Int64(max(1, climate.slowestSync))) }

    /// A client connects.
    func connect(_ client: any SimulatedClient) -> SimulatedLink {
        let link = SimulatedLink(
            client: client.index, capacity: [2_000, 16_000, 200_000][random.below(3)],
            generation: daemon.generation)
        // It takes a moment until the daemon hears of it; nothing is lost by accepting at once.
        daemon.accept(link)
        daemon.turn()
        return link
    }

    /// A client sends.
    func send(_ text: String, on link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        let text = introducing(text, on: link)
        trace?(now, link.client, "> " + text)
        inPieces(Array(text.utf8)) { piece in
            toServer(link) { [self] in daemon.received(piece, on: link) }
        }
    }

    /// With the token of the client, where the daemon wants one.
    private func introducing(_ text: String, on link: SimulatedLink) -> String {
        guard let principals, text.hasPrefix("HELLO"), !(clients[link.client] is GuestClient),
            let end = text.firstIndex(of: "\n")
        else { return text }
        return (principals.introducing([String(text[..<end])]).lines.first ?? "") + text[end...]
    }

    /// Cuts what is sent, as a network does.
    private func inPieces(_ bytes: [UInt8], _ body: ([UInt8]) -> Void) {
        var start = 0
        while start < bytes.count {
            let isSliced = !isCalm && wires.chance(climate.slices)
            let count = isSliced ? 1 + wires.below(bytes.count - start) : bytes.count - start
            body(count == bytes.count ? bytes : Array(bytes[start..<start + count]))
            start += count
        }
    }

    /// Happens at the daemon's end of a connection, behind all that was on its way there.
    private func toServer(_ link: SimulatedLink, _ body: @escaping () -> Void) {
        queue.insert(body, at: link.arrivalAtServer(now + wireDelay()))
    }

    private func toClient(_ link: SimulatedLink, _ body: @escaping () -> Void) {
        queue.insert(body, at: link.arrivalAtClient(now + wireDelay()))
    }

    func halfClose(_ link: SimulatedLink) { toServer(link) { [self] in daemon.inputEnded(link) } }

    /// A client goes without a word.
    func reset(_ link: SimulatedLink) {
        link.isOpenAtClient = false
        toServer(link) { [self] in daemon.lost(link) }
    }

    /// The daemon sends.
    ///
    /// - Returns: Whether the socket took all of it.
    func send(_ bytes: [UInt8], to link: SimulatedLink) -> Bool {
        var bytes = bytes
        let client = clients[link.client]
        tampering?.change(&bytes, toPerson: (client as? Screen)?.account != nil, client: link.client)
        EmissionCheck.check(bytes, limit: daemon.configuration.limits.bytesPerFlush + (1 << 16), world: self)
        client.emitted(bytes, on: link)
        link.unsent.append(bytes)
        push(link)
        return link.unsent.isEmpty
    }

    /// Whether rows may have waited for a device: its socket was full, or the daemon scans in small steps.
    func mayWait(on link: SimulatedLink) -> Bool { link.wasBlocked || hasSmallSteps }

    /// Looks at what leaves for a device that has a budget.
    func checkBudget(_ bytes: [UInt8], of unit: String, _ name: String, on link: SimulatedLink) {
        let fault = budgets.fault(in: bytes, unit: unit, on: link, isSlow: mayWait(on: link), at: now)
        if let fault { violated("widgets", "\(name) \(fault)") }
    }

    /// Nothing more comes from the daemon.
    func finish(_ link: SimulatedLink) {
        link.isFinishing = true
        if link.unsent.isEmpty { hangUp(link) }
    }

    private func hangUp(_ link: SimulatedLink) {
        toClient(link) { [self] in lostAtClient(link) }
        queue.insert({ [self] in daemon.lost(link) }, at: link.lastArrivalAtClient)
    }

    /// The bytes that the socket takes go on their way.
    private func push(_ link: SimulatedLink) {
        let count = min(link.capacity - link.buffered, link.unsent.count)
        guard count > 0 else { return }
        let bytes = link.unsent.dequeue(count)
        link.buffered += count
        link.lastProgress = now
        inPieces(bytes) { piece in
            toClient(link) { [self] in
                guard link.isOpenAtClient else { return }
                link.received.append(piece)
                read(link)
            }
        }
    }

    func read(_ link: SimulatedLink) {
        guard link.isOpenAtClient, !link.received.isEmpty, !link.isReadScheduled else { return }
        let count = min(link.readingLimit ?? .max, link.received.count)
        let bytes = link.received.dequeue(count)
        link.buffered -= count
        ledger.heard(bytes, client: link.client, at: now)
        trace?(now, link.client, "< " + String(decoding: bytes, as: UTF8.self))
        clients[link.client].received(bytes, on: link)
        let wasBlocked = !link.unsent.isEmpty
        push(link)
        if wasBlocked, link.unsent.isEmpty {
            if link.isFinishing { hangUp(link) } else { daemon.becameWritable(link) }
        }
        if link.readingLimit != nil, !link.received.isEmpty {
            link.isReadScheduled = true
            schedule(after: link.pause) { [self] in
                link.isReadScheduled = false
                read(link)
            }
        }
    }

    func wasHungUp(_ link: SimulatedLink) -> Bool {
        daemon.isUp && link.session == nil && !link.isFinishing && link.wasAcceptedIn == daemon.generation
            && !link.wasCut
    }

    /// The daemon has left a connection, and its client notices that.
    func hasLeft(_ link: SimulatedLink) { schedule(after: wireDelay()) { [self] in lostAtClient(link) } }

    private func lostAtClient(_ link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        // Bytes that came before the end are read before it.
        if !link.received.isEmpty {
            link.readingLimit = nil
            link.isReadScheduled = false
            read(link)
        }
        link.isOpenAtClient = false
        clients[link.client].lost(link)
    }

    func tampered(_ bytes: [UInt8]) -> [UInt8] {
        tampering?.changeRequests(bytes, durable: daemon.disk.durableSequence) ?? bytes
    }
}
