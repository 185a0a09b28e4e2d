import Glibc

/// What a person, a pipe or a supervisor reads of this process.
///
/// Whoever has closed it, or filled its disk, does not stop a daemon: what cannot be written is lost, where nobody looks
/// at what ``write(_:waits:)-(String,_)`` returns. (Foundation's `FileHandle.write` ends the process there.) Nor does who
/// stopped reading it, where it does not wait.
package enum StandardStream {
    case output, error

    private var descriptor: CInt {
        switch self {
        case .output: STDOUT_FILENO
        case .error: STDERR_FILENO
        }
    }

    /// Takes the places of those that were closed when the process began: else the next file, or socket, would be one of
    /// them, and get what people were to read. Writing to them still fails.
    ///
    /// To be called before anything is opened.
    package static func occupyMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// - Parameter waits: Whether it waits until a full pipe is read. `false` = what does not fit at once is lost.
    /// - Returns: 0 when all of it was taken, else the error (`errno`) that stopped it: `EAGAIN` where it did not wait.
    @discardableResult
    package func write(_ text: String, waits: Bool = true) -> CInt {
        var text = text
        return text.withUTF8 { unsafe write($0.span, waits: waits) }
    }

    /// The same for bytes.
    @discardableResult
    package func write(_ bytes: Span<UInt8>, waits: Bool = true) -> CInt {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while unsafe !rest.isEmpty {
                if !waits, !hasRoom(waits: false) { return EAGAIN }
                let part = unsafe UnsafeRawBufferPointer(rebasing: waits ? rest : rest.prefix(Self.surePart))
                let count = unsafe Glibc.write(descriptor, part.baseAddress, part.count)
                if count >= 0 {
                    unsafe rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    // Somebody else made it one that does not block: a terminal, or a pipe that a parent shares.
                    guard waits else { return EAGAIN }
                    _ = hasRoom(waits: true)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    /// What a pipe takes without waiting once it says that it has room: `PIPE_BUF` of pipe(7).
    private static let surePart = 4096

    private func hasRoom(waits: Bool) -> Bool {
        var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // An error or a reader who is gone counts as room: the write then says which.
        return unsafe poll(&question, 1, waits ? -1 : 0) > 0
    }
}
