import ToolSupport

/// The progress of a journal command on a terminal's standard error; nothing elsewhere.
final class JournalProgress {
    private let name: String
    private var printedAt = ContinuousClock.now - .seconds(1)
    private var isBegun = false

    init(_ name: String) {
        self.name = name
    }

    func show(_ done: some BinaryInteger, of all: some BinaryInteger) {
        guard ProgressLine.isShown, all > 0, ContinuousClock.now - printedAt > .milliseconds(200) else { return }
        printedAt = .now
        isBegun = true
        ProgressLine.show("\(name): \(Int(done) * 100 / Int(all)) %")
    }

    /// Clears the line.
    func end() {
        guard isBegun else { return }
        isBegun = false
        ProgressLine.clear()
    }
}
