import Hub
import Journal
import Kinds
import Server
import TelltaleModel
import Testing

/// Performs a server's actions with a clock that is set by hand, a journal in memory, and clients that are strings in and
/// strings out. Tests reach through it to the hub.
final class HubHarness {
    private var server: Server
    var hub: Hub {
        _read { yield server.hub }
        _modify { yield &server.hub }
    }
    private(set) var records: [JournalRecord] = []
    private var reports: [String] = []
    private var newest = MonotonicTime(nanoseconds: 0)
    private var leap = Milliseconds.zero
    var time = Timestamp(milliseconds: 1_763_719_200_000)
    /// The journal takes nothing: the disk is full.
    var isFull = false
    /// The thread that checks signed tokens is busy.
    var holdsChecks = false
    private var heldChecks: [TokenCheck] = []
    /// The journal has pruned everything up to this record.
    var prunedThrough: Int64 = 0
    private var clients: [SessionID: Client] = [:]

    final class Client {
        fileprivate var bytes: [UInt8] = []
        fileprivate(set) var isFinished = false
        fileprivate(set) var greeting = ""
        let id: SessionID

        fileprivate init(id: SessionID) {
            self.id = id
        }
    }

    init(kinds: [String] = [HubHarness.coffee], configuration: HubConfiguration = HubConfiguration()) throws {
        server = Server(
            Hub(configuration: configuration, epoch: 0x6f3a_91c2_d0e4_b577), configuration: .withoutDisk,
            snapshotSequence: 0)
        try hub.adopt(try kinds.map { try Self.kind($0) })
        try hub.adopt(configuration.decisions)
        turn()
    }

    /// A start on what a journal holds.
    ///
    /// - Parameter records: All records that `hub` has replayed.
    init(recovered: consuming Hub, records: [JournalRecord], at time: Timestamp) {
        server = Server(recovered, configuration: .withoutDisk, snapshotSequence: 0)
        self.records = records
        self.time = time
        hub.restart()
        turn()
    }

    static func kind(_ text: String) throws -> Kind {
        let (kind, diagnostics) = Kind.read(try JSONParser.parse(text), file: "test.json")
        guard let kind else { throw Broken(diagnostics: diagnostics) }
        return kind
    }

    struct Broken: Error {
        var diagnostics: [Diagnostic]
    }

    /// The monotonic clock does not go back when the date does, and not ahead when the date leaps.
    var now: HubTime {
        newest = max(newest, MonotonicTime(milliseconds: (time + (Milliseconds.zero - leap)).milliseconds))
        return HubTime(time: time, wall: time, monotonic: newest, leap: leap)
    }

    /// Sets the date ahead by `span`, in which no time passes.
    func leap(by span: Milliseconds) {
        time = time + span
        leap = leap + span
        flush()
    }

    func connect() -> Client {
        let client = Client(id: hub.connected(at: now))
        clients[client.id] = client
        flush()
        client.greeting = lines(of: client).first ?? ""
        return client
    }

    /// A device of this person.
    func connect(as account: String) -> Client {
        let client = connect()
        send("HELLO account=\(account)", from: client)
        return client
    }

    /// Subscribes, and gives the cursor of `LIVE`.
    func cursor(of subscription: String, from client: Client) throws -> String {
        try #require(send(subscription, from: client).last.flatMap { Self.attribute("cur", of: $0) })
    }

    /// Sends a line, turns the hub, and gives what the client received since it was last asked.
    @discardableResult
    func send(_ line: String, from client: Client) -> [String] {
        post(line, from: client)
        turn()
        return lines(of: client)
    }

    /// Sends a line without letting the hub decide.
    func post(_ line: String, from client: Client) {
        hub.received(Array((line + "\n").utf8).span, from: client.id, at: now)
    }

    /// Decides, commits and flushes until nothing is left to do.
    func turn() {
        var turns = 0
        repeat {
            turns += 1
            server.turn(at: now)
            while let action = server.nextAction(at: now) { perform(action) }
        } while !server.isIdle(at: now) && turns < 100
        while readHistory() {}
    }

    /// Faults of machines that the log was reported since the last call.
    func takeReports() -> [String] {
        defer { reports = [] }
        return reports
    }

    private func perform(_ action: Action) {
        switch action {
        case .append(let decided, isLast: true):
            if isFull, !decided.isEmpty { return server.synced(.full, at: now) }
            records += decided
            server.synced(.durable(duration: .zero, wait: .zero), at: now)
        case .flush:
            flush()
            server.flushed(at: now)
        case .readHistory(let request): read(request)
        case .close(let id):
            clients[id]?.isFinished = true
            server.disconnected(id)
        case .checkTokens(let checks):
            if holdsChecks { heldChecks += checks } else { check(checks) }
        case .append, .resumeReading, .pauseReading, .closeConnections, .stopListening, .writeSnapshot, .closeJournal,
            .wake, .handOver, .writeToLeader, .closeLeaderLink, .exit:
            break
        case .report(let faults): reports += faults
        }
    }

