import Hub
import Journal
import Kinds
import Server
import TelltaleModel

/// A daemon whose disk, network and clock are simulated: it performs the actions of the same ``Server/Server`` as
/// `telltaled` does.
final class SimulatedDaemon {
    unowned let world: World
    let disk: SimulatedDisk
    var server: Server?
    private(set) var isUp = false
    /// Counts its starts, so that what belonged to an earlier one meets nothing.
    private(set) var generation = 0
    var kinds: [Kind]
    /// How often the kinds of widgets were edited.
    var edition = 0
    let configuration: HubConfiguration
    var links: [SessionID: Link] = [:]
    var blocked: [Link] = []
    var clock = TurnClock()
    var outgoing: [Rendered] = []
    private var timerVersion = 0
    var records: [JournalRecord] = []
    private var snapshotUnderWay: (sequence: Int64, chunks: [[UInt8]], pruning: Pruning)?
    /// A bug of the performer: committed before the sync returned.
    private var isCommittedEarly = false
    var rules: TurnRules
    private(set) var recoveries = 0
    private(set) var startedAt: Int64 = 0

    /// The output of a session, rendered before it is delivered.
    struct Rendered {
        var session: SessionID
        var bytes: [UInt8]
        var output: Output
    }

    /// Sessions that are rendered before any of them is written to, as the daemon does.
    static let renderedAtOnce = 4

    init(world: World, kinds: [Kind], configuration: HubConfiguration) {
        self.world = world
        self.kinds = kinds
        self.configuration = configuration
        disk = SimulatedDisk(epoch: 0x6f3a_91c2_d0e4_b577)
        rules = TurnRules(profile: world.climate)
    }

    /// A sync failed: what is on the disk may be ahead of what is shown.
    var isInDoubt: Bool { rules.hasFailed }

    var now: HubTime { clock.reading(world.hubTime) }

    /// Whether it has nothing to do before something happens or a moment comes.
    var isIdle: Bool { server?.isIdle(at: now) ?? true }

    // MARK: Start and crash

    func start() {
        generation += 1
        clock = TurnClock(cost: rules.costOfAction(generation: generation))
        rules.started()
        world.records.restarted()
        world.daemonStarts()
        do {
            var hub = try recovered(from: disk.open())
            world.recovered(to: hub.lastRecordTime.milliseconds)
            guard hub.lastRecordSequence == disk.durableSequence else {
                return world.violated(
                    "P9", "it recovers \(hub.lastRecordSequence) of \(disk.durableSequence) records")
            }
            if hub.lastRecordSequence < world.ledger.newestSeen {
                return world.violated(
                    "P2", "rev \(world.ledger.newestSeen) was shown, and \(hub.lastRecordSequence) is recovered")
            }
            try hub.adopt(kinds)
            try hub.adopt(configuration.decisions)
            if world.bug != .restartForgotten { hub.restart() }
            server = Server(
                hub, configuration: rules.configuration(generation: generation),
                snapshotSequence: disk.contents.snapshotSequence ?? 0)
            startedAt = world.now
            readPrincipals()
            isUp = true
        } catch {
            world.violated("P9", "it does not recover: \(error)")
        }
        if generation > 1 { recoveries += 1 }
        world.schedule(.lookAtBlocked(generation: generation), after: 1_000)
        turn()
    }

