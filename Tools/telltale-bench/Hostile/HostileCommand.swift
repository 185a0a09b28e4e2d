import ArgumentParser
import Foundation
import Histogram
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench hostile`: whether misbehaving clients slow the others down.
struct HostileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hostile", abstract: "What healthy clients feel of hostile and unlucky ones.",
        discussion: """
            Healthy subscribers follow their keys at a fixed rate; by turns, a crowd of others is there, and is not. \
            The crowd is a process that gets what the measuring one leaves of its processor.

              \(HostileCrowd.allCases.map { "\($0.rawValue): \($0.description)" }.joined(separator: "\n  "))

            The promise is: in the median of all pairs, p99 of the healthy is at most 1.1 times what it is without the \
            crowd, and half a millisecond. Exit status 1 when that is not so, or when a healthy client was cut or did \
            not end on the newest state. Of unfinished handshakes it is 2 ms, with healthy ones over TLS.

            Of one greedy connection (owes, subscribes, flips, asks) and of attackers (storm, hellos, tokens, json, \
            reloads) the goal is that p99 of the healthy is at most 20 ms, and the daemon takes at most 32 MiB more; \
            --activities 300000 is its measure.

            One that takes no byte for 30 s is cut. So are those who read a byte at a time: TCP does not tell the \
            server of a byte taken before a good part of the receiver's buffer is free. Memory is compared with a \
            journal on disk, because one in memory grows with every event.
            """)

    @Option(
        help:
            "slow, trickle, stuck, connects, nonsense, silent, owes, subscribes, flips, asks, handshakes, storm, hellos, tokens, json or reloads; may be repeated. (default: all)"
    )
    var crowd: [HostileCrowd] = []
    @Option(help: "Healthy connections.") var subscribers = 1_000
    @Option(help: "Live activities.") var keys = 100
    @Option(help: "Keys that each healthy connection follows.") var per = 10
    @Option(help: "Activities that exist beside them, and that nobody changes.") var activities = 0
    @Option(help: "Events a second.") var rate = 300.0
    @Option(help: "Pairs of measurements.") var pairs = 10
    @Option(help: "Seconds of each measurement.") var seconds = 2.0
    @Option(help: "memory (which grows with every event), off, normal or full.") var journal = "off"
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-hostile"
    @Flag(help: "Print one JSON object.") var json = false

    private var shape: FanOutLoad.Shape { .init(subscribers: subscribers, keys: keys, each: per) }

    func validate() throws {
        guard shape.isEven, pairs > 0, rate > 0, activities >= 0, (0.1...3_600).contains(seconds) else {
            throw ValidationError("subscribers * per must be a multiple of keys; pairs, rate and seconds above 0")
        }
    }

    private struct Outcome {
        var with = Sample()
        var without = Sample()
        /// Of each pair: how much longer p99 is than 1.1 times the other.
        var excess = Sample()
        var cutCount = 0
        var memory = Sample()
        var isSound = true

        func isKept(_ crowd: HostileCrowd) -> Bool {
            if crowd.hasFixedBound { return with.median <= 20 && memory.median <= 32 && isSound }
            return excess.median <= crowd.excessLimit && isSound && (cutCount == 0 || crowd.mayBeCut)
        }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        var report = JSONObject()
        var isKept = true
        let crowds = crowd.isEmpty ? HostileCrowd.allCases : crowd
        for surroundings in HostileCrowd.Surroundings.allCases {
            let crowds = crowds.filter { $0.surroundings == surroundings }
            guard !crowds.isEmpty else { continue }
            var settings = TelltaleScreens.Settings()
            settings.journal = journal
            settings.isEncrypted = surroundings == .encrypted
            settings.isGuarded = surroundings == .guarded
            if surroundings == .manyKinds { settings.furtherKinds = BenchKinds.texts }
            let target = try TelltaleScreens(settings, data: data + "-\(surroundings)")
            try populate(target)
            let load = try target.makeLoad(shape)
            for crowd in crowds {
                let outcome = try measure(crowd, target, load)
                isKept = isKept && outcome.isKept(crowd)
                report[crowd.rawValue] = .object(describe(outcome, crowd))
            }
        }
        if json { print(JSON.object(report)) }
        if !isKept { throw ExitCode.failure }
    }

    private func populate(_ target: TelltaleScreens) throws {
        let portion = 5_000
        for start in stride(from: 0, to: activities, by: portion) {
            let lines = (start..<min(activities, start + portion)).map { "EVT tally/more-\($0) type=tick\n" }
            let text = target.introduction + lines.joined() + "PING\n"
            let answer = try Exchange.ask(target.daemon.endpoint, text, until: "PONG")
            guard answer.hasSuffix("PONG\n") else {
                throw ServerProcess.StartFailure(description: "telltaled takes no more activities")
            }
        }
    }

    private func measure(_ crowd: HostileCrowd, _ target: TelltaleScreens, _ load: FanOutLoad) throws -> Outcome {
        var outcome = Outcome()
        for pair in 0..<pairs {
            // The order alternates, so that neither is always first.
            var p99 = [false: 0.0, true: 0.0]
            for isThere in pair % 2 == 0 ? [false, true] : [true, false] {
                let label = "\(crowd.rawValue), pair \(pair + 1) of \(pairs), \(isThere ? "with" : "without")"
                let result = try measure(isThere ? crowd : nil, target, load, label, &outcome)
                p99[isThere] = Double(result.latency.valueAtPercentile(99)) / 1e6
                outcome.isSound = outcome.isSound && result.lost == 0 && result.cut == 0
            }
            let (with, without) = (p99[true] ?? 0, p99[false] ?? 0)
            outcome.with.values.append(with)
            outcome.without.values.append(without)
            outcome.excess.values.append(with - 1.1 * without)
        }
        return outcome
    }

    private func measure(
        _ crowd: HostileCrowd?, _ target: TelltaleScreens, _ load: FanOutLoad, _ label: String, _ outcome: inout Outcome
    ) throws -> FanOutResult {
        let plan = FanOutPlan(rate: rate, warmUpSeconds: 0.5, seconds: seconds)
        guard let crowd else {
            return try load.measure(plan, on: target.process, label: label, progress: Progress())
        }
        let before = target.process.residentByteCount
        let cutBefore = try Self.cutCount(target)
        let process = try ServerProcess(
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path,
            [
                "crowd", crowd.rawValue, "--port", "\(target.tlsPort ?? target.port)", "--server",
                "\(target.process.identifier)",
            ],
            log: target.daemon.folder.path + "/crowd")
        guard process.readLine() == "ready \(crowd.readyCount)" else {
            throw ServerProcess.StartFailure(description: "not all of the crowd could connect")
        }
        let result = try load.measure(plan, on: target.process, label: label, progress: Progress())
        outcome.memory.values.append(Double(target.process.residentByteCount - before) / 1_048_576)
        // A client that takes nothing cannot see that it was cut.
        outcome.cutCount += try Self.cutCount(target) - cutBefore
        process.stop()
        return result
    }

    private static func cutCount(_ target: TelltaleScreens) throws -> Int {
        let text = target.introduction + "STATS\nPING\n"
        let answer = try Exchange.ask(target.daemon.endpoint, text, until: "PONG")
        let name = "\"stuckReadersCut\":"
        guard let place = answer.range(of: name) else {
            throw ServerProcess.StartFailure(description: "STATS does not tell whom it cut: \(answer)")
        }
        return Int(answer[place.upperBound...].prefix { $0.isNumber }) ?? 0
    }

    private func describe(_ outcome: Outcome, _ crowd: HostileCrowd) -> JSONObject {
        var object = JSONObject()
        object["p99_without_ms"] = outcome.without.json
        object["p99_with_ms"] = outcome.with.json
        object["excess_ms"] = outcome.excess.json
        object["memory_growth_mib"] = outcome.memory.json
        object["cut"] = .integer(Int64(outcome.cutCount))
        object["healthy_lost_nothing"] = .bool(outcome.isSound)
        object["kept"] = .bool(outcome.isKept(crowd))
        if !json {
            print(
                """
                \(crowd.description): p99 \(outcome.with.text(2)) ms, without \(outcome.without.text(2)) ms, \
                memory \(outcome.memory.text(1)) MiB more, \(outcome.cutCount) cut\
                \(outcome.isSound ? "" : ", A HEALTHY CLIENT LOST SOMETHING"): \
                \(outcome.isKept(crowd) ? "kept" : "NOT KEPT")
                """)
        }
        return object
    }
}
