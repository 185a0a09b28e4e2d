import Glibc
import Simulation
import TelltaleEventLoop

/// One line on standard error that tells how far a run is: drawn over and over on a terminal, a line every ten percent in
/// a pipe.
final class RunProgress {
    private let isQuiet: Bool
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var nextReport = 10

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    func show(_ crowd: Crowd) {
        guard !isQuiet else { return }
        let percent = Int(crowd.progress * 100)
        let glimpse = crowd.glimpse
        let what = glimpse.isCalm ? "comes to rest, and is looked at" : "\(glimpse.inputs) inputs"
        if isTerminal {
            let width = 24
            let filled = width * percent / 100
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
            write("\r\(bar) \(percent)%  \(what)  \(glimpse.caption)\u{1B}[K")
        } else if percent >= nextReport {
            nextReport = percent - percent % 10 + 10
            write("\(percent)%  \(what)\n")
        }
    }

    func clear() { if isTerminal, !isQuiet { write("\r\u{1B}[K") } }

    private func write(_ text: String) { StandardStream.error.write(text) }
}
