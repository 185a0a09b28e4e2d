internal import Journal

/// The identities of the two files that a journal writes to.
///
/// The operating system goes on writing to files that have no name any more: without this check a journal would
/// acknowledge records that the next start cannot find, after an `rm -rf` of its folder or a copy moved into its place.
struct OpenFiles {
    private let paths: [String]
    private let origins: [Int64]

    /// - Precondition: SQLite has both of them open.
    init(_ folder: JournalFolder) {
        paths = [folder.database, folder.log]
        origins = paths.map { FileIdentity(of: $0).origin }
    }

    /// Throws where one of the files has another name now, or none.
    func checkPlace(_ what: @autoclosure () -> String) throws(JournalError) {
        for (path, origin) in zip(paths, origins) {
            let found = FileIdentity(of: path).origin
            guard found != origin else { continue }
            throw .failed(
                what: what(),
                cause: found == 0 ? "\(path) was removed or renamed" : "another file was put in the place of \(path)")
        }
    }
}
