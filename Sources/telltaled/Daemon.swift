import Hub
import Journal
import Kinds
import Logging
import TelltaleEventLoop
import TelltaleModel

/// The shell around the hub: it performs, and decides nothing.
///
/// Everything here runs on the loop's thread. Callbacks feed the hub; the end of each turn of the loop
/// (architecture.md, *A turn*) lets it decide, hands the journal what it decided, and writes what became durable.
final class Daemon {
    let loop: EventLoop
    var hub: Hub
    let clock: Clock
    let configuration: Configuration
    let logger: Logger
    private let journal: JournalWriter
    private let mailbox: Mailbox<Message>
    private var listeners: [Listener] = []
    private var connections = ConnectionTable()
    private var blocked: Set<SessionID> = []
    /// Those that are not read from, until they have taken some of their answers.
    private var paused: Set<SessionID> = []
    /// Nobody is read from any more.
    private var isDeaf = false
    private var turnHandle: PrepareHandle?
    private var timer: TimerHandle?
    private var paceTimer: PreciseTimerHandle?
    private var stallTimer: TimerHandle?
    private var signals: [SignalHandle] = []
    private var pace: FlushPacer
    private var share = BatchLimiter()
    private var outgoing = Outgoing()
    private var snapshotSequence: Int64
    /// By the monotonic clock; the least there is while the disk is not full.
    private var nextFullComplaint = Int64.min
    private var isWritingSnapshot = false
    /// What the journal was asked to prune with a snapshot that it has not finished.
    private var unprunedYet = Pruning()
    private var stopping: Stopping = .no
    private let exit: (Int32) -> Void

    private enum Stopping {
        case no
        /// Asked to stop, at this moment of the monotonic clock: what was received is still answered.
        case asked(at: Int64)
        /// `BYE` is on its way, since this moment of the monotonic clock.
        case draining(since: Int64)
        case writingSnapshot
        case closingJournal
    }

    /// What other threads say.
    enum Message: Sendable {
        case committed(JournalReceipt)
        case refused(JournalError)
        case history(HistoryRequest, Result<[JournalRecord], JournalError>)
        case snapshotWritten(Result<Void, JournalError>)
        case failed(JournalError)
        case journalClosed(Result<Void, JournalError>)

        /// What became of a batch.
        init(_ result: Result<JournalReceipt, JournalError>) {
            switch result {
            case .success(let receipt): self = .committed(receipt)
            case .failure(let error): self = .refused(error)
            }
        }
    }

    /// - Parameter exit: Is told the exit status, once, when everything is done.
    init(
        loop: EventLoop, hub: consuming Hub, journal: sending any Journal, clock: Clock, configuration: Configuration,
        logger: Logger, exit: @escaping (Int32) -> Void
    ) throws(UVError) {
        self.loop = loop
        // After a crash the tail is replayed again and again until a snapshot has it.
        snapshotSequence = journal.snapshot?.sequence ?? 0
        self.hub = hub
        self.clock = clock
        self.configuration = configuration
        pace = FlushPacer(interval: .milliseconds(configuration.pace))
        self.logger = logger
        self.exit = exit
        let box = Box()
        mailbox = try Mailbox(on: loop) { messages in for message in messages { box.daemon?.take(message) } }
        let sender = mailbox.sender
        self.journal = JournalWriter(journal) { error in _ = sender.post(.failed(error)) }
        box.daemon = self
    }

    private final class Box {
        weak var daemon: Daemon?
    }

    // MARK: Start

    func listen() throws(UVError) {
        for endpoint in configuration.endpoints {
            var options = Listener.Options()
            options.farewell = { [unowned self] in hub.refusedConnection() }
            listeners.append(
                try Listener(at: endpoint, on: loop, options: options) { [unowned self] connection in
                    accept(connection)
                })
        }
    }

