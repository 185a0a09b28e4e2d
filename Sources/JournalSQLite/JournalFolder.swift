internal import Glibc
internal import Journal

/// The files of a journal, and the operations on them that need no SQLite.
struct JournalFolder {
    let path: String

    var database: String { path + "/journal.sqlite" }
    var log: String { database + "-wal" }
    var sharedMemory: String { database + "-shm" }
    /// The name of a new journal before it is complete. It never holds a record.
    var draft: String { database + "-new" }
    /// The name of an incomplete backup or repair, which a daemon does not open.
    var copy: String { database + "-copy" }
    /// The name of a complete repaired journal while the damaged files are still in its place.
    var repaired: String { database + "-repaired" }
    var lock: String { path + "/lock" }
    var syncMarker: String { path + "/acknowledged" }

    var repairAdvice: String { "run: telltale journal repair \(shellQuoted(path))" }

    /// The error for content of the database that a repair removes.
    func damage(_ what: String) -> JournalError { .corrupt(place: "\(database): \(what)", advice: repairAdvice) }

    static func repairAdvice(file: String) -> String {
        JournalFolder(path: file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ".").repairAdvice
    }

    /// Makes the folder, readable by its owner alone, and its missing ancestors.
    func make() throws(JournalError) {
        var code = unsafe mkdir(path, 0o700) == 0 ? 0 : errno
        if code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try JournalFolder(path: String(path[..<slash])).make()
            code = unsafe mkdir(path, 0o700) == 0 ? 0 : errno
        }
        switch code {
        case 0: try sync(parent: true)
        case EEXIST:
            guard Self.isFolder(path) else {
                throw .unusable(
                    what: "could not make the folder \(path)", cause: "there is a file of that name",
                    advice: "choose another folder, or move that file away")
            }
        default: throw systemError("could not make the folder \(path)", code)
        }
    }

    /// Makes the names in the folder, or that of the folder itself, durable.
    func sync(parent: Bool = false) throws(JournalError) {
        let folder = parent ? path + "/.." : path
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { Glibc.close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw systemError("could not sync the folder \(folder)", errno)
        }
    }

    func remove(_ file: String) {
        _ = unsafe unlink(file)
    }

    /// Removes an SQLite file and the files that SQLite keeps beside it.
    func removeDatabase(_ file: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { remove(file + suffix) }
    }

    /// Renames a complete file to its final name, durably.
    func adopt(_ file: String, as name: String) throws(JournalError) {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        defer { Glibc.close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw systemError("could not make \(name)", errno) }
        try Self.move(file, to: name)
        try sync()
    }

    /// Renames a file, never onto an existing one. Does nothing without the file.
    ///
    /// - Precondition: The caller holds the folder's lock, because the check and the rename are two steps.
    static func move(_ old: String, to new: String) throws(JournalError) {
        guard try exists(old) else { return }
        guard try !exists(new) else {
            throw .unusable(
                what: "could not move \(old) to \(new)", cause: "there is a file of that name",
                advice: "move it away, then run it again")
        }
        guard unsafe rename(old, new) == 0 else { throw systemError("could not move \(old) to \(new)", errno) }
    }

    /// The folders to which repairs have moved damaged files, oldest first.
    func damagedFolders() throws(JournalError) -> [String] {
        guard let listing = unsafe opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw systemError("could not look into \(path)", errno)
        }
        defer { unsafe closedir(listing) }
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix("damaged-") { names.append(name) }
        }
        return names.sorted { Self.stamp(ofDamaged: $0) < Self.stamp(ofDamaged: $1) }
    }

    /// The time of a folder of damaged files, in seconds since 1970, and its number within that second. A name in
    /// another format sorts first.
    static func stamp(ofDamaged name: String) -> (time: Int, number: Int) {
        let parts = name.split(separator: "-").dropFirst().map { Int($0) }
        guard let time = parts.first ?? nil, let number = parts.count > 1 ? parts[1] : 1, number <= 1_000_000 else {
            return (0, 1)
        }
        return (time, number)
    }

    /// The error for a folder without a journal that holds an unfinished repair or backup; `nil` for an empty folder.
    func leftover(_ what: String) throws(JournalError) -> JournalError? {
        let damaged = try damagedFolders().last.map { "\(path)/\($0)" }
        if let file = try Self.exists(repaired) ? repaired : damaged {
            return .unusable(
                what: what, cause: "journal.sqlite is missing, and a repair has left \(file)",
                advice: "\(repairAdvice); or empty the folder to begin anew")
        }
        guard try Self.exists(copy) else { return nil }
        return .unusable(
            what: what, cause: "journal.sqlite is missing, and \(copy) is of a backup that was not finished",
            advice: "make the backup again, or empty the folder to begin anew")
    }

    /// Throws unless there is a journal.
    func checkExists() throws(JournalError) {
        guard try !Self.exists(database) else { return }
        let what = "could not read \(shellQuoted(path))"
        throw try leftover(what)
            ?? .unusable(
                what: what, cause: "there is no journal.sqlite in it",
                advice: "give the folder that the daemon's --data names")
    }

    /// Whether the file or folder exists. Throws if that cannot be determined.
    static func exists(_ file: String) throws(JournalError) -> Bool {
        var status = stat()
        guard unsafe stat(file, &status) != 0 else { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw systemError("could not look at \(file)", errno) }
        return false
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The size of a file in bytes; `nil` if there is none.
    static func size(of file: String) -> Int? {
        var status = stat()
        return unsafe stat(file, &status) == 0 ? Int(status.st_size) : nil
    }

    /// The first `count` bytes of a file, or fewer.
    ///
    /// - Parameter followsLinks: Whether a symbolic link in its place is read through, or an error.
    static func beginning(of file: String, count: Int, followsLinks: Bool = true) throws(JournalError) -> [UInt8] {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else { throw systemError("could not open \(file)", errno) }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, count, 0) }
        guard got >= 0 else { throw systemError("could not read \(file)", errno) }
        return Array(bytes.prefix(got))
    }
}

