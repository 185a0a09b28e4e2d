import Replication
import TelltaleModel
import Testing

@testable import ReplicationNATS

struct DialogueBeatTests {
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

    @Test mutating func `a beat that is stored asks for those of the others`() throws {
        let own = Beat(
            node: "n1", role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: 3)
        var other = own
        other.node = "n2"
        dialogue.beat(own, at: now)
        let request = try #require(dialogue.takeRequests().first)
        #expect(request.subject == "tt.shop.beat.n1" && request.answer == "b3" && request.bytes == own.encoded())
        #expect(receive("b3", status: 503).isEmpty)
        #expect(receive("b3", #"{"stream":"TT_shop_BEAT","seq":9}"#) == [.beatStored(number: 3)])
        #expect(asked() == [#"m1 {"multi_last":["tt.shop.beat.*"]}"#])
        for (sequence, beat) in [(8, other), (9, own)] {
            dialogue.received(
                Incoming(
                    subject: "_INBOX.me.m1", status: 0, sequence: Int64(sequence), pending: 0, bytes: beat.encoded()),
                at: now)
        }
        #expect(receive("m1", sequence: 10, pending: 0, "rubbish").isEmpty)
        #expect(receive("m1", status: 204) == [.heard(other), .beatsShown(through: 3)])
        // Another node's beat that is heard before it is stored.
        let heard = Incoming(
            subject: "tt.shop.beat.n2", status: 0, sequence: -1, pending: -1, bytes: other.encoded())
        dialogue.received(heard, at: now)
        dialogue.received(heard, at: now)
        #expect(dialogue.takeEvents() == [.overheard(other), .overheard(other)])
        #expect(asked() == [#"m2 {"multi_last":["tt.shop.beat.*"]}"#])
        // Nothing of its own in it, or no whole answer: the others' beats may be old ones.
        #expect(receive("m1", sequence: 11, pending: 0, String(decoding: own.encoded(), as: UTF8.self)).isEmpty)
        #expect(receive("m2", status: 204).isEmpty)
        #expect(asked() == [#"m3 {"multi_last":["tt.shop.beat.*"]}"#])
        dialogue.received(
            Incoming(subject: "_INBOX.me.m3", status: 0, sequence: 9, pending: 0, bytes: own.encoded()), at: now)
        #expect(receive("m3", status: 503).isEmpty)
    }

    @Test mutating func `an answer that is older than another one tells nothing`() {
        func beat(_ node: String, _ number: Int64) -> Beat {
            Beat(node: node, role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: number)
        }
        func answer(_ number: Int, _ beats: [Beat]) -> [LogEvent] {
            dialogue.received(
                Incoming(subject: "tt.shop.beat.n2", status: 0, sequence: -1, pending: -1, bytes: []), at: now)
            for beat in beats {
                dialogue.received(
                    Incoming(
                        subject: "_INBOX.me.m\(number)", status: 0, sequence: 1, pending: 0, bytes: beat.encoded()),
                    at: now)
            }
            return receive("m\(number)", status: 204)
        }
        #expect(answer(1, [beat("n2", 7)]).isEmpty)
        #expect(answer(2, [beat("n2", 8), beat("n1", 2)]) == [.heard(beat("n2", 8)), .beatsShown(through: 2)])
        #expect(answer(3, [beat("n2", 7), beat("n1", 1)]).isEmpty)
        #expect(answer(4, [beat("n2", 9)]).isEmpty)
        #expect(answer(5, [beat("n2", 9), beat("n1", 2)]) == [.heard(beat("n2", 9)), .beatsShown(through: 2)])
    }

    @Test mutating func `a beat of its own name is heard where another process sends it`() {
        var beat = Beat(
            node: "n1", role: .standby, term: 1, position: 4, address: "a:1", release: "1", number: 3, instance: 5)
        dialogue.beat(beat, at: now)
        _ = dialogue.takeRequests()
        func hear(_ bytes: [UInt8]) -> [LogEvent] {
            dialogue.received(
                Incoming(subject: "tt.shop.beat.n1", status: 0, sequence: -1, pending: -1, bytes: bytes), at: now)
            return dialogue.takeEvents()
        }
        #expect(hear(beat.encoded()).isEmpty)
        beat.instance = 6
        #expect(hear(beat.encoded()) == [.heard(beat)])
        #expect(hear(Array("rubbish".utf8)).isEmpty && hear([]).isEmpty)
        beat.node = "n2"
        #expect(hear(beat.encoded()).isEmpty)
        #expect(asked().isEmpty)
    }
}
