internal import DequeModule
public import Hub
public import Journal
internal import TelltaleModel

/// The one turn of Telltale: when to decide, how much at once, when to write, whom to read from, when to take a snapshot,
/// and how to stop. The daemon performs it on libuv and SQLite, the simulator on simulated ones.
///
/// A performer says what happened in past tense (``received(_:from:at:)``, ``synced(_:at:)``, ``stopRequested(at:)`` …),
/// calls ``turn(at:)`` when its loop comes to rest, and carries out what ``nextAction(at:)`` gives until that is `nil`.
/// No other code decides or commits.
///
/// Invariants:
/// - Nothing is decided while a batch is committing, after a failed sync, or once the last snapshot has begun.
/// - A flush follows a commit at once. The pace delays a decision, and so a row, by no more than its bound after the
///   previous flush.
/// - A connection with more requests than its limit is not read from until some of them are answered.
/// - A stop ends within ``ShutdownLimits``, with everything acknowledged on the disk.
/// - A turn gives a bounded number of actions.
public struct Server: ~Copyable {
    /// For the tests of the whole hub; a performer has no need of it.
    package var hub: Hub
    private let configuration: ServerConfiguration
    /// The simulator takes it out where it asks without letting time pass.
    package var pacer: FlushPacer
    private var limiter: BatchLimiter
    private var shutdown: Shutdown
    private var snapshots: SnapshotPolicy
    /// Connections that are not read from, until they have taken some of their answers.
    private var paused: Set<SessionID> = []
    private var actions: Deque<Action> = []
    private var step = TurnStep.idle
    private var decisionsLeft = 0
    private var turnStart = MonotonicTime(nanoseconds: 0)
    private var decision = Decision()
    private var flush = Flush()
    /// The journal failed: the process ends after the batch in progress.
    private var hasLostJournal = false
    /// The process ends with this status, once what is due has left.
    private var exitStatus: Int32?

    private static let decisionsPerTurn = 4
    /// A turn that has taken this long begins no further batch: what others sent meanwhile is read first.
    private static let turnSpan = Milliseconds(4)
    /// A clock that is set back must not let a deadline sleep for ever.
    private static let longestSleep = Milliseconds.minutes(1)

    /// - Parameters:
    ///   - hub: As it was recovered.
    ///   - snapshotSequence: Of the snapshot that the journal has; 0 = none.
    public init(_ hub: consuming Hub, configuration: ServerConfiguration, snapshotSequence: Int64) {
        self.hub = hub
        self.configuration = configuration
        pacer = FlushPacer(configuration.pace)
        limiter = BatchLimiter(configuration.batches)
        shutdown = Shutdown(limits: configuration.shutdown)
        snapshots = SnapshotPolicy(
            recordsBetween: configuration.recordsBetweenSnapshots, sequence: snapshotSequence)
    }

    /// Nothing waits: the next turn has something to do only when something happens, or a moment comes.
    public func isIdle(at now: HubTime) -> Bool {
        actions.isEmpty && !flush.isPending && !hub.isCommitting && !hub.hasWork(at: now) && !hub.hasReadySessions
    }

    // MARK: A turn

    /// Begins a turn: the performer has reported everything that happened until `now`.
    public mutating func turn(at now: HubTime) {
        flush.turned(at: now)
        if hub.beginTurn() { resumeReading() }
        hub.sessionDeadlineReached(at: now)
        decisionsLeft = Self.decisionsPerTurn
        turnStart = now.monotonic
        step = .deciding
    }

