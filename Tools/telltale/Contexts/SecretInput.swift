import ArgumentParser
import Glibc
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// A secret from standard input.
enum SecretInput {
    /// A token is 54 bytes; one of another issuer may be longer.
    private static let byteCountLimit = 4_096

    /// The first line of standard input. On a terminal it is asked for, and not shown.
    static func read() throws -> String {
        var before = termios()
        let isTerminal = unsafe tcgetattr(STDIN_FILENO, &before) == 0
        if isTerminal {
            StandardStream.error.write("token: ")
            var hidden = before
            hidden.c_lflag &= ~tcflag_t(ECHO)
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        }
        defer {
            if isTerminal {
                unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
                StandardStream.error.write("\n")
            }
        }
        let token = String(decoding: line(), as: UTF8.self).trimmed
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            complain("telltale: standard input holds no token: one line of visible ASCII characters")
            throw ExitCode.failure
        }
        return token
    }

    private static func line() -> [UInt8] {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < byteCountLimit, unsafe Glibc.read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        return bytes
    }
}
