import Replication
import TelltaleModel
import TestSupport
import Testing

@testable import ReplicationNATS

struct DialogueTests {
    private static let start = MonotonicTime(milliseconds: 1_000)
    private var dialogue = Dialogue(names: Names(cluster: "shop"), node: "n1", inbox: "_INBOX.me")
    private var now = start

    // MARK: Words of a server

    private func incoming(
        _ answer: String, status: Int = 0, sequence: Int64 = -1, pending: Int64 = -1, _ text: String = ""
    ) -> Incoming {
        Incoming(
            subject: "_INBOX.me.\(answer)", status: status, sequence: sequence, pending: pending,
            bytes: Array(text.utf8))
    }

    private mutating func receive(
        _ answer: String, status: Int = 0, sequence: Int64 = -1, pending: Int64 = -1, _ text: String = ""
    ) -> [LogEvent] {
        dialogue.received(incoming(answer, status: status, sequence: sequence, pending: pending, text), at: now)
        return dialogue.takeEvents()
    }

    private mutating func hint(_ text: String) {
        let message = Incoming(subject: "tt.shop.told", status: 0, sequence: -1, pending: -1, bytes: Array(text.utf8))
        dialogue.received(message, at: now)
    }

    /// The text and the answer's token of each request.
    private mutating func asked() -> [String] {
        dialogue.takeRequests().map { "\($0.answer ?? "-") \(String(decoding: $0.bytes, as: UTF8.self))" }
    }

    private mutating func wait(_ milliseconds: Int64) -> [LogEvent] {
        now = now + Milliseconds(milliseconds)
        dialogue.tick(at: now)
        return dialogue.takeEvents()
    }

    private static func get(_ sequence: Int, _ read: Int) -> String {
        "r\(read) {\"seq\":\(sequence),\"batch\":1024,\"max_bytes\":4194304}"
    }

    private static func bytes(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    // MARK: Appends

    @Test mutating func `an append has its condition and its token, and notifies the others of its position`() {
        dialogue.append([1, 2], after: 5, token: 7, at: now)
        let request = dialogue.takeRequests()
        #expect(
            request == [NATSRequest(lane: .append, subject: "tt.shop.log", answer: "a7", expected: 5, bytes: [1, 2])])
        now = now + Milliseconds(300)
        #expect(receive("a7", "{\"stream\":\"TT_shop_LOG\",\"seq\":6}") == [.stored(token: 7, position: 6)])
        #expect(asked() == ["- 6"])
        #expect(dialogue.status.roundTrip == .milliseconds(300))
        #expect(dialogue.status.stalls == 1)
        // A second acknowledgement is passed on, and is no hint.
        #expect(receive("a7", "{\"stream\":\"TT_shop_LOG\",\"seq\":6}") == [.stored(token: 7, position: 6)])
        #expect(asked().isEmpty)
    }

