import ArgumentParser
import Foundation
import TelltaleModel

/// `telltale-bench recovery`: how long a daemon takes to know everything again.
struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "How long a killed daemon takes until it serves again.",
        discussion: """
            Starts live activities in a daemon, stops it in order, so that it writes a snapshot, starts it, posts \
            --tail more events, kills it, and starts it again: from the snapshot, plus the tail. The time is the \
            daemon's own, as its ready line tells it; the quickest of --rounds counts, each after a kill.
            """)

    @Option(help: "Live activities; may be repeated.") var activities: [Int] = [100_000]
    @Option(help: "Events after the snapshot.") var tail = 20_000
    @Option(help: "Starts that are measured.") var rounds = 3
    @Option(help: "Bytes of content of each activity.") var content = 300
    @Option(help: "A folder for the journal; it is removed afterwards.") var data = "telltale-bench-recovery"
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard activities.allSatisfy({ $0 > 0 }), tail >= 0, rounds > 0, (60...4_000).contains(content) else {
            throw ValidationError("activities and rounds must be above 0, content from 60 to 4000")
        }
    }

    func run() throws {
        var report = JSONObject()
        for count in activities { report["\(count)"] = .object(try measure(count)) }
        if json { print(JSON.object(report)) }
    }

    private func measure(_ count: Int) throws -> JSONObject {
        let folder = try TelltaleTarget.makeFolder(data)
        let event = IngestEvent(contentByteCount: content, keyCount: count)
        func start() throws -> TelltaleTarget { try TelltaleTarget(event, in: folder, sync: "full") }

        var daemon = try start()
        try post(count, after: 0, to: daemon)
        guard daemon.process.stop() == 0 else {
            throw ServerProcess.StartFailure(description: "telltaled did not stop in order")
        }
        daemon = try start()
        if tail > 0 { try post(tail, after: count, to: daemon) }

        var times: [Int] = []
        for _ in 0..<rounds {
            daemon.process.kill()
            daemon = try start()
            guard daemon.ready["entities"] == "\(count)", let time = daemon.ready["recovered_ms"].flatMap(Int.init)
            else { throw ServerProcess.StartFailure(description: "not all came back: \(daemon.ready)") }
            times.append(time)
        }
        let memory = daemon.process.residentByteCount
        let best = times.min() ?? 0
        if !json {
            print(
                """
                \(count) live activities of \(content) bytes, and \(tail) events after the snapshot: \(best) ms \
                (all: \(times.map(String.init).joined(separator: ", "))), \(folder.byteCount() >> 20) MiB on disk, \
                \(memory >> 20) MiB in memory
                """)
        }
        var result = JSONObject()
        result["recovered_ms"] = .integer(Int64(best))
        result["all_ms"] = .array(times.map { .integer(Int64($0)) })
        result["tail"] = .integer(Int64(tail))
        result["disk_bytes"] = .integer(Int64(folder.byteCount()))
        result["memory_bytes"] = .integer(Int64(memory))
        return result
    }

    private func post(_ count: Int, after first: Int, to daemon: TelltaleTarget) throws {
        let plan = IngestLoad.Plan(
            connections: 1, pending: 2_000, warmUpMilliseconds: 0, eventsPerConnection: count, first: first)
        let result = try IngestLoad.run(plan, against: daemon, progress: Progress())
        guard result.refused == 0 else {
            throw ServerProcess.StartFailure(description: "\(result.refused) events were refused")
        }
    }
}
