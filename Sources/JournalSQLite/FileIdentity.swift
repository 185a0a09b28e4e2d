internal import CSQLite
internal import Glibc

/// The properties of a file that a copy of it does not share.
struct FileIdentity: Hashable {
    /// A number made of the inode and its birth time, so that another file differs even if the file system reuses an
    /// inode number. Never negative; 0 if there is no file.
    var origin: Int64 = 0
    /// The time of the last change of the content or the inode, in nanoseconds since 1970. Unlike the modification time
    /// it cannot be set.
    var changeTime: Int64 = 0

    /// By name instead of by descriptor: closing a descriptor would release SQLite's locks of this process.
    init(of file: String) {
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return }
        let birth = unsafe UInt64(bitPattern: clibsqlite_birth_time(file))
        origin = Int64(Checksum.words(UInt64(status.st_ino), birth) >> 1)
        changeTime = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }
}
