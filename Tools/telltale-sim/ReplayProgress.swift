import Foundation
import Glibc
import Simulation
import TelltaleEventLoop
import TelltaleModel

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
        StandardStream.error.write(text)
    }
}

extension Replayer {
    /// Where the replay is, in the trace's own calendar.
    var progressText: String {
        let summary = summary
        let count = plan.posts.count
        let date = Date(timeIntervalSince1970: Double((plan.start + reached).milliseconds) / 1000)
        let width = 24
        let filled = count == 0 ? width : min(width, tally.answered * width / count)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let absent = connectionFailure == nil ? "" : "  waiting for the daemon"
        return "\(bar) \(tally.answered)/\(count) events  \(date.ISO8601Format().prefix(10))  "
            + "\(summary.eventsPerSecond)/s\(absent)"
    }
}
