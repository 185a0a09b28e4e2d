import CFanOut
import Foundation
import Glibc
import Histogram
import TelltaleModel

/// How much, how fast and for how long.
struct FanOutPlan {
    /// Events a second; `nil` = as many as the server takes.
    var rate: Double?
    /// Without a rate: events on their way.
    var window = 64
    var warmUpSeconds = 1.0
    var seconds = 5.0
}

/// The result of one measurement.
struct FanOutResult {
    var events = 0.0
    var seconds = 0.0
    var deliveries = 0.0
    /// Of the server, in nanoseconds.
    var processorTime = 0.0
    /// Of the load, in nanoseconds.
    var loadProcessorTime = 0.0
    /// Of the deliveries that were due.
    var foldedShare = 0.0
    var lost = 0
    var cut = 0
    /// Subscribers whose ACKs were kept back, so that the server may have had to make them.
    var reluctant = 0
    var bytesPerDelivery = 0.0
    /// In nanoseconds, from the intended time to the arrival.
    var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)

    var deliveriesPerSecond: Double { deliveries / seconds }
    var eventsPerSecond: Double { events / seconds }
    var nanosecondsPerDelivery: Double { processorTime / max(1, deliveries) }
    var nanosecondsPerEvent: Double { processorTime / max(1, events) }

    /// Events a second that were asked for; `nil` = as many as the server takes.
    var rate: Double?

    /// Why the run says nothing about the cost at its rate; `nil` when it does.
    var voidReason: String? {
        guard let rate else { return nil }
        if lost > 0 || cut > 0 { return "\(lost) lost, \(cut) cut" }
        if foldedShare > 0.01 { return "more than 1% folded" }
        if reluctant > 0 { return "\(reluctant) kept their ACKs back" }
        return eventsPerSecond < 0.98 * rate ? "the load was late with its own events" : nil
    }

    var json: JSONObject {
        var object = JSONObject()
        object["events_per_second"] = JSON(eventsPerSecond.rounded())
        object["deliveries_per_second"] = JSON(deliveriesPerSecond.rounded())
        object["server_cpu_ns_per_delivery"] = JSON(nanosecondsPerDelivery.rounded())
        object["server_cpu_ns_per_event"] = JSON(nanosecondsPerEvent.rounded())
        object["server_cpu_share"] = JSON((processorTime / seconds / 1e7).rounded() / 100)
        object["load_cpu_ns_per_delivery"] = JSON((loadProcessorTime / max(1, deliveries)).rounded())
        object["folded_share"] = JSON((foldedShare * 1e5).rounded() / 1e5)
        object["void"] = voidReason.map(JSON.string) ?? .null
        object["lost"] = .integer(Int64(lost))
        object["cut"] = .integer(Int64(cut))
        object["kept_acks_back"] = .integer(Int64(reluctant))
        object["bytes_per_delivery"] = JSON(bytesPerDelivery.rounded())
        for (name, percentile) in FanOutResult.percentiles {
            object["\(name)_us"] = JSON((Double(latency.valueAtPercentile(percentile)) / 100).rounded() / 10)
        }
        object["max_us"] = JSON((Double(latency.max) / 100).rounded() / 10)
        return object
    }

    static let percentiles = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p999", 99.9)]
}

extension FanOutLoad {
    /// One measurement over the open connections: a warm-up, the counted events, and time for the last ones to arrive.
    func measure(_ plan: FanOutPlan, on server: ServerProcess, label: String, progress: Progress) throws -> FanOutResult
    {
        publish(rate: plan.rate, window: plan.window)
        try run(seconds: plan.warmUpSeconds)
        let before = counts
        let processor = server.processorNanoseconds
        let own = Self.ownProcessorNanoseconds
        let start = ContinuousClock.now
        beginCounting()
        var shown = before.arrived
        while true {
            let left = plan.seconds - (ContinuousClock.now - start) / .seconds(1)
            guard left > 0.001 else { break }
            let slice = min(left, 0.5)
            try run(seconds: slice)
            let arrived = counts.arrived
            progress.show("\(label): \(Int(Double(arrived - shown) / slice)) deliveries/s")
            shown = arrived
        }
        var result = FanOutResult()
        result.rate = plan.rate
        result.seconds = (ContinuousClock.now - start) / .seconds(1)
        result.processorTime = Double(server.processorNanoseconds - processor)
        result.loadProcessorTime = Double(Self.ownProcessorNanoseconds - own)
        let after = counts
        hold()
        progress.show("\(label): waiting for the last")
        // A subscriber that was cut never becomes current.
        try run(seconds: after.cut > before.cut ? 1 : Self.patience, untilCurrent: true)
        progress.clear()
        result.events = Double(after.sent - before.sent)
        result.deliveries = Double(after.arrived - before.arrived)
        // To the end: a server that is behind folds into rows that come after the window.
        let folded = Double(counts.folded - before.folded)
        result.foldedShare = folded / max(1, folded + Double(counts.arrived - before.arrived))
        result.bytesPerDelivery = Double(after.bytes - before.bytes) / max(1, result.deliveries)
        result.lost = Int(counts.lost - before.lost) + shape.subscribers - currentCount
        result.cut = Int(counts.cut - before.cut)
        result.reluctant = reluctantCount
        result.latency = latency
        return result
    }

    /// Seconds for the last rows to arrive. Later rows count as lost.
    private static let patience = 20.0

    private static var ownProcessorNanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
