import ArgumentParser
import Foundation
import Histogram
import Journal
import JournalSQLite
import TelltaleModel

/// `telltale-bench control`: from a tap to its confirmation on every screen.
struct ControlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control", abstract: "From a SET to its confirmation on every screen, over real sockets.",
        discussion: """
            Starts a daemon on a free port, a provider that answers at once, and screens of every kind that follow one
            toggle. One of them sets it, and the time is taken until the last one has the settled row. That takes two
            commits, of the tap and of the provider's answer; so between two taps the same disk's sync is measured too,
            with a journal of its own in the same folder. The daemon has one processor, the provider and the screens
            another, as they would have of their own.

            The promise is: half of the taps are confirmed everywhere within 1 ms and two such syncs. Exit status 1 when
            that is not so.
            """)

    @Option(help: "Taps that are measured, after a tenth of them to warm up.") var taps = 1_000
    @Option(help: "Screens that follow the toggle.") var screens = 8
    @Option(help: "Milliseconds between two taps: people do not tap as fast as they can.") var rest = 5
    @Option(help: "full, normal or off.") var sync = "full"
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-control"
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard taps >= 10, (1...1_000).contains(screens), (0...1_000).contains(rest),
            SQLiteJournal.Sync(rawValue: sync) != nil
        else {
            throw ValidationError("taps: 10 at least; screens: 1 to 1000; rest: 0 to 1000; sync: full, normal or off")
        }
    }

    private static let kind = """
        {"kind":"porch-light","type":"toggle","version":1,"app":"com.example.home","title":"Porch light",
         "symbol":{"on":"lightbulb.fill","off":"lightbulb"},"tint":"yellow","settle":"0s"}
        """

    func run() throws {
        let folder = try BenchFolder(data, kinds: ["porch-light.json": Self.kind])
        let daemon = try BenchDaemon(["--sync", sync], in: folder, processor: Processors.server)
        Processors.takeLoadProcessor()
        var options = SQLiteJournal.Options()
        options.sync = SQLiteJournal.Sync(rawValue: sync) ?? .full
        let journal = try SyncProbe(SQLiteJournal(folder.path + "/probe", options))
        let load = try ControlLoad(
            daemon.endpoint, screens: screens, taps: taps, warmUp: taps / 10, rest: Int64(rest)
        ) { try journal.sync() }
        let cpu = daemon.process.cpu
        let latency = try load.run()
        let used = daemon.process.cpu - cpu
        daemon.process.stop()
        try printResult(latency, journal.latency, user: used.user / Double(taps + taps / 10) * 1e6)
    }

    private func printResult(_ latency: Histogram<UInt64>, _ sync: Histogram<UInt64>, user: Double) throws {
        let (median, syncMedian) = (latency.valueAtPercentile(50), sync.valueAtPercentile(50))
        let limit = 1_000 + 2 * syncMedian
        let isKept = median <= limit
        if json {
            var report = JSONObject()
            for (name, percentile) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0)] {
                report["\(name)_us"] = .integer(Int64(latency.valueAtPercentile(percentile)))
                report["sync_\(name)_us"] = .integer(Int64(sync.valueAtPercentile(percentile)))
            }
            report["max_us"] = .integer(Int64(latency.max))
            report["limit_us"] = .integer(Int64(limit))
            report["within_limit_percent"] = JSON(percentWithin(limit, of: latency))
            report["cpu_user_us"] = JSON(user.rounded())
            report["kept"] = .bool(isKept)
            print(JSON.object(report))
        } else {
            print(
                """
                \(taps) taps, confirmed on \(screens) screens: p50 \(text(median)), p90 \
                \(text(latency.valueAtPercentile(90))), p99 \(text(latency.valueAtPercentile(99))), longest \
                \(text(latency.max)) ms
                one sync of the journal: p50 \(text(syncMedian)), p99 \(text(sync.valueAtPercentile(99))) ms
                the limit, 1 ms + 2 syncs: \(text(limit)) ms, \(isKept ? "kept" : "NOT KEPT"); \
                \(percentWithin(limit, of: latency))% of the taps are within it
                CPU \(Int(user)) us user a tap
                """)
        }
        if !isKept { throw ExitCode.failure }
    }

    private func percentWithin(_ limit: UInt64, of latency: Histogram<UInt64>) -> Double {
        (latency.percentileAtOrBelowValue(limit) * 10).rounded() / 10
    }

    private func text(_ microseconds: UInt64) -> String { String(format: "%.2f", Double(microseconds) / 1_000) }
}

/// Measures the cost of one commit of one record, such as a tap's.
private final class SyncProbe {
    private let journal: SQLiteJournal
    private(set) var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
    private let body = (0..<160).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    init(_ journal: SQLiteJournal) throws {
        self.journal = journal
    }

    func sync() throws {
        let sequence = journal.lastSequence + 1
        let record = JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_763_719_200_000 + sequence),
            entity: "porch-light/front", previous: max(0, sequence - 1), body: body)
        let took = try ContinuousClock().measure { try journal.append([record]) }
        latency.record(UInt64(took / .microseconds(1)))
        while try journal.tidy() {}
    }
}
