import Hub
import Journal
import Kinds
import TelltaleModel
import Testing

@testable import Server

/// The turn: which actions follow what happened.
struct ServerTests {
    /// A server with a clock that is set by hand; it notes its actions and performs none but those that a test answers.
    private final class Performer {
        var server: Server
        var milliseconds: Int64 = 1_000
        /// Of each session that is written to, in milliseconds.
        var writeTime: Int64 = 0
        var now: HubTime {
            let time = Timestamp(milliseconds: 1_763_719_200_000 + milliseconds)
            return HubTime(time: time, wall: time, monotonic: MonotonicTime(milliseconds: milliseconds))
        }

        init(pace: Pace = .fixed(.zero), _ change: (inout ServerConfiguration) -> Void = { _ in }, limit: Int = 1_024)
            throws
        {
            var configuration = ServerConfiguration()
            configuration.pace = pace
            change(&configuration)
            var hub = HubConfiguration()
            hub.limits.requestsInFlight = limit
            server = Server(Hub(configuration: hub, epoch: 1), configuration: configuration, snapshotSequence: 0)
            let (kind, _) = KindSet.read(Array(Self.kind.utf8), file: "tally.json")
            try server.adopt([#require(kind)])
            _ = turn()
            server.synced(.durable(duration: .zero, wait: .zero), at: now)
            _ = turn()
        }

        static let kind = """
            {"kind":"tally","type":"activity","version":1,"app":"a","title":"Tally",
             "machine":{"initial":"on","states":{"on":{}}},
             "views":{"compact":{"leading":{"symbol":"a"},"trailing":{"text":"b"}},"minimal":{"symbol":"a"},
                      "expanded":{"center":{"title":"t"}},"lockScreen":{"title":"t"}}}
            """

        func connect() -> SessionID {
            let id = server.connected(at: now)
            _ = turn()
            return id
        }

        func say(_ line: String, from id: SessionID) {
            _ = server.received(Array((line + "\n").utf8).span, from: id, at: now)
        }

        @discardableResult
        func post(_ count: Int = 1, from id: SessionID) -> Bool {
            var text = ""
            for number in 0..<count { text += "EVT tally/\(number) type=start\n" }
            return server.received(Array(text.utf8).span, from: id, at: now)
        }

        /// Turns, and gives the names of the actions but the last one, which is always the wake.
        func turn() -> [String] {
            server.turn(at: now)
            return actions()
        }

        private(set) var wake = Wake()
        private(set) var appended: [JournalRecord] = []
        var written: [SessionID] = []
        private(set) var resumed: [SessionID] = []
        private(set) var checks: [TokenCheck] = []
        /// The lines of each session, the greeting among them.
        private(set) var said: [SessionID: String] = [:]

        func actions() -> [String] {
            var names: [String] = []
            while let action = server.nextAction(at: now) {
                switch action {
                case .append(let records, let isLast):
                    appended += records
                    names.append(isLast ? "append" : "part")
                case .flush:
                    while let id = server.nextReady(at: now) {
                        var bytes: [UInt8] = []
                        _ = server.output(for: id, at: now, to: &bytes)
                        written.append(id)
                        milliseconds += writeTime
                        said[id, default: ""] += String(decoding: bytes, as: UTF8.self)
                    }
                    server.flushed(at: now)
                    names.append("flush")
                case .wake(let wake): self.wake = wake
                case .resumeReading(let id):
                    resumed.append(id)
                    names.append("resume")
                case .pauseReading: names.append("pause")
                case .close, .closeConnections: names.append("close")
                case .stopListening: names.append("deaf")
                case .readHistory: names.append("history")
                case .writeSnapshot: names.append("snapshot")
                case .closeJournal: names.append("journal")
                case .report: names.append("report")
                case .checkTokens(let checks):
                    self.checks += checks
                    names.append("check")
                case .handOver: names.append("handover")
                case .writeToLeader, .closeLeaderLink: names.append("link")
                case .exit(let status): names.append("exit \(status)")
                }
            }
            return names
        }
    }

    @Test func `an event is appended, and shown when it is durable`() throws {
        let performer = try Performer()
        let shop = performer.connect()
        performer.post(from: shop)
        #expect(performer.turn() == ["append"])
        // Nothing is decided and nothing is written meanwhile.
        performer.post(from: shop)
        #expect(performer.turn() == [])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        #expect(performer.actions() == ["flush"])
        #expect(performer.turn() == ["append"])
    }

    @Test func `a long batch comes in parts, and the journal answers behind the last`() throws {
        let performer = try Performer { $0.recordsPerPart = 3 }
        let shop = performer.connect()
        performer.post(8, from: shop)
        #expect(performer.turn() == ["part", "part", "append"])
        #expect(performer.appended.suffix(8).map(\.sequence) == Array(2...9))
    }

    @Test
    func `a connection whose long lines waited for the next turn is read from again, in the middle of a line too`()
        throws
    {
        let performer = try Performer()
        let shop = performer.connect()
        let line = "PING {\"a\":\"" + String(repeating: "x", count: 59_984) + "\"}\n"
        let text = String(repeating: line, count: 6) + "PING id=la"
        let isReadOn = performer.server.received(Array(text.utf8).span, from: shop, at: performer.now)
        #expect(!isReadOn)
        #expect(performer.turn().first == "resume")
        performer.say("st", from: shop)
        _ = performer.turn()
        #expect(performer.said[shop]?.hasSuffix("PONG\nPONG id=last\n") == true)
    }

    @Test func `what makes no record is answered in the same turn`() throws {
        let performer = try Performer()
        let shop = performer.connect()
        _ = performer.server.received(Array("PING\n".utf8).span, from: shop, at: performer.now)
        #expect(performer.turn() == ["flush"])
    }

    @Test func `nothing is decided after a failed sync, and the process ends when it has been reported`() throws {
        let performer = try Performer()
        let shop = performer.connect()
        performer.post(from: shop)
        #expect(performer.turn() == ["append"])
        performer.post(from: shop)
        performer.server.synced(.failed, at: performer.now)
        #expect(performer.actions() == ["flush", "exit 1"])
        performer.post(from: shop)
        #expect(performer.turn() == [])
        #expect(performer.turn() == [])
    }

    @Test func `a journal that fails while it has a batch ends the process behind the batch's answer`() throws {
        let performer = try Performer()
        let shop = performer.connect()
        performer.post(from: shop)
        #expect(performer.turn() == ["append"])
        performer.server.journalFailed()
        #expect(performer.actions() == [])
        performer.server.synced(.failed, at: performer.now)
        #expect(performer.actions() == ["flush", "exit 1"])
    }

    @Test(
        "A request that waits when the journal fails is answered, and is not left in silence", arguments: [true, false])
    func undecided(duringBatch: Bool) throws {
        let performer = try Performer()
        let (shop, other, reader) = (performer.connect(), performer.connect(), performer.connect())
        if duringBatch {
            performer.post(from: shop)
            #expect(performer.turn() == ["append"])
        }
        _ = performer.server.received(
            Array("EVT tally/1 type=start id=w\nGET tally/1\n".utf8).span, from: other, at: performer.now)
        if duringBatch {
            performer.server.synced(.failed, at: performer.now)
        } else {
            performer.server.journalFailed()
        }
        #expect(performer.actions() == ["flush", "exit 1"])
        let lines = performer.said[other]?.split(separator: "\n").dropFirst() ?? []
        #expect(lines.count == 1 && lines.first?.hasPrefix("ERR id=w code=storage_failed retry=later fatal=1 ") == true)
        #expect(performer.said[shop]?.contains("code=storage_failed") == duringBatch)
        #expect(performer.said[reader]?.contains("ERR") != true)
    }

    @Test func `a flush of many rows ends when it takes long, and requests have their turn before the rest`() throws {
        let performer = try Performer()
        let (shop, other) = (performer.connect(), performer.connect())
        let screens = (0..<8).map { _ in performer.connect() }
        for screen in screens { performer.say("SUB tally/*", from: screen) }
        _ = performer.turn()
        performer.post(from: shop)
        #expect(performer.turn() == ["append"])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        (performer.written, performer.writeTime) = ([], 40)
        #expect(performer.actions() == ["flush"])
        #expect(performer.written == [shop] + screens[..<3])
        performer.say("PING", from: other)
        for turn in [[other] + screens[3..<6], Array(screens[6...])] {
            performer.written = []
            #expect(performer.turn() == ["flush"])
            #expect(performer.written == turn)
        }
        #expect(performer.turn() == [])
        for screen in screens { #expect(performer.said[screen]?.contains("UPD sub=1 key=tally/0 rev=") == true) }
    }

    @Test func `answers that take longer than a flush's span keep no rows back`() throws {
        let performer = try Performer { $0.flushSpan = Milliseconds(1) }
        let clients = (0..<4).map { _ in performer.connect() }
        let screens = (0..<3).map { _ in performer.connect() }
        for screen in screens { performer.say("SUB tally/*", from: screen) }
        for _ in 0..<4 { _ = performer.turn() }
        performer.post(from: clients[0])
        #expect(performer.turn() == ["append"])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        performer.writeTime = 40
        _ = performer.actions()
        for screen in screens[1...] {
            for client in clients { performer.say("PING", from: client) }
            performer.written = []
            _ = performer.turn()
            #expect(performer.written == clients + [screen])
        }
    }

    @Test func `answers leave in one flush, and so does everything before the end`() throws {
        let performer = try Performer()
        let clients = (0..<8).map { _ in performer.connect() }
        (performer.written, performer.writeTime) = ([], 40)
        for client in clients { performer.say("PING", from: client) }
        #expect(performer.turn() == ["flush"])
        #expect(performer.written == clients)
        for client in clients { performer.say("SUB tally/*", from: client) }
        performer.written = []
        #expect(performer.turn() == ["flush"])
        #expect(performer.written == Array(clients[..<3]))
        performer.written = []
        performer.server.journalFailed()
        #expect(performer.actions() == ["flush", "exit 1"])
        #expect(performer.written == Array(clients[3...]))
    }

    @Test func `a connection with too many requests is read from again when some are answered`() throws {
        let performer = try Performer(limit: 4)
        let shop = performer.connect()
        #expect(performer.post(3, from: shop))
        #expect(!performer.post(3, from: shop))
        #expect(performer.turn() == ["append"])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        #expect(performer.actions() == ["flush", "resume"])
        // The requests behind its limit were read on, and are decided now.
        #expect(performer.turn() == ["append"])
        #expect(performer.appended.suffix(2).count == 2)
    }

    @Test func `a turn that takes long leaves further batches to the next, so that others are read from`() throws {
        for (writeTime, batches) in [(Int64(1), 4), (5, 1)] {
            let performer = try Performer(limit: 1)
            let client = performer.connect()
            performer.writeTime = writeTime
            for _ in 0..<5 { performer.say("PING", from: client) }
            #expect(performer.turn().count { $0 == "flush" } == batches)
            #expect(performer.turn().first == "flush")
        }
    }

    @Test func `connections are read from again in the order of their ages`() throws {
        let performer = try Performer(limit: 2)
        let shops = (0..<40).map { _ in performer.connect() }
        for shop in shops.reversed() { #expect(!performer.post(2, from: shop)) }
        #expect(performer.turn().last == "append")
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        #expect(performer.actions() == ["flush"] + shops.map { _ in "resume" })
        #expect(performer.resumed == shops)
    }

    @Test func `under the pace a decision waits for the end of the pause, and asks to be woken for it`() throws {
        let performer = try Performer(pace: .fixed(.milliseconds(10)))
        let shop = performer.connect()
        var flushes = 0
        for _ in 0..<8 {
            performer.post(from: shop)
            let names = performer.turn()
            guard names == ["append"] else {
                #expect(names == [])
                break
            }
            performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
            #expect(performer.actions() == ["flush"])
            flushes += 1
        }
        // A pause saves up a few flushes; then one interval is waited for.
        #expect((1...4).contains(flushes))
        #expect(performer.wake.flush == performer.now.monotonic + Milliseconds(10))
        performer.milliseconds += 10
        #expect(performer.turn() == ["append"])
    }

    @Test func `a stop answers, says BYE, writes a snapshot and closes the journal`() throws {
        let performer = try Performer()
        let shop = performer.connect()
        performer.post(from: shop)
        performer.server.stopRequested(at: performer.now)
        #expect(performer.turn() == ["deaf", "append"])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        #expect(performer.actions() == ["flush"])
        #expect(performer.turn() == ["flush"])
        performer.server.disconnected(shop)
        #expect(performer.turn() == ["snapshot"])
        performer.server.snapshotWritten(isWritten: true)
        #expect(performer.actions() == ["journal"])
        performer.server.journalClosed(isInOrder: true)
        #expect(performer.actions() == ["exit 0"])
    }

    @Test func `a deadline that is due does not keep the loop awake while the last snapshot is written`() throws {
        let performer = try Performer()
        performer.server.stopRequested(at: performer.now)
        #expect(performer.turn() == ["deaf", "snapshot", "flush"])
        performer.milliseconds += 60_000
        _ = performer.turn()
        #expect(performer.wake.at != performer.now.monotonic)
    }

    @Test func `a stop while a snapshot is written takes one more, of what came since`() throws {
        let performer = try Performer { $0.recordsBetweenSnapshots = 1 }
        let shop = performer.connect()
        performer.post(4, from: shop)
        #expect(performer.turn() == ["append"])
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        // Four keys: not before there are more than twice as many records.
        for _ in 0..<2 {
            performer.post(4, from: shop)
            _ = performer.turn()
            performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
            _ = performer.actions()
        }
        #expect(performer.turn() == ["snapshot"])
        performer.post(from: shop)
        performer.server.stopRequested(at: performer.now)
        _ = performer.turn()
        performer.server.synced(.durable(duration: .zero, wait: .zero), at: performer.now)
        _ = performer.actions()
        _ = performer.turn()
        performer.server.disconnected(shop)
        #expect(performer.turn() == [])
        performer.server.snapshotWritten(isWritten: true)
        #expect(performer.actions() == ["snapshot"])
        performer.server.snapshotWritten(isWritten: true)
        #expect(performer.actions() == ["journal"])
    }
}
