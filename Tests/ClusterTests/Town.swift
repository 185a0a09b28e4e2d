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
final class Town {
    let log = InMemoryLog()
    private(set) var now = MonotonicTime(milliseconds: 1_000_000)
    private(set) var daemons: [TownDaemon] = []
    private var instance: UInt64 = 100
    let bases: BaseSettings

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

    /// - Parameter count: Of daemons, which begin one after the other.
    init(_ count: Int, bases: BaseSettings = BaseSettings()) throws {
        self.bases = bases
        for number in 1...count { daemons.append(TownDaemon("n\(number)", "10.0.0.\(number):7878", in: self)) }
        for daemon in daemons { try daemon.start() }
        settle()
    }

    /// Another daemon begins. Its name may be one that another has.
    func join(_ name: String) throws -> TownDaemon {
        let daemon = TownDaemon(name, "10.0.0.\(daemons.count + 1):7878", in: self)
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

    var leaders: [TownDaemon] { daemons.filter { $0.isUp && $0.isLeading } }
}

final class TownDaemon {
    let name: String
    let address: String
    unowned let town: Town
    private(set) var contents = InMemoryJournal.Contents(epoch: 1)
    /// Puts another folder in the place of this one's.
    func take(_ contents: InMemoryJournal.Contents) { self.contents = contents }
    var journal: InMemoryJournal?
    private(set) var node: InMemoryLogNode?
    var member: Member?
    var server: Server?
    var clients: [SessionID: TownClient] = [:]
    private(set) var told: [String] = []
    private(set) var stopReason: String?
    /// The process is stopped: nothing of it happens.
    var isPaused = false
    /// Its copy falls behind with the next batch.
    var fallsBehind = false
    private var wantsRecovery = false
    private var basePieces: [[UInt8]] = []
    /// The local copy takes no step of a base until ``takeBaseSteps()``.
    var isDiskSlow = false
    var baseSteps = 0
    var isInstalling = false
    /// A snapshot of a server is being written.
    var isWritingSnapshot: Bool {
        get { member?.isWritingSnapshot == true }
        set { member?.isWritingSnapshot = newValue }
    }
    /// As of the next start.
    var baseStepLimit = 16
    /// Of its folder, and its options: as of the next start.
    var kind = Town.kind
    var settings = DecisionSettings()

    init(_ name: String, _ address: String, in town: Town) {
        (self.name, self.address, self.town) = (name, address, town)
    }

    var isUp: Bool { member != nil }
    var isLeading: Bool { member?.isLeading == true }
    var position: Int64 { member?.replica.reader.position ?? 0 }
    var standing: ClusterStanding? { member?.standing(at: town.now) }

    // MARK: Life

