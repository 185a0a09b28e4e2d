import Hub
import Journal
import Kinds
import Logging
import Server
import TelltaleEventLoop
import TelltaleModel

/// Performs the actions of a ``Server/Server`` on libuv and a journal. It decides about the machine alone: which
/// blocked sockets made progress, when to read a certificate again, how often to complain about a disk.
///
/// Everything here runs on the loop's thread. Callbacks report events to the server. At the end of each turn of the
/// loop (ARCHITECTURE.md, *A turn*) the server returns the actions to perform.
final class Daemon {
    let loop: EventLoop
    var server: Server
    /// The number of the current server; each replacement counts up.
    var serverNumber = 0
    var snapshots = SnapshotTurns<HubSnapshot>()
    var clock: Clock
    let configuration: Configuration
    var principals: Principals?
    /// The principals in force; `nil` = no connection needs a token.
    var directory: PrincipalDirectory?
    var certificate: Certificate?
    /// As it was read last.
    var kindFolder: KindFolder
    let logger: Logger
    let manager: ServiceManager
    let journal: JournalWriter
    let mailbox: Mailbox<Message>
    var listeners: [Listener] = []
    var tlsListeners: [Listener] = []
    var operatorListener: OperatorListener?
    var connections = ConnectionTable()
    var blocked: Set<SessionID> = []
    /// `nil` until a signed token is to be checked.
    var tokenThread: TokenThread?
    var reloads = ReloadTurns()
    /// `nil` without `--dev`.
    var development: Development?
    /// `nil` = a daemon by itself.
    var cluster: ClusterEdge?
    private var turnHandle: PrepareHandle?
    private var timer: TimerHandle?
    private var flushTimer: PreciseTimerHandle?
    private var stallTimer: TimerHandle?
    private var watchdogTimer: TimerHandle?
    private var signals: [SignalHandle] = []
    #if DEBUG
        private var heldClock: HeldClock?
    #endif
    /// Connections refused for lack of room since the last log line, and when the next one is due.
    var refusals = RefusalLog()
    private var outgoing = Outgoing()
    private var complaints = DiskComplaints()
    /// Whether the next flush sends the result of a commit, for ``FailPoint``.
    var showsCommit = false
    private let exit: (Int32) -> Void

    /// A message from another thread.
    enum Message: Sendable {
        case synced(Result<JournalReceipt, JournalError>)
        case history(HistoryRequest, Result<[JournalRecord], JournalError>)
        case snapshotWritten(Result<Void, JournalError>)
        /// What the folder holds; `nil` if a file has a fault, which was logged.
        case kindsRead(KindFolder, Result<KindSet?, KindFolder.Unreadable>)
        /// The verdict on a signed token of a connection of that server.
        case tokenChecked(TokenVerdict, server: Int)
        case failed(JournalError)
        case journalClosed(Result<Void, JournalError>)
        case checkpoint(CheckpointWord)
        /// The local journal has written most of what was submitted.
        case localJournalCaughtUp
        /// The local journal has written everything, and the process may end.
        case stopped
    }

    /// - Parameter exit: Called once with the exit status, when everything is done.
    init(
        loop: EventLoop, server: consuming Server, journal: sending any Journal, clock: Clock,
        configuration: Configuration, files: Telltaled.NamedFiles, logger: Logger, manager: ServiceManager,
        exit: @escaping (Int32) -> Void
    ) throws(UVError) {
        self.loop = loop
        self.server = server
        self.clock = clock
        self.configuration = configuration
        principals = files.principals
        certificate = files.certificate
        kindFolder = files.folder
        self.logger = logger
        self.manager = manager
        self.exit = exit
        let box = Box()
        mailbox = try Mailbox(on: loop) { messages in for message in messages { box.daemon?.handleMessage(message) } }
        let sender = mailbox.sender
        self.journal = JournalWriter(journal) { error in _ = sender.post(.failed(error)) }
        directory = principals?.takeFirst()
        if let directory { self.server.principalsLoaded(directory) }
        if let certificate { self.server.certificateLoaded(expiry: certificate.expiry) }
        box.daemon = self
        if configuration.isDeveloping { try followKinds(files.kinds.kinds) }
    }

    private final class Box {
        weak var daemon: Daemon?
    }

    // MARK: Start

