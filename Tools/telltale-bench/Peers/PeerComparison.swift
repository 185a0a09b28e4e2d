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
        let stage = try PeerStage(audience.shape, group: group, seconds: seconds, progress: progress)
        let targets = stage.targets
        rate =
            deliveries.map { $0 / Double(audience.shape.followers) }
            ?? min(stage.maximum * 0.7, stage.ceiling)
        rows = zip(targets, stage.windows).map { Row(name: $0.name, window: $1) }
        var fastest = FanOutPlan(rate: nil, warmUpSeconds: seconds / 2, seconds: seconds)
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

    // MARK: Reporting

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
        "\(audience.title), a pace of \(pace)\(pace.milliseconds == nil ? "" : " ms"): "
            + "\(Sample.text(rate, rate < 100 ? 1 : 0)) events/s for all"
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
