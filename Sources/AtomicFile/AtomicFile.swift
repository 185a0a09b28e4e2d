internal import Glibc

/// A small file that is replaced as a whole: a reader sees the old content or the new one, also after a crash.
///
/// A symbolic link at its path is followed to read, and never to write: ``replace(with:mode:)`` puts a file in the place of
/// the link and leaves its target as it was.
public struct AtomicFile {
    public let path: String

    /// A file that cannot be read or written. The text is for people: the path, the step that failed, and its cause.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String

        init(_ path: String, _ step: String, _ code: CInt) {
            description = "\(path): \(step): \(unsafe String(cString: strerror(code)))"
        }

        init(_ path: String, _ fault: String) { description = "\(path): \(fault)" }
    }

    public init(_ path: String) {
        self.path = path
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: Reading

    /// The content, and the bits of the mode; `nil` where there is no such file.
    ///
    /// - Parameter limit: The most bytes that the file may have.
    /// - Throws: ``Failure``, also for a device and for a file over the limit.
    public func read(limit: Int) throws(Failure) -> (bytes: [UInt8], mode: UInt32)? {
        // Without O_NONBLOCK the open of a FIFO could wait for ever.
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            throw Failure(path, "cannot be read", code)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Failure(path, "cannot be read", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Failure(path, "is no file") }
        guard status.st_size <= limit, let bytes = FileBytes.read(descriptor, limit: limit) else {
            throw Failure(path, "has more than \(limit) bytes, or cannot be read")
        }
        return (bytes, status.st_mode & 0o7777)
    }

    /// Whether something stands at the path, a link that leads nowhere included.
    public var exists: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Whether nothing stands at the path but a regular file, if that. A link, a folder or a device was put there by its
    /// owner.
    public var isPlain: Bool {
        var status = stat()
        return unsafe lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    // MARK: Writing

    /// Makes the folder of the file, for its owner alone, and the folders above it, where they are missing.
    public func makeFolder() throws(Failure) { try Self.makeFolder(folder) }

    private static func makeFolder(_ folder: String) throws(Failure) {
        guard unsafe mkdir(folder, 0o700) != 0 else { return }
        if errno == ENOENT, let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            try makeFolder(String(folder[..<slash]))
            guard unsafe mkdir(folder, 0o700) != 0 else { return }
        }
        // Another process may have made it in the meantime. A file in its place fails at the lock.
        guard errno == EEXIST else { throw Failure(folder, "the folder cannot be made", errno) }
    }

    /// Keeps other processes that take the lock from editing files of the folder, for as long as the value lives.
    ///
    /// Two edits at a time, each a reading and a replacement, would lose one of them. Waits for the other edit.
    public func lock() throws(Failure) -> FolderLock { try FolderLock(folder) }

    /// Writes the bytes into a new file beside this one, and puts it in its place when they are on the disk.
    ///
    /// - Parameter mode: The mode of the file; `nil` keeps the mode and the owner of the file that is replaced, and gives a
    ///   new one 0600.
    /// - Throws: ``Failure``; the file is then as it was.
    public func replace(with bytes: [UInt8], mode: UInt32? = nil) throws(Failure) {
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe open(temporary, flags, 0o600)
        guard descriptor >= 0 else { throw Failure(temporary, "cannot be made", errno) }
        defer { close(descriptor) }
        var status = stat()
        if let mode {
            _ = fchmod(descriptor, mode)
        } else if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            // The owner first: changing it may clear bits of the mode. Without the right to do so it is ours.
            _ = fchown(descriptor, status.st_uid, status.st_gid)
            _ = fchmod(descriptor, status.st_mode & 0o7777)
        }
        guard FileBytes.write(bytes, to: descriptor), fsync(descriptor) == 0, unsafe rename(temporary, path) == 0 else {
            let code = errno
            _ = unsafe unlink(temporary)
            throw Failure(path, "cannot be written", code)
        }
        syncFolder()
    }

    /// Removes the file, or the link in its place.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove() throws(Failure) -> Bool {
        guard unsafe unlink(path) == 0 else {
            guard errno == ENOENT else { throw Failure(path, "cannot be removed", errno) }
            return false
        }
        syncFolder()
        return true
    }

    /// A file system that cannot do so has the new name all the same.
    private func syncFolder() {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }
}

/// The lock of a folder. It ends with this value, or with the process.
public struct FolderLock: ~Copyable {
    private let descriptor: CInt

    fileprivate init(_ folder: String) throws(AtomicFile.Failure) {
        descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw AtomicFile.Failure(folder, "cannot be opened", errno) }
        var status: CInt
        repeat { status = flock(descriptor, LOCK_EX) } while status != 0 && errno == EINTR
        guard status == 0 else {
            let code = errno
            close(descriptor)
            throw AtomicFile.Failure(folder, "cannot be locked", code)
        }
    }

    deinit { close(descriptor) }
}
