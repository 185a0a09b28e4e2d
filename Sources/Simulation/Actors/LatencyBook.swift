/// The times from the moment at which an event was due at its sender to its row on each screen.
///
/// The due time counts, not the time at which a connection was free, so a late sender cannot hide a slow daemon
/// (coordinated omission). An event that was folded into a newer one has no row and no sample.
final class LatencyBook {
    /// The name under which samples are kept, instead of the view's, while a screen reads slowly by its own fault.
    static let slowReader = "slow readers"

    private var due: [Int64: Int64] = [:]
    private var early: [Int64: [(view: String, time: Int64, now: Int64)]] = [:]
    private(set) var samples: [String: [Int64]] = [:]
    /// By the scenario's time.
    var timeline = Timeline()

    /// How many rows may wait for the reply that reports their due time. Rows beyond that belong to no event of this run.
    private static let earlyLimit = 200_000

    /// The reply of an event that was applied.
    func applied(rev: Int64, due time: Int64) {
        due[rev] = time
        for arrival in early.removeValue(forKey: rev) ?? [] { record(arrival.view, arrival.time - time, arrival.now) }
    }

    /// A row of a live subscription that its screen sees for the first time. It may be there before the reply.
    ///
    /// - Parameter now: The scenario's time, in milliseconds.
    func arrived(rev: Int64, view: String, at time: Int64, now: Int64) {
        if let due = due[rev] {
            record(view, time - due, now)
        } else if early.count < Self.earlyLimit {
            early[rev, default: []].append((view, time, now))
        }
    }

    private func record(_ view: String, _ span: Int64, _ now: Int64) {
        samples[view, default: []].append(max(0, span))
        if view != Self.slowReader { timeline.measured(max(0, span), at: now) }
    }
}