/// Runs `body` for a process that exits if it fails, and adapts its error (``JournalError/ending(_:)``).
///
/// - Parameter next: The step to take after the disk is repaired.
func beforeEnd<Result>(
    _ next: String, _ body: () throws(JournalError) -> Result
) throws(JournalError) -> Result {
    do throws(JournalError) {
        return try body()
    } catch {
        throw error.ending(next)
    }
}

/// Translates a failed system call to a journal's error.
func systemError(_ what: String, _ code: CInt) -> JournalError {
    let cause = systemMessage(code)
    return switch code {
    case ENOSPC, EDQUOT, EFBIG: .full(what: what, cause: cause)
    case EACCES, EPERM:
        .unusable(what: what, cause: cause, advice: "run it as the user whose files these are, or give it the right")
    case EROFS:
        .unusable(what: what, cause: cause, advice: "make that file system writable, or choose another folder")
    case EMFILE, ENFILE: .unusable(what: what, cause: cause, advice: "raise the limit of open files, then start again")
    case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EEXIST:
        .unusable(what: what, cause: cause, advice: "choose another folder")
    default: .failed(what: what, cause: cause)
    }
}

/// The path quoted as one word of a shell.
func shellQuoted(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "@"):
            true
        default: byte >= 0x80
        }
    }
    guard !isPlain || path.isEmpty else { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// A lock that excludes other daemons from a folder until it is released or its process ends.
final class JournalLock {
    private let descriptor: CInt

    init(_ folder: JournalFolder) throws(JournalError) {
        let opened = try OwnFile.open(folder.lock)
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            Glibc.close(opened)
            guard code == EWOULDBLOCK else { throw systemError("could not lock \(folder.lock)", code) }
            let holder = (try? JournalFolder.beginning(of: folder.lock, count: 32)) ?? []
            let process = String(decoding: holder.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            throw .locked(folder: folder.path, by: process.isEmpty ? "another process" : "process \(process)")
        }
        descriptor = opened
        let text = Array("\(getpid())\n".utf8)
        // The content is only a hint for people; the lock alone decides.
        _ = ftruncate(opened, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(opened, $0.baseAddress, $0.count, 0) }
    }

    deinit {
        // Closing alone would not release the lock while a starting child process has inherited the descriptor.
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }
}
