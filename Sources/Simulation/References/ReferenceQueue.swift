/// The model of the widget `queue/main` of ``SimulatedWidgets``: it counts the orders one by one.
struct ReferenceQueue {
    /// The values after a commit.
    struct Values: Hashable {
        var open = 0
        var late = 0
        /// How many orders were collected in the hour that began at `hour`, in milliseconds.
        var done = 0
        var hour: Int64 = 0

        func drawn(at time: Int64) -> ReferenceWidget.Drawn {
            .init(number: "\(open) \(late) \(time < hour + ReferenceQueue.period ? done : 0)")
        }

        var moments: [Int64] { [hour + ReferenceQueue.period] }
    }

    static let period: Int64 = 3_600_000
    private var orders: [String: ReferenceOrder] = [:]
    private var values = Values()
    /// After the newest commit.
    var current: Values { values }
    private var byCommit: [Int64: Values] = [:]

    func values(at rev: Int64) -> Values? { byCommit[rev] }

    /// The widget began with this record.
    mutating func begin(_ rev: Int64) { byCommit[rev] = values }

    mutating func enqueueRecord(_ record: HistoryRecord, _ key: String, _ order: ReferenceOrder) {
        let former = orders[key]
        orders[key] = order
        var reported = values
        reported.open = orders.values.count { $0.isQueued }
        reported.late = orders.values.count { $0.isLate }
        if order.isCollected, let former, former.isQueued, !former.isCollected {
            let hour = record.heard / Self.period * Self.period
            if reported.hour != hour { (reported.hour, reported.done) = (hour, 0) }
            reported.done += 1
        }
        guard reported != values else { return }
        values = reported
        byCommit[record.sequence] = reported
    }
}
