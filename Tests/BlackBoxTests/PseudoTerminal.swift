import Foundation
import Glibc
import TestSupport

/// A terminal that a test looks at. Blocking; not for the cooperative pool.
final class PseudoTerminal {
    struct Failure: Error {}

    private var descriptor: CInt
    /// The end that a program is given.
    let end: FileHandle
    /// Everything that was written to it.
    private(set) var text = ""

    init(width: UInt16, height: UInt16) throws {
        descriptor = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (number, isLocked) = (CInt(0), CInt(0))
        var size = winsize(ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0)
        guard descriptor >= 0, unsafe ioctl(descriptor, Self.setLock, &isLocked) == 0,
            unsafe ioctl(descriptor, Self.getNumber, &number) == 0,
            unsafe ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0
        else { throw Failure() }
        let opened = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard opened >= 0 else { throw Failure() }
        end = FileHandle(fileDescriptor: opened, closeOnDealloc: true)
    }

    /// `TIOCSPTLCK` and `TIOCGPTN`, which are macros too deep for Swift.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    deinit { hangUp() }

    /// Takes the terminal away: what runs on it is sent SIGHUP.
    func hangUp() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Makes it as wide and as high as this: what runs in its foreground is sent SIGWINCH.
    func resize(width: UInt16, height: UInt16) {
        var size = winsize(ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0)
        _ = unsafe ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    }

    /// Reads until the output since the last call contains `wanted`. Returns it up to there; `nil` when it does not
    /// come.
    func read(until wanted: String) -> String? {
        let deadline = Date.now.addingTimeInterval(patience)
        while true {
            if let range = text.range(of: wanted) {
                defer { text.removeSubrange(..<range.upperBound) }
                return String(text[..<range.upperBound])
            }
            var question = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = max(0, deadline.timeIntervalSinceNow * 1000)
            guard unsafe poll(&question, 1, CInt(milliseconds)) > 0, Date.now < deadline else { return nil }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return nil }
            pending += bytes[..<count]
            // A character may come in two pieces.
            if let whole = String(validating: pending, as: UTF8.self) {
                text += whole
                pending = []
            }
        }
    }

    private var pending: [UInt8] = []

    /// The group of processes that its keys go to.
    var foregroundGroup: pid_t { tcgetpgrp(descriptor) }

    /// Whether the terminal echoes and reads by lines, as a shell leaves it.
    var isPlain: Bool {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { return false }
        let plain = tcflag_t(ICANON | ECHO | ISIG)
        return settings.c_lflag & plain == plain
    }

    /// Waits until it is as a test wants it. Nothing but its settings reports that a program has changed them.
    func waitUntil(_ isWanted: (PseudoTerminal) -> Bool) -> Bool {
        let deadline = Date.now.addingTimeInterval(patience)
        while !isWanted(self) {
            guard Date.now < deadline else { return false }
            usleep(5_000)
        }
        return true
    }

    func press(_ keys: String) {
        let bytes = Array(keys.utf8)
        unsafe write(descriptor, bytes, bytes.count)
    }
}
