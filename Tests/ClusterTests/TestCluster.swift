import Cluster
import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel
import Testing

/// Daemons of one cluster over a log in memory, with one clock that is set by hand. Each performs the actions of its member and
/// its server as `telltaled` does; its clients are strings in and strings out.
final class TestCluster {
    let log = InMemoryLog()
    private(set) var now = MonotonicTime(milliseconds: 1_000_000)
    private(set) var daemons: [TestDaemon] = []
    private var instance: UInt64 = 100
    let checkpoints: CheckpointSettings

    static let begin: Int64 = 1_763_719_200_000

    static let kind = """
        {"kind":"tea","type":"activity","version":1,"app":"com.example.tea","title":"Tea",
         "machine":{"initial":"steeping","states":{
           "steeping":{"progress":0.5,"on":{"pour":"ready"},"after":{"60s":"cold"}},
           "ready":{"progress":1.0,"on":{"drink":"done"}},"cold":{"progress":0.1},"done":{"type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},
                  "minimal":{"symbol":"cup"},"lockScreen":{"title":"Tea","subtitle":"{{state.title}}"},
                  "expanded":{"center":{"title":"{{state.title}}"}}}}
        """

    static let controls = [
        #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp","timeout":"60s"}"#,
        #"{"kind":"bell","type":"button","version":1,"app":"a","title":"Bell","timeout":"60s"}"#,
    ]

    /// - Parameter count: Of daemons, which begin one after the other.
    /// - Parameter observer: The number of one that never leads; `nil` = each may.
    init(_ count: Int, checkpoints: CheckpointSettings = CheckpointSettings(), observer: Int? = nil) throws {
        self.checkpoints = checkpoints
        for number in 1...count {
            let daemon = TestDaemon("n\(number)", "10.0.0.\(number):7878", in: self)
            daemon.isObserver = number == observer
            daemons.append(daemon)
        }
        for daemon in daemons { try daemon.start() }
        settle()
    }

    /// Another daemon begins. Its name may be one that another has.
    func join(_ name: String) throws -> TestDaemon {
        let daemon = TestDaemon(name, "10.0.0.\(daemons.count + 1):7878", in: self)
        daemons.append(daemon)
        try daemon.start()
        return daemon
    }

    var time: HubTime {
        let wall = Timestamp(milliseconds: Self.begin + now.milliseconds)
        return HubTime(time: wall, wall: wall, monotonic: now)
    }

    func makeInstance() -> UInt64 {
        instance += 1
        return instance
    }

    /// Something happened in a step of a daemon: another step may find more to do.
    var hasHappened = false

    /// Lets everything happen that needs no time.
    func settle() {
        var quietRounds = 0
        for _ in 0..<50 where quietRounds < 3 {
            hasHappened = false
            for daemon in daemons { daemon.step() }
            quietRounds = hasHappened ? 0 : quietRounds + 1
        }
    }

    /// Lets time pass, in steps of 50 ms.
    func pass(_ span: Milliseconds) {
        for _ in 0..<max(1, span.count / 50) {
            now = now + Milliseconds(50)
            settle()
        }
    }

    var leaders: [TestDaemon] { daemons.filter { $0.isUp && $0.isLeading } }
}

final class TestDaemon {
    let name: String
    let address: String
    unowned let cluster: TestCluster
    private(set) var contents = InMemoryJournal.Contents(epoch: 1)
    /// Puts another folder in the place of this one's.
    func adopt(_ contents: InMemoryJournal.Contents) { self.contents = contents }
    var journal: InMemoryJournal?
    private(set) var node: InMemoryLogNode?
    var member: Member?
    var server: Server?
    var clients: [SessionID: TestClient] = [:]
    /// To the leader, while this daemon follows.
    var link: TestLink?
    var isLinkCut = false
    /// The status that the server received last, and when.
    private var told: (status: ClusterStatus, time: MonotonicTime)?
    /// It reads nothing of the log.
    var isLogHeld = false { didSet { node?.hold(isLogHeld) } }
    /// The daemons with a link to this one.
    var followers: [SessionID: TestDaemon] = [:]
    private(set) var reported: [String] = []
    private(set) var stopReason: String?
    /// The process is stopped: nothing of it happens.
    var isPaused = false
    /// Its copy falls behind with the next batch.
    var fallsBehind = false
    private var checkpointPieces: [[UInt8]] = []
    /// The local journal takes no step of a checkpoint until ``performCheckpointSteps()``.
    var isDiskSlow = false
    var checkpointSteps = 0
    var isInstalling = false
    /// A snapshot of a server is being written.
    var isWritingSnapshot: Bool {
        get { member?.isWritingSnapshot == true }
        set { member?.isWritingSnapshot = newValue }
    }
    /// How often its local journal was given something, and the records of it.
    private(set) var kept: [Int] = []
    /// As of the next start.
    var checkpointStepLimit = 16
    var localJournalByteCount = 4 << 20
    /// Of its folder, and its options: as of the next start.
    var kind = TestCluster.kind
    var settings = DecisionSettings()
    var isObserver = false

