import Replication
import TelltaleModel
import Testing

@testable import ReplicationNATS

struct DialogueHeartbeatTests {
    private var dialogue = Dialogue(names: Names(cluster: "shop"), node: "n1", inbox: "_INBOX.me")
    private let now = MonotonicTime(milliseconds: 1_000)

    private mutating func receive(
        _ answer: String, status: Int = 0, sequence: Int64 = -1, pending: Int64 = -1, _ text: String = ""
    ) -> [LogEvent] {
        dialogue.received(
            Incoming(
                subject: "_INBOX.me.\(answer)", status: status, sequence: sequence, pending: pending,
                bytes: Array(text.utf8)), at: now)
        return dialogue.takeEvents()
    }

    /// The text and the answer's token of each request.
    private mutating func asked() -> [String] {
        dialogue.takeRequests().map { "\($0.answer ?? "-") \(String(decoding: $0.bytes, as: UTF8.self))" }
    }

    @Test mutating func `a heartbeat that is stored asks for those of the others`() throws {
        let own = Heartbeat(
            node: "n1", role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: 3)
        var other = own
        other.node = "n2"
        dialogue.heartbeat(own, at: now)
        let request = try #require(dialogue.takeRequests().first)
        #expect(request.subject == "tt.shop.beat.n1" && request.answer == "b3" && request.bytes == own.encoded())
        #expect(receive("b3", status: 503).isEmpty)
        #expect(receive("b3", #"{"stream":"TT_shop_BEAT","seq":9}"#) == [.heartbeatStored(number: 3)])
        #expect(asked() == [#"m1 {"multi_last":["tt.shop.beat.*"]}"#])
        for (sequence, heartbeat) in [(8, other), (9, own)] {
            dialogue.received(
                Incoming(
                    subject: "_INBOX.me.m1", status: 0, sequence: Int64(sequence), pending: 0,
                    bytes: heartbeat.encoded()),
                at: now)
        }
        #expect(receive("m1", sequence: 10, pending: 0, "rubbish").isEmpty)
        #expect(receive("m1", status: 204) == [.heard(other), .heartbeatsShown(through: 3)])
        // Another node's heartbeat that is heard before it is stored.
        let heard = Incoming(
            subject: "tt.shop.beat.n2", status: 0, sequence: -1, pending: -1, bytes: other.encoded())
        dialogue.received(heard, at: now)
        dialogue.received(heard, at: now)
        #expect(dialogue.takeEvents() == [.overheard(other), .overheard(other)])
        #expect(asked() == [#"m2 {"multi_last":["tt.shop.beat.*"]}"#])
        // Nothing of its own in it, or no whole answer: the others' heartbeats may be old ones.
        #expect(receive("m1", sequence: 11, pending: 0, String(decoding: own.encoded(), as: UTF8.self)).isEmpty)
        #expect(receive("m2", status: 204).isEmpty)
        #expect(asked() == [#"m3 {"multi_last":["tt.shop.beat.*"]}"#])
        dialogue.received(
            Incoming(subject: "_INBOX.me.m3", status: 0, sequence: 9, pending: 0, bytes: own.encoded()), at: now)
        #expect(receive("m3", status: 503).isEmpty)
    }

    @Test mutating func `an answer that is older than another one reports nothing`() {
        func heartbeat(_ node: String, _ number: Int64) -> Heartbeat {
            Heartbeat(node: node, role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: number)
        }
        func answer(_ number: Int, _ heartbeats: [Heartbeat]) -> [LogEvent] {
            dialogue.received(
                Incoming(subject: "tt.shop.beat.n2", status: 0, sequence: -1, pending: -1, bytes: []), at: now)
            for heartbeat in heartbeats {
                dialogue.received(
                    Incoming(
                        subject: "_INBOX.me.m\(number)", status: 0, sequence: 1, pending: 0, bytes: heartbeat.encoded()),
                    at: now)
            }
            return receive("m\(number)", status: 204)
        }
        #expect(answer(1, [heartbeat("n2", 7)]).isEmpty)
        #expect(
            answer(2, [heartbeat("n2", 8), heartbeat("n1", 2)]) == [
                .heard(heartbeat("n2", 8)), .heartbeatsShown(through: 2),
            ])
        #expect(answer(3, [heartbeat("n2", 7), heartbeat("n1", 1)]).isEmpty)
        #expect(answer(4, [heartbeat("n2", 9)]).isEmpty)
        #expect(
            answer(5, [heartbeat("n2", 9), heartbeat("n1", 2)]) == [
                .heard(heartbeat("n2", 9)), .heartbeatsShown(through: 2),
            ])
    }

    @Test mutating func `a heartbeat of its own name is heard where another process sends it`() {
        var heartbeat = Heartbeat(
            node: "n1", role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: 3, instance: 5)
        dialogue.heartbeat(heartbeat, at: now)
        _ = dialogue.takeRequests()
        func hear(_ bytes: [UInt8]) -> [LogEvent] {
            dialogue.received(
                Incoming(subject: "tt.shop.beat.n1", status: 0, sequence: -1, pending: -1, bytes: bytes), at: now)
            return dialogue.takeEvents()
        }
        #expect(hear(heartbeat.encoded()).isEmpty)
        heartbeat.instance = 6
        #expect(hear(heartbeat.encoded()) == [.heard(heartbeat)])
        #expect(hear(Array("rubbish".utf8)).isEmpty && hear([]).isEmpty)
        heartbeat.node = "n2"
        #expect(hear(heartbeat.encoded()).isEmpty)
        #expect(asked().isEmpty)
    }
}
