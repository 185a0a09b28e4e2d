internal import Journal

/// The snapshots of an open journal, and the chunks and blocks that they consist of.
final class SnapshotStore {
    /// A snapshot that is being written.
    struct Draft {
        var id: Int64
        var sequence: Int64
        var chunkCount: Int64 = 0
        var byteCount: Int64 = 0
        /// The checksum of its last chunk.
        var checksum: UInt64
    }

    /// A block in the file.
    private struct Block {
        var id: Int64
        var checksum: UInt64
    }

    /// The newest complete snapshot.
    private(set) var newest: JournalSnapshot?
    private let file: JournalFile
    private let connection: SQLiteConnection
    private let appendChunk: SQLiteStatement
    private var reader: ChunkReader?
    private var draft: Draft?
    /// The blocks in the file by their names, as long as a snapshot is being written that has some.
    private var knownBlocks: [String: Block]?
    /// Whether there may be chunks or blocks that no snapshot uses.
    private var hasWaste = true

    private static let blockPortion = 16

    init(_ newest: JournalSnapshot?, _ file: JournalFile, _ connection: SQLiteConnection) throws(JournalError) {
        self.newest = newest
        self.file = file
        self.connection = connection
        appendChunk = try connection.prepare("INSERT INTO chunk VALUES(?1, ?2, ?3)")
    }

    // MARK: Reading

    /// Reads and checks the row of the snapshot that `head` names; `nil` for none.
    static func readNewest(
        of connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head
    ) throws(JournalError) -> JournalSnapshot? {
        guard head.snapshot != 0 else {
            guard head.prunedThrough == 0 else { throw folder.damage("the snapshot is missing") }
            return nil
        }
        let row = try connection.prepare("SELECT * FROM snapshot WHERE id = ?1")
        row.bind(head.snapshot, 1)
        guard try row.step(),
            row.word(5)
                == seal(
                    id: head.snapshot, sequence: row.integer(1), chunks: row.integer(2), bytes: row.integer(3),
                    checksum: row.word(4)),
            row.integer(1) >= head.prunedThrough || head.prunedThrough == 0, row.integer(1) <= head.sequence
        else { throw folder.damage("snapshot \(head.snapshot) does not fit its seal") }
        return JournalSnapshot(
            sequence: row.integer(1), chunkCount: Int(row.integer(2)), byteCount: row.integer(3))
    }

    private static func seal(id: Int64, sequence: Int64, chunks: Int64, bytes: Int64, checksum: UInt64) -> UInt64 {
        Checksum.words(
            UInt64(bitPattern: id), UInt64(bitPattern: sequence), UInt64(bitPattern: chunks),
            UInt64(bitPattern: bytes), checksum)
    }

    /// Reads one chunk of ``newest``.
    func readChunk(_ index: Int) throws(JournalError) -> [UInt8] {
        guard let newest, index >= 0, index < newest.chunkCount else {
            throw file.damage("the snapshot has no chunk \(index)")
        }
        let id = file.head.snapshot * JournalSchema.chunkLimit + Int64(index)
        let link = index == 0 ? UInt64(bitPattern: newest.sequence) : try chunkChecksum(id - 1)
        let reader = if let reader { reader } else { try ChunkReader(connection) }
        self.reader = reader
        guard let chunk = try reader.chunk(Int64(index), ofSnapshot: file.head.snapshot, link: link) else {
            throw file.damage("chunk \(index) of the snapshot is missing")
        }
        guard chunk.isWhole else { throw file.damage("chunk \(index) of the snapshot does not fit its checksum") }
        if index == newest.chunkCount - 1, try snapshotChecksum() != chunk.checksum {
            throw file.damage("the snapshot does not end with chunk \(index)")
        }
        return chunk.bytes
    }

    private func chunkChecksum(_ id: Int64) throws(JournalError) -> UInt64 {
        UInt64(bitPattern: try connection.integer("SELECT checksum FROM chunk WHERE id = \(id)") ?? 0)
    }

