import EventLoop
import Foundation
import Glibc

/// One line on standard error that is drawn over and over, where standard error is a terminal.
final class ReplayProgress {
    private let timer: TimerHandle?

    init(on loop: EventLoop, text: @escaping () -> String) throws {
        guard isatty(STDERR_FILENO) == 1 else {
            timer = nil
            return
        }
        timer = try TimerHandle(on: loop) { _ in Self.write("\r\(text())\u{1B}[K") }
        timer?.scheduleRepeating(everyMilliseconds: 200)
    }

    /// Takes the line away.
    func clear() {
        guard let timer else { return }
        timer.cancel()
        Self.write("\r\u{1B}[K")
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
