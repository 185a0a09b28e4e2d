import Histogram
import TelltaleModel

/// The cost of a delivery and its latency at several loads, for every server.
struct LoadCurve {
    private let audience: PeersCommand.Audience
    private let names: [String]
    private var steps: [Step] = []

    /// One load: the results of each server.
    private struct Step {
        var percent: Double
        /// Events a second.
        var rate: Double
        var results: [[FanOutResult]]
    }

    /// - Parameter loads: Per cent of what the slowest server can do.
    init(
        _ audience: PeersCommand.Audience, loads: [Double], group: PeerGroup, rounds: Int, seconds: Double
    ) throws {
        self.audience = audience
        let progress = Progress()
        let stage = try PeerStage(audience.shape, group: group, seconds: seconds, progress: progress)
        // The second Telltale is there for a comparison of costs alone.
        let targets = stage.targets.filter { $0.name != "again" }
        names = targets.map(\.name)
        for percent in loads {
            let rate = stage.maximum * percent / 100
            var step = Step(percent: percent, rate: rate, results: targets.map { _ in [] })
            let plan = FanOutPlan(rate: rate, warmUpSeconds: seconds / 2, seconds: seconds)
            for round in 0..<rounds {
                for turn in targets.indices {
                    // The order rotates, so that no server is always first.
                    let index = (turn + round) % targets.count
                    let target = targets[index]
                    let label = "\(audience.text) at \(Sample.text(percent, 0))%, round \(round + 1), \(target.name)"
                    step.results[index].append(
                        try target.makeLoad(audience.shape).measure(
                            plan, on: target.process, label: label, progress: progress))
                }
            }
            steps.append(step)
        }
    }

    private static func percentile(_ results: [FanOutResult], _ percentile: Double) -> Sample {
        Sample(values: results.map { Double($0.latency.valueAtPercentile(percentile)) / 1e3 })
    }

    var table: String {
        var table = TextTable()
        table.add(["load", "events/s", "", "CPU ns/delivery", "p50 µs", "p99 µs", "folded"])
        for step in steps {
            for (place, results) in step.results.enumerated() {
                let isFirst = place == 0
                table.add([
                    isFirst ? Sample.text(step.percent, 0) + "%" : "", isFirst ? Sample.text(step.rate, 0) : "",
                    names[place] + (results.contains { $0.lost > 0 || $0.cut > 0 } ? " VOID" : ""),
                    Sample(values: results.map(\.nanosecondsPerDelivery)).text(),
                    Self.percentile(results, 50).text(), Self.percentile(results, 99).text(),
                    Sample.text(Sample(values: results.map(\.foldedShare)).median * 100, 1) + "%",
                ])
            }
        }
        return "\(audience.title): latency over load; 100% is the most of the slowest server\n" + table.text
    }

    var json: JSONObject {
        var object = JSONObject()
        object["loads"] = .array(
            steps.map { step in
                var entry = JSONObject()
                entry["percent"] = Sample.json(step.percent)
                entry["events_per_second"] = Sample.json(step.rate)
                for (name, results) in zip(names, step.results) {
                    var server = JSONObject()
                    server["cpu_ns_per_delivery"] = Sample(values: results.map(\.nanosecondsPerDelivery)).json
                    server["p50_us"] = Self.percentile(results, 50).json
                    server["p99_us"] = Self.percentile(results, 99).json
                    server["folded_share"] = Sample(values: results.map(\.foldedShare)).json
                    entry[name] = .object(server)
                }
                return .object(entry)
            })
        return object
    }
}
