import Demo
import Recordings
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The progress of a replay on a terminal's standard error.
final class ReplayProgress {
    private let timer: TimerHandle?

    init(on loop: EventLoop, of replayer: Replayer) throws {
        guard ProgressLine.isShown else {
            timer = nil
            return
        }
        timer = try TimerHandle(on: loop) { [unowned replayer] _ in
            ProgressLine.show(replayer.progressText, fraction: replayer.fraction)
        }
        timer?.scheduleRepeating(everyMilliseconds: 200)
    }

    /// Takes the line away.
    func clear() {
        timer?.cancel()
        ProgressLine.clear()
    }
}

extension Replayer {
    /// Where the replay is, in the trace's own calendar.
    fileprivate var progressText: String {
        let date = (plan.start + reached).internetDate.prefix(10)
        let absent = connectionFailure == nil ? "" : "  waiting for the daemon"
        return "\(tally.answered)/\(plan.posts.count) events  \(date)  "
            + "\(summary.eventsPerSecond)/s\(absent)"
    }
}