    init(_ name: String, _ address: String, in cluster: TestCluster) {
        (self.name, self.address, self.cluster) = (name, address, cluster)
    }

    var isUp: Bool { member != nil }
    var isLeading: Bool { member?.isLeading == true }
    var position: Int64 { member?.replica.reader.position ?? 0 }
    var status: ClusterStatus? { member?.status(at: cluster.now) }

    // MARK: Life

    func start() throws {
        let journal = InMemoryJournal(contents)
        self.journal = journal
        (checkpointSteps, isInstalling) = (0, false)
        let reader = try journal.mark.map { try LogReader(mark: $0) } ?? LogReader(cluster: "shop", epoch: nil)
        var settings = ReplicaSettings()
        settings.isObserver = isObserver
        let replica = Replica(
            node: name, address: address, release: "1", reader: reader, newEpoch: 0xE0C1,
            instance: cluster.makeInstance(), settings: settings, at: cluster.now)
        let kinds = try ([kind] + TestCluster.controls).map {
            try #require(Kind.read(try JSONParser.parse($0), file: "kind.json").0)
        }
        var hub = HubConfiguration()
        hub.decisions = self.settings
        var configuration = MemberConfiguration(hub: hub, server: .withoutDisk, kinds: kinds)
        configuration.checkpoints = cluster.checkpoints
        configuration.checkpointStepLimit = checkpointStepLimit
        configuration.localJournalByteCount = localJournalByteCount
        var member = Member(replica, configuration: configuration, at: cluster.now)
        self.server = member.server(over: try recoveredHub(), at: cluster.time)
        self.member = consume member
        let node = cluster.log.node()
        node.onEvent = { [unowned self] event in
            self.cluster.hasHappened = true
            self.member?.handleEvent(event, at: self.cluster.time)
            self.performMember()
        }
        self.node = node
        stopReason = nil
        performMember()
    }

    func kill() {
        contents = journal?.contents ?? contents
        node?.close()
        member = nil
        server = nil
        (node, journal) = (nil, nil)
        for client in clients.values { client.isClosed = true }
        clients = [:]
        loseLink()
        for follower in followers.values { follower.loseLink() }
        followers = [:]
    }

    func handOver() {
        member?.handOver(at: cluster.time)
        performMember()
    }

    /// The process ends in order.
    ///
    /// - Returns: Whether it leads, and waits for the log.
    @discardableResult func end() -> Bool {
        defer { performMember() }
        return member?.end(at: cluster.time) == true
    }

    var stateHash: UInt64? { server?.stateHash }

    /// Whether a snapshot could be written.
    var hasSnapshot: Bool { member?.mayTakeSnapshot == true && server?.isCommitting == false }

    func refuseConnectionsOfLeader() {
        member?.leaderRefusesConnections(at: cluster.time)
        performMember()
    }

    var hasHandedOver: Bool { member?.hasHandedOver == true }

    /// A turn of its loop.
    func step() {
        guard isUp, !isPaused, stopReason == nil else { return }
        node?.deliver()
        if !isDiskSlow { performCheckpointSteps() }
        reportStatus()
        followLeader()
        if let deadline = member?.deadline, deadline <= cluster.now {
            member?.tick(at: cluster.time)
            performMember()
        }
        turn()
    }

    /// At each change of what matters, and each second, as the edge of `telltaled` does.
    private func reportStatus() {
        member?.noteClients(server?.clientCount ?? 0, isDraining: server?.isDraining == true)
        guard let status else { return }
        if let told, cluster.now < told.time + Milliseconds.seconds(1) {
            var known = told.status
            (known.lag, known.position, known.peers) = (status.lag, status.position, status.peers)
            (known.staleSince, known.forwards) = (status.staleSince, status.forwards)
            if known == status { return }
        }
        told = (status, cluster.now)
        server?.stands(status, at: cluster.time)
    }

    private func turn() {
        guard mayServe(), member?.mayDecide == true else { return }
        server?.turn(at: cluster.time)
        performServer()
    }

    private func mayServe() -> Bool {
        // As the edge of `telltaled`: a node that does not lead shows what it has read, and its member is not asked.
        guard isLeading else { return stopReason == nil }
        let isAllowed = member?.mayServe(at: cluster.time) == true
        performMember()
        return isAllowed && isLeading && stopReason == nil
    }

    // MARK: Actions

    func performMember() {
        while let action = member?.nextAction() { perform(action) }
    }

