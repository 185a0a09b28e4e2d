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
    init(_ count: Int) throws {
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

    /// Lets everything happen that needs no time.
    func settle() {
        for _ in 0..<50 { for daemon in daemons { daemon.step() } }
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
    private unowned let town: Town
    private(set) var contents = InMemoryJournal.Contents(epoch: 1)
    /// Puts another folder in the place of this one's.
    func take(_ contents: InMemoryJournal.Contents) { self.contents = contents }
    private var journal: InMemoryJournal?
    private(set) var node: InMemoryLogNode?
    private var member: Member?
    private(set) var server: Server?
    private var clients: [SessionID: TownClient] = [:]
    private var records: [JournalRecord] = []
    private(set) var told: [String] = []
    private(set) var stopReason: String?
    /// The process is stopped: nothing of it happens.
    var isPaused = false
    private var wantsRecovery = false
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
        let reader = try journal.mark.map { try LogReader(mark: $0) } ?? LogReader(cluster: "shop", epoch: nil)
        let replica = Replica(
            node: name, address: address, release: "1", reader: reader, newEpoch: 0xE0C1,
            instance: town.makeInstance(), at: town.now)
        let kind = try #require(Kind.read(try JSONParser.parse(kind), file: "tea.json").0)
        var hub = HubConfiguration()
        hub.decisions = settings
        let configuration = MemberConfiguration(hub: hub, server: .withoutDisk, kinds: [kind])
        let member = Member(
            replica, hub: try recoveredHub(), snapshotSequence: 0, configuration: configuration, at: town.now)
        self.server = member.lobby(at: town.now)
        self.member = consume member
        let node = town.log.node()
        node.onEvent = { [unowned self] event in
            self.member?.take(event, at: self.town.time)
            self.performMember()
        }
        self.node = node
        stopReason = nil
        performMember()
    }

    private func recoveredHub() throws -> Hub? {
        guard journal?.mark != nil else { return nil }
        var hub = Hub(configuration: HubConfiguration(), epoch: journal?.epoch ?? 0)
        for record in journal?.contents.records ?? [] { try hub.replay(record) }
        return hub
    }

    func kill() {
        contents = journal?.contents ?? contents
        node?.close()
        member = nil
        server = nil
        (node, journal) = (nil, nil)
        records = []
        for client in clients.values { client.isClosed = true }
        clients = [:]
    }

    func handOver() {
        member?.handOver(at: town.time)
        performMember()
    }

    /// The process of a node that does not lead ends.
    func leave() {
        member?.leave()
        performMember()
    }

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
        let isAllowed = member?.mayServe(at: town.time) == true
        performMember()
        return isAllowed && stopReason == nil
    }

    // MARK: Actions

    private func performMember() {
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
        switch action {
        case .append(let bytes, let after, let token): node?.append(bytes, after: after, token: token)
        case .read(let from): node?.read(from: from)
        case .beat(let beat): node?.beat(beat)
        case .keep(let records, let mark, let epoch):
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
            records = []
            server?.synced(outcome, at: town.time)
            if mayServe() { performServer() }
        case .standDown(let farewell, let reason):
            told.append("standby: \(reason)")
            records = []
            closeAll(farewell)
            server = member?.lobby(at: town.now)
            wantsRecovery = true
        case .follow(let term, let node):
            told.append("\(node) leads in term \(term)")
            if let standing { server?.stands(standing) }
        case .writeSnapshot: member?.snapshotWritten(isWritten: false)
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
        switch action {
        case .append(let part, let isLast):
            records += part
            guard isLast else { return }
            member?.append(records, at: town.time)
            performMember()
        case .flush:
            while let id = server?.nextReady() {
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
        case .closeConnections: closeAll([])
        case .resumeReading, .pauseReading, .stopListening, .closeJournal, .wake, .report, .exit: break
        case .handOver(let handover):
            member?.handOver(to: handover.successor, at: town.time)
            performMember()
        }
    }

    // MARK: Clients

    func connect() -> TownClient {
        guard let id = server?.connected(at: town.time) else { return TownClient() }
        let client = TownClient()
        clients[id] = client
        client.id = id
        town.settle()
        return client
    }

    /// Sends lines, lets everything happen that needs no time, and gives what came since the last time.
    @discardableResult
    func send(_ lines: String, from client: TownClient) -> [String] {
        if let id = client.id, !client.isClosed, !isPaused {
            _ = server?.received(Array((lines + "\n").utf8).span, from: id, at: town.time)
        }
        town.settle()
        return client.take()
    }

    /// Posts a start, and gives the reply.
    func post(_ key: String, _ attributes: String = "", from client: TownClient) -> String {
        send("EVT \(key) type=start" + (attributes.isEmpty ? "" : " " + attributes), from: client).last ?? ""
    }

    private func close(_ id: SessionID) {
        clients.removeValue(forKey: id)?.isClosed = true
        server?.disconnected(id)
    }

    private func closeAll(_ farewell: [UInt8]) {
        for client in clients.values {
            client.receive(farewell)
            client.isClosed = true
        }
        clients = [:]
    }
}

final class TownClient {
    fileprivate var id: SessionID?
    fileprivate(set) var isClosed = false
    private var lines: [String] = []

    fileprivate func receive(_ bytes: [UInt8]) {
        lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }
}
