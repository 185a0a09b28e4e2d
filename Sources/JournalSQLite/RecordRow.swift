internal import Journal
internal import TelltaleModel

/// One row of `record`, and whether it is intact.
struct RecordRow {
    var record: JournalRecord
    /// The checksum of the record before it.
    var link: UInt64
    var checksum: UInt64
    /// Whether the row matches its checksum.
    var isWhole: Bool

    /// - Parameter statement: A statement on a row of `SELECT * FROM record`.
    init(_ statement: SQLiteStatement) {
        let sequence = statement.integer(0)
        let time = statement.integer(1)
        let previous = statement.integer(3)
        let link = statement.word(5)
        let (entity, body, sum) = unsafe statement.withBytes(2) { entity in
            unsafe statement.withBytes(4) { body in
                unsafe (
                    String(decoding: entity, as: UTF8.self), Array(body),
                    Checksum.record(
                        link: link, sequence: sequence, time: time, previous: previous, entity: entity, body: body)
                )
            }
        }
        record = JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: time), entity: entity, previous: previous, body: body)
        self.link = link
        checksum = statement.word(6)
        isWhole = sum == checksum
    }
}