    func start() throws {
        let journal = InMemoryJournal(contents)
        self.journal = journal
        (baseSteps, isInstalling) = (0, false)
        let reader = try journal.mark.map { try LogReader(mark: $0) } ?? LogReader(cluster: "shop", epoch: nil)
        let replica = Replica(
            node: name, address: address, release: "1", reader: reader, newEpoch: 0xE0C1,
            instance: town.makeInstance(), at: town.now)
        let kind = try #require(Kind.read(try JSONParser.parse(kind), file: "tea.json").0)
        var hub = HubConfiguration()
        hub.decisions = settings
        var configuration = MemberConfiguration(hub: hub, server: .withoutDisk, kinds: [kind])
        configuration.bases = town.bases
        configuration.baseStepLimit = baseStepLimit
        let member = Member(
            replica, hub: try recoveredHub(), snapshotSequence: 0, configuration: configuration, at: town.now)
        self.server = member.lobby(at: town.now)
        self.member = consume member
        let node = town.log.node()
        node.onEvent = { [unowned self] event in
            self.town.hasHappened = true
            self.member?.take(event, at: self.town.time)
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
    }

    func handOver() {
        member?.handOver(at: town.time)
        performMember()
    }

    /// The process ends in order.
    ///
    /// - Returns: Whether it leads, and waits for the log.
    @discardableResult func end() -> Bool {
        defer { performMember() }
        return member?.end(at: town.time) == true
    }

    /// Of a standby.
    var stateHash: UInt64? { member?.stateHash }

    /// Whether a snapshot could be written.
    var hasSnapshot: Bool { member?.snapshot != nil }

    func refuseConnectionsOfLeader() {
        member?.leaderRefusesConnections(at: town.time)
        performMember()
    }

    var hasHandedOver: Bool { member?.hasHandedOver == true }

    /// A turn of its loop.
    func step() {
        guard isUp, !isPaused, stopReason == nil else { return }
        node?.deliver()
        if !isDiskSlow { takeBaseSteps() }
        if let standing { server?.stands(standing) }
        if let deadline = member?.deadline, deadline <= town.now {
            member?.tick(at: town.time)
            performMember()
        }
        turn()
    }

    private func turn() {
        guard mayServe(), member?.mayDecide == true else { return }
        server?.turn(at: town.time)
        performServer()
    }

    private func mayServe() -> Bool {
        // As the edge of `telltaled`: a node that does not lead serves its lobby, and its member is not asked.
        guard isLeading else { return stopReason == nil }
        let isAllowed = member?.mayServe(at: town.time) == true
        performMember()
        return isAllowed && isLeading && stopReason == nil
    }

    // MARK: Actions

    func performMember() {
        while let action = member?.nextAction() { perform(action) }
        guard wantsRecovery else { return }
        wantsRecovery = false
        do {
            if let hub = try recoveredHub() {
                member?.recovered(hub, snapshotSequence: 0, at: town.time)
                performMember()
            }
        } catch {
            Issue.record("\(name) does not recover: \(error)")
        }
    }

    private func perform(_ action: Member.Action) {
        town.hasHappened = true
        switch action {
        case .append(let bytes, let after, let token): node?.append(bytes, after: after, token: token)
        case .read(let from): node?.read(from: from)
        case .holdReading(let isHeld): node?.hold(isHeld)
        case .beat(let beat): node?.beat(beat)
        case .keep(let records, let mark, let epoch):
            if fallsBehind { member?.copyIsBehind(true, at: town.time) }
            do {
                try journal?.write(records)
                try journal?.write(mark: mark, epoch: epoch)
                try journal?.commit()
            } catch {
                Issue.record("\(name) cannot keep: \(error)")
            }
        case .lead(let term, _, let farewell):
            told.append("leading term=\(term)")
            closeAll(farewell)
            do {
                server = try member?.takeOver(at: town.time)
            } catch {
                told.append("cannot lead: \(error)")
            }
        case .settle(let outcome):
            server?.synced(outcome, at: town.time)
            if mayServe() { performServer() }
        case .abandon: told.append("abandons")
        case .standDown(let farewell, let reason, let isEnding):
            told.append("standby: \(reason)")
            closeAll(farewell)
            server = member?.lobby(at: town.now)
            wantsRecovery = !isEnding
        case .follow(let term, let node):
            told.append("\(node) leads in term \(term)")
            if let standing { server?.stands(standing) }
        case .writeSnapshot: member?.snapshotWritten(isWritten: false)
        case .askOfBases(let request): node?.ask(request)
        case .beginBase:
            var pieces: [[UInt8]] = []
            var cutter = BaseCutter(length: 700)
            let snapshot = isLeading ? server?.snapshot() : member?.snapshot
            snapshot?.forEachChunk { pieces += cutter.add($0) }
            if let last = cutter.end() { pieces.append(last) }
            basePieces = pieces
            member?.baseBegan(at: snapshot?.sequence, now: town.time)
        case .giveBasePiece:
            member?.basePiece(basePieces.isEmpty ? nil : basePieces.removeFirst(), at: town.time)
        case .endBase(let position, let isWhole): told.append("base \(position) \(isWhole ? "made" : "given up")")
        case .loadBase(let sequence):
            expectNoError { try journal?.beginBase(at: sequence) }
            baseSteps += 1
        case .loadBaseChunk(let bytes):
            expectNoError { try journal?.appendToSnapshot(bytes) }
            baseSteps += 1
        case .abandonBase:
            told.append("base abandoned")
            expectNoError { try journal?.abandonSnapshot() }
            baseSteps += 1
        case .installBase(let sequence, let link, let mark, let epoch):
            told.append("base of record \(sequence)")
            expectNoError {
                try journal?.finishBase(link: link, mark: mark, epoch: epoch)
                baseSteps += 1
                isInstalling = true
            }
        case .warn(let text): told.append("warning: \(text)")
        case .differs(let texts): told.append("differs: \(texts.joined(separator: "; "))")
        case .stop(let reason):
            stopReason = reason
            closeAll([])
        case .refuse(let namesake):
            stopReason = "\(namesake) has its name"
            closeAll([])
        }
    }

    private func performServer() {
        while let action = server?.nextAction(at: town.time) { perform(action) }
    }

    private func perform(_ action: Action) {
        // A server says in every turn when it is to be woken.
        if case .wake = action { return }
        town.hasHappened = true
        switch action {
        case .append(let part, let isLast):
            member?.append(part, isLast: isLast, at: town.time)
            performMember()
        case .flush:
            while let id = server?.nextReady(at: town.time) {
                var bytes: [UInt8] = []
                guard let output = server?.output(for: id, at: town.time, to: &bytes) else { continue }
                if !output.sharedRange.isEmpty { bytes += (server?.sharedRows ?? [])[output.sharedRange] }
                clients[id]?.receive(bytes)
                if output.disposition == .finish { close(id) }
            }
            server?.flushed(at: town.time)
        case .close(let id): close(id)
        case .readHistory(let request):
            guard let journal else { return }
            server?.historyRead(
                Result { () throws(JournalError) in
                    try journal.readChain(endingAt: request.lastSequence, limit: request.limit)
                }, for: request)
        case .writeSnapshot: server?.snapshotWritten(isWritten: false)
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .closeConnections: closeAll([])
        case .resumeReading, .pauseReading, .stopListening, .closeJournal, .wake, .report, .exit: break
        case .handOver(let handover):
            member?.handOver(to: handover.successor, at: town.time)
            performMember()
        }
    }
}
