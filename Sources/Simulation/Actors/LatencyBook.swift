/// From the moment at which an event was meant to leave its sender, to its row on each screen.
///
/// A late sender does not hide a slow daemon (coordinated omission): what counts is when the event was due, not when a
/// connection was free for it. An event that was folded into a newer one has no row, and no sample.
final class LatencyBook {
    /// Instead of a view: what a screen got while it read slowly, by its own fault.
    static let slowReader = "slow readers"

    private var due: [Int64: Int64] = [:]
    private var early: [Int64: [(view: String, time: Int64)]] = [:]
    private(set) var samples: [String: [Int64]] = [:]

    /// So many rows may wait for the reply that tells what they are; beyond that, nobody asked for them.
    private static let earlyLimit = 200_000

    /// The reply of an event that was applied.
    func applied(rev: Int64, due time: Int64) {
        due[rev] = time
        for arrival in early.removeValue(forKey: rev) ?? [] { record(arrival.view, arrival.time - time) }
    }

    /// A row of a live subscription that its screen sees for the first time. It may be there before the reply.
    func arrived(rev: Int64, view: String, at time: Int64) {
        if let due = due[rev] {
            record(view, time - due)
        } else if early.count < Self.earlyLimit {
            early[rev, default: []].append((view, time))
        }
    }

    private func record(_ view: String, _ span: Int64) { samples[view, default: []].append(max(0, span)) }
}