    private func snapshotChecksum() throws(JournalError) -> UInt64 {
        UInt64(
            bitPattern: try connection.integer("SELECT checksum FROM snapshot WHERE id = \(file.head.snapshot)") ?? 0)
    }

    // MARK: Writing

    /// Begins a snapshot of the state after the record `sequence`, and discards an unfinished one.
    func begin(at sequence: Int64) throws(JournalError) {
        abandon()
        // An unfinished snapshot may have left chunks with a higher number than the head's.
        let newest = try connection.integer("SELECT max(id) FROM chunk") ?? 0
        let id = max(file.head.snapshot, newest / JournalSchema.chunkLimit) + 1
        draft = Draft(id: id, sequence: sequence, checksum: UInt64(bitPattern: sequence))
    }

    func append(_ chunk: [UInt8]) throws(JournalError) {
        try append(byteCount: chunk.count, count: 1) { (next, transaction) throws(JournalError) in
            try unsafe chunk.span.withUnsafeBytes { bytes throws(JournalError) in
                unsafe next.checksum = Checksum.chunk(link: next.checksum, number: next.chunkCount, body: bytes)
                unsafe appendChunk.bind(blob: bytes, 2)
                try insertChunk(of: &next, transaction)
            }
        }
    }

    func append(_ blocks: [SnapshotBlock]) throws(JournalError) {
        let byteCount = blocks.reduce(0) { $0 + $1.bytes.count }
        var known: [String: Block] = [:]
        try append(byteCount: byteCount, count: blocks.count) { (next, transaction) throws(JournalError) in
            try JournalSchema.addBlocks(to: connection, transaction.what)
            if let knownBlocks { known = knownBlocks } else { known = try readBlocks() }
            for block in blocks {
                let stored: Block
                if let old = known[block.name] { stored = old } else { stored = try insert(block, transaction) }
                known[block.name] = stored
                next.checksum = Checksum.reference(
                    link: next.checksum, number: next.chunkCount, block: stored.id, checksum: stored.checksum)
                appendChunk.bind(stored.id, 2)
                try insertChunk(of: &next, transaction)
            }
        }
        knownBlocks = known
        // The table may be new.
        reader = nil
    }

    /// Inserts the chunk whose body is bound and whose checksum the draft has.
    private func insertChunk(
        of draft: inout Draft, _ transaction: borrowing JournalFile.Transaction
    ) throws(JournalError) {
        appendChunk.bind(draft.id * JournalSchema.chunkLimit + draft.chunkCount, 1)
        appendChunk.bind(draft.checksum, 3)
        try transaction.run(appendChunk)
        draft.chunkCount += 1
    }

    private func readBlocks() throws(JournalError) -> [String: Block] {
        let rows = try connection.prepare("SELECT id, name, checksum FROM block")
        var blocks: [String: Block] = [:]
        while try rows.step() { blocks[rows.text(1)] = Block(id: rows.integer(0), checksum: rows.word(2)) }
        return blocks
    }

    private func insert(
        _ block: SnapshotBlock, _ transaction: borrowing JournalFile.Transaction
    ) throws(JournalError) -> Block {
        let id = try (connection.integer("SELECT max(id) FROM block") ?? 0) + 1
        let row = try connection.prepare("INSERT INTO block VALUES(?1, ?2, ?3, ?4)")
        let name = block.name.utf8.span
        return try unsafe name.withUnsafeBytes { name throws(JournalError) in
            try unsafe block.bytes.span.withUnsafeBytes { bytes throws(JournalError) in
                let checksum = unsafe Checksum.block(id: id, body: bytes)
                row.bind(id, 1)
                unsafe row.bind(text: name, 2)
                row.bind(checksum, 3)
                unsafe row.bind(blob: bytes, 4)
                try transaction.run(row)
                return Block(id: id, checksum: checksum)
            }
        }
    }

