import ArgumentParser
import Simulation
import TelltaleModel

/// How a simulated thing behaves, as options.
struct ProviderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("How long it takes, as 300ms-2s; plain numbers are milliseconds.", valueName: "LOW-HIGH"))
    var slow = "300-1800"
    @Option(help: ArgumentHelp("How often it fails, in percent.", valueName: "N")) var fail = 16
    @Option(help: ArgumentHelp("How often it never answers, in percent.", valueName: "N")) var silent = 0
    @Option(help: ArgumentHelp("How often it says that it acted and did not, in percent.", valueName: "N"))
    var stubborn = 0
    @Option(help: ArgumentHelp("The same seed gives the same answers.", valueName: "N")) var seed: UInt64?

    func validate() throws {
        guard let range else { throw ValidationError("--slow \(slow): write LOW-HIGH, as 300ms-2s or 300-1800") }
        guard range.upperBound <= 3_600_000 else { throw ValidationError("--slow \(slow): an hour at most") }
        guard [fail, silent, stubborn].allSatisfy({ (0...100).contains($0) }), fail + silent + stubborn <= 100 else {
            throw ValidationError("--fail, --silent and --stubborn are percents, 100 together at most")
        }
    }

    var temper: ProviderTemper {
        ProviderTemper(
            shortest: Milliseconds(range?.lowerBound ?? 0), longest: Milliseconds(range?.upperBound ?? 0),
            failPercent: fail, silentPercent: silent, stubbornPercent: stubborn)
    }

    var seedOrRandom: UInt64 { seed ?? UInt64.random(in: 0 ... .max) }

    private var range: ClosedRange<Int64>? {
        let parts = slow.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        func milliseconds(_ text: Substring?) -> Int64? {
            text.flatMap { Int64($0) ?? Milliseconds(span: String($0))?.count }
        }
        guard let low = milliseconds(parts.first), let high = milliseconds(parts.last), low >= 0, low <= high
        else { return nil }
        return low...high
    }
}