    private func perform(_ action: Member.Action) {
        cluster.hasHappened = true
        switch action {
        case .append(let bytes, let after, let token): node?.append(bytes, after: after, token: token)
        case .read(let from): node?.read(from: from)
        case .holdReading(let isHeld): node?.hold(isHeld)
        case .heartbeat(let heartbeat): node?.heartbeat(heartbeat)
        case .keep(let records, let mark, let epoch):
            if fallsBehind { member?.localJournalIsBehind(true, at: cluster.time) }
            kept.append(records.count)
            do {
                try journal?.write(records)
                try journal?.write(mark: mark, epoch: epoch)
                try journal?.commit()
            } catch {
                Issue.record("\(name) cannot keep: \(error)")
            }
        case .replay(let records):
            do throws(RecoveryError) {
                try server?.replay(records, at: cluster.time)
            } catch {
                member?.diverged(error)
            }
        case .begin(let farewell):
            closeAll(farewell)
            server = member?.server(at: cluster.time)
            loseLink()
        case .sendAway(let farewell): closeAll(farewell)
        case .lead(let term, _):
            reported.append("leading term=\(term)")
            takeLead()
        case .settle(let outcome):
            server?.synced(outcome, at: cluster.time)
            if mayServe() { performServer() }
        case .abandon: reported.append("abandons")
        case .standDown(let reason, _):
            reported.append("standby: \(reason)")
            if let status { server?.stands(status, at: cluster.time) }
            server?.follow(at: cluster.time)
        case .follow(let term, let node):
            reported.append("\(node) leads in term \(term)")
            if let status { server?.stands(status, at: cluster.time) }
        case .askOfCheckpoints(let request): node?.queryServers(request)
        case .beginCheckpoint:
            var pieces: [[UInt8]] = []
            var cutter = CheckpointCutter(length: 700)
            let snapshot = hasSnapshot ? server?.snapshot() : nil
            snapshot?.forEachChunk { pieces += cutter.add($0) }
            if let last = cutter.end() { pieces.append(last) }
            checkpointPieces = pieces
            member?.checkpointBegan(at: snapshot?.sequence, now: cluster.time)
        case .giveCheckpointPiece:
            member?.checkpointPiece(checkpointPieces.isEmpty ? nil : checkpointPieces.removeFirst(), at: cluster.time)
        case .endCheckpoint(let position, let isWhole):
            reported.append("base \(position) \(isWhole ? "made" : "given up")")
        case .loadCheckpoint(let sequence):
            expectNoError { try journal?.beginCheckpoint(at: sequence) }
            checkpointSteps += 1
        case .loadCheckpointChunk(let bytes):
            expectNoError { try journal?.appendToSnapshot(bytes) }
            checkpointSteps += 1
        case .abandonCheckpoint:
            reported.append("base abandoned")
            expectNoError { try journal?.abandonSnapshot() }
            checkpointSteps += 1
        case .installCheckpoint(let sequence, let link, let mark, let epoch):
            reported.append("base of record \(sequence)")
            expectNoError {
                try journal?.finishCheckpoint(link: link, mark: mark, epoch: epoch)
                checkpointSteps += 1
                isInstalling = true
            }
        case .warn(let text): reported.append("warning: \(text)")
        case .differs(let texts): reported.append("differs: \(texts.joined(separator: "; "))")
        case .stop(let reason):
            stopReason = reason
            closeAll([])
        case .refuse(let duplicateNode):
            stopReason = "\(duplicateNode) has its name"
            closeAll([])
        }
    }

    private func takeLead() {
        guard var next = server.take() else { return }
        do {
            try member?.lead(&next, at: cluster.time)
        } catch {
            reported.append("cannot lead: \(error)")
        }
        server = consume next
    }

    private func performServer() {
        while let action = server?.nextAction(at: cluster.time) { perform(action) }
    }

    private func perform(_ action: Action) {
        // A server says in every turn when it is to be woken.
        if case .wake = action { return }
        cluster.hasHappened = true
        switch action {
        case .append(let part, let isLast):
            member?.append(part, isLast: isLast, at: cluster.time)
            performMember()
        case .flush:
            while let id = server?.nextReady(at: cluster.time) {
                var bytes: [UInt8] = []
                guard let output = server?.output(for: id, at: cluster.time, to: &bytes) else { continue }
                if !output.sharedRange.isEmpty { bytes += (server?.sharedRows ?? [])[output.sharedRange] }
                clients[id]?.receive(bytes)
                followers[id]?.receiveFromLeader(bytes)
                if output.disposition == .finish { close(id) }
            }
            server?.flushed(at: cluster.time)
        case .close(let id): close(id)
        case .readHistory(let request):
            member?.flushLocalJournal()
            performMember()
            guard let journal else { return }
            server?.historyRead(
                Result { () throws(JournalError) in
                    try journal.readChain(endingAt: request.lastSequence, limit: request.limit)
                }, for: request)
        case .writeSnapshot: server?.snapshotWritten(isWritten: false)
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .closeConnections: closeAll([])
        case .writeToLeader(let bytes): writeToLeader(bytes)
        case .closeLeaderLink: loseLink()
        case .resumeReading, .pauseReading, .stopListening, .closeJournal, .wake, .report, .exit: break
        case .handOver(let handover):
            member?.handOver(to: handover.successor, at: cluster.time)
            performMember()
        }
    }
}