    func start() throws(UVError) {
        // The timers only wake the loop; the turn does the work.
        timer = try TimerHandle(on: loop) { _ in }
        flushTimer = try PreciseTimerHandle(on: loop) {}
        stallTimer = try TimerHandle(on: loop) { [unowned self] _ in
            reportProgress()
            reloadPrincipals(isAsked: false)
            retryCertificate()
        }
        stallTimer?.scheduleRepeating(everyMilliseconds: 1_000)
        watchdogTimer = try manager.watchdog(on: loop)
        turnHandle = try PrepareHandle(on: loop) { [unowned self] in
            let now = clock.now
            if !blocked.isEmpty, server.isSessionDeadlineDue(at: now) { reportProgress() }
            if let cluster, !cluster.mayServe() || !cluster.mayDecide { return }
            server.turn(at: now)
            performServer()
            #if DEBUG
                heldClock?.rest(isCommitting: server.isCommitting, clock, on: timer)
            #endif
        }
        #if DEBUG
            heldClock = try HeldClock(on: loop)
        #endif
        signals = [
            try SignalHandle(.terminate, on: loop) { [unowned self] in stop(because: "SIGTERM") },
            try SignalHandle(.interrupt, on: loop) { [unowned self] in stop(because: "SIGINT") },
            try SignalHandle(.hangUp, on: loop) { [unowned self] in reload() },
        ]
    }

    /// Stops a daemon that could not start, and waits until its journal is closed in order, so that it keeps its epoch.
    func giveUp() {
        stopListening()
        server.startFailed()
        perform()
        _ = loop.run()
    }

    // MARK: What happened

    func accept(_ connection: Connection) {
        let id = server.connected(at: clock.now)
        connections.insert(connection, of: id)
        connection.readsLittle = server.isRestricted(id)
        logger.opened(id)
        connection.start(handlers)
    }

    private lazy var handlers = ConnectionHandlers(
        onData: { [unowned self] connection, bytes in
            guard let id = connections.session(of: connection) else { return }
            if !server.received(bytes, from: id, at: clock.now) { connection.pauseReading() }
            if connection.readsLittle, !server.isRestricted(id) { connection.readsLittle = false }
        },
        onEnd: { [unowned self] connection in
            if let id = connections.session(of: connection) { server.inputEnded(id) }
        },
        onWritable: { [unowned self] connection in
            guard let id = connections.session(of: connection) else { return }
            blocked.remove(id)
            server.becameWritable(id)
        },
        onClosed: { [unowned self] connection, reason in
            guard let id = connections.remove(connection) else { return }
            logger.closed(id, connection, reason)
            blocked.remove(id)
            tokenThread?.forget(id)
            server.disconnected(id)
        })

    /// Reports to the server which blocked sockets took some bytes: they are slow, not stuck.
    private func reportProgress() {
        let now = clock.now
        for id in blocked {
            guard let connection = connections[id] else { continue }
            if connection.stalledMilliseconds() < 1_000 { server.progressed(id, at: now) }
        }
    }

    private func handleMessage(_ message: Message) {
        switch message {
        case .synced(let result): synced(result)
        case .failed(let error):
            logger.critical("\(error)")
            if cluster == nil { server.journalFailed() } else { stopAtOnce() }
        case .history(let request, let result): server.historyRead(result, for: request)
        case .snapshotWritten(let result): snapshotEnded(result)
        case .kindsRead(let folder, let result): kindsRead(folder, result)
        case .tokenChecked(let verdict, let server): tokenChecked(verdict, for: server)
        case .journalClosed(let result):
            if case .failure(let error) = result { logger.critical("\(error)") }
            server.journalClosed(isInOrder: (try? result.get()) != nil)
        case .checkpoint(let word): cluster?.handleWord(word)
        case .localJournalCaughtUp: cluster?.localJournalIsBehind(false)
        case .stopped: stopAtOnce()
        }
        perform()
    }

    private func synced(_ result: Result<JournalReceipt, JournalError>) {
        let now = clock.now
        switch result {
        case .success(let receipt):
            if complaints.end() { logger.notice("there is space again") }
            logger.committed(receipt)
            FailPoint.shared.reached("before-reply")
            showsCommit = true
            server.synced(.durable(duration: receipt.duration, wait: receipt.wait), at: now)
        case .failure(.full(let what, let cause)):
            if complaints.isDue(at: now.monotonic) { logger.error("\(JournalError.full(what: what, cause: cause))") }
            server.synced(.full, at: now)
        case .failure(let error):
            logger.critical("\(error)")
            server.synced(.failed, at: now)
        }
    }

