import Glibc

/// What a person, a pipe or a supervisor reads of this process.
///
/// Whoever has closed it, or filled its disk, does not stop a daemon: what cannot be written is lost, where nobody looks
/// at what ``write(_:)`` returns. (Foundation's `FileHandle.write` ends the process there.)
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

    /// - Returns: Whether all of it was taken.
    @discardableResult
    package func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe write($0.span) }
    }

    /// - Returns: Whether all of it was taken.
    @discardableResult
    package func write(_ bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while unsafe !rest.isEmpty {
                let count = unsafe Glibc.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                unsafe rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