    /// The hub of a process that starts on this journal.
    func recovered(from journal: InMemoryJournal) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: journal.epoch)
        if let snapshot = journal.snapshot {
            for index in 0..<snapshot.chunkCount { try hub.load(try journal.readChunk(index)) }
            hub.finishLoading()
        }
        var position = hub.lastRecordSequence
        if world.bug == .snapshotAhead { position = max(position, journal.snapshot?.sequence ?? 0) }
        while true {
            let records = try journal.readRecords(after: position, limit: 512)
            guard let last = records.last else { return hub }
            for record in records { try hub.replay(record) }
            position = last.sequence
        }
    }

    func crash(keepingUnsynced isKept: Bool) {
        guard isUp else { return }
        server = nil
        isUp = false
        disk.crash(keepingUnsynced: isKept)
        for link in linksInOrder {
            link.session = nil
            world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        links = [:]
        blocked = []
        records = []
        outgoing = []
        snapshotUnderWay = nil
        isCommittedEarly = false
        if world.bug == .recordsLost { disk.lose(3) }
    }

    /// A supervisor asks it to stop.
    func stop() {
        guard isUp else { return }
        server?.stopRequested(at: now)
        rules.stopRequested(at: world.now)
        world.schedule(.stopIsDue(generation: generation), after: rules.stopLimit.count)
        turn()
    }

    func stopIsDue() { world.violated("turn", "a stop has not ended after \(rules.stopLimit.count) ms") }

    private func exited(_ status: Int32) {
        if status == 0 { rules.check(stoppedWith: disk, in: world) }
        crash(keepingUnsynced: world.chance(500))
        world.daemonExited()
    }

    // MARK: A turn

    func turn() {
        guard isUp else { return }
        rules.check(turnIn: world)
        turnServer()
        perform()
    }

    func turnServer() {
        if server?.isSessionDeadlineDue(at: now) == true { tellProgress() }
        server?.turn(at: now)
    }

    private func perform() {
        while isUp, let action = nextAction() { perform(action) }
    }

    func nextAction() -> Action? {
        clock.tick(at: world.hubTime)
        return server?.nextAction(at: now)
    }

    func perform(_ action: Action) {
        switch action {
        case .append(let part, let isLast): append(part, isLast: isLast)
        case .flush: flush()
        case .resumeReading(let id):
            guard world.bug != .resumeForgotten, let link = links[id] else { break }
            resume(link)
        case .pauseReading: for link in links.values { link.isPaused = true }
        case .close(let id): cut(id)
        case .closeConnections: closeAll()
        case .stopListening: break  // ``accept(_:)`` asks the server.
        case .readHistory(let request):
            server?.historyRead(
                disk.readChain(endingAt: request.lastSequence, limit: request.limit), for: request)
        case .writeSnapshot(let pruning): beginSnapshot(pruning)
        case .closeJournal:
            world.daemonIsEnding()
            server?.journalClosed(isInOrder: true)
        case .wake(let wake): schedule(wake)
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .report: break
        case .handOver: break  // It is by itself.
        case .exit(let status): exited(status)
        }
    }

    private func append(_ part: [JournalRecord], isLast: Bool) {
        rules.check(appendIn: world)
        if world.bug == .partLost, !isLast, part.count > 1 { return }
        records += part
        guard isLast else { return }
        disk.begin(records)
        records = []
        if world.bug == .replyBeforeSync {
            isCommittedEarly = true
            server?.synced(.durable(duration: .zero, wait: .zero), at: now)
        }
        world.schedule(.synced(generation: generation), after: world.syncDelay())
    }

    func synced() {
        let outcome = disk.finish()
        if isCommittedEarly {
            isCommittedEarly = false
        } else {
            switch outcome {
            case .full where world.bug != .fullDiskAcknowledged: server?.synced(.full, at: now)
            case .failed where world.bug == .decidesAfterFailure:
                rules.failed()
                server?.synced(.full, at: now)
            case .failed where world.bug != .failedSyncAcknowledged:
                rules.failed()
                server?.synced(.failed, at: now)
            default:
                server?.synced(.durable(duration: .milliseconds(1), wait: .milliseconds(1)), at: now)
            }
        }
        perform()
        turn()
    }

    func resume(_ link: Link) {
        link.isPaused = false
        readArrived(on: link)
        if link.arrived.isEmpty, link.hasEndArrived, let id = link.session {
            link.hasEndArrived = false
            server?.inputEnded(id)
        }
    }

    private func cut(_ id: SessionID) {
        guard let link = links[id], world.bug != .stuckReaderKept else { return }
        // A guest that does not take its last words is cut too.
        if world.clients[link.client] is GuestClient {
            link.wasCut = true
            return close(link)
        }
        if link.blockedSince == nil {
            world.violated("P7", "a reader is cut that has taken everything")
        } else if world.now - link.lastProgress < 30_000 {
            world.violated("P7", "a reader is cut that took bytes \(world.now - link.lastProgress) ms ago")
        }
        link.wasCut = true
        close(link)
    }

    /// A client may have left one link and opened another: the order must not hang on that of a dictionary.
    private var linksInOrder: [Link] {
        links.sorted { ($0.value.client, $0.key.number) < ($1.value.client, $1.key.number) }.map(\.value)
    }

    private func closeAll() {
        if world.bug == .drainNeverEnds { return }
        for link in linksInOrder { close(link) }
    }

    func close(_ link: Link) {
        lost(link)
        world.schedule(.lostAtClient(link), after: world.wireDelay())
    }

    // MARK: Time

    func schedule(_ wake: Wake) {
        let now = now
        rules.check(wake, at: now.monotonic, in: world)
        timerVersion += 1
        guard let time = wrongWake(wake, at: now) ?? [wake.at, wake.flush].compactMap(\.self).min() else { return }
        let wait = (time - now.monotonic) / .milliseconds(1)
        // Time goes on between two looks, or a deadline that cannot be met now would stop the world.
        world.schedule(
            .daemonTimer(generation: generation, version: timerVersion),
            after: max(1, Int64(min(wait, 60_000).rounded(.up))))
    }

    func timerFired(version: Int) {
        if version == timerVersion { turn() }
    }

    // MARK: Snapshots

    private func beginSnapshot(_ pruning: Pruning) {
        // From here on it decides nothing more.
        if server?.isStopping == true { world.daemonIsEnding() }
        if world.bug == .stopSkipsSnapshot, server?.isStopping == true {
            server?.snapshotWritten(isWritten: false)
            return
        }
        guard let snapshot = server?.snapshot() else { return }
        var chunks: [[UInt8]] = []
        snapshot.forEachChunk { chunks.append($0) }
        var pruning = pruning
        if world.bug == .prunedTooMuch { pruning.through = snapshot.sequence }
        let sequence = world.bug == .snapshotAhead ? snapshot.sequence + 1 : snapshot.sequence
        snapshotUnderWay = (sequence, chunks, pruning)
        world.schedule(.snapshotWritten(generation: generation), after: 5 * world.syncDelay())
    }

    func snapshotWritten() {
        guard let snapshot = snapshotUnderWay else { return }
        snapshotUnderWay = nil
        let isWritten =
            snapshot.sequence <= disk.durableSequence
            && disk.writeSnapshot(at: snapshot.sequence, chunks: snapshot.chunks, pruning: snapshot.pruning)
        server?.snapshotWritten(isWritten: isWritten)
        perform()
        turn()
    }
}
