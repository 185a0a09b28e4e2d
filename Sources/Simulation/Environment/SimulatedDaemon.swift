import Hub
import Journal
import Kinds
import TelltaleModel

/// The daemon's shell with everything outside simulated. It turns the hub as `telltaled` does (architecture.md, *A turn*).
final class SimulatedDaemon {
    unowned let world: World
    let disk: SimulatedDisk
    private var hub: Hub?
    private(set) var isUp = false
    /// Counts its starts, so that what belonged to an earlier one meets nobody.
    private(set) var generation = 0
    private let kinds: [Kind]
    let configuration: HubConfiguration
    private var links: [SessionID: Link] = [:]
    private var blocked: [Link] = []
    private var lastFlush: Int64 = -1
    private var timerVersion = 0
    private var snapshotSequence: Int64 = 0
    private var snapshotUnderWay: (sequence: Int64, chunks: [[UInt8]], pruning: Pruning)?
    /// A bug of the shell: committed before the sync returned.
    private var isCommittedEarly = false
    private(set) var recoveries = 0

    init(world: World, kinds: [Kind], configuration: HubConfiguration) {
        self.world = world
        self.kinds = kinds
        self.configuration = configuration
        disk = SimulatedDisk(epoch: 0x6f3a_91c2_d0e4_b577)
    }

    private var now: HubTime { world.hubTime }
    private static let pace: Int64 = 1

    /// Whether it has nothing to do before something happens or a moment comes.
    var isIdle: Bool {
        !isUp
            || (hub?.isCommitting == false && hub?.hasWork(at: now) == false && hub?.hasReadySessions == false)
    }

    // MARK: Start and crash

