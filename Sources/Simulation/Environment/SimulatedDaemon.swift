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
    private var server: Server?
    private(set) var isUp = false
    /// Counts its starts, so that what belonged to an earlier one meets nothing.
    private(set) var generation = 0
    private let kinds: [Kind]
    let configuration: HubConfiguration
    private var links: [SessionID: Link] = [:]
    private var blocked: [Link] = []
    private var clock = TurnClock()
    private var outgoing: [Rendered] = []
    private var timerVersion = 0
    private var records: [JournalRecord] = []
    private var snapshotUnderWay: (sequence: Int64, chunks: [[UInt8]], pruning: Pruning)?
    /// A bug of the performer: committed before the sync returned.
    private var isCommittedEarly = false
    private var rules: TurnRules
    private(set) var recoveries = 0

    /// What a session is sent, rendered before it is delivered.
    private struct Rendered {
        var session: SessionID
        var bytes: [UInt8]
        var output: Output
    }

    /// Sessions that are rendered before any of them is written to, as the daemon does.
    private static let renderedAtOnce = 4

    init(world: World, kinds: [Kind], configuration: HubConfiguration) {
        self.world = world
        self.kinds = kinds
        self.configuration = configuration
        disk = SimulatedDisk(epoch: 0x6f3a_91c2_d0e4_b577)
        rules = TurnRules(profile: world.climate)
    }

    private var now: HubTime { clock.reading(world.hubTime) }

    /// Whether it has nothing to do before something happens or a moment comes.
    var isIdle: Bool { server?.isIdle(at: now) ?? true }

    // MARK: Start and crash

    func start() {
        generation += 1
        clock = TurnClock(cost: rules.costOfAction(generation: generation))
        rules.started()
        world.records.restarted()
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
            isUp = true
        } catch {
            world.violated("P9", "it does not recover: \(error)")
        }
        if generation > 1 { recoveries += 1 }
        world.schedule(.lookAtBlocked(generation: generation), after: 1_000)
        turn()
    }

    /// What a process that starts on this journal computes.
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
        for link in links.values.sorted(by: { $0.client < $1.client }) {
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

    // MARK: Connections

    func accept(_ link: Link) {
        guard server?.isStopping == false, let id = server?.connected(at: now) else {
            world.schedule(.lostAtClient(link), after: world.wireDelay())
            return
        }
        link.session = id
        links[id] = link
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard link.session != nil else { return }
        link.arrived.append(bytes)
        readArrived(on: link)
        turn()
    }

    /// Reads what has arrived, unless the connection is not to be read from.
    private func readArrived(on link: Link) {
        guard let id = link.session, !link.arrived.isEmpty else { return }
        if link.isPaused {
            guard world.bug == .pauseIgnored else { return }
        }
        let bytes = link.arrived.take(link.arrived.count)
        let wantsMore = server?.received(world.tampered(bytes).span, from: id, at: now) ?? true
        rules.check(readFrom: link, in: world)
        if !wantsMore { link.isPaused = true }
    }

    func inputEnded(_ link: Link) {
        guard let id = link.session else { return }
        if world.bug == .halfCloseHangsUp {
            lost(link)
            return world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        guard link.arrived.isEmpty else {
            // The end is read behind what came before it.
            link.hasEndArrived = true
            return
        }
        server?.inputEnded(id)
        turn()
    }

    func lost(_ link: Link) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        blocked.removeAll { $0 === link }
        server?.disconnected(id)
        turn()
    }

    func becameWritable(_ link: Link) {
        guard let id = link.session else { return }
        blocked.removeAll { $0 === link }
        link.blockedSince = nil
        if world.bug != .neverWritable || world.now % 5 != 0 { server?.becameWritable(id) }
        turn()
    }

    func lookAtBlocked() {
        for link in blocked {
            guard let id = link.session else { continue }
            let pause = world.now - link.lastProgress
            if pause <= 1_000, world.bug != .slowReaderCut { server?.progressed(id, at: now) }
            // The server hears of progress once a second, and of its end as late.
            if pause > 33_000 {
                world.violated("P7", "a reader has taken nothing for \(pause) ms, and is not cut")
            }
        }
        world.schedule(.lookAtBlocked(generation: generation), after: 1_000)
        turn()
    }

    // MARK: A turn

    func turn() {
        guard isUp else { return }
        rules.check(turnIn: world)
        server?.turn(at: now)
        perform()
    }

    private func perform() {
        while isUp, let action = nextAction() { perform(action) }
    }

    private func nextAction() -> Action? {
        clock.tick(at: world.hubTime)
        return server?.nextAction(at: now)
    }

    private func perform(_ action: Action) {
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
        case .report: break
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

    private func resume(_ link: Link) {
        link.isPaused = false
        readArrived(on: link)
        if link.arrived.isEmpty, link.hasEndArrived, let id = link.session {
            link.hasEndArrived = false
            server?.inputEnded(id)
        }
    }

    private func cut(_ id: SessionID) {
        guard let link = links[id], world.bug != .stuckReaderKept else { return }
        if link.blockedSince == nil {
            world.violated("P7", "a reader is cut that has taken everything")
        } else if world.now - link.lastProgress < 30_000 {
            world.violated("P7", "a reader is cut that took bytes \(world.now - link.lastProgress) ms ago")
        }
        link.wasCut = true
        close(link)
    }

    private func closeAll() {
        if world.bug == .drainNeverEnds { return }
        for link in links.values.sorted(by: { $0.client < $1.client }) { close(link) }
    }

    private func close(_ link: Link) {
        lost(link)
        world.schedule(.lostAtClient(link), after: world.wireDelay())
    }

    // MARK: Writing

    private func flush() {
        while let id = server?.nextReady() {
            guard let link = links[id] else { continue }
            guard link.unsent.isEmpty else {
                block(link, id)
                continue
            }
            var bytes: [UInt8] = []
            guard let output = server?.output(for: id, at: now, to: &bytes) else { continue }
            outgoing.append(Rendered(session: id, bytes: bytes, output: output))
            // One that is ready again must not be rendered a second time before its first write.
            if outgoing.count >= Self.renderedAtOnce || output.disposition == .hasMore { deliverOutgoing() }
        }
        deliverOutgoing()
        clock.tick(at: world.hubTime)
        server?.flushed(at: now)
        rules.flushed(at: now.monotonic)
    }

    private func deliverOutgoing() {
        let shared = server?.sharedRows ?? []
        let rendered = outgoing
        outgoing = []
        for (place, item) in rendered.enumerated() {
            var bytes = item.bytes
            if !item.output.sharedRange.isEmpty {
                bytes = Array(shared[item.output.sharedRange])
            } else if world.bug == .neighbourWritten, place > 0, bytes.isEmpty == false {
                bytes = rendered[place - 1].bytes
            }
            deliver(bytes, item.output.disposition, to: item.session)
        }
    }

    /// Gives a session what it is due; what its socket does not take waits.
    private func deliver(_ bytes: [UInt8], _ disposition: Disposition, to id: SessionID) {
        guard let link = links[id] else { return }
        if !bytes.isEmpty, !world.send(bytes, to: link) { block(link, id) }
        if disposition == .finish { world.finish(link) }
    }

    private func block(_ link: Link, _ id: SessionID) {
        if link.blockedSince == nil {
            link.wasBlocked = true
            link.blockedSince = world.now
            link.lastProgress = world.now
            blocked.append(link)
        }
        server?.becameBlocked(id, at: now)
    }

    // MARK: Time

    private func schedule(_ wake: Wake) {
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

    /// When the daemon wakes with a seeded bug of its timers; `nil` = as it should.
    private func wrongWake(_ wake: Wake, at now: HubTime) -> MonotonicTime? {
        if world.bug == .paceForgotten { return wake.flush.map { $0 + Milliseconds(200) } }
        // With work to do it wakes at once, whatever its timers do.
        guard wake.flush == nil, let time = wake.at, time > now.monotonic else { return nil }
        var kinds = server?.nextDeadline.map { now.monotonic + Milliseconds(max(0, ($0 - now.time).count)) }
        var wall = server?.nextWallDeadline.map { now.monotonic + max(.zero, $0 - now.wall) }
        switch world.bug {
        case .timersLate: kinds = kinds.map { $0 + Milliseconds.seconds(20) }
        case .timersLostAtRestart where generation > 1: kinds = nil
        case .controlTimersForgotten: wall = nil
        default: return nil
        }
        return [kinds, wall, server?.nextSessionDeadline].compactMap(\.self).min() ?? now.monotonic + .seconds(60)
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

    // MARK: Looking

    /// What a device that has just arrived is told, at once and without a network.
    func answers(to lines: [String]) -> [UInt8] {
        guard isUp, let id = server?.connected(at: now) else { return [] }
        // No time passes while it is asked, so there is no pace either.
        let pacer = server?.pacer
        server?.pacer = FlushPacer(interval: .zero)
        defer { if let pacer { server?.pacer = pacer } }
        _ = server?.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            server?.turn(at: now)
            let isOver = performAtOnce(for: id, to: &bytes)
            if isOver { break }
        }
        server?.disconnected(id)
        return bytes
    }

    /// - Returns: Whether there was nothing to do.
    private func performAtOnce(for id: SessionID, to bytes: inout [UInt8]) -> Bool {
        var isOver = true
        while let action = nextAction() {
            switch action {
            case .append(let part, let isLast):
                isOver = false
                records += part
                guard isLast else { continue }
                disk.begin(records)
                records = []
                let outcome = disk.finish()
                server?.synced(
                    outcome == .full ? .full : .durable(duration: .zero, wait: .zero), at: now)
            case .flush:
                while let next = server?.nextReady() {
                    isOver = false
                    var piece: [UInt8] = []
                    guard let output = server?.output(for: next, at: now, to: &piece) else { continue }
                    if !output.sharedRange.isEmpty { piece += (server?.sharedRows ?? [])[output.sharedRange] }
                    if next == id { bytes += piece } else { deliver(piece, output.disposition, to: next) }
                }
                server?.flushed(at: now)
            case .readHistory:
                isOver = false
                perform(action)
            case .wake(let wake):
                schedule(wake)
            default: perform(action)
            }
        }
        return isOver
    }

    /// What a daemon that has read `contents` tells a client that asks it `lines`.
    func answers(
        to lines: [String], after contents: InMemoryJournal.Contents
    ) throws -> (bytes: [UInt8], stateHash: UInt64) {
        let hub = try recovered(from: InMemoryJournal(contents))
        let stateHash = hub.stateHash
        var configuration = ServerConfiguration()
        configuration.isJournalImmediate = true
        configuration.pace = .zero
        var server = Server(hub, configuration: configuration, snapshotSequence: 0)
        let id = server.connected(at: now)
        _ = server.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        var isOver = false
        for _ in 0..<10_000 where !isOver {
            isOver = true
            server.turn(at: now)
            while let action = server.nextAction(at: now) {
                switch action {
                case .append(_, isLast: true): server.synced(.durable(duration: .zero, wait: .zero), at: now)
                case .flush:
                    while let next = server.nextReady() {
                        isOver = false
                        let output = server.output(for: next, at: now, to: &bytes)
                        bytes += server.sharedRows[output.sharedRange]
                    }
                    server.flushed(at: now)
                default: break
                }
            }
        }
        return (bytes, stateHash)
    }
}
