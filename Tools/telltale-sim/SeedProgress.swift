import Synchronization
import ToolSupport

/// A progress bar on a terminal; elsewhere a line for every tenth.
final class SeedProgress: Sendable {
    private let done = Atomic<Int>(0)
    private let failures = Atomic<Int>(0)
    private let total: Int
    private let things: String
    private let command: String
    private let isShown: Bool

    /// - Parameter command: Its name stands before a line.
    init(total: Int, of things: String, command: String, isQuiet: Bool = false) {
        self.total = total
        self.things = things
        self.command = command
        isShown = !isQuiet
    }

    func count(failed: Bool) {
        let done = done.wrappingAdd(1, ordering: .relaxed).newValue
        if failed { failures.wrappingAdd(1, ordering: .relaxed) }
        guard isShown else { return }
        let count = "\(done)/\(total) \(things), \(failures.load(ordering: .relaxed)) failed"
        if ProgressLine.isShown {
            ProgressLine.show(count, fraction: Double(done) / Double(max(1, total)))
        } else if total >= 40, 10 * done / total > 10 * (done - 1) / total {
            complain("\(command): \(count)")
        }
    }

    func end() {
        if isShown { ProgressLine.clear() }
    }
}
