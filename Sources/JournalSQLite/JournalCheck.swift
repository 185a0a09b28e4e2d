internal import Journal

/// Reads a whole journal and compares it with its checksums.
struct JournalCheck {
    private let connection: SQLiteConnection
    private let folder: JournalFolder
    private let head: Head

    init(_ connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head) {
        self.connection = connection
        self.folder = folder
        self.head = head
    }

    /// - Parameter progress: Called from time to time with the number of records read and their total.
    func run(progress: (_ done: Int64, _ all: Int64) -> Void) throws(JournalError) {
        guard let verdict = try connection.text("PRAGMA quick_check(1)"), verdict == "ok" else {
            let verdict = try connection.text("PRAGMA quick_check(1)") ?? "no answer"
            throw folder.damage(verdict.split(separator: "\n").joined(separator: " "))
        }
        try checkRecords(progress: progress)
        try checkChunks()
    }

    private func checkRecords(progress: (_ done: Int64, _ all: Int64) -> Void) throws(JournalError) {
        let rows = try connection.prepare("SELECT * FROM record ORDER BY sequence")
        var last: (sequence: Int64, checksum: UInt64) = (0, 0)
        var count: Int64 = 0
        while try rows.step() {
            let sequence = rows.integer(0)
            let link = rows.word(5)
            let sum = unsafe rows.withBytes(2) { entity in
                unsafe rows.withBytes(4) { body in
                    unsafe Checksum.record(
                        link: link, sequence: sequence, time: rows.integer(1), previous: rows.integer(3),
                        entity: entity, body: body)
                }
            }
            guard sum == rows.word(6) else { throw folder.damage("record \(sequence) does not fit its checksum") }
            if sequence == last.sequence + 1 {
                guard link == last.checksum else {
                    throw folder.damage("record \(sequence) does not follow the one before it")
                }
            } else if sequence - 1 > head.prunedThrough {
                throw folder.damage("record \(last.sequence + 1) is missing")
            }
            last = (sequence, sum)
            count += 1
            if count % 100_000 == 0 { progress(sequence, head.sequence) }
        }
        if last.sequence == head.sequence {
            guard last.checksum == head.checksum else {
                throw folder.damage("the head does not fit record \(head.sequence)")
            }
        } else if head.sequence > head.prunedThrough {
            throw folder.damage("record \(last.sequence + 1) is missing")
        }
    }

    func checkChunks() throws(JournalError) {
        guard let snapshot = try SnapshotStore.readNewest(of: connection, folder, head) else { return }
        let reader = try ChunkReader(connection)
        var link = UInt64(bitPattern: snapshot.sequence)
        var number: Int64 = 0
        while number < snapshot.chunkCount {
            guard let chunk = try reader.chunk(number, ofSnapshot: head.snapshot, link: link), chunk.isWhole else {
                throw folder.damage("chunk \(number) of the snapshot is missing or does not fit its checksum")
            }
            link = chunk.checksum
            number += 1
        }
        let sum = try connection.integer("SELECT checksum FROM snapshot WHERE id = \(head.snapshot)")
        guard number == Int64(snapshot.chunkCount), number == 0 || sum == Int64(bitPattern: link) else {
            throw folder.damage("chunk \(number) of the snapshot is missing")
        }
    }
}
