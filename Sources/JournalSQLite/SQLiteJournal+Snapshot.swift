public import Journal

extension SQLiteJournal {
    /// A snapshot that is being written.
    struct Draft {
        var id: Int64
        var sequence: Int64
        var chunkCount: Int64 = 0
        var byteCount: Int64 = 0
        /// The checksum of its last chunk.
        var checksum: UInt64
    }

    static func readSnapshot(
        of connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head
    ) throws(JournalError) -> JournalSnapshot? {
        guard head.snapshot != 0 else {
            guard head.prunedThrough == 0 else {
                throw .corrupt(place: "\(folder.database): the snapshot is missing", advice: folder.repairAdvice)
            }
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
        else {
            throw .corrupt(
                place: "\(folder.database): snapshot \(head.snapshot) does not fit its seal",
                advice: folder.repairAdvice)
        }
        return JournalSnapshot(
            sequence: row.integer(1), chunkCount: Int(row.integer(2)), byteCount: row.integer(3))
    }

    private static func seal(id: Int64, sequence: Int64, chunks: Int64, bytes: Int64, checksum: UInt64) -> UInt64 {
        Checksum.words(
            UInt64(bitPattern: id), UInt64(bitPattern: sequence), UInt64(bitPattern: chunks),
            UInt64(bitPattern: bytes), checksum)
    }

    public func readChunk(_ index: Int) throws(JournalError) -> [UInt8] {
        guard let snapshot, index >= 0, index < snapshot.chunkCount else {
            throw damage("the snapshot has no chunk \(index)")
        }
        let id = head.snapshot * JournalSchema.chunkLimit + Int64(index)
        let link = index == 0 ? UInt64(bitPattern: snapshot.sequence) : try chunkChecksum(id - 1)
        let reader: ChunkReader
        if let chunkReader { reader = chunkReader } else { reader = try ChunkReader(connection) }
        chunkReader = reader
        guard let chunk = try reader.chunk(Int64(index), ofSnapshot: head.snapshot, link: link) else {
            throw damage("chunk \(index) of the snapshot is missing")
        }
        guard chunk.isWhole else { throw damage("chunk \(index) of the snapshot does not fit its checksum") }
        if index == snapshot.chunkCount - 1, try snapshotChecksum() != chunk.checksum {
            throw damage("the snapshot does not end with chunk \(index)")
        }
        return chunk.bytes
    }

    private func chunkChecksum(_ id: Int64) throws(JournalError) -> UInt64 {
        UInt64(bitPattern: try connection.integer("SELECT checksum FROM chunk WHERE id = \(id)") ?? 0)
    }

    private func snapshotChecksum() throws(JournalError) -> UInt64 {
        UInt64(bitPattern: try connection.integer("SELECT checksum FROM snapshot WHERE id = \(head.snapshot)") ?? 0)
    }

    public func beginSnapshot(at sequence: Int64) throws(JournalError) {
        precondition(sequence <= head.sequence, "a snapshot of what is not yet durable")
        precondition(sequence >= snapshot?.sequence ?? 0, "a snapshot older than the one there is")
        try beginDraft(at: sequence)
    }

    func beginDraft(at sequence: Int64) throws(JournalError) {
        try abandonSnapshot()
        // An unfinished snapshot may have left chunks with a higher number than the head's.
        let newest = try connection.integer("SELECT max(id) FROM chunk") ?? 0
        let id = max(head.snapshot, newest / JournalSchema.chunkLimit) + 1
        draft = Draft(id: id, sequence: sequence, checksum: UInt64(bitPattern: sequence))
    }

    public func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError) {
        try append(byteCount: chunk.count, count: 1) { (next, what) throws(JournalError) in
            let statement = statements.appendChunk
            try unsafe chunk.span.withUnsafeBytes { bytes throws(JournalError) in
                unsafe next.checksum = Checksum.chunk(link: next.checksum, number: next.chunkCount, body: bytes)
                statement.bind(next.id * JournalSchema.chunkLimit + next.chunkCount, 1)
                unsafe statement.bind(blob: bytes, 2)
                statement.bind(next.checksum, 3)
                try statement.run(what)
            }
            next.chunkCount += 1
        }
    }

