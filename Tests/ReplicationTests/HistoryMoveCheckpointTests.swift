import Journal
import Replication
import TelltaleModel
import Testing

/// A folder of which records were pruned gives a log its snapshot.
struct HistoryMoveCheckpointTests {
    private static let epoch: UInt64 = 0xE0

    private static func record(_ sequence: Int64) -> JournalRecord {
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_000 + sequence), entity: "tea/1",
            previous: sequence - 1, body: Array("body \(sequence)".utf8))
    }

    private static func whole() throws -> InMemoryJournal {
        let journal = InMemoryJournal(epoch: epoch)
        try journal.append((1...5).map { record($0) })
        return journal
    }

    private static func mark(of journal: InMemoryJournal) throws -> LogReader {
        try LogReader(mark: #require(journal.mark))
    }

    /// Its snapshot is of record 100, and five records are behind it.
    private static func pruned() throws -> InMemoryJournal {
        let journal = InMemoryJournal(epoch: epoch)
        try journal.beginCheckpoint(at: 100)
        for chunk in chunks { try journal.appendToSnapshot(chunk) }
        try journal.finishCheckpoint(link: 0xABC, mark: LogReader(cluster: "shop", epoch: epoch).mark, epoch: epoch)
        try journal.release()
        try journal.append((101...105).map { record($0) })
        return journal
    }

    private static let chunks = [[UInt8](repeating: 1, count: 700_000), [2, 3], [UInt8](repeating: 4, count: 300_000)]

    /// A node with an empty folder, which takes the checkpoint of the log and reads on behind it.
    private static func joined(_ log: InMemoryLog) -> (reader: LogReader, records: [JournalRecord], chunks: [[UInt8]]) {
        let node = log.node()
        var (loader, now) = (CheckpointLoader(settings: CheckpointSettings()), MonotonicTime(milliseconds: 0))
        var (reader, chunks, records): (LogReader?, [[UInt8]], [JournalRecord]) = (nil, [], [])
        let empty = LogReader(cluster: "shop", epoch: nil)
        node.onEvent = { if case .checkpoint(let answer) = $0 { loader.handleAnswer(answer, empty, at: now) } }
        loader.begin(at: now)
        for _ in 0..<100 where reader == nil {
            while let action = loader.nextAction() {
                switch action {
                case .ask(let request): node.queryServers(request)
                case .begin: chunks = []
                case .chunk(let bytes): chunks.append(bytes)
                case .install(_, let found): reader = found
                case .goOn, .warn, .stop: break
                }
            }
            node.deliver()
            now = now + Milliseconds(500)
            loader.tick(empty, at: now)
        }
        guard var reader else { return (empty, [], []) }
        for bytes in log.messages.dropFirst(Int(reader.position)) {
            if case .records(let more) = reader.read(bytes) { records += more }
        }
        return (reader, records, chunks)
    }

    @Test func `a folder of which records were pruned gives the log its snapshot, and nodes join by it`() throws {
        let (log, journal) = (InMemoryLog(), try Self.pruned())
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        move.run()
        #expect(move.isDone, "\(String(describing: move.refusal))")
        let (reader, records, chunks) = Self.joined(log)
        #expect(chunks == Self.chunks)
        #expect(records == journal.contents.records && records.count == 5)
        #expect(reader.hasResigned && reader.chain.sequence == 105)
        let mark = try Self.mark(of: journal)
        #expect(mark == reader && mark.origin?.sequence == 100 && mark.origin?.link == 0xABC)
        // A node without the checkpoint says what it lacks.
        var alone = LogReader(cluster: "shop", epoch: nil)
        guard case .broken(let text) = alone.read(log.messages[0]) else {
            Issue.record("a log without its base was read")
            return
        }
        #expect(text.contains("this log begins behind record 100, and no base"), "\(text)")
    }

    @Test func `a move with a snapshot that dies at any place goes on, and leaves one checkpoint`() throws {
        let (log, journal) = (InMemoryLog(), try Self.pruned())
        let whole = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        whole.run()
        #expect(log.checkpoints.count == 1)
        for asks in 0..<8 {
            let (log, journal) = (InMemoryLog(), try Self.pruned())
            let first = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
            first.asksLeft = asks
            first.run()
            if asks < 5 { #expect(!first.isDone && journal.mark == nil && log.end == 1, "\(asks)") }
            let second = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log, instance: 8)
            second.run()
            #expect(second.isDone, "\(asks): \(String(describing: second.refusal))")
            #expect(log.checkpoints.count == 1 && log.checkpoints.values.allSatisfy { $0.manifest != nil }, "\(asks)")
            #expect(Self.joined(log).records == journal.contents.records, "\(asks)")
        }
    }

    @Test func `a log store that does not store the checkpoint is reported, and the folder is as it was`() throws {
        let (log, journal) = (InMemoryLog(), try Self.pruned())
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        move.asksLeft = 3
        move.ignoresAsks = true
        move.run()
        #expect(move.refusal?.kind == .failure)
        #expect(move.refusal?.reason.contains("does not store the base") == true, "\(String(describing: move.refusal))")
        #expect(journal.mark == nil)
    }

    @Test func `a log that begins at another record than the folder's snapshot is left alone`() throws {
        let log = InMemoryLog()
        try HistoryMover(.intoLog(epoch: Self.epoch), try Self.whole(), log).run()
        let (end, journal) = (log.end, try Self.pruned())
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        move.run()
        #expect(move.refusal?.kind == .configuration)
        #expect(move.refusal?.reason.contains("the log is to be empty") == true, "\(String(describing: move.refusal))")
        #expect(log.end == end && journal.mark == nil)
    }
}
