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
            daemon's own, as its ready line tells it; the quickest of --rounds counts, each after a kill. With \
            --boards it places tiles on boards instead, 12 on each, and all of them are in the snapshot.
            """)

    @Option(help: "Live activities; may be repeated.") var activities: [Int] = [100_000]
    @Option(help: "Boards of 12 tiles, instead of activities.") var boards: Int?
    @Option(help: "Events after the snapshot.") var tail = 20_000
    @Option(help: "Starts that are measured.") var rounds = 3
    @Option(help: "Bytes of content of each activity.") var content = 300
    @Option(help: "A folder for the journal; it is removed afterwards.") var data = "telltale-bench-recovery"
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard activities.allSatisfy({ $0 > 0 }), tail >= 0, rounds > 0, (60...4_000).contains(content) else {
            throw ValidationError("activities and rounds must be above 0, content from 60 to 4000")
        }
        guard boards.map({ $0 > 0 && $0 % BoardsTarget.boardsPerAccount == 0 }) ?? true else {
            throw ValidationError(
                "--boards must be a multiple of \(BoardsTarget.boardsPerAccount): each account fills as many as it may have"
            )
        }
    }

    func run() throws {
        var report = JSONObject()
        if let boards { report["boards"] = .object(try measureBoards(boards)) }
        for count in boards == nil ? activities : [] { report["\(count)"] = .object(try measure(count)) }
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
            times.append(try recoveryTime(of: daemon.ready, entities: count))
        }
        return report(
            "\(count) live activities of \(content) bytes, and \(tail) events after the snapshot", times, tail: tail,
            folder, daemon.process)
    }

    private func measureBoards(_ count: Int) throws -> JSONObject {
        let folder = try BoardsTarget.makeFolder(data)
        let accounts = count / BoardsTarget.boardsPerAccount
        var daemon = try BenchDaemon(in: folder)
        let progress = Progress()
        for first in stride(from: 0, to: accounts, by: 64) {
            let plan = IngestLoad.Plan(
                connections: min(64, accounts - first), pending: 8_192, warmUpMilliseconds: 0,
                eventsPerConnection: BoardsTarget.tilesPerAccount)
            let result = try IngestLoad.run(
                plan, against: BoardsTarget(daemon, firstAccount: first), progress: progress)
            guard result.refused == 0 else {
                throw ServerProcess.StartFailure(description: "\(result.refused) tiles were refused")
            }
        }
        guard daemon.process.stop() == 0 else {
            throw ServerProcess.StartFailure(description: "telltaled did not stop in order")
        }
        let tiles = count * BoardsTarget.tilesPerBoard
        // The stack of each board, and the widgets that the tiles show.
        let entities = tiles + count + min(BoardsTarget.widgetCount, tiles)
        var times: [Int] = []
        for _ in 0..<rounds {
            daemon = try BenchDaemon(in: folder)
            times.append(try recoveryTime(of: daemon.ready, entities: entities))
            daemon.process.kill()
        }
        daemon = try BenchDaemon(in: folder)
        return report(
            "\(count) boards of \(BoardsTarget.tilesPerBoard) tiles, \(BoardsTarget.widgetCount) widgets", times,
            tail: 0, folder, daemon.process)
    }

    private func recoveryTime(of ready: [String: String], entities: Int) throws -> Int {
        guard ready["entities"] == "\(entities)", let time = ready["recovered_ms"].flatMap(Int.init) else {
            throw ServerProcess.StartFailure(description: "not all came back: \(ready), and \(entities) are to")
        }
        return time
    }

    private func report(
        _ what: String, _ times: [Int], tail: Int, _ folder: BenchFolder, _ process: ServerProcess
    ) -> JSONObject {
        let (best, memory) = (times.min() ?? 0, process.residentByteCount)
        if !json {
            print(
                """
                \(what): \(best) ms (all: \(times.map(String.init).joined(separator: ", "))), \
                \(folder.byteCount() >> 20) MiB on disk, \(memory >> 20) MiB in memory
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
