import ArgumentParser

/// `--pace` of the daemon that is measured: `auto`, or milliseconds.
struct PaceArgument: ExpressibleByArgument, CustomStringConvertible {
    static let auto = PaceArgument(milliseconds: nil)

    /// `nil` = `auto`.
    var milliseconds: Int?

    init(milliseconds: Int?) {
        self.milliseconds = milliseconds
    }

    init?(argument: String) {
        guard argument != "auto" else { return }
        guard let number = Int(argument), (0...1_000).contains(number) else { return nil }
        milliseconds = number
    }

    var description: String { milliseconds.map { "\($0)" } ?? "auto" }
    var defaultValueDescription: String { description }
}
