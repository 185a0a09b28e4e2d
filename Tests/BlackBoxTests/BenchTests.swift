import Foundation
import TelltaleModel
import TestSupport
import Testing

/// The benchmarks, small and short: the tests check the counts, not the speed.
@Suite(.serialized, .nightly)
struct BenchTests {
    @Test func `fanout counts every delivery, and says when none was folded`() async throws {
        let (status, report) = try await bench(
            ["fanout", "--keys", "4", "--subscribers", "20", "--per", "2", "--rate", "100", "--seconds", "1"]
                + ["--warm-up", "0.2"])
        let round = try #require(report["rounds"]?.array?.first)
        #expect(round["lost"] == 0)
        #expect(round["cut"] == 0)
        #expect(round["kept_acks_back"] == 0, "or the server pays for what its clients' system does")
        let deliveries = try #require(round["deliveries_per_second"]?.integer)
        let events = try #require(round["events_per_second"]?.integer)
        // Ten followers a key. Some events are still on their way at either end, more of them on a busy machine, and
        // late ones are folded.
        let slowest = try #require(round["max_us"]?.double) / 1_000_000
        let folded = try #require(round["folded_share"]?.double)
        let missing = Int(2 * 10 * 100 * slowest + 10 * Double(events) * folded)
        #expect(abs(deliveries - 10 * events) <= 60 + missing)
        #expect(try #require(round["server_cpu_ns_per_delivery"]?.integer) > 0)
        #expect(try #require(round["p99_us"]).description != "0")
        // A busy machine folds, or is late; then it says so.
        #expect((status == 0) == (round["void"] == .null))
        if folded > 0.01 { #expect(round["void"] == "more than 1% folded") }
    }

    @Test func `events of one key that come faster than the pace are folded, and the run is void`() async throws {
        let (status, report) = try await bench(
            ["fanout", "--subscribers", "5", "--rate", "2000", "--pace", "20", "--seconds", "0.5"])
        let round = try #require(report["rounds"]?.array?.first)
        #expect(status == 1)
        #expect(round["void"] == "more than 1% folded")
        #expect(round["lost"] == 0, "the newest state arrived all the same")
        let share = try #require(round["folded_share"]?.double)
        #expect(share > 0.5)
    }

    @Test func `peers compares with a plain relay, and with itself`() async throws {
        let (status, report) = try await bench(
            ["peers", "--only", "telltale", "--only", "plain", "--audience", "4x8x4@2", "--rounds", "1", "--seconds"]
                + ["0.3", "--deliveries", "400", "--idle", "50"]
                + ["--settling", "0.5"])
        #expect(status == 0)
        #expect(report["4x8x4@2"]?["pace"] == "2")
        var folded = 0.0
        for name in ["telltale", "again", "plain C"] {
            let entry = try #require(report["4x8x4@2"]?[name])
            #expect(entry["cpu_ns_per_delivery"]?["median"] != .null)
            let most = try #require(entry["folded_share"]?["most"]?.double)
            // Of a busy machine: it says so.
            if most > 0.01 { #expect(entry["void"] == true) }
            folded += most
        }
        let lengths = ["telltale", "plain C"].compactMap {
            report["4x8x4@2"]?[$0]?["bytes_per_delivery"]?["median"]?.double
        }
        // A mean, and no whole number where revs get another digit meanwhile; a row that stands for several says so.
        #expect(lengths.count == 2)
        #expect(folded > 0 || abs(lengths[0] - lengths[1]) <= 5, "the same bytes: \(lengths)")
        #expect(report["idle"]?["telltale"]?["bytes_per_connection"]?.integer != nil)
    }

    @Test func `peers reports latency over load, for each server`() async throws {
        let (status, report) = try await bench(
            ["peers", "--only", "telltale", "--only", "plain", "--audience", "4x8x4", "--rounds", "1", "--seconds"]
                + ["0.3", "--load", "1", "--load", "10"])
        #expect(status == 0)
        let loads = try #require(report["4x8x4"]?["loads"]?.array)
        #expect(loads.map { $0["percent"] } == [1, 10])
        for load in loads {
            for name in ["telltale", "plain C"] {
                let (p50, p99) = (load[name]?["p50_us"]?["median"], load[name]?["p99_us"]?["median"])
                #expect(try #require(p50?.double) <= #require(p99?.double))
            }
        }
    }

    @Test func `after a storm every client is up to date, with cursors and without`() async throws {
        for arguments in [[], ["--fresh"]] {
            let (status, report) = try await bench(
                ["storm", "--subscribers", "100", "--keys", "50", "--per", "5", "--changed", "20", "--rounds", "2"]
                    + ["--limit", "30"] + arguments)
            #expect(status == 0)
            #expect(report["all_current"] == true)
        }
    }

    @Test(
        "Healthy clients lose nothing beside others who misbehave",
        arguments: ["slow", "trickle", "stuck", "connects", "nonsense", "silent", "storm", "tokens", "json"])
    func hostile(_ crowd: String) async throws {
        let (_, report) = try await bench(
            ["hostile", "--crowd", crowd, "--subscribers", "20", "--keys", "4", "--per", "2", "--rate", "50"]
                + ["--pairs", "1", "--seconds", "0.3"])
        #expect(report[crowd]?["healthy_lost_nothing"] == true)
        #expect(report[crowd]?["cut"] == 0)
        #expect(report[crowd]?["p99_with_ms"]?["median"] != .null)
    }

    @Test func `a cluster answers and shows every event, at the leader and at a follower`() async throws {
        let (_, report) = try await bench(
            ["cluster", "--log", "file", "--followers", "1", "--screens", "20", "--rate", "200", "--rounds", "2"]
                + ["--seconds", "0.3"])
        let stages = try #require(report["stages"]?.array)
        #expect(stages.map { $0["followers"] } == [0, 1])
        for stage in stages {
            #expect(stage["lost"] == 0)
            #expect(stage["unseen_after_own_ok"] == 0)
            for place in [stage["screens_leader"], stage["screens_followers"]].compactMap(\.self) {
                #expect(try #require(place["leader_cpu_us_per_event"]?["median"]?.double) > 0)
                // Screens are at one node alone.
                #expect(place["row_us"]?.array?.filter { $0 != .null }.count == 1)
            }
        }
        let following = try #require(stages.last)
        #expect(try #require(following["follower_share"]?["median"]?.double) > 0)
        for name in ["calm_row_us", "answer_us"] {
            let nodes = try #require(following[name]?.array)
            #expect(nodes.count == 2 && nodes.allSatisfy { $0["p50"]?.double != nil })
        }
        #expect(report["limits"]?["unseen_after_own_ok"]?["kept"] == true)
    }

    @Test func `the guard fails when a delivery allocates more than the limits say`() async throws {
        func limits(_ most: Int) -> String {
            let load = #"{"per_delivery": \#(most), "per_event": 100000}"#
            return #"{"one key": \#(load), "bursts": \#(load), "many keys": \#(load), "ids": \#(load)}"#
        }
        for (most, expected) in [(0, Int32(1)), (10_000, 0)] {
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "limits.json")
            try limits(most).write(to: file, atomically: false, encoding: .utf8)
            let (status, report) = try await bench(["hub", "--events", "160", "--limits", file.path])
            #expect(status == expected)
            // Every session follows each event: 100 sessions, and the hundredth part of them.
            #expect(report["one key"]?["deliveries"] == 16_000)
            #expect(report["many keys"]?["deliveries"] == 160)
        }
    }

    /// The output of the bench with `--json`, in a folder of its own.
    private func bench(_ arguments: [String]) async throws -> (status: Int32?, report: JSON) {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let executable = DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale-bench")
            let data = arguments[0] == "hub" ? [] : ["--data", folder.url.appending(path: "bench").path]
            let program = try RunningProgram(executable, arguments + data + ["--json"])
            let text = program.readToEnd().joined(separator: "\n")
            let status = program.waitForExit()
            let report = try? JSONParser().parse(Array(text.utf8).span)
            return (status, try #require(report, "\(arguments): \(text) \(program.standardError)"))
        }
    }
}
