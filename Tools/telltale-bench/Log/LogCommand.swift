import ArgumentParser
import Foundation
import Histogram
import Replication
import TelltaleModel

/// `telltale-bench log`: appends to the replicated log of a cluster, and reading it back.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Appends to the log of a cluster, on NATS JetStream.",
        discussion: """
            Starts three servers of NATS on this machine, and appends messages to a log of three replicas, one in flight and each \
            on the condition that nothing came in between, as a leader does. A message counts when the engine has said that a \
            majority has it; with --sync always that is on their disks. Then all of it is read back.

            It takes the nats-server that is on the path or that --nats names, and the libnats of the system or --library. \
            Tools/bench/log fetches both, and runs this command.
            """)

    @Option(help: "Records of a message; may be repeated.") var records: [Int] = [1, 10, 100, 1_000]
    @Option(help: "Bytes of a record, with everything.") var bytes = 300
    @Option(help: "Seconds of each measurement.") var seconds = 5
    @Option(help: "When the servers sync: always, or a span such as 2m.") var sync = "always"
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-log"
    @Option(help: "The nats-server to start.") var nats: String?
    @Option(help: "The file of libnats.") var library: String?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard records.allSatisfy({ (1...2_500).contains($0) }), (64...400).contains(bytes), seconds > 0 else {
            throw ValidationError("a message has 1 to 2500 records of 64 to 400 bytes, and seconds are above 0")
        }
        guard sync.allSatisfy({ $0.isLetter || $0.isNumber }) else {
            throw ValidationError("--sync is always, or a span")
        }
    }

    func run() throws {
        guard let server = NATSTarget.find(nats) else {
            throw ValidationError(
                "there is no nats-server on the path; Tools/ci/fetch nats-server, or name it with --nats")
        }
        var report = JSONObject()
        for count in records {
            let store = try BenchLogStore(server: server, data: data, sync: sync == "always" ? sync : "\"\(sync)\"")
            let configuration = store.configuration(isProven: sync == "always", library: library)
            let before = store.cpu
            let written = try LogLoad.append(configuration, records: count, bytes: bytes, seconds: seconds)
            let cpu = (store.cpu - before) * 1e6 / Double(max(1, written.records))
            let read = try LogLoad.read(configuration, records: count)
            let rate = Double(written.records) / written.seconds
            let (p50, p99) = (written.latency.valueAtPercentile(50), written.latency.valueAtPercentile(99))
            let reading = Double(read.messages) / max(read.seconds, 1e-9)
            var entry = JSONObject()
            entry["records_per_second"] = JSON(rate.rounded())
            entry["p50_us"] = .integer(Int64(p50))
            entry["p99_us"] = .integer(Int64(p99))
            entry["max_us"] = .integer(Int64(written.latency.max))
            entry["engine_cpu_us"] = JSON((cpu * 100).rounded() / 100)
            entry["read_messages_per_second"] = JSON(reading.rounded())
            entry["read_records_per_second"] = JSON((reading * Double(count)).rounded())
            entry["sync_proven"] = .bool(written.status.sync == .proven)
            report["\(count)"] = .object(entry)
            guard !json else { continue }
            print(
                """
                \(count) record\(count == 1 ? "" : "s") a message, sync \(sync): \(Int(rate)) records/s, \
                ack p50 \(milliseconds(p50)), p99 \(milliseconds(p99)), longest \(milliseconds(written.latency.max)) ms; \
                engine CPU \(String(format: "%.1f", cpu)) us/record
                  read back: \(Int(reading)) messages/s, \(Int(reading * Double(count))) records/s
                """)
        }
        if json { print(JSON.object(report)) }
    }

    private func milliseconds(_ microseconds: UInt64) -> String {
        String(format: "%.2f", Double(microseconds) / 1_000)
    }
}
