import ArgumentParser
import Foundation
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench cluster`: what followers cost the leader, what following costs, and how much later a row is there.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "A leader and its followers: processor time, memory, and time to a row.",
        discussion: """
            Starts three servers of NATS and a leader on this machine, measures it alone, then adds followers and measures \
            again. Each measurement posts --rate events a second to the leader, in --rounds rounds: without screens, and with \
            --screens that follow a key each, at the followers (at the leader, where it is alone). Then come one event at a \
            time, and 100 events a second that one screen at each node follows. Processor time is what the kernel counts for all \
            threads of a node, for each event that was answered.

            All nodes and the load share the processors of this machine. Ratios are of one run, and vary less than times.

            The limits: with screens at two followers an event costs the leader at most 1.1 times as much as without; without \
            screens an event costs a follower at most half of what it costs its leader; half of the events are answered, and \
            shown, at a follower at most 2 ms later than at the leader; and a GET right after an OK at the same node always \
            sees it. Exit status 1 when one is not kept.

            It takes the nats-server that is on the path or that --nats names, and the libnats of the system. \
            Tools/bench/cluster fetches both, and runs this command.
            """)

    @Option(help: "Followers; may be repeated, each more than the one before. (default: 1, 2 and 4)")
    var followers: [Int] = []
    @Option(help: "Screens in all, a key each. (default: 20,000, or as many as descriptors allow)") var screens: Int?
    @Option(help: "Events a second.") var rate = 20_000.0
    @Option(help: "Bytes of an event's line.") var bytes = 300
    @Option(help: "Seconds of each measurement.") var seconds = 2.0
    @Option(help: "Pairs of measurements with each number of followers.") var rounds = 4
    @Option(help: "Seconds for all rounds: further ones are left out.") var limit = 150.0
    @Option(help: "nats, or file: one file that all nodes append to, which replicates nothing.") var log = "nats"
    @Option(help: "The nats-server to start.") var nats: String?
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-cluster"
    @Flag(help: "Print one JSON object, as into a pipe.") var json = false

    private static let screensAtMost = 20_000
    /// Descriptors of this program for other things than screens.
    private static let reserve = 500

    private var counts: [Int] { followers.isEmpty ? [1, 2, 4] : followers }

    func validate() throws {
        let most = FanOutLoad.groupLimit - 1
        guard zip([0] + counts, counts).allSatisfy({ $0 < $1 }), counts.allSatisfy({ $0 <= most }) else {
            throw ValidationError("--followers: 1 to \(most), each more than the one before")
        }
        guard (1...1_000_000).contains(rate), (100...4_000).contains(bytes), (0.1...600).contains(seconds), rounds > 0,
            limit >= 0, (1...1_000_000).contains(screens ?? 1)
        else {
            throw ValidationError(
                "rate: 1 to 1000000; bytes: 100 to 4000; seconds: 0.1 to 600; rounds and screens above 0; limit not below 0"
            )
        }
        guard ["nats", "file"].contains(log) else { throw ValidationError("--log takes nats or file") }
    }

    func run() throws {
        let room = DescriptorLimit.raiseToMaximum() - Self.reserve
        let screens = screens ?? min(Self.screensAtMost, room)
        guard screens <= room else {
            throw ValidationError("this process may have \(room) connections; raise its limit of descriptors")
        }
        var server: String?
        if log == "nats" {
            server = NATSTarget.find(nats)
            guard server != nil else {
                throw ValidationError(
                    "there is no nats-server on the path; Tools/ci/fetch nats-server, or name it with --nats")
            }
        }
        let progress = Progress()
        progress.show("starting the log and the leader")
        let cluster = try BenchCluster(server: server, data: data)
        let settings = ClusterLoad.Settings(screens: screens, rate: rate, bytes: bytes, seconds: seconds)
        var stages: [ClusterStage] = []
        for count in [0] + counts {
            while cluster.followers.count < count {
                progress.show("starting follower \(cluster.followers.count + 1)")
                try cluster.addFollower()
            }
            var stage = ClusterStage(followers: count)
            try stage.measure(
                cluster, settings, rounds: rounds, seconds: limit / Double(counts.count + 1), progress: progress)
            stages.append(stage)
        }
        progress.clear()
        let limits = Self.limits(of: stages)
        if json || isatty(STDOUT_FILENO) != 1 {
            printJSON(stages, limits, screens: screens)
        } else {
            printTable(stages, limits, screens: screens)
        }
        if !limits.allSatisfy(\.isKept) { throw ExitCode.failure }
    }

    // MARK: Limits

    private struct Limit {
        var name: String
        var text: String
        var value: Double
        var most: Double
        var isKept: Bool { value <= most }
    }

    private static func limits(of stages: [ClusterStage]) -> [Limit] {
        let following = stages.dropFirst()
        // Those are written for two followers.
        let two = following.first { $0.followers == 2 } ?? following.last
        guard let two else { return [] }
        return [
            Limit(
                name: "leader_with_screens", text: "CPU of the leader with screens at its followers, × without",
                value: two.leaderWithScreens.median, most: 1.1),
            Limit(
                name: "follower_share", text: "CPU of a follower without screens, × its leader",
                value: two.followerShare.median, most: 0.5),
            Limit(
                name: "answer_later_ms", text: "an OK at a follower, ms later than at the leader (p50)",
                value: two.extraAnswer, most: 2),
            Limit(
                name: "row_later_ms", text: "a row at a follower, ms later than at the leader (p50)",
                value: two.extraRow, most: 2),
            Limit(
                name: "unseen_after_own_ok", text: "GETs that did not see the OK before them",
                value: Double(stages.reduce(0) { $0 + $1.unseen }), most: 0),
            Limit(
                name: "lost", text: "screens that did not get the newest state",
                value: Double(stages.reduce(0) { $0 + $1.lost }), most: 0),
        ]
    }

    // MARK: Output

    private func printTable(_ stages: [ClusterStage], _ limits: [Limit], screens: Int) {
        print("\(screens) screens, \(Int(rate)) events a second of \(bytes) bytes; medians, [least-most]\n")
        let columns = [ClusterStage.titles] + stages.map { $0.column(stages.first) }
        var table = TextTable()
        for row in ClusterStage.titles.indices { table.add(columns.map { $0[row] }) }
        print(table.text + "\n")
        for limit in limits {
            let digits = limit.most == 0 ? 0 : 2
            print(
                "\(limit.text): \(Sample.text(limit.value, digits)); the limit, \(Sample.text(limit.most, digits)): "
                    + (limit.isKept ? "kept" : "NOT KEPT"))
        }
    }

    private func printJSON(_ stages: [ClusterStage], _ limits: [Limit], screens: Int) {
        var report = JSONObject()
        report["screens"] = .integer(Int64(screens))
        report["rate"] = JSON(rate)
        report["bytes"] = .integer(Int64(bytes))
        report["stages"] = .array(stages.map(\.json))
        var object = JSONObject()
        for limit in limits {
            var entry = JSONObject()
            entry["value"] = Sample.json(limit.value)
            entry["limit"] = Sample.json(limit.most)
            entry["kept"] = .bool(limit.isKept)
            object[limit.name] = .object(entry)
        }
        report["limits"] = .object(object)
        print(JSON.object(report))
    }
}
