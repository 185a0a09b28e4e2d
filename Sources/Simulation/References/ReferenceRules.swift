/// A kind as the reference model knows it: a table of its machine, and the clocks of a live activity. All times are in
/// milliseconds.
struct ReferenceRules {
    var initial: String
    var edges: [String: [String: String]]
    /// Edges that every state has.
    var everywhere: [String: String] = [:]
    /// An edge that is everywhere leads forward only, where states have ranks.
    var ranks: [String: Int] = [:]
    var renames: [String: String] = [:]
    /// Events that begin a life, and the state that they lead to.
    var beginnings: [String: String] = [:]
    var timers: [String: (after: Int64, to: String)] = [:]
    var milestones: Set<String>
    /// States whose entry raises an alert.
    var alerts: Set<String> = []
    /// States in which it has ended, and for how long it lingers then; for 0, it leaves at once.
    var ends: [String: Int64]
    var linger: Int64
    var staleAfter: Int64?
    var longestLife: Int64 = 8 * hour

    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000

    func target(of event: String, in state: String) -> String? {
        let event = renames[event] ?? event
        if let target = edges[state]?[event] { return target }
        guard let target = everywhere[event] else { return nil }
        if let from = ranks[state], let to = ranks[target], to < from { return nil }
        return target
    }

    /// - Parameter key: Its kind decides; `nil` for one that the reference does not know.
    static func of(_ key: String) -> ReferenceRules? {
        switch key.prefix(while: { $0 != "/" }) {
        case "order":
            coffee(
                timers: ["placed": (40_000, "unattended"), "brewing": (90_000, "unattended")], stale: 30_000,
                linger: 60_000, cancelled: 10_000)
        case "coffee-order":
            coffee(
                timers: ["placed": (5 * minute, "unattended")], stale: 4 * minute, linger: 15 * minute,
                cancelled: minute)
        case "ride":
            ReferenceRules(
                initial: "called",
                edges: [
                    "called": ["ride": "riding"], "riding": ["pause": "paused", "arrive": "arrived"],
                    "paused": ["ride": "riding"],
                ], everywhere: ["cancel": "declined"], timers: ["paused": (25_000, "riding")],
                milestones: ["riding", "declined"], alerts: ["declined"], ends: ["arrived": 20_000, "declined": 0],
                linger: 20_000)
        case "flight": flight
        case "parcel": parcel
        case _: nil
        }
    }

    private static func coffee(
        timers: [String: (after: Int64, to: String)], stale: Int64, linger: Int64, cancelled: Int64
    ) -> ReferenceRules {
        ReferenceRules(
            initial: "placed",
            edges: [
                "placed": ["confirm": "queued"], "queued": ["brew": "brewing"], "brewing": ["ready": "ready"],
                "ready": ["collect": "collected"], "unattended": ["brew": "brewing"],
            ], everywhere: ["cancel": "cancelled"], renames: ["CONFIRMED": "confirm", "IN_PROGRESS": "brew"],
            beginnings: ["confirm": "queued"], timers: timers, milestones: ["ready", "collected", "cancelled"],
            alerts: ["ready"],
            ends: ["collected": linger, "cancelled": cancelled], linger: linger, staleAfter: stale)
    }

    private static let flight = ReferenceRules(
        initial: "announced", edges: [:],
        everywhere: [
            "scheduled_departure": "scheduled", "delayed": "delayed", "departed": "departed", "arrived": "arrived",
            "canceled": "canceled", "diverted": "diverted",
        ], ranks: ["announced": 0, "scheduled": 1, "delayed": 1, "departed": 2, "arrived": 3],
        renames: ["arrived_dest_local": "arrived", "diverted_or_unknown": "diverted"],
        beginnings: ["scheduled_departure": "scheduled"],
        milestones: ["departed", "arrived", "canceled", "diverted"],
        ends: ["arrived": hour, "canceled": hour, "diverted": hour], linger: hour, longestLife: 7 * 24 * hour)

    private static let parcel = ReferenceRules(
        initial: "announced", edges: [:],
        everywhere: [
            "purchased": "ordered", "approved": "approved", "handed_to_carrier": "handed_to_carrier",
            "delivered": "delivered", "canceled": "canceled", "unavailable": "unavailable",
        ], ranks: ["announced": 0, "ordered": 1, "approved": 2, "handed_to_carrier": 3, "delivered": 4],
        beginnings: ["purchased": "ordered"],
        milestones: ["handed_to_carrier", "delivered", "canceled", "unavailable"],
        ends: ["delivered": 24 * hour, "canceled": hour, "unavailable": hour], linger: 24 * hour,
        longestLife: 365 * 24 * hour)
}
