import Foundation

/// One line on a terminal's standard error that says how far something is; nothing elsewhere.
final class JournalProgress {
    private let name: String
    private let isShown = isatty(2) != 0
    private var told = ContinuousClock.now - .seconds(1)
    private var isBegun = false

    init(_ name: String) {
        self.name = name
    }

    func show(_ done: some BinaryInteger, of all: some BinaryInteger) {
        guard isShown, all > 0, ContinuousClock.now - told > .milliseconds(200) else { return }
        told = .now
        isBegun = true
        FileHandle.standardError.write(Data("\r\(name): \(Int(done) * 100 / Int(all)) %  ".utf8))
    }

    /// Clears the line.
    func end() {
        guard isBegun else { return }
        isBegun = false
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    }
}
