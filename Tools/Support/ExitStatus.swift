public import ArgumentParser

/// Every exit code of `telltale` and `telltale-sim`. Protocols/Programs/README.md has the same table, and a test compares.
public enum ExitStatus: Int32, CaseIterable, Sendable {
    case done = 0
    case failure = 1
    /// ArgumentParser's own code is 64; scripts rely on 2.
    case usage = 2
    /// EX_UNAVAILABLE of sysexits.h.
    case noDaemon = 69
    /// EX_CONFIG.
    case configuration = 78

    public var summary: String {
        switch self {
        case .done: "done"
        case .failure: "refused, failed, or an expectation that is not met"
        case .usage: "wrong usage"
        case .noDaemon: "no daemon there"
        case .configuration: "not to be done so, and nothing was changed"
        }
    }

    public var code: ExitCode { ExitCode(rawValue) }

    /// For `--help`: a code a line.
    public static var table: String { allCases.map { "  \($0.rawValue)  \($0.summary)" }.joined(separator: "\n") }
}

extension ExitCode {
    public static let noDaemon = ExitStatus.noDaemon.code
    public static let usage = ExitStatus.usage.code
}
