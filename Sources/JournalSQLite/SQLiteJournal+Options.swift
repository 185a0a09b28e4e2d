package import TelltaleModel

extension SQLiteJournal {
    /// The durability of a commit.
    public enum Sync: String, CaseIterable, Hashable, Sendable {
        /// Survives a power failure. Only with this setting an `OK` is a promise.
        case full
        /// Survives a kill; a power failure may lose the newest commits.
        case normal
        /// Survives a kill; a power failure may lose everything.
        case off
        /// As ``normal``, for the local journal of a replicated log, which still has what is lost here. So the epoch stays the
        /// same after an unclean stop, and in a copy of the folder.
        case follower
    }

    public struct Options: Sendable {
        public var sync = Sync.full
        /// The largest journal, in bytes, of which every record and chunk is checked at opening. Of a larger one only
        /// the parts that the recovery reads are checked; `telltale journal verify` checks the rest.
        public var checkedByteCount = 32 << 20
        /// The length of the write-ahead log, in bytes, above which it is copied into the file. A batch waits for the
        /// end of each copy and for the restart of the log, unless ``copiesLogAside``. A longer log is copied in longer
        /// bursts, for which the sync of a batch waits, and takes longer to recover.
        public var logByteCount = 4 << 20
        /// The largest number of bytes by which the log's file is kept longer than its content, so that a commit does
        /// not extend the file. A commit that does also syncs the file system's metadata, which takes about as long
        /// again. 0 for none.
        public var logReserveByteCount = 1 << 20
        /// Whether a separate thread copies most of the log while batches are written, so that no batch waits for it
        /// before the log has 16 times the length of ``logByteCount``.
        public var copiesLogAside = false
        /// Called at each step by the writing or the copying thread, for tests that kill the process there.
        public var observer: (@Sendable (Step) -> Void)?
        /// Makes the first epoch, and a new one whenever history may have been lost. Never 0.
        public var makeEpoch: @Sendable () -> UInt64 = { UInt64.random(in: 1 ... .max) }
        /// The name of an SQLite VFS, for tests with faults; `nil` for the operating system's.
        package var fileSystem: String?
        package var pageByteCount = 8_192
        /// The time that opening and closing wait for readers of the log. Neither requires an empty log.
        package var busyTimeout = Milliseconds(250)

        public init() {}
    }

    /// A point at which a test kills the process to examine the state of the files.
    public enum Step: String, CaseIterable, Hashable, Sendable {
        /// A part of a batch is in SQLite's cache, and the rest is outstanding.
        case partWritten = "part-written"
        /// A batch is in SQLite's cache, and nothing of it is in the file.
        case batchWritten = "batch-written"
        /// A batch is synced and not yet acknowledged.
        case batchSynced = "batch-synced"
        case chunkWritten = "chunk-written"
        case snapshotFinished = "snapshot-finished"
        case pruned
        /// The whole log is in the file, or the part that was committed when a concurrent copy began.
        case logCopied = "log-copied"
    }
}

extension SQLiteJournal.Sync {
    var code: Int64 {
        switch self {
        case .full: 2
        case .normal: 1
        case .off: 0
        case .follower: 3
        }
    }

    init?(code: Int64) {
        guard let sync = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = sync
    }
}
