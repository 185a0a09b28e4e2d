import Foundation
import Histogram
import TelltaleModel

/// All servers before one audience: at one rate for all, and each at its maximum.
struct PeerComparison {
    private struct Row {
        var name: String
        /// Events on their way, at which it delivers most.
        var window: Int
        var paced: [FanOutResult] = []
        var fastest: [FanOutResult] = []

        func sample(_ results: KeyPath<Row, [FanOutResult]>, _ figure: (FanOutResult) -> Double) -> Sample {
            Sample(values: self[keyPath: results].map(figure))
        }
    }

    private let audience: PeersCommand.Audience
    private let pace: PaceArgument
    private let rate: Double
    private var rows: [Row] = []

    /// - Parameter deliveries: A second, for all; `nil` = 70% of the slowest server's maximum.
    init(
        _ audience: PeersCommand.Audience, group: PeerGroup, rounds: Int, seconds: Double, deliveries: Double?
    ) throws {
        self.audience = audience
        pace = group.settings.pace
        let progress = Progress()
        var fastest = FanOutPlan(rate: nil, window: 64, warmUpSeconds: seconds / 2, seconds: seconds)
        // Several events on their way share writes. With one event of each key, no server folds any.
        let windows = audience.shape.keys < 64 ? [64, audience.shape.keys] : [64]
        var best: [Int] = []
        var targets: [any FanOutTarget] = []
        var maximum = Double.infinity
        var line = 0
        for name in group.names {
            let target = try group.start(name, lineByteCount: line)
            targets.append(target)
            var most = (deliveries: 0.0, events: 0.0, window: 64)
            for window in windows {
                fastest.window = window
                let result = try Self.measure(fastest, target, audience.shape, "finding the rate", progress)
                if result.deliveriesPerSecond > most.deliveries {
                    most = (result.deliveriesPerSecond, result.eventsPerSecond, window)
                }
            }
            maximum = min(maximum, most.events)
            best.append(most.window)
            if name == "telltale" {
                let slow = FanOutPlan(
                    rate: min(20, Self.ceiling(audience.shape, pace: pace)), warmUpSeconds: 0.2,
                    seconds: max(0.5, 0.006 * Double(pace.milliseconds ?? 1)))
                // Folded rows say so, and are longer; so slowly none is folded, but by a machine that stood still.
                for _ in 1...5 {
                    let result = try Self.measure(slow, target, audience.shape, "finding the length", progress)
                    line = Int(result.bytesPerDelivery.rounded())
                    if result.foldedShare == 0 { break }
                }
            }
        }
        if group.names.contains("telltale") {
            targets.insert(try group.start("telltale", suffix: "-again"), at: 1)
            best.insert(best[0], at: 1)
        }
        rate =
            deliveries.map { $0 / Double(audience.shape.followers) }
            ?? min(maximum * 0.7, Self.ceiling(audience.shape, pace: pace))
        rows = zip(targets, best).map { Row(name: $0.name, window: $1) }
        var paced = fastest
        paced.rate = rate
        for round in 0..<rounds {
            for turn in targets.indices {
                // The order rotates, so that no server is always first.
                let index = (turn + round) % targets.count
                let label = "\(audience.text), round \(round + 1) of \(rounds)"
                let target = targets[index]
                let load = try target.makeLoad(audience.shape)
                rows[index].paced.append(
                    try load.measure(paced, on: target.process, label: "\(label), \(target.name)", progress: progress))
                fastest.window = rows[index].window
                rows[index].fastest.append(
                    try load.measure(
                        fastest, on: target.process, label: "\(label), \(target.name) at its best", progress: progress))
            }
        }
    }

    /// The rate at which Telltale folds no event: one event of each key in three paces, because the time of the writes
    /// adds to the pace.
    private static func ceiling(_ shape: FanOutLoad.Shape, pace: PaceArgument) -> Double {
        1_000 * Double(shape.keys) / Double(3 * max(1, pace.milliseconds ?? 1))
    }

    private static func measure(
        _ plan: FanOutPlan, _ target: any FanOutTarget, _ shape: FanOutLoad.Shape, _ label: String, _ progress: Progress
    ) throws -> FanOutResult {
        try target.makeLoad(shape).measure(
            plan, on: target.process, label: "\(label), \(target.name)", progress: progress)
    }

