/// Latencies of one screen, in µs. The demo has a few thousand, so that all are kept.
struct Latencies {
    private var samples: [UInt64] = []

    var count: Int { samples.count }

    mutating func record(_ microseconds: UInt64) { samples.append(microseconds) }

    /// The smallest sample that at least `percent` of all samples do not exceed (nearest rank); 0 without samples.
    func percentile(_ percent: Int) -> UInt64 {
        guard !samples.isEmpty else { return 0 }
        return samples.sorted()[max(0, (samples.count * percent + 99) / 100 - 1)]
    }
}
