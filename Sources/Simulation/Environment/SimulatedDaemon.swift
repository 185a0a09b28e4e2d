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
    private var kinds: [Kind]
    /// How often the kinds of widgets were edited.
    private(set) var edition = 0
    let configuration: HubConfiguration
    private var links: [SessionID: SimulatedLink] = [:]
    private var blocked: [SimulatedLink] = []
    private var clock = TurnClock()
    private var outgoing: [Rendered] = []
    private var timerVersion = 0
    private var records: [JournalRecord] = []
    private var snapshotUnderWay: (sequence: Int64, chunks: [[UInt8]], pruning: Pruning)?
    /// A bug of the performer: committed before the sync returned.
    private var isCommittedEarly = false
    private var rules: TurnRules
    private(set) var recoveries = 0
    private(set) var startedAt: Int64 = 0

    /// The output of a session, rendered before it is delivered.
    private struct Rendered {
        var session: SessionID
        var bytes: [UInt8]
        var output: SessionOutput
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
        later(1_000) { [self] in checkBlocked() }
        turn()
    }

    private func recovered(from journal: InMemoryJournal) throws -> Hub {
        let skipped = world.bug == .snapshotAhead ? journal.snapshot?.sequence ?? 0 : 0
        return try .recovered(from: journal, configuration, skipping: skipped)
    }

    func crash(keepingUnsynced isKept: Bool) {
        guard isUp else { return }
        server = nil
        isUp = false
        disk.crash(keepingUnsynced: isKept)
        for link in links.inOrder {
            link.session = nil
            world.hasLeft(link)
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
        let limit = rules.stopLimit.count
        later(limit) { [self] in world.violated("turn", "a stop has not ended after \(limit) ms") }
        turn()
    }

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

    private func turnServer() {
        if server?.isSessionDeadlineDue(at: now) == true { reportProgress() }
        server?.turn(at: now)
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
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .report: break
        case .handOver, .writeToLeader, .closeLeaderLink: break  // It is by itself.
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
        later(world.syncDelay()) { [self] in synced() }
    }

    private func synced() {
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

    private func resume(_ link: SimulatedLink) {
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

    private func closeAll() {
        if world.bug == .drainNeverEnds { return }
        for link in links.inOrder { close(link) }
    }

    private func close(_ link: SimulatedLink) {
        lost(link)
        world.hasLeft(link)
    }

    // MARK: Time

    /// Does it later, in this life.
    private func later(_ delay: Int64, _ body: @escaping () -> Void) {
        let life = generation
        world.schedule(after: delay) { [self] in if life == generation, isUp { body() } }
    }

    private func schedule(_ wake: Wake) {
        let now = now
        rules.check(wake, at: now.monotonic, in: world)
        timerVersion += 1
        guard let time = wrongWake(wake, at: now) ?? [wake.at, wake.flush].compactMap(\.self).min() else { return }
        let wait = (time - now.monotonic) / .milliseconds(1)
        // Time goes on between two checks, or a deadline that cannot be met now would stop the world.
        let version = timerVersion
        later(max(1, Int64(min(wait, 60_000).rounded(.up)))) { [self] in if version == timerVersion { turn() } }
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
        later(5 * world.syncDelay()) { [self] in snapshotWritten() }
    }

    private func snapshotWritten() {
        guard let snapshot = snapshotUnderWay else { return }
        snapshotUnderWay = nil
        let isWritten =
            snapshot.sequence <= disk.durableSequence
            && disk.writeSnapshot(at: snapshot.sequence, chunks: snapshot.chunks, pruning: snapshot.pruning)
        server?.snapshotWritten(isWritten: isWritten)
        perform()
        turn()
    }

    // MARK: Connections

    func accept(_ link: SimulatedLink) {
        guard server?.isStopping == false, let id = server?.connected(at: now) else {
            return world.hasLeft(link)
        }
        link.session = id
        links[id] = link
    }

    /// Reads the file of principals, where there is one.
    func readPrincipals() {
        if let principals = world.principals {
            server?.principalsLoaded(principals.directory(isRestarted: generation > 1))
        }
    }

    func principalsChanged() {
        if world.bug == .grownRightsTaken, let principals = world.principals {
            server?.principalsLoaded(principals.directory(isRestarted: generation > 1, lacksGrown: true))
            turn()
        }
        readPrincipals()
        turn()
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard link.session != nil else { return }
        link.arrived.append(bytes)
        readArrived(on: link)
        turn()
    }

    /// Reads what has arrived, unless the connection is not to be read from.
    private func readArrived(on link: SimulatedLink) {
        guard let id = link.session, !link.arrived.isEmpty else { return }
        if link.isPaused {
            guard world.bug == .pauseIgnored else { return }
        }
        let bytes = link.arrived.dequeue(link.arrived.count)
        let wantsMore = server?.received(world.tampered(bytes).span, from: id, at: now) ?? true
        rules.check(readFrom: link, in: world)
        if !wantsMore { link.isPaused = true }
    }

    func inputEnded(_ link: SimulatedLink) {
        guard let id = link.session else { return }
        if world.bug == .halfCloseHangsUp {
            return close(link)
        }
        guard link.arrived.isEmpty else {
            // The end is read behind what came before it.
            link.hasEndArrived = true
            return
        }
        server?.inputEnded(id)
        turn()
    }

    func lost(_ link: SimulatedLink) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        blocked.removeAll { $0 === link }
        server?.disconnected(id)
        turn()
    }

    func becameWritable(_ link: SimulatedLink) {
        guard let id = link.session else { return }
        blocked.removeAll { $0 === link }
        link.blockedSince = nil
        if world.bug != .neverWritable || world.now % 5 != 0 { server?.becameWritable(id) }
        turn()
    }

    /// Notifies the server which blocked readers took something: once a second, and before it looks at its sessions.
    private func reportProgress() {
        guard world.bug != .slowReaderCut else { return }
        for link in blocked where world.now - link.lastProgress <= 1_000 {
            if let id = link.session { server?.progressed(id, at: now) }
        }
    }

    private func checkBlocked() {
        reportProgress()
        for link in blocked {
            guard link.session != nil else { continue }
            let pause = world.now - link.lastProgress
            // The server hears of progress once a second, and of its end as late.
            if pause > 33_000 {
                world.violated("P7", "a reader has taken nothing for \(pause) ms, and is not cut")
            }
        }
        later(1_000) { [self] in checkBlocked() }
        turn()
    }

    /// The operator has edited the kinds of widgets, and the daemon reads them, now or when it starts.
    func reloadKinds() {
        edition += 1
        guard let edited = try? world.kinds(edition: edition) else { return }
        let isForgotten = world.bug == .reloadForgotten
        if !isForgotten { kinds = edited }
        guard isUp, server?.isStopping == false, !isForgotten else { return }
        do {
            try server?.adopt(kinds)
        } catch {
            world.violated("widgets", "the kinds are not reloaded: \(error)")
        }
        turn()
    }

    // MARK: Output

    private func flush() {
        while let id = server?.nextReady(at: now) {
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
        if world.bug == .restOfFlushDropped, server?.hasCutFlush == true { while server?.hub.nextReady() != nil {} }
        server?.flushed(at: now)
        rules.flushed(at: now.monotonic)
    }

    private func deliverOutgoing() {
        let shared = server?.sharedRows ?? []
        let rendered = outgoing
        outgoing = []
        clock.tick(at: world.hubTime)
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

    private func block(_ link: SimulatedLink, _ id: SessionID) {
        if link.blockedSince == nil {
            link.wasBlocked = true
            link.blockedSince = world.now
            link.lastProgress = world.now
            blocked.append(link)
        }
        server?.becameBlocked(id, at: now)
    }

    // MARK: Answers to a device that asks now, for checks at rest, when no time passes

    /// The answers to a device that has just arrived, at once and without a network.
    func answers(to lines: [String]) -> [UInt8] {
        guard isUp, let id = server?.connected(at: now) else { return [] }
        let (lines, isAdded) = world.principals?.introducing(lines) ?? (lines, false)
        // No time passes while it is asked, so there is no pace either.
        let pacer = server?.pacer
        server?.pacer = FlushPacer(.fixed(.zero))
        defer { if let pacer { server?.pacer = pacer } }
        _ = server?.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            turnServer()
            let isOver = performAtOnce(for: id, to: &bytes)
            if isOver { break }
        }
        server?.disconnected(id)
        return isAdded ? Self.withoutFirstReply(bytes) : bytes
    }

    private static func withoutFirstReply(_ bytes: [UInt8]) -> [UInt8] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if let place = lines.firstIndex(where: { $0.starts(with: "OK conn=".utf8) }) { lines.remove(at: place) }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
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
                while let next = server?.nextReady(at: now) {
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

    /// The answers of a daemon that has read `contents` to `lines`.
    func answers(
        to lines: [String], after contents: InMemoryJournal.Contents
    ) throws -> (bytes: [UInt8], stateHash: UInt64) {
        let hub = try recovered(from: InMemoryJournal(contents))
        let stateHash = hub.stateHash
        return (LoneServer.answers(of: hub, to: lines, at: now), stateHash)
    }
}
