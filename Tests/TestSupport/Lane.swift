internal import Foundation
public import Testing

/// The two lanes of the tests.
///
/// *Every change*: the tests without this trait. *Nights and releases*: all of them, with `TELLTALE_LANE=all` in the environment.
/// `.nightly` is the only mark of a test of the second lane; on a suite it holds for all tests in it. A test gets it when it costs
/// processor time and another test of the first lane covers the same code, or when it measures time, so that a busy machine can
/// make it fail. A nightly test that is run by name needs the variable too:
///
///     TELLTALE_LANE=all Tools/test --filter SlowReaderTests
public enum Lane {
    public static let variable = "TELLTALE_LANE"

    /// Whether the nightly tests run.
    public static var isAll: Bool { ProcessInfo.processInfo.environment[variable] == "all" }

    /// Some seeds, rounds or cases of those that play at night: the first so many.
    public static func some<Cases: Collection>(_ cases: Cases, atEveryChange count: Int) -> [Cases.Element] {
        isAll ? Array(cases) : Array(cases.prefix(count))
    }

    /// The environment for a program of a test: the daemon refuses variables of its prefix that it does not know.
    public static var childEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key != variable }
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs with `TELLTALE_LANE=all` alone. See ``Lane``.
    public static var nightly: Self { .enabled(if: Lane.isAll, "nightly: TELLTALE_LANE=all runs it") }
}
