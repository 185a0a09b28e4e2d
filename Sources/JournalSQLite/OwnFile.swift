internal import Glibc
internal import Journal

/// The files of a journal's folder as far as this module, and not SQLite, makes them: for their owner alone, and never
/// through a symbolic link.
///
/// A user with write access to the folder could otherwise make the daemon overwrite any file of the daemon's user.
enum OwnFile {
    private static let ownerAlone: mode_t = 0o600

    /// Opens a regular file for reading and writing, and creates it if it is missing.
    ///
    /// - Returns: Its descriptor, which the caller closes.
    static func open(_ path: String) throws(JournalError) -> CInt {
        // Without O_NONBLOCK the open of a device or a FIFO could wait for ever.
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags, ownerAlone)
        let code = errno
        guard descriptor >= 0 else {
            throw code == ELOOP ? isNotPlain(path) : systemError("could not open \(path)", code)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            Glibc.close(descriptor)
            throw isNotPlain(path)
        }
        // An earlier release may have made the file readable by all users. A failure leaves the mode as it was.
        if status.st_mode & 0o077 != 0 { _ = fchmod(descriptor, ownerAlone) }
        return descriptor
    }

    /// Makes an empty file that SQLite then fills: a file that SQLite makes is readable by all users, and its log takes the
    /// permissions of the file.
    static func make(_ path: String) throws(JournalError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags, ownerAlone)
        guard descriptor >= 0 else { throw systemError("could not make \(path)", errno) }
        Glibc.close(descriptor)
    }

    /// Whether it is a plain file that others than its owner may read or write.
    static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 != 0
    }

    /// Restricts a file to its owner. A failure leaves it as it was.
    static func restrict(_ path: String) {
        if isOpenToOthers(path) { _ = unsafe chmod(path, ownerAlone) }
    }

    private static func isNotPlain(_ path: String) -> JournalError {
        .unusable(
            what: "could not open \(path)", cause: "it is a symbolic link, or no plain file",
            advice: "move it away, then start again")
    }
}