    private func check(_ checks: [TokenCheck]) {
        for check in checks { server.tokenChecked(check.verdict()) }
    }

    /// The signed tokens that wait are checked.
    ///
    /// - Returns: How many there were.
    @discardableResult
    func checkTokens() -> Int {
        let checks = heldChecks
        heldChecks = []
        check(checks)
        turn()
        return checks.count
    }

    /// Reads a piece of a history and reports it.
    ///
    /// - Returns: Whether one was asked for.
    @discardableResult
    func readHistory() -> Bool {
        guard let request = hub.takeHistoryRequests().first else { return false }
        read(request)
        flush()
        return true
    }

    private func read(_ request: HistoryRequest) {
        var chain: [JournalRecord] = []
        var next = request.lastSequence
        while next > prunedThrough, chain.count < request.limit {
            chain.append(records[Int(next) - 1])
            next = records[Int(next) - 1].previous
        }
        hub.historyRead(.success(chain), for: request)
    }

    /// Decides and commits once, and nothing else.
    func commit() {
        records += hub.decide(at: now)
        hub.committed(at: now)
    }

    func advance(by span: Milliseconds) {
        time = time + span
        turn()
    }

    /// Renders what all are due before anybody takes it, as the daemon may.
    func flush() {
        var rounds = 0
        while hub.hasReadySessions, rounds < 1_000 {
            rounds += 1
            var rendered: [(client: Client, bytes: [UInt8], output: SessionOutput)] = []
            for _ in 0..<hub.readySessionCount {
                guard let id = hub.nextReady(), let client = clients[id] else { continue }
                var bytes: [UInt8] = []
                let output = hub.output(for: id, at: now, to: &bytes)
                rendered.append((client, bytes, output))
            }
            // A connection that has ended is sent nothing more.
            for (client, bytes, output) in rendered where !client.isFinished {
                client.bytes += bytes + hub.sharedRows[output.sharedRange]
                if output.disposition == .finish { client.isFinished = true }
            }
        }
    }

    func disconnect(_ client: Client) {
        hub.disconnected(client.id)
        clients[client.id] = nil
        turn()
    }

    /// The lines that have arrived since the last call.
    func lines(of client: Client) -> [String] {
        let text = String(decoding: client.bytes, as: UTF8.self)
        client.bytes = []
        return text.split(separator: "\n").map(String.init)
    }

    /// The process dies and begins again: the journal, or a snapshot of its state, is read, every connection is gone.
    func restart(
        kinds: [String], fromSnapshot: Bool = false, configuration: HubConfiguration = HubConfiguration()
    ) throws {
        if fromSnapshot {
            var chunks: [[UInt8]] = []
            hub.snapshot().forEachChunk { chunks.append($0) }
            var loaded = Hub(configuration: configuration, epoch: hub.epoch)
            for chunk in chunks { try loaded.load(chunk) }
            loaded.finishLoading()
            hub = loaded
        } else {
            hub = try recovered(configuration)
        }
        try hub.adopt(try kinds.map { try Self.kind($0) })
        hub.restart()
        clients = [:]
        reports = []
        turn()
    }

    /// Another hub that has read the same journal.
    func recovered(_ configuration: HubConfiguration = HubConfiguration()) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: self.hub.epoch)
        for record in records { try hub.replay(record) }
        return hub
    }

    static let coffee = """
        {"kind":"coffee-order","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order",
         "supplementalFamilies":["small"],"stale":"4m","dismiss":"15m",
         "machine":{"initial":"placed","on":{"cancel":"cancelled"},"states":{
           "placed":{"progress":0.1,"on":{"confirm":"queued"},"after":{"5m":"unattended"}},
           "queued":{"progress":0.2,"on":{"brew":"brewing"}},
           "brewing":{"progress":0.6,"on":{"ready":"ready"}},
           "ready":{"progress":1.0,"milestone":true,"alert":{"title":"{{attributes.item}} is ready","body":"Shelf {{content.shelf}}"},
                    "on":{"collect":"collected"}},
           "unattended":{"on":{"brew":"brewing"}},
           "collected":{"type":"final","milestone":true},
           "cancelled":{"type":"final","dismiss":"1m"}}},
         "views":{"compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},
                  "minimal":{"symbol":"cup"},"lockScreen":{"title":"{{attributes.item}}","subtitle":"{{state.title}}","progress":true},
                  "expanded":{"center":{"title":"{{state.title}}"}},
                  "small":{"title":"{{state.title}}","progress":true}}}
        """
}
