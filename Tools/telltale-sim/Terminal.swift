import Foundation
import Glibc
import ToolSupport

/// Standard output, where a person looks at it.
enum Terminal {
    static let isPresent = isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"

    /// On a terminal whose user has not turned colours off.
    static let hasColor = isPresent && allowsColors { environment[$0] }

    private static let environment = ProcessInfo.processInfo.environment

    /// Columns and lines; 80 × 24 when they are not known.
    static var size: (width: Int, height: Int) {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes without buffering. The program ends when the reader has closed its end.
    static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes.removeFirst(count)
            } else if errno != EINTR && errno != EAGAIN {
                exit(1)
            }
        }
    }

    static func line(_ text: String) {
        write(text + "\n")
    }
}
