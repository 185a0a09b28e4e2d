import Glibc
import Replication
import TelltaleEventLoop
import TelltaleModel
import TestSupport
import Testing

@testable import ReplicationNATS

/// Checkpoints over the words of a server.
struct CheckpointDialogueTests {
    private var dialogue = CheckpointDialogue(names: Names(cluster: "shop"))

    private mutating func asked() -> [String] {
        dialogue.takeRequests().map {
            "\($0.answer ?? "-") \($0.subject) \(String(decoding: $0.bytes, as: UTF8.self))"
        }
    }

    private mutating func receive(
        _ number: Int64, status: Int = 0, sequence: Int64 = -1, _ bytes: [UInt8]
    ) -> [LogEvent] {
        dialogue.handleMessage(
            Incoming(subject: "", status: status, sequence: sequence, pending: -1, bytes: bytes), number: number)
        return dialogue.takeEvents()
    }

    private static let manifest = CheckpointManifest(
        id: "40-a-1", reader: LogReader(cluster: "shop", epoch: 9, position: 40), time: Timestamp(milliseconds: 5),
        pieceCount: 3, checksum: 7, trail: [])

    @Test mutating func `a list has the manifests, the pieces of each checkpoint, and where the log begins`() {
        dialogue.ask(.list)
        #expect(asked() == [#"x1 $JS.API.DIRECT.GET.TT_shop_BASE {"multi_last":["tt.shop.base.*.manifest"]}"#])
        #expect(receive(1, sequence: 9, Self.manifest.encoded()).isEmpty)
        #expect(receive(1, sequence: 10, [1, 2, 3]).isEmpty)
        #expect(receive(1, status: 204, []).isEmpty)
        #expect(asked() == [#"x2 $JS.API.STREAM.INFO.TT_shop_BASE {"subjects_filter":"tt.shop.base.*.piece"}"#])
        let counts = #"{"state":{"subjects":{"tt.shop.base.40-a-1.piece":3,"tt.shop.base.50-b-1.piece":1,"x":4}}}"#
        #expect(receive(2, Array(counts.utf8)).isEmpty)
        #expect(asked() == ["x3 $JS.API.STREAM.INFO.TT_shop_LOG "])
        let events = receive(3, Array(#"{"state":{"first_seq":12,"bytes":900}}"#.utf8))
        #expect(
            events == [
                .checkpoint(
                    .list(
                        [
                            StoredCheckpoint(id: "40-a-1", manifest: Self.manifest.encoded(), pieceCount: 3),
                            StoredCheckpoint(id: "50-b-1", manifest: nil, pieceCount: 1),
                        ], LogExtent(first: 12, byteCount: 900)))
            ])
        // A late answer of a request before means nothing.
        #expect(receive(2, Array(counts.utf8)).isEmpty)
    }

    @Test mutating func `pieces are read where the ones before ended`() {
        dialogue.ask(.read(of: "40-a-1", from: 0))
        #expect(asked().first?.contains(#""seq":1,"next_by_subj":"tt.shop.base.40-a-1.piece""#) == true)
        #expect(receive(1, sequence: 5, [1]).isEmpty)
        #expect(receive(1, sequence: 8, [2]).isEmpty)
        #expect(receive(1, status: 204, []) == [.checkpoint(.pieces([[1], [2]], of: "40-a-1", from: 0))])
        dialogue.ask(.read(of: "40-a-1", from: 2))
        #expect(asked().first?.contains(#""seq":9,"#) == true)
        #expect(receive(2, status: 404, []) == [.checkpoint(.pieces([], of: "40-a-1", from: 2))])
        // Another place than the next one begins anew.
        dialogue.ask(.read(of: "40-a-1", from: 1))
        #expect(asked().first?.contains(#""seq":1,"#) == true)
    }

    @Test mutating func `an acknowledgement stores a piece, and a refusal nothing`() {
        dialogue.ask(.store([7], number: 2, of: "40-a-1"))
        #expect(dialogue.takeRequests().map(\.subject) == ["tt.shop.base.40-a-1.piece"])
        #expect(
            receive(1, Array(#"{"error":{"err_code":10047},"stream":"TT_shop_BASE","seq":4}"#.utf8))
                == [.declined(token: nil, reason: "an error (10047)")])
        #expect(
            receive(1, Array(#"{"stream":"TT_shop_BASE","seq":4}"#.utf8)) == [
                .checkpoint(.stored(number: 2, of: "40-a-1"))
            ])
        dialogue.ask(.remove("40-a-1"))
        dialogue.ask(.purge(before: 30))
        #expect(
            asked() == [
                #"- $JS.API.STREAM.PURGE.TT_shop_BASE {"filter":"tt.shop.base.40-a-1.>"}"#,
                #"- $JS.API.STREAM.PURGE.TT_shop_LOG {"seq":30}"#,
            ])
        // No id of a stranger gets into a subject.
        dialogue.ask(.remove("a.>"))
        #expect(asked().isEmpty)
    }
}

/// Checkpoints on three real servers.
@Suite(.serialized, .enabled(if: TestLogStore.isThere, TestLogStore.reason), .endsOneDay)
struct CheckpointLogStoreTests {
    /// Asks one thing after the other, and gives the answers. One of `again` is asked until its answer is right: what nothing
    /// answers takes its time.
    private static func answers(
        _ configuration: NATSLogConfiguration, _ requests: [CheckpointRequest], appending count: Int = 0,
        again: @escaping @Sendable (CheckpointRequest, CheckpointAnswer, Int) -> Bool
    ) async throws -> [CheckpointAnswer] {
        let box = Box()
        try await onLoop { loop in
            let log = try NATSLog(configuration, on: loop)
            var place = -1
            var position: Int64 = 0
            func next() {
                place += 1
                guard requests.indices.contains(place) else { return loop.stop() }
                log.queryServers(requests[place])
                switch requests[place] {
                case .remove, .purge: next()
                case .list, .store, .finish, .read, .message: break
                }
            }
            func append() {
                guard position < Int64(count) else { return next() }
                log.append([UInt8](repeating: 1, count: 100), after: position, token: position + 1)
            }
            log.onEvent = { event in
                switch event {
                case .connection(isUp: true, _):
                    if !box.hasBegun { append() }
                    box.hasBegun = true
                case .stored(_, let stored):
                    position = stored
                    append()
                case .checkpoint(let answer):
                    guard !again(requests[place], answer, box.answers.count) else {
                        return log.queryServers(requests[place])
                    }
                    box.answers.append(answer)
                    next()
                default: break
                }
            }
            return { log.close() }
        }
        return box.answers
    }