    /// Where it really listens.
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }

    func start() throws(UVError) {
        // They wake the loop; the turn does the rest.
        timer = try TimerHandle(on: loop) { _ in }
        paceTimer = try PreciseTimerHandle(on: loop) {}
        stallTimer = try TimerHandle(on: loop) { [unowned self] _ in lookAtBlocked() }
        stallTimer?.scheduleRepeating(everyMilliseconds: 1_000)
        turnHandle = try PrepareHandle(on: loop) { [unowned self] in turn() }
        signals = [
            try SignalHandle(.terminate, on: loop) { [unowned self] in stop(because: "SIGTERM") },
            try SignalHandle(.interrupt, on: loop) { [unowned self] in stop(because: "SIGINT") },
            try SignalHandle(.hangUp, on: loop) { [unowned self] in reload() },
        ]
    }

    // MARK: Connections

    private func accept(_ connection: Connection) {
        let id = hub.connected(at: clock.now)
        connections.insert(connection, of: id)
        connection.start(handlers)
    }

    private lazy var handlers = ConnectionHandlers(
        onData: { [unowned self] connection, bytes in
            guard let id = connections.session(of: connection) else { return }
            hub.received(bytes, from: id, at: clock.now)
            guard !hub.wantsInput(id) else { return }
            connection.pauseReading()
            paused.insert(id)
        },
        onEnd: { [unowned self] connection in
            if let id = connections.session(of: connection) { hub.inputEnded(id) }
        },
        onWritable: { [unowned self] connection in
            guard let id = connections.session(of: connection) else { return }
            blocked.remove(id)
            hub.becameWritable(id)
        },
        onClosed: { [unowned self] connection, _ in
            guard let id = connections.remove(connection) else { return }
            blocked.remove(id)
            paused.remove(id)
            hub.disconnected(id)
        })

    /// Tells the hub which blocked sockets took something: slow, not stuck.
    private func lookAtBlocked() {
        let now = clock.now
        for id in blocked {
            guard let connection = connections[id] else { continue }
            if connection.stalledMilliseconds() < 1_000 { hub.progressed(id, at: now) }
        }
    }

    // MARK: A turn

    /// The end of a turn of the loop: decide, make durable, show.
    private func turn() {
        var now = clock.now
        hub.sessionDeadlineReached(at: now)
        for _ in 0..<Self.decisionsPerTurn where mayDecide && !hub.isCommitting && hub.hasWork(at: now) {
            guard isFlushDue else { break }
            decide(at: now)
            now = clock.now
        }
        if hub.hasReadySessions, isFlushDue { flush(at: now) }
        for request in hub.takeHistoryRequests() { readHistory(request) }
        for id in hub.takeEndedSessions() { connections[id]?.close() }
        writeSnapshotIfDue()
        goOnStopping()
        armTimer(at: now)
        // Nobody could be served sooner now.
        if hub.isCommitting || !hub.hasWork(at: now) { hub.freeSettledBatch() }
    }

    private static let decisionsPerTurn = 4

    /// What is decided after the last snapshot was begun would not be in it.
    private var mayDecide: Bool {
        switch stopping {
        case .no: true
        case .asked(let start): clock.now.monotonic - start < Self.answeringMilliseconds
        // Timers that are always due would keep us for ever.
        case .draining(let start): clock.now.monotonic - start < Self.drainMilliseconds
        case .writingSnapshot, .closingJournal: false
        }
    }

    /// Paced: at once when idle, a pause of `pace` after each flush when busy.
    private var isFlushDue: Bool { pace.isDue(at: EventLoop.monotonicNanoseconds(), waiting: hub.waitingCount) }

    /// Decides what waits, and sends the records to the journal part by part: it writes while the rest is decided.
    ///
    /// What makes no records is shown at once; otherwise the journal tells what became of them.
    private func decide(at now: HubTime) {
        let batchLimit = journal.isImmediate ? .max : share.limit(waiting: hub.waitingCount)
        let start = ContinuousClock.now
        var hasRecords = false
        while true {
            let limit = journal.isImmediate ? .max : FailPoint.recordsPerPart ?? hub.partLength(batchLimit: batchLimit)
            let part = hub.decide(at: now, limit: limit, batchLimit: batchLimit)
            hasRecords = hasRecords || !part.isEmpty
            if hub.isDeciding {
                journal.write(part)
                continue
            }
            share.decided(hub.batchRequestCount, in: .now - start)
            for fault in hub.takeMachineFaults() { logger.warning("\(fault)") }
            if hasRecords { return commit(part) }
            hub.committed(at: now)
            return flush(at: now)
        }
    }

    private func commit(_ lastPart: [JournalRecord]) {
        if journal.isImmediate { return take(Message(journal.appendAtOnce(lastPart))) }
        let sender = mailbox.sender
        journal.append(lastPart) { result in _ = sender.post(Message(result)) }
    }

    private func take(_ message: Message) {
        let now = clock.now
        switch message {
        case .committed(let receipt):
            let (seconds, attoseconds) = receipt.duration.components
            hub.statistics.countSync(microseconds: Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
            share.committed(after: receipt.wait)
            if nextFullComplaint > .min {
                logger.notice("there is space again")
                nextFullComplaint = .min
            }
            FailPoint.shared.reached("before-reply")
            hub.committed(at: now)
            flush(at: now)
            FailPoint.shared.reached("after-reply")
        case .refused(.full(let what, let cause)):
            // Every batch is tried, many a second; people are told now and then.
            if now.monotonic >= nextFullComplaint {
                logger.error("\(JournalError.full(what: what, cause: cause))")
                nextFullComplaint = now.monotonic + 10_000
            }
            hub.refused(at: now)
            flush(at: now)
        case .refused(let error):
            hub.failed(at: now)
            flush(at: now)
            fail(error)
        case .failed(let error): fail(error)
        case .history(let request, let result):
            hub.historyRead(result, for: request)
        case .snapshotWritten(let result):
            isWritingSnapshot = false
            switch result {
            case .success: unprunedYet = Pruning()
            case .failure(let error):
                let failure = if case .no = stopping { error } else { error.ending("start again") }
                logger.warning("the snapshot was given up: \(failure)")
            }
            guard case .writingSnapshot = stopping else { break }
            // The one that was being written when we were asked to stop has not all of it.
            if case .success = result, snapshotSequence < hub.durableSequence {
                writeSnapshot()
            } else {
                closeJournal()
            }
        case .journalClosed(let result):
            if case .failure(let error) = result { fail(error) } else { leave(0) }
        }
    }

    /// Writes to every session that is due something and can take it: one write each.
    private func flush(at now: HubTime) {
        let start = EventLoop.monotonicNanoseconds()
        defer { pace.flushed(from: start, to: EventLoop.monotonicNanoseconds()) }
        // Those that are ready now: who has more to say goes on with the next turn.
        var rest = hub.readySessionCount
        while rest > 0, let id = hub.nextReady() {
            rest -= 1
            guard let connection = connections[id], connection.isOpen else { continue }
            guard connection.isWritable else {
                block(connection, id, at: now)
                continue
            }
            outgoing.append(id, on: connection, of: &hub, at: now)
            if outgoing.isFull { writeOutgoing(at: now) }
        }
        writeOutgoing(at: now)
        guard !paused.isEmpty, !isDeaf else { return }
        for id in paused where hub.wantsInput(id) {
            connections[id]?.resumeReading()
            paused.remove(id)
        }
    }

    private func writeOutgoing(at now: HubTime) {
        outgoing.drain(sharing: hub.sharedRows) { item, bytes in
            let outcome = item.connection.write(bytes)
            if outcome != .written, !bytes.isEmpty { block(item.connection, item.session, at: now) }
            if item.disposition == .finish { item.connection.finish(lingerMilliseconds: 2_000) }
        }
    }

    private func block(_ connection: Connection, _ id: SessionID, at now: HubTime) {
        blocked.insert(id)
        hub.becameBlocked(id, at: now)
    }

    private func armTimer(at now: HubTime) {
        var wait: Int64?
        func consider(_ milliseconds: Int64) { wait = min(wait ?? .max, max(0, milliseconds)) }
        if !hub.isCommitting {
            if hub.hasWork(at: now) || hub.hasReadySessions {
                if isFlushDue { consider(0) } else { paceTimer?.schedule(atMonotonicNanoseconds: pace.nextFlush) }
            }
            // Deadlines that are due wait with the rest after a full disk.
            let pause = hub.decisionsPausedUntil - now.monotonic
            if pause > 0 { consider(pause) }
            if pause <= 0, let time = hub.nextDeadline { consider(clock.milliseconds(untilKindsTime: time, from: now)) }
            if pause <= 0, let time = hub.nextWallDeadline { consider((time - now.wall).count) }
        }
        if let time = hub.nextSessionDeadline { consider(time - now.monotonic) }
        // A clock that is set back must not let a deadline sleep for ever.
        if let wait { timer?.schedule(afterMilliseconds: min(wait, 60_000)) } else { timer?.cancel() }
    }

    private func readHistory(_ request: HistoryRequest) {
        let sender = mailbox.sender
        guard request.lastSequence > 0 else {
            hub.historyRead(.success([]), for: request)
            return
        }
        journal.readChain(endingAt: request.lastSequence, limit: request.limit) { result in
            _ = sender.post(.history(request, result))
        }
    }

    // MARK: Reload

    private func reload() {
        do {
            let (kinds, diagnostics) = try KindFolder(path: configuration.kinds).load()
            for diagnostic in diagnostics { log(diagnostic) }
            guard let kinds else {
                logger.error("the kinds were not reloaded; the old ones stay in force")
                return
            }
            try hub.adopt(kinds.kinds)
            logger.info("kinds reloaded", metadata: ["count": "\(kinds.kinds.count)"])
        } catch {
            logger.error("the kinds were not reloaded; the old ones stay in force: \(error)")
        }
    }

    private func log(_ diagnostic: Diagnostic) {
        switch diagnostic.severity {
        case .error: logger.error("\(diagnostic.logged)")
        case .warning: logger.warning("\(diagnostic.logged)")
        }
    }

    // MARK: Stop

    private func stop(because reason: String) {
        guard case .no = stopping else { return }
        logger.info("stopping", metadata: ["because": "\(reason)"])
        stopping = .asked(at: clock.now.monotonic)
        listeners = []
    }

    private func goOnStopping() {
        switch stopping {
        case .no, .writingSnapshot, .closingJournal: return
        case .asked(let start):
            let now = clock.now
            let waited = now.monotonic - start
            if waited >= Self.listeningMilliseconds, !isDeaf {
                // Producers that never pause would keep us for ever.
                isDeaf = true
                for connection in connections.all { connection.pauseReading() }
            }
            guard !hub.isCommitting, !hub.hasWork(at: now) || !mayDecide else { return }
            hub.drain(wait: 100...5_000)
            flush(at: clock.now)
            stopping = .draining(since: now.monotonic)
            stallTimer?.schedule(afterMilliseconds: Self.drainMilliseconds)
            stallTimer = try? TimerHandle(on: loop) { [unowned self] _ in
                for connection in connections.all { connection.close() }
            }
            stallTimer?.schedule(afterMilliseconds: Self.drainMilliseconds)
        case .draining:
            guard connections.isEmpty, !hub.isCommitting else { return }
            // From a snapshot an upgraded daemon starts, whatever its code makes of old records.
            stopping = .writingSnapshot
            if !isWritingSnapshot { writeSnapshot() }
        }
    }

    /// Ends one that could not start, and waits for its journal: it has been left in order, and keeps its epoch.
    func giveUp() {
        listeners = []
        closeJournal()
        _ = loop.run()
    }

    private func closeJournal() {
        stopping = .closingJournal
        let sender = mailbox.sender
        journal.close { result in _ = sender.post(.journalClosed(result)) }
    }

    // MARK: Snapshots

    /// A snapshot is due when a recovery would replay more records than this, and more than there are keys.
    private static let recordsBetweenSnapshots = FailPoint.recordsBetweenSnapshots ?? 200_000

    private func writeSnapshotIfDue() {
        guard case .no = stopping, !isWritingSnapshot, !hub.isCommitting else { return }
        let records = hub.durableSequence - snapshotSequence
        guard records > Self.recordsBetweenSnapshots, records > Int64(2 * hub.entityCount) else { return }
        writeSnapshot()
    }

    private func writeSnapshot() {
        isWritingSnapshot = true
        snapshotSequence = hub.durableSequence
        let pruning = Pruning(
            through: max(unprunedYet.through, hub.takePrunableSequence()),
            chains: unprunedYet.chains + hub.takePrunedChains())
        unprunedYet = pruning
        let sender = mailbox.sender
        SnapshotWriter.write(hub.snapshot(), to: journal, pruning: pruning) { result in
            _ = sender.post(.snapshotWritten(result))
        }
    }

    /// How long requests are still read after a signal.
    private static let listeningMilliseconds: Int64 = 1_000
    /// How long they are still decided, and deadlines with them.
    private static let answeringMilliseconds: Int64 = 3_000
    /// How long readers have to take their last bytes.
    private static let drainMilliseconds: Int64 = 4_000

    private func fail(_ error: JournalError) {
        logger.critical("\(error)")
        leave(1)
    }

    private func leave(_ status: Int32) {
        turnHandle = nil
        signals = []
        listeners = []
        exit(status)
        loop.stop()
    }
}
