import CFaultVFS
import JournalSQLite
import Testing

/// A disk of its own for one test.
@safe final class FaultyDisk {
    let folder = JournalTestFolder()
    let vfs: OpaquePointer
    let name: String

    init() throws {
        // The path is unique, so the name is too.
        name = "fault:" + folder.path
        unsafe vfs = try #require(unsafe cfaultvfs_make(name))
    }

    func options(_ sync: SQLiteJournal.Sync = .full) -> SQLiteJournal.Options {
        var options = SQLiteJournal.Options()
        options.logReserveByteCount = 6_000
        options.fileSystem = name
        options.pageByteCount = 1_024
        options.logByteCount = 40_000
        options.sync = sync
        return options
    }

    /// Options under which the log is copied beside the writing. A log of 200 records of 500 bytes is long enough to be copied,
    /// and too short for batches to wait for the copy.
    func copiedAsideOptions() -> SQLiteJournal.Options {
        var options = options()
        options.logByteCount = 40_000
        options.copiesLogAside = true
        return options
    }

    func dieAfter(_ operations: Int) { unsafe cfaultvfs_die_after(vfs, operations) }
    func failSyncAfter(_ syncs: Int) { unsafe cfaultvfs_fail_sync_after(vfs, syncs) }
    func limitSize(_ bytes: Int64) { unsafe cfaultvfs_limit_size(vfs, bytes) }
    func keepIndex(_ isKept: Bool) { unsafe cfaultvfs_keep_index(vfs, isKept ? 1 : 0) }
    var operationCount: Int { unsafe cfaultvfs_operations(vfs) }
    var lockCount: Int { unsafe cfaultvfs_locks(vfs) }
    /// How long SQLite wanted to wait for locks of others so far.
    var waited: Duration { .microseconds(unsafe cfaultvfs_waited(vfs)) }

    /// The remains after a power failure, in a folder of its own.
    func crash(_ loss: cfaultvfs_loss, seed: UInt64, keepsWitness: Bool) throws -> JournalTestFolder {
        let left = JournalTestFolder()
        #expect(unsafe cfaultvfs_crash(vfs, left.path, CInt(loss.rawValue), seed) == 0)
        if keepsWitness { left.write("acknowledged", folder.read("acknowledged")) }
        return left
    }
}
