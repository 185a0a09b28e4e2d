public import Journal

extension SQLiteJournal {
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
        let statement = statements.readChunk
        statement.bind(id, 1)
        defer { statement.reset() }
        guard try statement.step() else { throw damage("chunk \(index) of the snapshot is missing") }
        let (bytes, checksum) = unsafe statement.withBytes(0) { bytes in
            unsafe (Array(bytes), Checksum.chunk(link: link, number: Int64(index), body: bytes))
        }
        guard checksum == statement.word(1) else {
            throw damage("chunk \(index) of the snapshot does not fit its checksum")
        }
        if index == snapshot.chunkCount - 1, try snapshotChecksum() != checksum {
            throw damage("the snapshot does not end with chunk \(index)")
        }
        return bytes
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
        try abandonSnapshot()
        // An unfinished snapshot may have left chunks with a higher number than the head's.
        let newest = try connection.integer("SELECT max(id) FROM chunk") ?? 0
        let id = max(head.snapshot, newest / JournalSchema.chunkLimit) + 1
        draft = (id, sequence, 0, 0, UInt64(bitPattern: sequence))
    }

    public func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError) {
        guard var next = draft else { preconditionFailure("no snapshot was begun") }
        precondition(next.chunkCount < JournalSchema.chunkLimit, "a snapshot of too many chunks")
        let what = "could not write a snapshot"
        let statement = statements.appendChunk
        do throws(JournalError) {
            try write(what) { () throws(JournalError) in
                try unsafe chunk.span.withUnsafeBytes { bytes throws(JournalError) in
                    unsafe next.checksum = Checksum.chunk(link: next.checksum, number: next.chunkCount, body: bytes)
                    statement.bind(next.id * JournalSchema.chunkLimit + next.chunkCount, 1)
                    unsafe statement.bind(blob: bytes, 2)
                    statement.bind(next.checksum, 3)
                    try statement.run(what)
                }
            }
        } catch {
            try abandonSnapshot()
            throw error
        }
        next.chunkCount += 1
        next.byteCount += Int64(chunk.count)
        draft = next
        hasChores = true
        options.observer?(.chunkWritten)
    }

    public func finishSnapshot() throws(JournalError) {
        guard let draft else { preconditionFailure("no snapshot was begun") }
        let what = "could not finish a snapshot"
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
            try next.write(with: statements.writeHead, what)
        }
        head = next
        snapshot = JournalSnapshot(
            sequence: draft.sequence, chunkCount: Int(draft.chunkCount), byteCount: draft.byteCount)
        self.draft = nil
        hasChores = true
        options.observer?(.snapshotFinished)
    }

    /// ``tidy()`` removes its chunks.
    public func abandonSnapshot() throws(JournalError) {
        draft = nil
        hasChores = true
    }
}
