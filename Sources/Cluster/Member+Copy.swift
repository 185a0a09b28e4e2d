public import Hub
internal import Journal
internal import Replication
internal import TelltaleModel

// The local copy, and a disk that does not keep up.
extension Member {
    /// The local copy has fallen behind what it was given, or has caught up.
    ///
    /// A standby reads no further meanwhile, and does not try to lead: what it reads waits in memory. A leader hands over where another
    /// node keeps up; else it goes on.
    public mutating func copyIsBehind(_ isBehind: Bool, at now: HubTime) {
        guard !hasStopped, isBehind != replica.isHeldBack else { return }
        replica.isHeldBack = isBehind
        hold.since = now.monotonic
        settle(at: now)
    }

    /// Behind two beats of the others: where their disks are as slow, they have said so by then.
    mutating func yieldBehindCopy(at now: HubTime) {
        guard replica.isHeldBack, isLeading, !isEnding, now.monotonic.milliseconds(since: hold.since) >= .seconds(2),
            !replica.situation(wall: now.wall).standbys.isEmpty
        else { return }
        handOver(at: now)
    }

    /// One that tries to lead reads what becomes of its word.
    mutating func holdReading() {
        let isHeld = replica.isHeldBack && !isLeading && replica.role == .standby
        guard isHeld != hold.isReading else { return }
        hold.isReading = isHeld
        actions.append(.holdReading(isHeld))
    }

    /// The folder remembers what the log has lost: a process that is started again is not to take another node's word for it.
    mutating func keepWitness(_ loss: String) {
        flushCopy()
        guard !hasStopped, copy.reader.position > 0, let epoch = copy.reader.epoch else { return }
        actions.append(.keep([], mark: copy.reader.witnessing(loss).mark, epoch: epoch))
    }

    mutating func flushCopy() {
        guard let (records, reader) = copy.take(), let epoch = reader.epoch else { return }
        actions.append(.keep(records, mark: reader.mark, epoch: epoch))
    }
}
