import Journal
import Replication

/// The content of a node's own disk: a beginning of the log, as the records of a journal and a position.
///
/// It is synced seldom, because the log has what it loses: a crash takes it back to an earlier message.
struct LocalCopy {
    private(set) var records: [JournalRecord] = []
    private(set) var chain = RecordChain()
    /// As of the newest message whose records are here.
    private(set) var reader = LogReader(cluster: SimulatedCluster.name, epoch: nil)
    private var marks: [LogReader] = []

    var epoch: UInt64? { reader.epoch }

    mutating func append(_ more: [JournalRecord]) {
        records += more
        chain.append(more)
    }

    /// The log was read up to here.
    mutating func note(_ reader: LogReader) {
        // Parts that wait for their rest are read again.
        guard reader.position > self.reader.position, !reader.isInBatch, reader.chain == chain else { return }
        self.reader = reader
        marks.append(reader)
        if marks.count > 20 { marks.removeFirst() }
    }

    /// The power goes, and with it the newest `count` messages.
    mutating func lose(_ count: Int) {
        guard count > 0, marks.count > count else { return }
        marks.removeLast(count)
        guard let mark = marks.last else { return }
        (reader, chain) = (mark, mark.chain)
        records.removeLast(records.count - Int(chain.sequence))
    }

    var contents: InMemoryJournal.Contents {
        var contents = InMemoryJournal.Contents(epoch: epoch ?? 0)
        contents.records = records
        contents.lastSequence = chain.sequence
        return contents
    }
}