    /// The next action; `nil` = none, until something happens or the moment of ``Action/wake(_:)`` comes.
    ///
    /// - Parameter now: Read again for every call: it shows how long the last action took.
    public mutating func nextAction(at now: HubTime) -> Action? {
        noteDecisionTime(at: now)
        while true {
            if let action = actions.popFirst() { return action }
            if flush.isPending, !hub.isCommitting { return beginFlush(at: now) }
            if hub.isDeciding {
                if let action = decidePart() { return action }
                continue
            }
            if let status = exitStatus.take() { return .exit(status) }
            switch step {
            case .deciding:
                if mayBeginDecision(at: now) { beginDecision(at: now) } else { step = .flushing }
            case .flushing:
                step = .tidying
                if hub.hasReadySessions, !flush.wasCut, isFlushDue(at: now) { return beginFlush(at: now) }
            case .tidying:
                step = .waking
                tidy(at: now)
            case .waking:
                step = .idle
                let hasWork = hub.hasWork(at: now)
                // No client could be served sooner now.
                if hub.isCommitting || !hasWork { hub.freeSettledBatch() }
                flush.rested(at: now)
                return .wake(wake(at: now, hasWork: hasWork))
            case .idle: return nil
            }
        }
    }

    /// Paced: at once when idle, a pause of the pace after each flush when busy.
    private func isFlushDue(at now: HubTime) -> Bool {
        pacer.isDue(at: now.monotonic.nanoseconds, waiting: hub.waitingCount)
    }

    private func mayBeginDecision(at now: HubTime) -> Bool {
        decisionsLeft > 0 && (decisionsLeft == Self.decisionsPerTurn || now.monotonic < turnStart + Self.turnSpan)
            && !hub.isCommitting && shutdown.mayDecide(at: now.monotonic) && hub.hasWork(at: now)
            && isFlushDue(at: now)
    }

    private mutating func beginDecision(at now: HubTime) {
        decisionsLeft -= 1
        decision = Decision()
        decision.start = now
        if !configuration.isJournalImmediate { decision.batchLimit = limiter.limit(waiting: hub.waitingCount) }
        if let action = decidePart() { actions.append(action) }
    }

    /// Decides a part of the batch. The journal writes it while the next one is decided.
    private mutating func decidePart() -> Action? {
        let part = hub.decide(at: decision.start, limit: partLimit, batchLimit: decision.batchLimit)
        decision.hasRecords = decision.hasRecords || !part.isEmpty
        if hub.isDeciding { return .append(part, isLast: false) }
        decision.requestCount = hub.batchRequestCount
        flush.requestCount += hub.batchRequestCount
        report(hub.takeMachineFaults())
        report(hub.takeAccessNotices())
        let checks = hub.takeTokenChecks()
        if !checks.isEmpty { actions.append(.checkTokens(checks)) }
        if decision.hasRecords { return .append(part, isLast: true) }
        // A batch without records is shown at once.
        hub.committed(at: decision.start)
        flush.isPending = true
        return nil
    }

    private mutating func report(_ faults: [String]) {
        if !faults.isEmpty { actions.append(.report(faults)) }
    }

    private var partLimit: Int {
        if configuration.isJournalImmediate { return .max }
        return configuration.recordsPerPart
            ?? BatchLimiter.partLength(waiting: hub.waitingCount, room: hub.batchRoom ?? decision.batchLimit)
    }

    private mutating func noteDecisionTime(at now: HubTime) {
        guard let count = decision.requestCount.take() else { return }
        limiter.decided(count, in: now.monotonic - decision.start.monotonic)
    }

    private mutating func tidy(at now: HubTime) {
        for request in hub.takeHistoryRequests() {
            if request.lastSequence > 0 {
                actions.append(.readHistory(request))
            } else {
                hub.historyRead(.success([]), for: request)
            }
        }
        let forLeader = hub.takeLinkOutput()
        if !forLeader.isEmpty { actions.append(.writeToLeader(forLeader)) }
        if hub.takeLinkRefusal() { actions.append(.closeLeaderLink) }
        for id in hub.takeEndedSessions() { actions.append(.close(id)) }
        if !hub.isCommitting, let handover = hub.takeHandover() { actions.append(.handOver(handover)) }
        if shutdown.isRunning, !hub.isCommitting,
            snapshots.isDue(durable: hub.durableSequence, entityCount: hub.entityCount)
        {
            actions.append(beginSnapshot())
        }
        if !shutdown.isRunning { goOnStopping(at: now) }
    }

