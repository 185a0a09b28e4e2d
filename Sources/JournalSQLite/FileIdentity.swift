internal import CSQLite
internal import Glibc

/// What the file system knows of a file, and what a copy of it does not have in common with it.
struct FileIdentity: Hashable {
    /// Of the inode and the time when it was made: another file has another one, also where the file system gives an
    /// inode's number to the next file. Never negative, and 0 without a file.
    var origin: Int64 = 0
    /// When its content or its inode were changed last, in ns since 1970. Nobody can set it, unlike the time that `ls`
    /// shows.
    var changeTime: Int64 = 0

    /// By name, and not through a descriptor: to close one would take SQLite's locks from this process.
    init(of file: String) {
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return }
        let birth = unsafe UInt64(bitPattern: clibsqlite_birth_time(file))
        origin = Int64(Checksum.words(UInt64(status.st_ino), birth) >> 1)
        changeTime = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }
}
