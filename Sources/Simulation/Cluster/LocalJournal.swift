import Hub
import Journal
import Replication

/// The content of a node's own disk: a beginning of the log, with the place of the log up to which it goes.
///
/// Commits are synced seldom, because the log has what they lose: a crash takes the local journal back to an earlier commit. A snapshot and
/// a checkpoint are synced when they are finished.
final class LocalJournal {
    private var journal: InMemoryJournal
    /// The content that no crash takes away, and what was committed behind it.
    private var synced: InMemoryJournal.Contents
    private var tail: [Commit] = []
    /// The mark of the newest commit, decoded.
    private(set) var reader = LogReader(cluster: SimulatedCluster.name, epoch: nil)
    private var draft: Draft?

    private struct Commit {
        var records: [JournalRecord]
        var mark: [UInt8]
        var epoch: UInt64
    }

    private enum Draft {
        case snapshot(Int64)
        case checkpoint(Int64)
    }

    /// A step that a journal on a disk would not take: its daemon would end.
    struct Refusal: Error, CustomStringConvertible {
        var description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// So many commits are not synced.
    private static let tailLimit = 20

    init() {
        journal = InMemoryJournal(epoch: 1)
        synced = journal.contents
    }

    /// A folder as an operator's command leaves it: synced, and maybe no copy of a log.
    init(_ contents: InMemoryJournal.Contents) {
        journal = InMemoryJournal(contents)
        synced = journal.contents
        reader = Self.reader(of: journal)
    }

    private static func reader(of journal: InMemoryJournal) -> LogReader {
        journal.mark.flatMap { try? LogReader(mark: $0) } ?? LogReader(cluster: SimulatedCluster.name, epoch: nil)
    }

    var contents: InMemoryJournal.Contents { journal.contents }
    var chain: RecordChain { reader.chain }
    /// `nil` while nothing of the log is here.
    var epoch: UInt64? { reader.epoch }
    var lastSequence: Int64 { journal.lastSequence }
    var snapshotSequence: Int64 { journal.contents.snapshotSequence ?? 0 }

    // MARK: Records

    func keep(_ records: [JournalRecord], mark: [UInt8], epoch: UInt64) throws {
        try write(records)
        guard !isWritingCheckpoint else { throw Refusal("a batch comes in the middle of a base") }
        try journal.write(mark: mark, epoch: epoch)
        try journal.commit()
        reader = try LogReader(mark: mark)
        tail.append(Commit(records: records, mark: mark, epoch: epoch))
        if tail.count > Self.tailLimit { Self.apply(tail.removeFirst(), to: &synced) }
    }

    private func write(_ records: [JournalRecord]) throws {
        for (index, record) in records.enumerated() where record.sequence != lastSequence + Int64(index) + 1 {
            throw Refusal("record \(record.sequence) comes behind record \(lastSequence + Int64(index))")
        }
        try journal.write(records)
    }

    /// Only planted bugs keep records without their place in the log.
    func keepWithoutMark(_ records: [JournalRecord]) throws {
        try write(records)
        try journal.commit()
    }

    private static func apply(_ commit: Commit, to contents: inout InMemoryJournal.Contents) {
        contents.records += commit.records
        contents.lastSequence += Int64(commit.records.count)
        (contents.mark, contents.epoch) = (commit.mark, commit.epoch)
    }

    private func sync() {
        synced = journal.contents
        tail = []
    }

    /// The process ends, and where the power went, the newest `count` commits are gone too.
    func crash(losing count: Int) {
        draft = nil
        if count > 0 {
            for commit in tail.dropLast(count) { Self.apply(commit, to: &synced) }
        } else {
            synced = journal.contents
        }
        tail = []
        journal = InMemoryJournal(synced)
        reader = Self.reader(of: journal)
    }

    // MARK: Snapshots

    private var isWritingCheckpoint: Bool {
        if case .checkpoint? = draft { true } else { false }
    }

    /// - Parameter prunesEarly: A planted bug forgets the records now.
    /// - Returns: `false` where its record is not here.
    func beginSnapshot(at sequence: Int64, _ pruning: Pruning, prunesEarly: Bool = false) throws -> Bool {
        guard sequence <= lastSequence else { return false }
        guard sequence >= snapshotSequence else {
            throw Refusal("a snapshot of record \(sequence) is older than that of \(snapshotSequence)")
        }
        try journal.prune(pruning)
        try journal.beginSnapshot(at: sequence)
        draft = .snapshot(sequence)
        if prunesEarly { forget(through: sequence) }
        return true
    }

    private func forget(through sequence: Int64) {
        var contents = journal.contents
        contents.records.removeAll { $0.sequence <= sequence }
        journal = InMemoryJournal(contents)
        try? journal.beginSnapshot(at: sequence)
        sync()
    }

    func finishSnapshot(_ chunks: [[UInt8]], of sequence: Int64) throws {
        guard case .snapshot(sequence)? = draft else {
            throw Refusal("the snapshot of record \(sequence) goes on in the draft of another one")
        }
        for chunk in chunks { try journal.appendToSnapshot(chunk) }
        try journal.finishSnapshot()
        while try journal.tidy() {}
        draft = nil
        sync()
    }

    // MARK: Checkpoints

    func beginCheckpoint(at sequence: Int64) throws {
        guard sequence >= lastSequence else {
            throw Refusal("a base of record \(sequence) is older than record \(lastSequence)")
        }
        if case .snapshot(let begun)? = draft {
            throw Refusal("a base comes in the middle of the snapshot of record \(begun)")
        }
        try journal.beginCheckpoint(at: sequence)
        draft = .checkpoint(sequence)
    }

    func appendToCheckpoint(_ chunk: [UInt8]) throws {
        guard isWritingCheckpoint else { throw Refusal("a chunk comes without a base") }
        try journal.appendToSnapshot(chunk)
    }

    func abandonCheckpoint() throws {
        guard isWritingCheckpoint else { throw Refusal("a base is given up that was not begun") }
        try journal.abandonSnapshot()
        draft = nil
    }

    func finishCheckpoint(link: UInt64, mark: [UInt8], epoch: UInt64) throws {
        guard isWritingCheckpoint else { throw Refusal("a base ends that was not begun") }
        guard epoch == self.epoch ?? epoch else { throw Refusal("a base of another epoch") }
        try journal.finishCheckpoint(link: link, mark: mark, epoch: epoch)
        reader = try LogReader(mark: mark)
        draft = nil
        sync()
    }
}

/// The state behind a record, encoded.
struct TakenSnapshot {
    var sequence: Int64
    var chunks: [[UInt8]] = []

    init(_ snapshot: HubSnapshot) {
        sequence = snapshot.sequence
        snapshot.forEachChunk { chunks.append($0) }
    }
}
