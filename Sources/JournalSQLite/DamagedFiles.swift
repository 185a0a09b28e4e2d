internal import Glibc
internal import Journal

/// The damaged files of a journal, which are moved out of the repaired one's place.
struct DamagedFiles {
    private let folder: JournalFolder

    init(_ folder: JournalFolder) {
        self.folder = folder
    }

    /// Moves the damaged files into a separate folder and the repaired journal into their place.
    ///
    /// The database is moved first: without it no daemon starts here, and it must not be separated from its log in any
    /// other order.
    ///
    /// - Returns: The path of the folder.
    func replace() throws(JournalError) -> String {
        // An interrupted repair has already made the folder.
        let damaged: JournalFolder
        if try !JournalFolder.exists(folder.database), let begun = try newest() {
            damaged = begun
        } else {
            damaged = try makeFolder()
        }
        var moved: [(old: String, new: String)] = []
        do throws(JournalError) {
            for pair in pairs(with: damaged) where try JournalFolder.exists(pair.old) {
                try JournalFolder.move(pair.old, to: pair.new)
                moved.append(pair)
                try folder.sync()
            }
            try damaged.sync()
        } catch {
            for pair in moved.reversed() { try? JournalFolder.move(pair.new, to: pair.old) }
            _ = unsafe rmdir(damaged.path)
            throw error
        }
        try folder.adopt(folder.repaired, as: folder.database)
        return damaged.path
    }

    /// Moves the files back that an interrupted repair had moved without a repaired journal to replace them.
    func putBack() throws(JournalError) {
        guard let damaged = try newest() else { return }
        // The database is moved last, because a daemon starts as soon as it is in place.
        for pair in pairs(with: damaged).reversed() where try !JournalFolder.exists(pair.old) {
            try JournalFolder.move(pair.new, to: pair.old)
        }
        try folder.sync()
        _ = unsafe rmdir(damaged.path)
    }

    private func pairs(with damaged: JournalFolder) -> [(old: String, new: String)] {
        [
            (folder.database, damaged.database), (folder.log, damaged.log),
            (folder.sharedMemory, damaged.sharedMemory), (folder.syncMarker, damaged.syncMarker),
        ]
    }

    /// The newest folder that holds a journal.
    private func newest() throws(JournalError) -> JournalFolder? {
        for name in try folder.damagedFolders().reversed() {
            let damaged = JournalFolder(path: "\(folder.path)/\(name)")
            if try JournalFolder.exists(damaged.database) { return damaged }
        }
        return nil
    }

    /// Removes the folders of repairs that were killed before they moved a file.
    func removeEmptyFolders() throws(JournalError) {
        for name in try folder.damagedFolders() { _ = unsafe rmdir("\(folder.path)/\(name)") }
    }

    /// Makes a new folder whose name sorts after all others, even if the clock was set back.
    private func makeFolder() throws(JournalError) -> JournalFolder {
        var stamp = (time: time(nil), number: 1)
        if let newest = try folder.damagedFolders().last.map(JournalFolder.stamp(ofDamaged:)), newest >= stamp {
            stamp = (newest.time, newest.number + 1)
        }
        let path = "\(folder.path)/damaged-\(stamp.time)" + (stamp.number == 1 ? "" : "-\(stamp.number)")
        guard unsafe mkdir(path, 0o700) == 0 else { throw systemError("could not make the folder \(path)", errno) }
        try folder.sync()
        return JournalFolder(path: path)
    }
}
