// Loading the checkpoint with which the local journal of a log begins.
extension JournalWriter {
    /// Reads anything, after the steps of snapshots and checkpoints that were submitted before.
    public func readLater(_ body: @escaping @Sendable (any Journal) -> Void) {
        submit(body)
    }

    /// Performs one step of a checkpoint: ``Journal/beginCheckpoint(at:)`` and the calls after it. No batch and no snapshot
    /// may be submitted before the
    /// last one has completed.
    public func loadCheckpoint(_ step: CheckpointStep, completion: @escaping Completion<Void>) {
        submit { journal in
            completion(
                Result { () throws(JournalError) in
                    switch step {
                    case .begin(let sequence): try journal.beginCheckpoint(at: sequence)
                    case .chunk(let bytes): try journal.appendToSnapshot(bytes)
                    case .finish(let link, let mark, let epoch):
                        try journal.finishCheckpoint(link: link, mark: mark, epoch: epoch)
                    case .abandon: try journal.abandonSnapshot()
                    }
                })
        }
    }
}

/// A step of loading a checkpoint.
public enum CheckpointStep: Hashable, Sendable {
    case begin(at: Int64)
    case chunk([UInt8])
    case finish(link: UInt64, mark: [UInt8], epoch: UInt64)
    /// Abandons the begun checkpoint. The journal is as before, and may be written again.
    case abandon
}
