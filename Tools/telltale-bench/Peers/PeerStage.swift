/// The servers of a comparison, started, and the most that each of them can do before one audience.
struct PeerStage {
    let shape: FanOutLoad.Shape
    let pace: PaceArgument
    /// Telltale stands twice, as the first and as "again".
    private(set) var targets: [any FanOutTarget] = []
    /// Of each target: events on their way, at which it delivers most.
    private(set) var windows: [Int] = []
    /// Events a second that the slowest server delivers.
    private(set) var maximum = Double.infinity

    /// - Parameter seconds: Of each measurement.
    init(_ shape: FanOutLoad.Shape, group: PeerGroup, seconds: Double, progress: Progress) throws {
        self.shape = shape
        pace = group.settings.pace
        var plan = FanOutPlan(rate: nil, window: 64, warmUpSeconds: seconds / 2, seconds: seconds)
        // Several events on their way share writes. With one event of each key, no server folds any.
        let candidates = shape.keys < 64 ? [64, shape.keys] : [64]
        var line = 0
        for name in group.names {
            let target = try group.start(name, lineByteCount: line)
            var most = (deliveries: 0.0, events: 0.0, window: 64)
            for window in candidates {
                plan.window = window
                let result = try measure(plan, target, "finding the rate", progress)
                if result.deliveriesPerSecond > most.deliveries {
                    most = (result.deliveriesPerSecond, result.eventsPerSecond, window)
                }
            }
            targets.append(target)
            windows.append(most.window)
            maximum = min(maximum, most.events)
            if name == "telltale" { line = try lineLength(of: target, progress) }
        }
        if group.names.contains("telltale") {
            targets.insert(try group.start("telltale", suffix: "-again"), at: 1)
            windows.insert(windows[0], at: 1)
        }
    }

    private func measure(
        _ plan: FanOutPlan, _ target: any FanOutTarget, _ label: String, _ progress: Progress
    ) throws -> FanOutResult {
        try target.makeLoad(shape).measure(
            plan, on: target.process, label: "\(label), \(target.name)", progress: progress)
    }

    /// Folded rows say so, and are longer; so slowly none is folded, but by a machine that stood still.
    private func lineLength(of target: any FanOutTarget, _ progress: Progress) throws -> Int {
        let plan = FanOutPlan(
            rate: min(20, ceiling), warmUpSeconds: 0.2, seconds: max(0.5, 0.006 * Double(pace.milliseconds ?? 1)))
        var length = 0
        for _ in 1...5 {
            let result = try measure(plan, target, "finding the length", progress)
            length = Int(result.bytesPerDelivery.rounded())
            if result.foldedShare == 0 { break }
        }
        return length
    }

    /// The rate at which Telltale folds no event: one event of each key in three paces, because the time of the writes
    /// adds to the pace.
    var ceiling: Double { 1_000 * Double(shape.keys) / Double(3 * max(1, pace.milliseconds ?? 1)) }
}
