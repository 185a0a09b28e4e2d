public import Hub
internal import Journal
internal import Replication
internal import TelltaleModel

// The local journal, and a disk that does not keep up.
extension Member {
    /// The local journal has fallen behind, or has caught up.
    ///
    /// Meanwhile a standby reads no further, and does not try to lead: what it reads waits in memory. A leader hands
    /// over if another node keeps up; otherwise it continues.
    public mutating func localJournalIsBehind(_ isBehind: Bool, at now: HubTime) {
        guard !hasStopped, isBehind != replica.isHeldBack else { return }
        replica.isHeldBack = isBehind
        hold.since = now.monotonic
        settle(at: now)
    }

    /// After two heartbeats of the others, which say by then whether their disks are as slow.
    mutating func yieldBehindLocalJournal(at now: HubTime) {
        guard replica.isHeldBack, isLeading, !isEnding, now.monotonic.milliseconds(since: hold.since) >= .seconds(2),
            replica.hasSuccessor
        else { return }
        handOver(at: now)
    }

    /// A node that tries to lead still reads, to learn the fate of its term.
    mutating func holdReading() {
        let isHeld = replica.isHeldBack && !isLeading && replica.role == .standby
        guard isHeld != hold.isReading else { return }
        hold.isReading = isHeld
        actions.append(.holdReading(isHeld))
    }

    /// The folder remembers that the log lost messages, so that a restarted process does not trust another node
    /// instead.
    mutating func keepWitness(_ loss: String) {
        flushLocalJournal()
        guard !hasStopped, localJournal.reader.position > 0, let epoch = localJournal.reader.epoch else { return }
        actions.append(.keep([], mark: localJournal.reader.witnessing(loss).mark, epoch: epoch))
    }

    /// Gives the local journal the records that wait for it. Call it before the local journal is read, or a snapshot of the server
    /// is written to it.
    public mutating func flushLocalJournal() {
        guard !hasStopped, let (records, reader) = localJournal.take(), let epoch = reader.epoch else { return }
        actions.append(.keep(records, mark: reader.mark, epoch: epoch))
    }

    /// A leader's records leave at once. Those of a standby, which the log and another node have too, gather, because a
    /// transaction costs more than its records.
    mutating func flushLocalJournal(at now: HubTime) {
        if isLeading || localJournalDeadline <= now.monotonic { flushLocalJournal() }
    }

    /// When records that wait are to leave.
    var localJournalDeadline: MonotonicTime {
        localJournal.deadline(after: configuration.localJournalPause, byteLimit: configuration.localJournalByteCount)
    }
}