    @Test(
        arguments: [
            (#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"}}"#, [.refused(token: 7)]),
            (#"{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}"#, [.full(token: 7)]),
            (#"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}"#, [.full(token: 7)]),
            // Another fault of the store: the message may be on another server's disk.
            (
                #"{"error":{"code":503,"err_code":10077,"description":"input/output error"}}"#,
                [.declined(token: 7, reason: "input/output error (10077)")]
            ),
            (
                #"{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}"#,
                [.declined(token: 7, reason: "message size exceeds maximum allowed (10054)")]
            ),
            (#"{"error":{"code":500,"err_code":99999}}"#, [.declined(token: 7, reason: "an error (99999)")]),
            (#"{"error":{"code":503,"err_code":10008}}"#, []),
            (#"{"stream":"TT_other_LOG","seq":6}"#, []),
            (#"{"stream":"TT_shop_LOG","seq":0}"#, []),
            (#"{"stream":"TT_shop_LOG","seq":-9223372036854775808}"#, []),
            (#"{"stream":"TT_shop_LOG","seq":1e300}"#, []),
            (#"{"stream":"TT_shop_LOG","seq":6"#, []),
            (#"[]"#, []),
            ("", []),
        ] as [(String, [LogEvent])])
    mutating func `the answer to an append`(text: String, events: [LogEvent]) {
        dialogue.append([1], after: 5, token: 7, at: now)
        #expect(receive("a7", text) == events)
    }

    @Test mutating func `no responder leaves the fate of an append open`() {
        dialogue.append([1], after: 5, token: 7, at: now)
        #expect(receive("a7", status: 503).isEmpty)
    }

    // MARK: Limits and rights

    @Test mutating func `the length of messages is reported without the header of an append`() {
        dialogue.limited(to: 65_536)
        dialogue.tooLong("a7")
        for answer in [nil, "", "a", "b7", "ax"] { dialogue.tooLong(answer) }
        dialogue.tooLong("x3")
        #expect(
            dialogue.takeEvents() == [
                .limited(byteCount: 65_472), .tooLong(token: 7),
                .declined(token: nil, reason: "it is longer than the engine takes"),
            ])
        dialogue.append([1], after: .max, token: 1, at: now)
        let header = dialogue.takeRequests().first?.header
        // As the server counts it: the version, the name, the value, and the ends of lines.
        let text = "NATS/1.0\r\n\(header?.name ?? ""): \(header?.value ?? "")\r\n\r\n"
        #expect((40...NATSRequest.headerByteCount).contains(text.utf8.count))
    }

    private mutating func deny(_ subject: String) -> [LogEvent] {
        dialogue.denied(Denial("Permissions Violation for Publish to \"\(subject)\""))
        return dialogue.takeEvents()
    }

    private mutating func heartbeat(_ number: Int64) {
        dialogue.heartbeat(
            Heartbeat(
                node: "n1", role: .standby, term: 1, position: 0, address: "", release: "", number: number, instance: 4),
            at: now)
    }

    @Test mutating func `what is denied is reported once, and whether the node may lead`() {
        #expect(deny("tt.shop.told") == [.denied(["publish on tt.shop.told"], mayLead: true)])
        let both = ["publish on tt.shop.told", "publish on tt.shop.log"]
        #expect(deny("tt.shop.log") == [.denied(both, mayLead: false)])
        #expect(deny("tt.shop.log") == [])
        #expect(dialogue.status.denials == both)
        // It is tried with each heartbeat, by a message that no stream takes.
        heartbeat(1)
        let probe = dialogue.takeRequests().first { $0.lane == .probe }
        #expect(probe?.subject == "tt.shop.log" && probe?.header?.name == "Nats-Expected-Stream")
        // Another connection may have other rights; the log is tried.
        dialogue.changed(isUp: true, text: "back", at: now)
        #expect(dialogue.takeEvents().first == .denied(["publish on tt.shop.log"], mayLead: false))
        let answer = #"{"error":{"err_code":10060,"description":"expected stream does not match"}}"#
        #expect(receive("p", answer) == [.denied([], mayLead: true)])
        _ = asked()
        heartbeat(2)
        #expect(!dialogue.takeRequests().contains { $0.lane == .probe })
    }

    @Test mutating func `a heartbeat that is stored again, and an append that is answered, are allowed again`() {
        #expect(deny("tt.shop.beat.n1") == [.denied(["publish on tt.shop.beat.n1"], mayLead: false)])
        #expect(
            deny("tt.shop.beat.n2").first
                == .denied(
                    ["publish on tt.shop.beat.n1", "publish on tt.shop.beat.n2"], mayLead: false))
        #expect(
            receive("b1", #"{"stream":"TT_shop_BEAT","seq":1}"#).first
                == .denied(["publish on tt.shop.beat.n2"], mayLead: true))
        _ = deny("tt.shop.log")
        dialogue.append([1], after: 5, token: 7, at: now)
        let refused = receive("a7", #"{"error":{"err_code":10071}}"#)
        #expect(refused.first == .denied(["publish on tt.shop.beat.n2"], mayLead: true))
        for number in 0..<100 { _ = deny("x.\(number)") }
        #expect(dialogue.status.denials.count == 16)
    }

    // MARK: Reads

    @Test mutating func `a read asks for the message before it too, and does not report it`() {
        dialogue.read(from: 4, at: now)
        #expect(asked() == [Self.get(4, 1)])
        #expect(receive("r1", sequence: 4, pending: 2, "d").isEmpty)
        #expect(receive("r1", sequence: 5, pending: 1, "e").isEmpty)
        #expect(receive("r1", sequence: 6, pending: 0, "f").isEmpty)
        #expect(receive("r1", status: 204, pending: 0) == [.read(Self.bytes("e", "f"), from: 4, end: 6)])
        #expect(asked().isEmpty)
        #expect(dialogue.deadline == nil)
    }

    @Test mutating func `what does not fit one answer is asked for without being asked`() {
        dialogue.read(from: 0, at: now)
        #expect(asked() == [Self.get(1, 1)])
        _ = receive("r1", sequence: 1, pending: 1, "a")
        #expect(receive("r1", status: 204, pending: 1) == [.read(Self.bytes("a"), from: 0, end: 2)])
        #expect(asked() == [Self.get(2, 2)])
        // An answer of the read before means nothing.
        _ = receive("r1", sequence: 2, pending: 0, "x")
        _ = receive("r2", sequence: 2, pending: 0, "b")
        #expect(receive("r2", status: 204, pending: 0) == [.read(Self.bytes("b"), from: 1, end: 2)])
    }

    @Test mutating func `messages that were purged are left out`() {
        dialogue.read(from: 3, at: now)
        _ = receive("r1", sequence: 100, pending: 0, "x")
        #expect(receive("r1", status: 204, pending: 0) == [.read(Self.bytes("x"), from: 99, end: 100)])
    }

    @Test mutating func `a gap ends a read, and what stands before it is reported`() {
        dialogue.read(from: 1, at: now)
        _ = receive("r1", sequence: 1, pending: 9, "a")
        _ = receive("r1", sequence: 2, pending: 8, "b")
        #expect(receive("r1", sequence: 4, pending: 6, "d") == [.read(Self.bytes("b"), from: 1, end: 10)])
    }

    @Test mutating func `a log that ends before what was read says where it ends`() {
        dialogue.read(from: 9, at: now)
        _ = asked()
        #expect(receive("r1", status: 404).isEmpty)
        #expect(asked() == ["l1 {\"last_by_subj\":\"tt.shop.log\"}"])
        #expect(receive("l1", sequence: 5) == [.read([], from: 5, end: 5)])

        dialogue.read(from: 9, at: now)
        _ = receive("r2", status: 404)
        #expect(receive("l2", status: 404) == [.read([], from: 0, end: 0)])
    }

    @Test mutating func `an empty log is reported as empty`() {
        dialogue.read(from: 0, at: now)
        #expect(receive("r1", status: 404) == [.read([], from: 0, end: 0)])
    }

    @Test mutating func `a stream that is gone is an empty log, and one that does not answer is none`() {
        dialogue.read(from: 9, at: now)
        _ = asked()
        _ = receive("r1", status: 503)
        #expect(asked() == ["i1 "])
        #expect(receive("i1", #"{"error":{"err_code":10059}}"#) == [.read([], from: 0, end: 0)])
        dialogue.read(from: 9, at: now)
        _ = receive("r2", status: 503)
        #expect(receive("i2", status: 503).isEmpty)
        #expect(dialogue.deadline == nil)
    }

    @Test mutating func `reads that are asked for during a read are one read behind it, from the lowest position`() {
        dialogue.read(from: 9, at: now)
        dialogue.read(from: 7, at: now)
        dialogue.read(from: 8, at: now)
        #expect(asked() == [Self.get(9, 1)])
        _ = receive("r1", sequence: 9, pending: 0, "i")
        #expect(receive("r1", status: 204, pending: 0) == [.read([], from: 9, end: 9)])
        #expect(asked() == [Self.get(7, 2)])
    }

    @Test mutating func `a read that is not answered ends after a second, and the next one begins`() {
        dialogue.read(from: 9, at: now)
        dialogue.read(from: 9, at: now)
        _ = asked()
        #expect(dialogue.deadline == now + Milliseconds(1_000))
        #expect(wait(1_000).isEmpty)
        #expect(asked() == [Self.get(9, 2)])
    }

    @Test mutating func `a reader is never sent more than a few megabytes at once`() {
        dialogue.read(from: 0, at: now)
        let bytes = String(repeating: "x", count: 1 << 20)
        var events: [LogEvent] = []
        for number in 1...8 { events += receive("r1", sequence: Int64(number), pending: Int64(8 - number), bytes) }
        #expect(events.count == 2)
    }

    // MARK: Following

    private mutating func readToEnd(_ end: Int64) {
        dialogue.read(from: end, at: now)
        _ = receive("r1", sequence: end, pending: 0, "x")
        _ = receive("r1", status: 204, pending: 0)
        _ = asked()
    }

    @Test
    mutating func `a follower that is notified of a message reads it, and waits a little where it is not there yet`() {
        readToEnd(4)
        hint("5")
        #expect(asked() == [Self.get(5, 2)])
        _ = receive("r2", status: 404)
        #expect(asked().isEmpty)
        _ = wait(1)
        #expect(asked().isEmpty)
        _ = wait(1)
        #expect(asked() == [Self.get(5, 3)])
        _ = receive("r3", sequence: 5, pending: 0, "e")
        #expect(receive("r3", status: 204, pending: 0) == [.read(Self.bytes("e"), from: 4, end: 5)])
        #expect(asked().isEmpty)
        // An old hint.
        hint("5")
        #expect(asked().isEmpty)
    }

    @Test mutating func `a hint of a stranger is not believed for long`() {
        readToEnd(4)
        hint("9223372036854775807")
        var reads = 0
        for _ in 0..<200 {
            for request in asked() {
                reads += 1
                _ = receive(String(request.prefix { $0 != " " }), status: 404)
            }
            _ = wait(64)
        }
        #expect((2...40).contains(reads))
        #expect(dialogue.deadline == nil)
        for text in ["-5", "", "x", "99999999999999999999", "6 "] { hint(text) }
        #expect(asked().isEmpty)
    }

    @Test mutating func `a connection that is there again reads on from where it was`() {
        readToEnd(4)
        dialogue.read(from: 4, at: now)
        _ = asked()
        dialogue.changed(isUp: false, text: "gone", at: now)
        #expect(dialogue.takeEvents() == [.connection(isUp: false, text: "gone")])
        #expect(!dialogue.status.isConnected)
        #expect(dialogue.deadline == nil)
        dialogue.changed(isUp: true, text: "back", at: now)
        #expect(asked() == [Self.get(4, 3)])
    }

    // MARK: Hostile words

    @Test func `no words of a server trap`() {
        var random = SeededGenerator(seed: 11)
        let answers = ["a1", "r1", "r2", "r3", "l1", "i1", "b1", "m1", "r", "", "a9223372036854775808", "zz", "r-1"]
        let numbers: [Int64] = [.min, -1, 0, 1, 2, 3, .max - 1, .max]
        let texts = [
            "", "{", "{}", #"{"stream":"TT_shop_LOG","seq":9007199254740991}"#, #"{"error":null}"#, #"{"error":[]}"#,
            #"{"stream":"TT_shop_BEAT","seq":1}"#, "\u{0}\u{1}\u{ff}",
        ]
        for _ in 0..<2_000 {
            var dialogue = Dialogue(names: Names(cluster: "shop"), node: "n1", inbox: "_INBOX.me")
            var now = Self.start
            for _ in 0..<20 {
                switch random.next() % 6 {
                case 0: dialogue.read(from: numbers.randomElement(using: &random)!, at: now)
                case 1: dialogue.append([1], after: numbers.randomElement(using: &random)!, token: 1, at: now)
                case 2:
                    now = now + Milliseconds(Int64(random.next() % 700))
                    dialogue.tick(at: now)
                case 3: dialogue.changed(isUp: Bool.random(using: &random), text: "", at: now)
                default:
                    let subject =
                        switch random.next() % 8 {
                        case 0: "tt.shop.told"
                        case 1: "tt.shop.beat.n2"
                        default: "_INBOX.me." + answers.randomElement(using: &random)!
                        }
                    dialogue.received(
                        Incoming(
                            subject: subject, status: [0, 0, 204, 404, 503, 999].randomElement(using: &random)!,
                            sequence: numbers.randomElement(using: &random)!,
                            pending: numbers.randomElement(using: &random)!,
                            bytes: Array(texts.randomElement(using: &random)!.utf8)), at: now)
                }
                expect(dialogue.takeRequests().count <= 4, "more requests than words")
                _ = dialogue.takeEvents()
            }
        }
    }

    // MARK: A reader that cannot take more

    @Test mutating func `a dialogue that is held begins no read, and does what was asked when it goes on`() {
        dialogue.read(from: 0, at: now)
        #expect(asked() == [Self.get(1, 1)])
        #expect(receive("r1", sequence: 1, pending: 5, "a") == [])
        dialogue.hold(true, at: now)
        // The batch that is on its way is reported, and the next one is not asked for.
        #expect(receive("r1", status: 204, pending: 5) == [.read(Self.bytes("a"), from: 0, end: 6)])
        hint("9")
        #expect(asked() == [] && wait(2_000) == [] && asked() == [])
        #expect(dialogue.deadline == nil)
        dialogue.hold(false, at: now)
        #expect(asked() == [Self.get(2, 2)])
        _ = receive("r2", status: 404)
        dialogue.hold(true, at: now)
        dialogue.read(from: 3, at: now)
        dialogue.read(from: 1, at: now)
        #expect(asked() == [])
        dialogue.hold(false, at: now)
        #expect(asked() == [Self.get(1, 3)])
    }
}
