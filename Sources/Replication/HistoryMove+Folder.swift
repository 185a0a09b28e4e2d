internal import Journal
internal import TelltaleModel

// The part of a history that a folder has.
extension HistoryMove {
    /// The snapshot that a log begins with, and the history up to it.
    struct Beginning {
        var snapshot: JournalSnapshot
        var chain: RecordChain
    }

    /// The snapshot after which the folder has all records; `nil` where it has every record.
    static func beginning(of journal: any Journal) throws(Refusal) -> Beginning? {
        guard journal.prunedThrough > 0 else { return nil }
        let found: Beginning?
        do throws(JournalError) {
            found = try foundBeginning(of: journal)
        } catch {
            throw Refusal(kind: .configuration, reason: "\(error)")
        }
        if let found { return found }
        throw Refusal(
            kind: .configuration,
            reason:
                "records up to \(journal.prunedThrough) of the folder were pruned, and no snapshot holds what they did: run telltale journal repair"
        )
    }

    private static func foundBeginning(of journal: any Journal) throws(JournalError) -> Beginning? {
        guard let snapshot = journal.snapshot, snapshot.sequence >= journal.prunedThrough,
            let link = try journal.link(at: snapshot.sequence)
        else { return nil }
        // Of the next one where its own record is pruned.
        var record = try journal.record(at: snapshot.sequence)
        if record == nil { record = try journal.readRecords(after: snapshot.sequence, limit: 1).first }
        let time = record?.time ?? Timestamp(milliseconds: 0)
        return Beginning(
            snapshot: snapshot, chain: RecordChain(sequence: snapshot.sequence, link: link, time: time))
    }

    /// The newest term of the logs that this folder was a copy of; 0 = none.
    static func newestTerm(of journal: any Journal) throws(Refusal) -> Int64 {
        var term: Int64 = 0
        for mark in [journal.mark, journal.formerMark] {
            guard let mark else { continue }
            do throws(BinaryError) {
                term = max(term, try LogReader(mark: mark).term)
            } catch {
                throw Refusal(
                    kind: .configuration, reason: "the folder does not say of which log it is, or was, a copy: \(error)"
                )
            }
        }
        return term
    }

    /// How much of its log the folder has.
    static func reader(of journal: any Journal, _ cluster: String) throws(Refusal) -> LogReader {
        guard let mark = journal.mark else {
            throw Refusal(
                kind: .configuration, reason: "the folder is no copy of a log; it is a single daemon's already")
        }
        let reader: LogReader
        do throws(BinaryError) {
            reader = try LogReader(mark: mark)
        } catch {
            throw Refusal(kind: .configuration, reason: "the folder does not say of which log it is a copy: \(error)")
        }
        guard reader.cluster == cluster else {
            throw Refusal(
                kind: .configuration,
                reason: "the folder is a copy of the log of \(reader.cluster.harmless), not of \(cluster)")
        }
        return reader
    }

    /// Why a log cannot be that of the folder, or is no longer; `nil` = it may be.
    static func shortage(_ end: Int64, _ reader: LogReader) -> String? {
        guard end < reader.position else { return nil }
        return
            "the log ends with message \(end), and this folder has read \(reader.position): it is the folder of another log, or the log has lost its end"
    }

    /// As many as fit one message; one that does not goes in parts.
    static func records(of journal: any Journal, after sequence: Int64) throws(JournalError) -> [JournalRecord] {
        let records = try journal.readRecords(after: sequence, limit: portion)
        var byteCount = 0
        let count = records.prefix { record in
            byteCount += record.body.count + record.entity.utf8.count + headByteCount
            return byteCount <= MessageLimits().byteCount
        }.count
        return Array(records.prefix(max(1, count)))
    }

    private static let portion = 4_096
    /// Numbers of a record in a message, at most.
    private static let headByteCount = 48
}
