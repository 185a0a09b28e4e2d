import Glibc

/// Standard output and standard error of this process.
///
/// A closed stream, a full disk or a stalled reader does not stop a daemon: output that cannot be written is lost,
/// unless the caller checks the result of ``write(_:waits:)-(String,_)``. (Foundation's `FileHandle.write` ends the
/// process on such an error.)
package enum StandardStream {
    case output, error

    private var descriptor: CInt {
        switch self {
        case .output: STDOUT_FILENO
        case .error: STDERR_FILENO
        }
    }

    /// Opens `/dev/null` for the standard descriptors that were closed when the process started. Otherwise the next
    /// file or socket would get such a number and receive the output. Writing to them still fails.
    ///
    /// Called before anything is opened.
    package static func occupyMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free descriptor, which is this one.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// - Parameter waits: Whether to block until a full pipe is read. If `false`, output that does not fit is lost.
    /// - Returns: 0 if everything was written, otherwise the `errno` of the failure: `EAGAIN` if it did not block.
    @discardableResult
    package func write(_ text: String, waits: Bool = true) -> CInt {
        var text = text
        return text.withUTF8 { unsafe write($0.span, waits: waits) }
    }

    /// As ``write(_:waits:)-(String,_)``, for bytes.
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
                    // The stream is nonblocking because another process set it so: it is a terminal or a pipe shared
                    // with a parent.
                    guard waits else { return EAGAIN }
                    _ = hasRoom(waits: true)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    /// The number of bytes that a pipe accepts without blocking once it is writable: `PIPE_BUF` of pipe(7).
    private static let surePart = 4096

    private func hasRoom(waits: Bool) -> Bool {
        var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // An error or a closed reader counts as writable; the write then returns the error.
        return unsafe poll(&question, 1, waits ? -1 : 0) > 0
    }
}