    // MARK: Telling

    /// How far apart two runs of the same program are; `nil` without them.
    private var difference: Double? {
        guard rows.count > 1, rows[1].name == "again" else { return nil }
        let (one, other) = (cost(rows[0]).median, cost(rows[1]).median)
        return max(one, other) / min(one, other) - 1
    }

    private func cost(_ row: Row) -> Sample { row.sample(\.paced, \.nanosecondsPerDelivery) }

    private func isVoid(_ row: Row) -> Bool { row.paced.contains { $0.voidReason != nil } }

    private func percentile(_ row: Row, _ percentile: Double) -> Sample {
        row.sample(\.paced) { Double($0.latency.valueAtPercentile(percentile)) / 1e6 }
    }

    private var title: String {
        let shape = audience.shape
        let who =
            shape.keys == 1
            ? "\(shape.subscribers) subscribers of one key"
            : "\(shape.keys) keys, \(shape.subscribers) subscribers, \(shape.each) keys each"
        return
            "\(who), a pace of \(pace)\(pace.milliseconds == nil ? "" : " ms"): \(Sample.text(rate, rate < 100 ? 1 : 0)) events/s for all"
    }

    var table: String {
        var table = TextTable()
        table.add([
            "", "CPU ns/delivery", "ratio", "p50 ms", "p99 ms", "CPU at best", "ratio", "deliveries/s at best", "ratio",
            "folded",
        ])
        for row in rows {
            let best = row.sample(\.fastest, \.nanosecondsPerDelivery)
            let speed = row.sample(\.fastest, \.deliveriesPerSecond)
            table.add([
                row.name + (isVoid(row) ? " VOID" : ""), cost(row).text(), ratio(cost, row),
                percentile(row, 50).text(2), percentile(row, 99).text(2), best.text(),
                ratio({ $0.sample(\.fastest, \.nanosecondsPerDelivery) }, row), Sample.text(speed.median, 0),
                ratio({ $0.sample(\.fastest, \.deliveriesPerSecond) }, row),
                Sample.text(row.sample(\.fastest, \.foldedShare).median * 100, 0) + "%",
            ])
        }
        let pair = difference.map {
            "\nthe same twice: \(String(format: "%.1f", $0 * 100))% apart\($0 > 0.1 ? ": VOID" : "")"
        }
        return title + "\n" + table.text + (pair ?? "") + "\nratio: Telltale's figure by this one's"
    }

    /// Telltale's figure by this row's.
    private func ratio(_ figure: (Row) -> Sample, _ row: Row) -> String {
        guard let own = rows.first, own.name == "telltale" else { return "" }
        return Sample.text(figure(own).median / figure(row).median, 2)
    }

    var json: JSONObject {
        var object = JSONObject()
        object["pace"] = .string("\(pace)")
        object["events_per_second"] = Sample.json(rate)
        if let difference {
            object["same_twice_apart"] = Sample.json(difference)
            object["void"] = .bool(difference > 0.1)
        }
        for row in rows {
            var entry = JSONObject()
            entry["void"] = .bool(isVoid(row))
            entry["best_window"] = .integer(Int64(row.window))
            entry["cpu_ns_per_delivery"] = cost(row).json
            entry["cpu_ns_per_event"] = row.sample(\.paced, \.nanosecondsPerEvent).json
            entry["p50_ms"] = percentile(row, 50).json
            entry["p99_ms"] = percentile(row, 99).json
            entry["folded_share"] = row.sample(\.paced, \.foldedShare).json
            entry["bytes_per_delivery"] = row.sample(\.paced, \.bytesPerDelivery).json
            entry["load_cpu_ns_per_delivery"] =
                row.sample(\.paced) { $0.loadProcessorTime / max(1, $0.deliveries) }.json
            entry["best_deliveries_per_second"] = row.sample(\.fastest, \.deliveriesPerSecond).json
            entry["best_cpu_ns_per_delivery"] = row.sample(\.fastest, \.nanosecondsPerDelivery).json
            entry["best_folded_share"] = row.sample(\.fastest, \.foldedShare).json
            object[row.name] = .object(entry)
        }
        return object
    }
}
