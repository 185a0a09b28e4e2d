public import CoreMetrics
internal import Synchronization
public import TelltaleMetrics

/// Counters, gauges and histograms of this process, kept for Prometheus.
///
/// A timer or an aggregating recorder of swift-metrics becomes a histogram; a timer's values are exported in seconds.
public final class MetricsRegistry: MetricsFactory, Sendable {
    struct SeriesID: Hashable, Sendable {
        var label: String
        var dimensions: [Dimension]

        static func == (left: SeriesID, right: SeriesID) -> Bool {
            left.label == right.label && left.dimensions.elementsEqual(right.dimensions) { $0 == $1 }
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(label)
            for dimension in dimensions {
                hasher.combine(dimension.name)
                hasher.combine(dimension.value)
            }
        }

        struct Dimension: Hashable, Sendable {
            var name: String
            var value: String
        }
    }

    private let series = Mutex<[SeriesID: any Series]>([:])
    /// The meaning of each metric, by its label.
    let descriptions: [String: String]
    /// Upper bounds of a histogram's buckets, in seconds.
    static let bounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    public init(descriptions: [String: String]) {
        self.descriptions = descriptions
    }

    private func find<Made: Series>(_ label: String, _ dimensions: [(String, String)], _ make: () -> Made) -> Made {
        let id = SeriesID(label: label, dimensions: dimensions.map { .init(name: $0.0, value: $0.1) })
        return series.withLock { series in
            if let known = series[id] as? Made { return known }
            let made = make()
            // A name has the type of its first use; later uses with another type are ignored.
            if series[id] == nil { series[id] = made }
            return made
        }
    }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, dimensions) { CounterSeries() }
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        find(label, dimensions) { FloatingCounterSeries() }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, dimensions) { GaugeSeries() }
    }

    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return find(label, dimensions) { HistogramSeries() } }
        return find(label, dimensions) { GaugeSeries() }
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        find(label, dimensions) { HistogramSeries() }
    }

    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// All metrics, sorted by name.
    public func families() -> [MetricFamily] {
        let all = series.withLock { $0 }
        var families: [String: MetricFamily] = [:]
        for (id, series) in all {
            let labels = id.dimensions.map { (name: $0.name, value: $0.value) }
            families[
                id.label,
                default: MetricFamily(id.label, series.type, descriptions[id.label] ?? id.label)
            ].samples += series.samples(labels)
        }
        return families.values.sorted { $0.name < $1.name }
    }
}

/// One metric with one set of labels.
protocol Series: AnyObject, Sendable {
    var type: MetricFamily.Kind { get }
    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample]
}

final class CounterSeries: Series, CounterHandler {
    private let value = Mutex<Int64>(0)
    let type = MetricFamily.Kind.counter

    func increment(by amount: Int64) { value.withLock { $0 = $0.addingReportingOverflow(max(0, amount)).partialValue } }
    func reset() { value.withLock { $0 = 0 } }
    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        [MetricFamily.Sample(labels: labels, value: Double(value.withLock { $0 }))]
    }
}

final class FloatingCounterSeries: Series, FloatingPointCounterHandler {
    private let value = Mutex(0.0)
    let type = MetricFamily.Kind.counter

    func increment(by amount: Double) { value.withLock { $0 += amount > 0 && amount.isFinite ? amount : 0 } }
    func reset() { value.withLock { $0 = 0 } }
    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        [MetricFamily.Sample(labels: labels, value: value.withLock { $0 })]
    }
}

final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)
    let type = MetricFamily.Kind.gauge

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        [MetricFamily.Sample(labels: labels, value: value.withLock { $0 })]
    }
}

final class HistogramSeries: Series, TimerHandler, RecorderHandler {
    private struct State {
        var counts = Array(repeating: 0, count: MetricsRegistry.bounds.count + 1)
        var sum = 0.0
    }

    private let state = Mutex(State())
    let type = MetricFamily.Kind.histogram

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = MetricsRegistry.bounds.firstIndex { value <= $0 } ?? MetricsRegistry.bounds.count
        state.withLock {
            $0.counts[index] += 1
            $0.sum += value
        }
    }

    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        let state = state.withLock { $0 }
        return MetricFamily.Sample.histogram(
            labels, bounds: MetricsRegistry.bounds, counts: state.counts, sum: state.sum)
    }
}
