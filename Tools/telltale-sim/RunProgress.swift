import Simulation
import ToolSupport

/// The progress of a run on standard error: one line on a terminal, a line every ten percent in a pipe.
final class RunProgress {
    private let isQuiet: Bool
    private var nextReport = 10

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    func show(_ crowd: Crowd) {
        guard !isQuiet else { return }
        let glimpse = crowd.glimpse
        let percent = Int(glimpse.progress * 100)
        let what = glimpse.isCalm ? "comes to rest, and is looked at" : "\(glimpse.inputs) inputs"
        if ProgressLine.isShown {
            ProgressLine.show("\(percent)%  \(what)  \(glimpse.caption)", fraction: glimpse.progress)
        } else if percent >= nextReport {
            nextReport = percent - percent % 10 + 10
            complain("\(percent)%  \(what)")
        }
    }

    func clear() { if !isQuiet { ProgressLine.clear() } }
}
