import ArgumentParser
import Glibc
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// A secret from standard input.
enum SecretInput {
    /// The longest token that a daemon takes.
    private static let byteCountLimit = 4_096
    /// In line mode a terminal silently drops what is longer.
    private static let terminalLimit = 4_095

    /// The first line of standard input. On a terminal it prompts, without echo.
    static func read() throws -> String {
        let isTerminal = TerminalMode.begin { $0.c_lflag &= ~tcflag_t(ECHO) }
        // Keys typed before the prompt are not an answer to it. After it every key is, without echo.
        if isTerminal { tcflush(STDIN_FILENO, TCIFLUSH) }
        if isatty(STDIN_FILENO) == 1 { StandardStream.error.write("token: ") }
        let bytes = line()
        TerminalMode.end()
        if isTerminal { StandardStream.error.write("\n") }
        guard bytes.count <= byteCountLimit, !isTerminal || bytes.count < terminalLimit else {
            throw ExitCode.failed(
                isTerminal
                    ? "a line of a terminal has less than \(terminalLimit) bytes, and the rest is lost; use a pipe, or --token-file"
                    : "the token is longer than \(byteCountLimit) bytes, which no daemon takes")
        }
        let token = String(decoding: bytes, as: UTF8.self).trimmed
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ExitCode.failed("standard input holds no token: one line of visible ASCII characters")
        }
        return token
    }

    /// A line without its end; if it is too long, more bytes than the limit.
    private static func line() -> [UInt8] {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count <= byteCountLimit {
            let count = unsafe Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return bytes
    }
}