    private func wake(at now: HubTime, hasWork: Bool) -> Wake {
        var wake = Wake()
        func consider(_ time: MonotonicTime) { wake.at = min(wake.at ?? .distantFuture, time) }
        if !hub.isCommitting {
            let mayDecide = shutdown.mayDecide(at: now.monotonic)
            if hub.hasReadySessions || (mayDecide && hasWork) {
                if isFlushDue(at: now) {
                    consider(now.monotonic)
                } else {
                    wake.flush = MonotonicTime(nanoseconds: pacer.nextFlush)
                }
            }
            if mayDecide { considerDeadlines(at: now, consider) }
        }
        if let time = hub.nextSessionDeadline { consider(time) }
        if let time = shutdown.nextMoment { consider(time) }
        wake.at = wake.at.map { min($0, now.monotonic + Self.longestSleep) }
        return wake
    }

    // MARK: Writing

    private mutating func beginFlush(at now: HubTime) -> Action {
        flush.begin(at: now, sessions: hub.readySessionCount, rows: hub.statistics.rows)
        return .flush
    }

    /// The next session to write to during a flush: ask for its ``output(for:at:to:)``. `nil` = the flush is over. Rows
    /// for all screens may take long, so they end ``ServerConfiguration/flushSpan`` after the first of them.
    ///
    /// - Parameter now: About now: it shows how long the flush has taken.
    public mutating func nextReady(at now: HubTime) -> SessionID? {
        // No flush follows the last one of a process.
        let isBounded = !hub.hasReadyAnswers && shutdown.isRunning && exitStatus == nil && !hasLostJournal
        return flush.takeSession(at: now.monotonic, within: isBounded ? configuration.flushSpan : nil)
            ? hub.nextReady() : nil
    }

    /// Whether a flush of this turn ended before it had come to all sessions, for the simulator.
    package var hasCutFlush: Bool { flush.wasCut }

    /// Every session that ``nextReady(at:)`` named was written to.
    public mutating func flushed(at now: HubTime) {
        guard let start = flush.start else { return }
        let work = flush.end(at: now, rows: hub.statistics.rows)
        pacer.flushed(from: start.nanoseconds, to: now.monotonic.nanoseconds, work)
        resumeReading()
    }

    private mutating func resumeReading() {
        guard !paused.isEmpty, !shutdown.isDeaf else { return }
        // In the order in which they connected: the order of a set differs in each process.
        for id in paused.filter({ hub.wantsInput($0) }).sorted(by: { $0.number < $1.number }) {
            paused.remove(id)
            actions.append(.resumeReading(id))
        }
    }

    // MARK: Connections

    /// Bytes arrived.
    ///
    /// - Returns: Whether to read on. Otherwise not before ``Action/resumeReading(_:)``: its sender has more requests on
    ///   their way than it may.
    public mutating func received(_ bytes: Span<UInt8>, from id: SessionID, at now: HubTime) -> Bool {
        flush.worked(at: now)
        hub.received(bytes, from: id, at: now)
        guard !hub.wantsInput(id) else { return true }
        paused.insert(id)
        return false
    }

    /// The connection is gone, for whatever reason.
    public mutating func disconnected(_ id: SessionID) {
        paused.remove(id)
        hub.disconnected(id)
    }

    /// A signed token was checked.
    public mutating func tokenChecked(_ verdict: TokenVerdict) { hub.tokenChecked(verdict) }

    // MARK: The journal

    /// The outcome of the batch whose last part was appended.
    public mutating func synced(_ outcome: SyncOutcome, at now: HubTime) {
        flush.worked(at: now)
        switch outcome {
        case .durable(let duration, let wait):
            hub.statistics.countSync(microseconds: Int(min(duration, .seconds(86_400)) / .microseconds(1)))
            limiter.committed(after: wait)
            hub.committed(at: now)
        case .full: hub.refused(at: now)
        case .failed:
            hub.failed(at: now)
            end(1)
        }
        if hasLostJournal {
            hub.refuseUndecided()
            end(1)
        }
        flush.isPending = true
    }