    /// Adds chunks to the draft in one transaction; an error abandons the snapshot.
    private func append(
        byteCount: Int, count: Int,
        _ body: (inout Draft, borrowing JournalFile.Transaction) throws(JournalError) -> Void
    ) throws(JournalError) {
        guard var next = draft else { preconditionFailure("no snapshot was begun") }
        precondition(next.chunkCount + Int64(count) <= JournalSchema.chunkLimit, "a snapshot of too many chunks")
        do throws(JournalError) {
            try file.write("could not write a snapshot") { transaction throws(JournalError) in
                try body(&next, transaction)
            }
        } catch {
            abandon()
            throw error
        }
        next.byteCount += Int64(byteCount)
        draft = next
        file.report(.chunkWritten)
    }

    /// Makes the draft the newest snapshot, in one transaction with `more`.
    func finish(
        _ what: String,
        with more: (Draft, inout JournalFile.Transaction) throws(JournalError) -> Void = { _, _ in }
    ) throws(JournalError) {
        guard let draft else { preconditionFailure("no snapshot was begun") }
        let seal = Self.seal(
            id: draft.id, sequence: draft.sequence, chunks: draft.chunkCount, bytes: draft.byteCount,
            checksum: draft.checksum)
        try file.change(what) { transaction throws(JournalError) in
            let row = try connection.prepare("INSERT INTO snapshot VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
            row.bind(draft.id, 1)
            row.bind(draft.sequence, 2)
            row.bind(draft.chunkCount, 3)
            row.bind(draft.byteCount, 4)
            row.bind(draft.checksum, 5)
            row.bind(seal, 6)
            try transaction.run(row)
            try more(draft, &transaction)
            transaction.head.snapshot = draft.id
        }
        newest = JournalSnapshot(
            sequence: draft.sequence, chunkCount: Int(draft.chunkCount), byteCount: draft.byteCount)
        abandon()
        file.report(.snapshotFinished)
    }

    /// Forgets the draft. ``tidy()`` removes its chunks.
    func abandon() {
        draft = nil
        knownBlocks = nil
        hasWaste = true
    }

    // MARK: Removing

    /// Removes a part of what neither the newest snapshot nor the draft uses.
    ///
    /// - Returns: Whether there may be more of it.
    func tidy() throws(JournalError) -> Bool {
        guard hasWaste else { return false }
        if try dropOldChunk() { return true }
        hasWaste = try dropOldBlocks()
        return hasWaste
    }

    /// Removes chunks of snapshots that are neither the newest nor being written.
    private func dropOldChunk() throws(JournalError) -> Bool {
        let snapshot = file.head.snapshot
        let kept = snapshot * JournalSchema.chunkLimit
        let after = (snapshot + 1) * JournalSchema.chunkLimit
        let own = (draft?.id ?? -1) * JournalSchema.chunkLimit
        guard
            let old = try connection.integer(
                """
                SELECT id FROM (SELECT id FROM chunk WHERE id < \(kept) \
                UNION ALL SELECT id FROM chunk WHERE id >= \(after) \
                AND NOT (id >= \(own) AND id < \(own + JournalSchema.chunkLimit))) LIMIT 1
                """)
        else { return false }
        try file.write("could not drop an old snapshot") { transaction throws(JournalError) in
            try connection.execute("DELETE FROM chunk WHERE id = \(old)", transaction.what)
            try connection.execute("DELETE FROM snapshot WHERE id < \(snapshot)", transaction.what)
        }
        return true
    }

    /// Removes blocks that no snapshot uses any more, once the chunks of old snapshots are gone.
    private func dropOldBlocks() throws(JournalError) -> Bool {
        // A snapshot that is being written may take up any block.
        guard draft == nil, try JournalSchema.hasBlocks(connection) else { return false }
        let rows = try connection.prepare(
            """
            SELECT id FROM block WHERE id NOT IN (SELECT body FROM chunk WHERE typeof(body) = 'integer') \
            LIMIT \(Self.blockPortion)
            """)
        var old: [Int64] = []
        while try rows.step() { old.append(rows.integer(0)) }
        rows.reset()
        guard !old.isEmpty else { return false }
        try file.write("could not drop an old snapshot") { transaction throws(JournalError) in
            for id in old { try connection.execute("DELETE FROM block WHERE id = \(id)", transaction.what) }
        }
        return true
    }
}