    func start() {
        generation += 1
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
            if hub.hasWork(at: now) {
                disk.begin(hub.decide(at: now))
                if disk.finish() { hub.committed(at: now) } else { hub.refused(at: now) }
            }
            snapshotSequence = disk.contents.snapshotSequence ?? 0
            self.hub = consume hub
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
        hub = nil
        isUp = false
        disk.crash(keepingUnsynced: isKept)
        for link in links.values.sorted(by: { $0.client < $1.client }) {
            link.session = nil
            world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        links = [:]
        blocked = []
        snapshotUnderWay = nil
        isCommittedEarly = false
        if world.bug == .recordsLost { disk.lose(3) }
    }

    // MARK: Connections

    func accept(_ link: Link) {
        guard let id = hub?.connected(at: now) else {
            world.schedule(.lostAtClient(link), after: world.wireDelay())
            return
        }
        link.session = id
        links[id] = link
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard let id = link.session else { return }
        hub?.received(world.tampered(bytes).span, from: id, at: now)
        turn()
    }

    func inputEnded(_ link: Link) {
        guard let id = link.session else { return }
        if world.bug == .halfCloseHangsUp {
            lost(link)
            return world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        hub?.inputEnded(id)
        turn()
    }

    func lost(_ link: Link) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        blocked.removeAll { $0 === link }
        hub?.disconnected(id)
        turn()
    }

    func becameWritable(_ link: Link) {
        guard let id = link.session else { return }
        blocked.removeAll { $0 === link }
        link.blockedSince = nil
        if world.bug != .neverWritable || world.now % 5 != 0 { hub?.becameWritable(id) }
        turn()
    }

    func lookAtBlocked() {
        for link in blocked {
            guard let id = link.session else { continue }
            let pause = world.now - link.lastProgress
            if pause <= 1_000, world.bug != .slowReaderCut { hub?.progressed(id, at: now) }
            // The hub hears of progress once a second, and of its end as late.
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
        hub?.sessionDeadlineReached(at: now)
        for _ in 0..<4 where hub?.isCommitting == false && hub?.hasWork(at: now) == true {
            guard isFlushDue else { break }
            // In parts, as the daemon does it; of a few records, so that a small batch has some. Every other life of it
            // leaves some of what waits to the next batch.
            let share = generation % 2 == 0 ? .max : max(1, BatchLimiter.twoThirds(of: hub?.waitingCount ?? 0))
            var records: [JournalRecord] = []
            repeat { records += hub?.decide(at: now, limit: 3, batchLimit: share) ?? [] } while hub?.isDeciding == true
            guard records.isEmpty else {
                commit(records)
                break
            }
            hub?.committed(at: now)
            flush()
        }
        if hub?.hasReadySessions == true, isFlushDue { flush() }
        readHistories()
        for id in hub?.takeEndedSessions() ?? [] {
            guard let link = links[id] else { continue }
            if world.bug == .stuckReaderKept { continue }
            if link.blockedSince == nil {
                world.violated("P7", "a reader is cut that has taken everything")
            } else if world.now - link.lastProgress < 30_000 {
                world.violated("P7", "a reader is cut that took bytes \(world.now - link.lastProgress) ms ago")
            }
            link.wasCut = true
            lost(link)
            world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        beginSnapshotIfDue()
        armTimer()
    }

    private var isFlushDue: Bool { world.now - lastFlush >= Self.pace }

    private func commit(_ records: [JournalRecord]) {
        disk.begin(records)
        if world.bug == .replyBeforeSync {
            isCommittedEarly = true
            hub?.committed(at: now)
            flush()
        }
        world.schedule(.synced(generation: generation), after: world.syncDelay())
    }

    func synced() {
        let isWritten = disk.finish()
        if isCommittedEarly {
            isCommittedEarly = false
        } else if isWritten || world.bug == .fullDiskAcknowledged {
            hub?.committed(at: now)
        } else {
            hub?.refused(at: now)
        }
        flush()
        turn()
    }

    private func flush() {
        guard hub?.isCommitting == false else { return }
        lastFlush = world.now
        var rest = hub?.readySessionCount ?? 0
        while rest > 0, let id = hub?.nextReady() {
            rest -= 1
            deliver(to: id)
        }
    }

    /// Gives a session what it is due; what its socket does not take waits.
    private func deliver(to id: SessionID) {
        guard let link = links[id] else { return }
        guard link.unsent.isEmpty else { return block(link, id) }
        var output: [UInt8] = []
        let disposition = hub?.appendOutput(for: id, at: now, to: &output)
        if !output.isEmpty, !world.send(output, to: link) { block(link, id) }
        if disposition == .finish { world.finish(link) }
    }

    private func block(_ link: Link, _ id: SessionID) {
        if link.blockedSince == nil {
            link.wasBlocked = true
            link.blockedSince = world.now
            link.lastProgress = world.now
            blocked.append(link)
        }
        hub?.becameBlocked(id, at: now)
    }

    private func armTimer() {
        guard isUp else { return }
        var wait: Int64?
        func consider(_ milliseconds: Int64) { wait = min(wait ?? .max, max(0, milliseconds)) }
        if hub?.isCommitting == false {
            if hub?.hasWork(at: now) == true || hub?.hasReadySessions == true {
                consider(lastFlush + Self.pace - world.now)
            }
            let pause = (hub?.decisionsPausedUntil ?? 0) - world.now
            if pause > 0 { consider(pause) }
            let isLost = world.bug == .timersLostAtRestart && generation > 1
            if pause <= 0, !isLost, let time = hub?.nextDeadline { consider((time - now.time).count + lateness) }
            if pause <= 0, let time = hub?.nextWallDeadline, world.bug != .controlTimersForgotten {
                consider((time - now.wall).count)
            }
        }
        if let time = hub?.nextSessionDeadline { consider(time - world.now) }
        timerVersion += 1
        guard let wait else { return }
        // Time goes on between two looks, or a deadline that cannot be met now would stop the world.
        world.schedule(
            .daemonTimer(generation: generation, version: timerVersion), after: max(1, min(wait, 60_000)))
    }

    private var lateness: Int64 { world.bug == .timersLate ? 20_000 : 0 }

    func timerFired(version: Int) {
        if version == timerVersion { turn() }
    }

    // MARK: Snapshots

    private func beginSnapshotIfDue() {
        guard snapshotUnderWay == nil, let durable = hub?.durableSequence, hub?.isCommitting == false,
            durable - snapshotSequence > Int64(world.climate.snapshotEvery), !isCommittedEarly
        else { return }
        snapshotSequence = durable
        var chunks: [[UInt8]] = []
        if let snapshot = hub?.snapshot() { snapshot.forEachChunk { chunks.append($0) } }
        var pruning = Pruning(through: hub?.takePrunableSequence() ?? 0, chains: hub?.takePrunedChains() ?? [])
        if world.bug == .prunedTooMuch { pruning.through = durable }
        let sequence = world.bug == .snapshotAhead ? durable + 1 : durable
        snapshotUnderWay = (sequence, chunks, pruning)
        world.schedule(.snapshotWritten(generation: generation), after: 5 * world.syncDelay())
    }

    func snapshotWritten() {
        guard let snapshot = snapshotUnderWay else { return }
        snapshotUnderWay = nil
        guard snapshot.sequence <= disk.durableSequence else { return }
        disk.writeSnapshot(at: snapshot.sequence, chunks: snapshot.chunks, pruning: snapshot.pruning)
        turn()
    }

    // MARK: Looking

    private func readHistories() {
        for request in hub?.takeHistoryRequests() ?? [] {
            hub?.historyRead(disk.readChain(endingAt: request.lastSequence, limit: request.limit), for: request)
        }
    }

    /// What a device that has just arrived is told, at once and without a network.
    func answers(to lines: [String]) -> [UInt8] {
        guard isUp, let id = hub?.connected(at: now) else { return [] }
        hub?.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            if hub?.isCommitting == false, hub?.hasWork(at: now) == true {
                let records = hub?.decide(at: now) ?? []
                disk.begin(records)
                if records.isEmpty || disk.finish() { hub?.committed(at: now) } else { hub?.refused(at: now) }
            }
            guard let next = hub?.nextReady() else { break }
            if next == id { _ = hub?.appendOutput(for: id, at: now, to: &bytes) } else { deliver(to: next) }
            readHistories()
        }
        hub?.disconnected(id)
        return bytes
    }

    /// What a daemon that has read `contents` tells who asks it `lines`.
    func answers(
        to lines: [String], after contents: InMemoryJournal.Contents
    ) throws -> (bytes: [UInt8], stateHash: UInt64) {
        var hub = try recovered(from: InMemoryJournal(contents))
        let stateHash = hub.stateHash
        let id = hub.connected(at: now)
        hub.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            if hub.hasWork(at: now) {
                _ = hub.decide(at: now)
                hub.committed(at: now)
            }
            guard let next = hub.nextReady() else { break }
            if next == id { _ = hub.appendOutput(for: id, at: now, to: &bytes) }
        }
        return (bytes, stateHash)
    }
}