    /// The journal failed outside a batch: nothing more can be made durable. A batch that it has is answered first.
    public mutating func journalFailed() {
        hasLostJournal = true
        guard !hub.isCommitting else { return }
        hub.refuseUndecided()
        flush.isPending = true
        end(1)
    }

    // MARK: Modes

    /// From now on clients are sent this role in the cluster: ``Hub/Hub/stands(_:at:)``.
    public mutating func stands(_ status: ClusterStatus, at now: HubTime) {
        hub.stands(status, at: now)
        if hub.hasReadySessions { flush.isPending = true }
    }

    /// Another node of the cluster has decided this batch: applies and publishes it.
    ///
    /// - Throws: For a record that gives another result here. Nothing of the batch is shown then, and the node stops.
    public mutating func replay(_ batch: [JournalRecord], at now: HubTime) throws(RecoveryError) {
        flush.worked(at: now)
        try hub.replay(batch, at: now)
        flush.isPending = true
    }

    /// Another node decides from now on: ``Hub/Hub/follow(at:)``.
    public mutating func follow(at now: HubTime) {
        hub.follow(at: now)
        flush.isPending = true
    }

    /// On a node that follows: a connection to the leader is there. What its clients write goes there from now on.
    public mutating func linkConnected(at now: HubTime) { hub.linkConnected(at: now) }

    /// Bytes of the leader arrived.
    public mutating func linkReceived(_ bytes: Span<UInt8>, at now: HubTime) {
        flush.worked(at: now)
        hub.linkReceived(bytes, at: now)
    }

    /// The connection to the leader is gone.
    public mutating func linkLost(at now: HubTime) { hub.linkLost(at: now) }

    // MARK: Snapshots

    private mutating func beginSnapshot() -> Action {
        .writeSnapshot(
            snapshots.begin(
                at: hub.durableSequence, through: hub.takePrunableSequence(), chains: hub.takePrunedChains()))
    }

    public mutating func snapshotWritten(isWritten: Bool) {
        snapshots.finished(isWritten: isWritten)
        guard shutdown.phase == .writingSnapshot else { return }
        // The one that was being written when the stop was requested has not all of it.
        if isWritten, snapshots.sequence < hub.durableSequence {
            actions.append(beginSnapshot())
        } else {
            closeJournal()
        }
    }

    // MARK: Stop

    public var isStopping: Bool { !shutdown.isRunning }

    /// A person or a supervisor asks the process to stop.
    public mutating func stopRequested(at now: HubTime) {
        guard shutdown.isRunning else { return }
        shutdown.request(at: now.monotonic)
        actions.append(.stopListening)
    }

    /// The process could not start: its journal is closed in order, and keeps its epoch.
    public mutating func startFailed() { closeJournal() }

    private mutating func goOnStopping(at now: HubTime) {
        let next = shutdown.goOn(
            at: now.monotonic, hasWork: hub.hasWork(at: now) || hub.awaitsLeader,
            hasConnections: hub.openSessionCount > 0,
            isCommitting: hub.isCommitting)
        switch next {
        case .pauseReading:
            actions.append(.pauseReading)
            goOnStopping(at: now)
        case .sayBye:
            hub.drain(wait: configuration.reconnectPause)
            flush.isPending = true
            // Without a connection there is nothing to wait for.
            goOnStopping(at: now)
        case .closeConnections: actions.append(.closeConnections)
        // From a snapshot an upgraded daemon starts, whatever its code makes of old records.
        case .writeSnapshot: if !snapshots.isWriting { actions.append(beginSnapshot()) }
        case nil: break
        }
    }

    private mutating func closeJournal() {
        shutdown.closeJournal()
        actions.append(.closeJournal)
    }

    /// The journal is closed.
    ///
    /// - Parameter isInOrder: Everything in it is durable.
    public mutating func journalClosed(isInOrder: Bool) { end(isInOrder ? 0 : 1) }

    /// Nothing more is decided. Pending output leaves first.
    private mutating func end(_ status: Int32) {
        guard shutdown.phase != .ended else { return }
        shutdown.end()
        exitStatus = status
    }
}
