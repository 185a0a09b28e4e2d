import AtomicFile
import Glibc

/// Whole files that a person has named. A failure says which file, and why.
public enum NamedFile {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// - Parameters:
    ///   - path: A file or a pipe.
    ///   - limit: The most bytes that it may have.
    public static func read(_ path: String, limit: Int = .max) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, "cannot be read", errno) }
        defer { close(descriptor) }
        errno = 0
        guard let bytes = FileBytes.read(descriptor, limit: limit) else {
            if errno == 0 { throw Failure(description: "\(path) has more than \(limit) bytes") }
            throw failure(path, "cannot be read", errno)
        }
        return bytes
    }

    /// The bytes of standard input, up to its end.
    public static func readStandardInput() throws(Failure) -> [UInt8] {
        guard let bytes = FileBytes.read(STDIN_FILENO) else { throw failure("standard input", "cannot be read", errno) }
        return bytes
    }

    /// Makes the file, or writes over the one that is there.
    public static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure(path, "cannot be written", errno) }
        let isWritten = FileBytes.write(bytes, to: descriptor)
        let code = errno
        // A network's file system may report there that the disk is full.
        let isClosed = close(descriptor) == 0
        guard isWritten, isClosed else { throw failure(path, "cannot be written", isWritten ? errno : code) }
    }

    private static func failure(_ path: String, _ step: String, _ code: CInt) -> Failure {
        Failure(description: "\(path) \(step): \(unsafe String(cString: strerror(code)))")
    }
}