    private final class Box: @unchecked Sendable {
        var answers: [CheckpointAnswer] = []
        var hasBegun = false
    }

    @Test func `pieces are stored and read, checkpoints are listed and removed, and the log is purged`() async throws {
        let logStore = try TestLogStore()
        let configuration = logStore.configuration("shop", "n1")
        let piece = [UInt8](repeating: 5, count: 512 << 10)
        let manifest = CheckpointManifest(
            id: "10-a-1", reader: LogReader(cluster: "shop", epoch: 9, position: 10), time: Timestamp(milliseconds: 5),
            pieceCount: 10, checksum: 0, trail: []
        ).encoded()
        let stores = (0..<10).map { CheckpointRequest.store(piece, number: $0, of: "10-a-1") }
        let answers = try await Self.answers(
            configuration,
            [.list] + stores + [
                .finish(manifest, of: "10-a-1"), .list, .read(of: "10-a-1", from: 0), .read(of: "10-a-1", from: 8),
                .message(at: 4), .purge(before: 8), .list, .message(at: 4), .remove("10-a-1"), .list,
            ], appending: 10
        ) { request, answer, count in
            guard count > 12 else { return false }
            switch (request, answer) {
            case (.list, .list(let stored, let extent)): return extent.first < 8 || (count == 18 && !stored.isEmpty)
            case (.message, .message(let message, _)): return count == 17 && message != nil
            default: return false
            }
        }
        try #require(answers.count == 19)
        guard case .list(let none, let whole) = answers[0] else { return #expect(Bool(false)) }
        #expect(none.isEmpty && whole.first == 1 && whole.byteCount > 1_000)
        #expect(answers[11] == .finished("10-a-1"))
        let stored = [StoredCheckpoint(id: "10-a-1", manifest: manifest, pieceCount: 10)]
        #expect(answers[12] == .list(stored, whole))
        guard case .pieces(let pieces, _, 0) = answers[13] else { return #expect(Bool(false)) }
        #expect(pieces.allSatisfy { $0 == piece } && pieces.count == 8)
        #expect(answers[14] == .pieces([piece, piece], of: "10-a-1", from: 8))
        #expect(answers[15] == .message([UInt8](repeating: 1, count: 100), at: 4))
        guard case .list(let kept, let purged) = answers[16], case .list(let left, _) = answers[18] else {
            return #expect(Bool(false))
        }
        #expect(kept == stored && purged.first == 8)
        #expect(answers[17] == .message(nil, at: 4))
        #expect(left.isEmpty)
    }
}
