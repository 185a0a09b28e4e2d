internal import Glibc
internal import Journal

/// The names of a journal's files, and what to do where no SQLite is needed.
struct JournalFolder {
    let path: String

    var database: String { path + "/journal.sqlite" }
    var log: String { database + "-wal" }
    var sharedMemory: String { database + "-shm" }
    var draft: String { database + "-new" }
    var lock: String { path + "/lock" }
    var witness: String { path + "/acknowledged" }

    var repairAdvice: String { "run: telltale journal repair \(path)" }

    static func repairAdvice(file: String) -> String {
        JournalFolder(path: file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ".").repairAdvice
    }

    /// Makes the folder, readable by its owner alone, and those above it, where they are missing.
    func make() throws(JournalError) {
        var code = unsafe mkdir(path, 0o700) == 0 ? 0 : errno
        if code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try JournalFolder(path: String(path[..<slash])).make()
            code = unsafe mkdir(path, 0o700) == 0 ? 0 : errno
        }
        switch code {
        case 0: try sync(parent: true)
        case EEXIST: return
        default: throw .failed(what: "could not make the folder \(path)", cause: systemMessage(code))
        }
    }

    /// Makes the names in the folder, or that of the folder itself, durable.
    func sync(parent: Bool = false) throws(JournalError) {
        let folder = parent ? path + "/.." : path
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { Glibc.close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw .failed(what: "could not sync the folder \(folder)", cause: systemMessage(errno))
        }
    }

    func remove(_ file: String) {
        _ = unsafe unlink(file)
    }

    /// Gives the file that was written under another name its own, durably.
    func adoptDraft() throws(JournalError) {
        let descriptor = unsafe open(draft, O_RDONLY | O_CLOEXEC)
        defer { Glibc.close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0, unsafe rename(draft, database) == 0 else {
            throw .failed(what: "could not make \(database)", cause: systemMessage(errno))
        }
        try sync()
    }

    /// The size of a file in bytes, or `nil` when there is none.
    static func size(of file: String) -> Int? {
        var status = stat()
        return unsafe stat(file, &status) == 0 ? Int(status.st_size) : nil
    }

    /// What tells this file from a copy of it.
    static func identity(of file: String) -> Int64 {
        var status = stat()
        return unsafe stat(file, &status) == 0 ? Int64(bitPattern: UInt64(status.st_ino)) : 0
    }

    /// The first `count` bytes of a file, or fewer.
    static func beginning(of file: String, count: Int) throws(JournalError) -> [UInt8] {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(what: "could not open \(file)", cause: systemMessage(errno)) }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, count, 0) }
        guard got >= 0 else { throw .failed(what: "could not read \(file)", cause: systemMessage(errno)) }
        return Array(bytes.prefix(got))
    }
}

/// Keeps other daemons out of a folder for as long as it lives, and no longer than its process.
final class FolderLock {
    private let descriptor: CInt

    init(_ folder: JournalFolder) throws(JournalError) {
        let opened = unsafe open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw .failed(what: "could not open \(folder.lock)", cause: systemMessage(errno)) }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            Glibc.close(opened)
            guard code == EWOULDBLOCK else {
                throw .failed(what: "could not lock \(folder.lock)", cause: systemMessage(code))
            }
            let holder = (try? JournalFolder.beginning(of: folder.lock, count: 32)) ?? []
            let process = String(decoding: holder.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            throw .locked(folder: folder.path, by: process.isEmpty ? "another process" : "process \(process)")
        }
        descriptor = opened
        let text = Array("\(getpid())\n".utf8)
        // A help for people only: the lock is what counts.
        _ = ftruncate(opened, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(opened, $0.baseAddress, $0.count, 0) }
    }

    deinit {
        Glibc.close(descriptor)
    }
}