    private func stop(because reason: String) {
        if !server.isStopping {
            logger.info("stopping", metadata: ["because": "\(reason)"])
            manager.stopping()
        }
        if cluster?.end() != true { server.stopRequested(at: clock.now) }
    }

    // MARK: Actions

    /// Performs the server's actions if this node may write. A leader that cannot be sure that it still leads is
    /// silent.
    func perform() {
        if cluster?.mayServe() != false { performServer() }
    }

    private func performServer() {
        while let action = server.nextAction(at: clock.now) { perform(action) }
    }

    private func perform(_ action: Action) {
        switch action {
        case .append(let records, let isLast):
            if let cluster {
                cluster.append(records, isLast: isLast)
            } else if isLast {
                append(records)
            } else {
                journal.write(records)
            }
        case .flush: flush()
        case .resumeReading(let id): connections[id]?.resumeReading()
        case .pauseReading: for connection in connections.all { connection.pauseReading() }
        case .close(let id): connections[id]?.close()
        case .closeConnections: for connection in connections.all { connection.close() }
        case .stopListening: stopListening()
        case .readHistory(let request): readHistory(request)
        case .writeSnapshot(let pruning): writeSnapshot(pruning)
        case .closeJournal: closeJournal()
        case .wake(let wake): schedule(wake)
        case .writeToLeader(let bytes): cluster?.writeToLeader(bytes)
        case .closeLeaderLink: cluster?.closeLeaderLink()
        case .handOver(let handover): cluster?.handOver(to: handover.successor)
        case .checkTokens(let checks): check(checks)
        case .report(let faults): for fault in faults { logger.warning("\(fault)") }
        case .exit(let status): exitWith(status)
        }
    }

    private func append(_ lastPart: [JournalRecord]) {
        if journal.isImmediate { return synced(journal.appendAtOnce(lastPart)) }
        let sender = mailbox.sender
        journal.append(lastPart) { result in _ = sender.post(.synced(result)) }
    }

    /// Writes to each session that has output pending and a writable socket, once each.
    private func flush() {
        var now = clock.now
        while let id = server.nextReady(at: now) {
            guard let connection = connections[id], connection.isOpen else { continue }
            guard connection.isWritable else {
                block(id, at: now)
                continue
            }
            outgoing.append(id, on: connection, of: &server, at: now)
            guard outgoing.isFull else { continue }
            writeOutgoing(at: now)
            now = clock.now
        }
        writeOutgoing(at: now)
        server.flushed(at: clock.now)
        if showsCommit { FailPoint.shared.reached("after-reply") }
        showsCommit = false
    }

    private func writeOutgoing(at now: HubTime) {
        outgoing.drain(sharing: server.sharedRows) { item, bytes in
            let outcome = item.connection.write(bytes)
            if outcome != .written, !bytes.isEmpty { block(item.session, at: now) }
            if item.disposition == .finish { item.connection.finish(lingerMilliseconds: 2_000) }
        }
    }

    private func block(_ id: SessionID, at now: HubTime) {
        blocked.insert(id)
        server.becameBlocked(id, at: now)
    }

    private func readHistory(_ request: HistoryRequest) {
        cluster?.flushLocalJournal()
        let sender = mailbox.sender
        journal.readChain(endingAt: request.lastSequence, limit: request.limit) { result in
            _ = sender.post(.history(request, result))
        }
    }

    private func closeJournal() {
        let sender = mailbox.sender
        journal.close { result in _ = sender.post(.journalClosed(result)) }
    }

    private func schedule(_ wake: Wake) {
        #if DEBUG
            if let heldClock {
                let moment = [wake.at, wake.flush].compactMap(\.self).min()
                return heldClock.schedule(moment, at: clock.now.monotonic, on: timer)
            }
        #endif
        if let time = wake.flush { flushTimer?.schedule(atMonotonicNanoseconds: time.nanoseconds) }
        guard let time = wake.at else {
            timer?.cancel()
            return
        }
        let span = time - clock.now.monotonic
        timer?.schedule(afterMilliseconds: max(0, Int64((span / .milliseconds(1)).rounded(.up))))
    }

    func exitWith(_ status: Int32) {
        turnHandle = nil
        signals = []
        cluster?.leaveLog()
        stopListening()
        exit(status)
        loop.stop()
    }
}
