import DequeModule
import TelltaleWire
import Testing

@testable import Hub

/// The order in which replies leave, and the replies of a failed commit.
struct StagedRepliesTests {
    private static func stage(_ line: String, _ id: String? = nil, in staged: inout StagedReplies) {
        var writer = LineWriter()
        writer.append(lines: "\(line)\n".utf8.span)
        staged.append(committed: &writer, requestID: id)
        let isEmpty = writer.isEmpty
        #expect(isEmpty)
    }

    private static func describe(_ outbox: Deque<OutboundItem>) -> [String] {
        outbox.map { item in
            guard case .bytes(let bytes, let replyCount) = item else { return "?" }
            return "\(replyCount): " + String(decoding: bytes, as: UTF8.self).replacing("\n", with: "|")
        }
    }

    @Test func `replies leave in order, the ones of one commit together, up to the next request that is carried out`() {
        var staged = StagedReplies()
        var outbox: Deque<OutboundItem> = []
        Self.stage("a1", in: &staged)
        Self.stage("a2", in: &staged)
        staged.append(Array("b\n".utf8))
        staged.append([])
        Self.stage("c", in: &staged)
        staged.append(read: Request(id: "7", command: .ping))
        Self.stage("d", in: &staged)
        #expect(staged.count == 7 && staged.hasReads && staged.firstRead == nil)

        staged.moveReplies(to: &outbox, pieceLength: 100)
        #expect(Self.describe(outbox) == ["2: a1|a2|", "1: b|", "1: c|"])
        #expect(staged.firstRead?.id == "7")
        staged.moveReplies(to: &outbox, pieceLength: 100)
        #expect(outbox.count == 3 && staged.count == 2)

        staged.removeFirst()
        Self.stage("e", in: &staged)
        outbox = []
        staged.moveReplies(to: &outbox, pieceLength: 100)
        #expect(Self.describe(outbox) == ["2: d|e|"])
        #expect(staged.isEmpty && !staged.hasReads)
    }

    @Test func `a request that is carried out between replies leaves them in their places`() {
        var staged = StagedReplies()
        for number in 0..<4 {
            Self.stage("\(number)", in: &staged)
            staged.append(read: Request(command: .ping))
        }
        for number in 0..<4 {
            var outbox: Deque<OutboundItem> = []
            staged.moveReplies(to: &outbox, pieceLength: 100)
            #expect(Self.describe(outbox) == ["1: \(number)|"])
            staged.removeFirst()
            // More may come before all of it has left.
            if number == 2 { Self.stage("late", in: &staged) }
        }
        var outbox: Deque<OutboundItem> = []
        staged.moveReplies(to: &outbox, pieceLength: 100)
        #expect(Self.describe(outbox) == ["1: late|"])
        #expect(staged.isEmpty)
    }

    @Test(arguments: [
        (1, ["1: 0|", "1: 1|", "1: 2|", "1: 3|", "1: 4|"]), (3, ["2: 0|1|", "2: 2|3|", "1: 4|"]),
        (4, ["2: 0|1|", "2: 2|3|", "1: 4|"]), (10, ["5: 0|1|2|3|4|"]), (11, ["5: 0|1|2|3|4|"]),
    ])
    func `a piece ends behind the reply that makes it long enough`(length: Int, pieces: [String]) {
        var staged = StagedReplies()
        var outbox: Deque<OutboundItem> = []
        for number in 0..<5 { Self.stage("\(number)", in: &staged) }
        staged.moveReplies(to: &outbox, pieceLength: length)
        #expect(Self.describe(outbox) == pieces)
        #expect(outbox.reduce(0) { $0 + $1.replyCount } == 5)
    }

    @Test func `a failed commit refuses the requests that depended on it, and no others`() {
        var staged = StagedReplies()
        var outbox: Deque<OutboundItem> = []
        Self.stage("OK", "1", in: &staged)
        staged.append(Array("b\n".utf8))
        Self.stage("OK", in: &staged)
        staged.append(read: Request(command: .ping))
        staged.refuseCommitted(WireError(.storageFull, "no room"))
        Self.stage("after", in: &staged)
        staged.moveReplies(to: &outbox, pieceLength: 1_000)
        #expect(Self.describe(outbox).map { $0.contains("storage_full") } == [true, false, true])
        #expect(Self.describe(outbox)[0].contains("id=1"))
        #expect(Self.describe(outbox)[1] == "1: b|")
        staged.removeFirst()
        staged.moveReplies(to: &outbox, pieceLength: 1_000)
        #expect(Self.describe(outbox)[3] == "1: after|")
    }
}
