internal import Glibc
internal import Journal
internal import Synchronization

/// A small file beside the journal that holds the newest acknowledged record and the time of the database's last
/// change.
///
/// SQLite treats a write-ahead log that is truncated, or damaged in its last transaction, as an unfinished one. This
/// file detects the loss. It is written after each sync and is not synced itself: after a power failure it can be
/// behind, but it is never ahead of what was acknowledged.
///
/// It also detects a file that was copied over the database, because no copy has the recorded time of change. That time
/// is synced before the database is changed, so that a power failure does not look like a copy.
final class SyncMarker: Sendable {
    /// The times of the database's last change, in nanoseconds since 1970.
    struct Note: Hashable, Sendable {
        /// The time of the last completed change.
        var settled: Int64 = 0
        /// The start of a change in progress; 0 if there is none.
        var changingSince: Int64 = 0

        /// Whether the database has the recorded state.
        func fits(_ changeTime: Int64) -> Bool {
            if changeTime == settled { return changeTime != 0 }
            guard changingSince != 0 else { return false }
            // The kernel's clock for files is coarse and can be behind, and a checkpoint can take seconds.
            return changeTime > changingSince - 1_000_000_000 && changeTime < changingSince + 60_000_000_000
        }
    }

    private let descriptor: CInt
    private let path: String
    private let isSynced: Bool
    private let note: Mutex<Note>

    /// - Parameter isSynced: Whether the note must survive a power failure.
    init(_ folder: JournalFolder, isSynced: Bool) throws(JournalError) {
        path = folder.syncMarker
        self.isSynced = isSynced
        note = Mutex(Self.readNote(folder) ?? Note())
        descriptor = try OwnFile.open(path)
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// The newest record acknowledged in this epoch; 0 if the file does not hold it.
    static func read(_ folder: JournalFolder, epoch: UInt64?) -> Int64 {
        guard let words = words(of: folder, from: 0), epoch == nil || epoch == words.0 else { return 0 }
        return Int64(bitPattern: words.1)
    }

    /// Whether the file's content does not match its checksum. A missing file is not damaged, nor is a blank one, which
    /// a power failure can leave.
    static func isDamaged(_ folder: JournalFolder) -> Bool {
        guard let bytes = try? JournalFolder.beginning(of: folder.syncMarker, count: 24, followsLinks: false),
            bytes.contains(where: { $0 != 0 })
        else { return false }
        return words(of: folder, from: 0) == nil
    }

    /// `nil` if the file does not hold a note.
    static func readNote(_ folder: JournalFolder) -> Note? {
        words(of: folder, from: 24).map {
            Note(settled: Int64(bitPattern: $0.0), changingSince: Int64(bitPattern: $0.1))
        }
    }

    func write(epoch: UInt64, sequence: Int64) throws(JournalError) {
        try write((epoch, UInt64(bitPattern: sequence)), at: 0)
    }

    /// Called before the database is changed.
    func databaseChanges() throws(JournalError) {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        let time = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
        try write(
            note.withLock { note in
                note.changingSince = time
                return note
            })
        if isSynced { try sync() }
    }

    /// Called after the last change, with its time.
    func databaseSettled(_ changeTime: Int64) throws(JournalError) {
        try write(
            note.withLock { note in
                note = Note(settled: changeTime)
                return note
            })
    }

    func sync() throws(JournalError) {
        // A failed sync is never repeated, whatever the reason.
        guard fdatasync(descriptor) == 0 else {
            throw .failed(what: "could not sync \(path)", cause: systemMessage(errno))
        }
    }

    private func write(_ note: Note) throws(JournalError) {
        try write((UInt64(bitPattern: note.settled), UInt64(bitPattern: note.changingSince)), at: 24)
    }

    /// Writes two words and their checksum.
    private func write(_ pair: (UInt64, UInt64), at offset: Int) throws(JournalError) {
        let words = (pair.0.littleEndian, pair.1.littleEndian, Checksum.words(pair.0, pair.1).littleEndian)
        let written = unsafe withUnsafeBytes(of: words) { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
        }
        // On a full disk the file is unchanged: its bytes were allocated at the first write.
        guard written != 24 else { return }
        let code = written < 0 ? errno : EIO
        guard code == ENOSPC || code == EDQUOT || code == EFBIG else {
            throw systemError("could not write \(path)", code)
        }
    }

    private static func words(of folder: JournalFolder, from offset: Int) -> (UInt64, UInt64)? {
        guard
            let bytes = try? JournalFolder.beginning(
                of: folder.syncMarker, count: offset + 24, followsLinks: false), bytes.count == offset + 24
        else { return nil }
        let words = stride(from: offset, to: offset + 24, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        guard words[2] == Checksum.words(words[0], words[1]) else { return nil }
        return (words[0], words[1])
    }
}
