internal import Glibc
internal import Journal

/// The identities of the two files that a journal writes to.
///
/// The operating system continues to write to files that have no name any more. Without this check a journal would
/// acknowledge records that the next start cannot find, after an `rm -rf` of its folder or a copy moved into its place.
struct OpenFiles {
    /// No other file can get the inode number of an open file, so these two numbers suffice.
    private struct Place: Hashable {
        var device: UInt64 = 0
        var inode: UInt64 = 0

        /// One system call; 0 and 0 without a file.
        init(of path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    private let paths: [String]
    private let places: [Place]

    /// - Precondition: SQLite has both of them open.
    init(_ folder: JournalFolder) {
        paths = [folder.database, folder.log]
        places = paths.map { Place(of: $0) }
    }

    /// Throws if one of the files was renamed or removed.
    func checkPlace(_ what: @autoclosure () -> String) throws(JournalError) {
        for (path, place) in zip(paths, places) {
            let found = Place(of: path)
            guard found != place else { continue }
            throw .failed(
                what: what(),
                cause: found.inode == 0
                    ? "\(path) was removed or renamed" : "another file was put in the place of \(path)")
        }
    }
}
