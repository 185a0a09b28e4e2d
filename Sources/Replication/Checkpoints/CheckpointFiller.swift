internal import Journal
internal import TelltaleModel

/// Stores the snapshot of a folder as the checkpoint with which a log begins. The records before the snapshot
/// are pruned, so the log's first message follows the snapshot's record, and a node with an empty folder needs the checkpoint
/// first.
///
/// A checkpoint that an interrupted run has stored is used if it is whole, and removed if it is not.
struct CheckpointFiller {
    enum Action {
        case ask(CheckpointRequest)
        /// So many chunks of the snapshot are stored.
        case progress(Int64, of: Int64)
        /// The checkpoint is whole.
        case done
        /// It cannot be stored: the reason.
        case fail(String)
    }

    private enum Phase {
        /// The first message of the log was requested: the checkpoint follows it.
        case reading
        case listing(LogReader)
        case storing
        case over
    }

    private let journal: any Journal
    private let snapshot: JournalSnapshot
    /// As of the snapshot.
    private let chain: RecordChain
    private let cluster: String
    private let id: String
    private let wall: Timestamp
    private var phase = Phase.reading
    private var actions: [Action] = []
    private var cutter: CheckpointCutter
    private var pieces: [[UInt8]] = []
    private var chunkCount = 0
    private var manifest: CheckpointManifest?
    /// When an unanswered question is asked again.
    private var nextQuestion: MonotonicTime
    private var lastAnswer: MonotonicTime
    private let patience: Milliseconds

    /// Asks at once.
    ///
    /// - Parameters:
    ///   - chain: The history up to the record of the snapshot.
    ///   - instance: A number that no other process has.
    ///   - pieceLength: The longest piece that the log store takes, in bytes.
    ///   - patience: How long to wait for an answer.
    init(
        _ snapshot: JournalSnapshot, of journal: any Journal, chain: RecordChain, cluster: String, instance: UInt64,
        pieceLength: Int, patience: Milliseconds, wall: Timestamp, at now: MonotonicTime
    ) {
        cutter = CheckpointCutter(length: pieceLength)
        (self.journal, self.snapshot, self.chain, self.cluster) = (journal, snapshot, chain, cluster)
        (self.patience, self.wall) = (patience, wall)
        id = "\(Self.position)-\(String(instance, radix: 16))-1"
        (nextQuestion, lastAnswer) = (now, now)
        tick(at: now)
    }

    /// The message that the checkpoint follows: the first term record of the log.
    private static let position: Int64 = 1

    mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// When ``tick(at:)`` has something to do.
    var deadline: MonotonicTime {
        if case .over = phase { return .distantFuture }
        return min(nextQuestion, lastAnswer + patience + Milliseconds(1))
    }

    /// Time has passed.
    mutating func tick(at now: MonotonicTime) {
        if case .over = phase { return }
        guard now.milliseconds(since: lastAnswer) <= patience else {
            return fail(
                "the engine does not store the base on which the log stands; has it room, and a majority of its servers?"
            )
        }
        guard now >= nextQuestion else { return }
        nextQuestion = now + .seconds(1)
        switch phase {
        case .reading: actions.append(.ask(.message(at: Self.position)))
        case .listing: actions.append(.ask(.list))
        case .storing, .over: nextQuestion = .distantFuture
        }
    }

    mutating func handleAnswer(_ answer: CheckpointAnswer, at now: MonotonicTime) {
        switch (phase, answer) {
        case (.reading, .message(let bytes?, Self.position)):
            var reader = LogReader(cluster: cluster, epoch: nil, chain: chain)
            guard case .term = reader.read(bytes) else {
                return fail(
                    "message \(Self.position) of the log begins no history that follows record \(chain.sequence)")
            }
            phase = .listing(reader)
            ask(at: now)
        case (.listing(let reader), .list(let stored, _)):
            let isThere = StoredCheckpoint.usable(stored, cluster: cluster, epoch: reader.epoch).contains {
                checkpoint in
                checkpoint.reader.position == Self.position && checkpoint.reader.digests == reader.digests
            }
            guard !isThere else { return end() }
            for checkpoint in stored
            where checkpoint.manifest == nil && CheckpointManifest.position(in: checkpoint.id) == Self.position {
                actions.append(.ask(.remove(checkpoint.id)))
            }
            phase = .storing
            manifest = CheckpointManifest(id: id, reader: reader, time: wall, pieceCount: 0, checksum: 0, trail: [])
            lastAnswer = now
            store()
        case (.storing, .stored(let number, id)) where number == (manifest?.pieceCount ?? 0) - 1:
            lastAnswer = now
            actions.append(.progress(Int64(chunkCount), of: Int64(snapshot.chunkCount)))
            store()
        case (.storing, .finished(id)): end()
        case _: break
        }
    }

    private mutating func ask(at now: MonotonicTime) {
        (lastAnswer, nextQuestion) = (now, now)
        tick(at: now)
    }

    /// The next piece, or the manifest after the last one.
    private mutating func store() {
        guard var next = manifest else { return }
        do throws(JournalError) {
            guard let piece = try nextPiece() else {
                return actions.append(.ask(.finish(next.encoded(), of: id)))
            }
            actions.append(.ask(.store(piece, number: next.pieceCount, of: id)))
            next.pieceCount += 1
            next.checksum = CheckpointCutter.checksum(of: piece, after: next.checksum)
            manifest = next
        } catch {
            fail("\(error)")
        }
    }

    private mutating func nextPiece() throws(JournalError) -> [UInt8]? {
        while pieces.isEmpty, chunkCount < snapshot.chunkCount {
            pieces = cutter.add(try journal.readChunk(chunkCount))
            chunkCount += 1
        }
        return pieces.isEmpty ? cutter.end() : pieces.removeFirst()
    }

    private mutating func end() {
        phase = .over
        actions.append(.done)
    }

    private mutating func fail(_ reason: String) {
        phase = .over
        actions.append(.fail(reason))
    }
}