    public func appendToSnapshot(_ blocks: [SnapshotBlock]) throws(JournalError) {
        let byteCount = blocks.reduce(0) { $0 + $1.bytes.count }
        var known: [String: Block] = [:]
        try append(byteCount: byteCount, count: blocks.count) { (next, what) throws(JournalError) in
            try JournalSchema.addBlocks(to: connection, what)
            if let knownBlocks { known = knownBlocks } else { known = try readBlocks() }
            let statement = statements.appendChunk
            for block in blocks {
                let stored: Block
                if let old = known[block.name] { stored = old } else { stored = try insert(block, what) }
                known[block.name] = stored
                next.checksum = Checksum.reference(
                    link: next.checksum, number: next.chunkCount, block: stored.id, checksum: stored.checksum)
                statement.bind(next.id * JournalSchema.chunkLimit + next.chunkCount, 1)
                statement.bind(stored.id, 2)
                statement.bind(next.checksum, 3)
                try statement.run(what)
                next.chunkCount += 1
            }
        }
        knownBlocks = known
        // The table may be new.
        chunkReader = nil
    }

    /// A block in the file.
    struct Block {
        var id: Int64
        var checksum: UInt64
    }

    private func readBlocks() throws(JournalError) -> [String: Block] {
        let rows = try connection.prepare("SELECT id, name, checksum FROM block")
        var blocks: [String: Block] = [:]
        while try rows.step() { blocks[rows.text(1)] = Block(id: rows.integer(0), checksum: rows.word(2)) }
        return blocks
    }

    private func insert(_ block: SnapshotBlock, _ what: String) throws(JournalError) -> Block {
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
                try row.run(what)
                return Block(id: id, checksum: checksum)
            }
        }
    }

    /// Adds chunks to the draft in one transaction; an error abandons the snapshot.
    private func append(
        byteCount: Int, count: Int, _ body: (inout Draft, String) throws(JournalError) -> Void
    ) throws(JournalError) {
        guard var next = draft else { preconditionFailure("no snapshot was begun") }
        precondition(next.chunkCount + Int64(count) <= JournalSchema.chunkLimit, "a snapshot of too many chunks")
        let what = "could not write a snapshot"
        do throws(JournalError) {
            try write(what) { () throws(JournalError) in try body(&next, what) }
        } catch {
            try abandonSnapshot()
            throw error
        }
        next.byteCount += Int64(byteCount)
        draft = next
        hasChores = true
        options.observer?(.chunkWritten)
    }

    public func finishSnapshot() throws(JournalError) {
        guard let draft else { preconditionFailure("no snapshot was begun") }
        let what = "could not finish a snapshot"
        try finish(draft, head, what) { () throws(JournalError) in }
    }

    /// Makes a draft the snapshot of this head, in one transaction with `more`.
    func finish(
        _ draft: Draft, _ head: Head, _ what: String, with more: () throws(JournalError) -> Void
    ) throws(JournalError) {
        var next = head
        next.snapshot = draft.id
        let seal = Self.seal(
            id: draft.id, sequence: draft.sequence, chunks: draft.chunkCount, bytes: draft.byteCount,
            checksum: draft.checksum)
        try write(what) { () throws(JournalError) in
            let row = try connection.prepare("INSERT INTO snapshot VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
            row.bind(draft.id, 1)
            row.bind(draft.sequence, 2)
            row.bind(draft.chunkCount, 3)
            row.bind(draft.byteCount, 4)
            row.bind(draft.checksum, 5)
            row.bind(seal, 6)
            try row.run(what)
            try more()
            try next.write(with: statements.writeHead, what)
        }
        self.head = next
        snapshot = JournalSnapshot(
            sequence: draft.sequence, chunkCount: Int(draft.chunkCount), byteCount: draft.byteCount)
        self.draft = nil
        knownBlocks = nil
        hasOldBlocks = true
        hasChores = true
        options.observer?(.snapshotFinished)
    }

    /// ``tidy()`` removes its chunks.
    public func abandonSnapshot() throws(JournalError) {
        draft = nil
        knownBlocks = nil
        hasOldBlocks = true
        hasChores = true
    }
}
