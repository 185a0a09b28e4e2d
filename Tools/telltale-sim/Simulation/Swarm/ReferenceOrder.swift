import Model
import Wire

/// What an order or a ride must do, on a page: the reference that histories are held against.
///
/// It knows the two machines of ``SimulatedKinds`` as tables, and the clocks of a live activity.
struct ReferenceOrder {
    /// One line of HISTORY.
    struct Record {
        var sequence: Int64
        var rev: Int64
        var type: String
        var verdict: String
        var heard: Int64
        /// Life-cycle and state after it, as the hub recorded them.
        var state: String
        /// `source/eid`.
        var id: String?

        init?(_ line: ServerLine) {
            guard let sequence = line.tail?["seq"]?.integer, let rev = line.integer("rev"), let type = line["type"],
                let verdict = line["verdict"], let heard = line.integer("heard"),
                let state = line.tail?["state"]?.string
            else { return nil }
            (self.sequence, self.rev, self.type, self.verdict) = (sequence, rev, type, verdict)
            (self.heard, self.state) = (heard, state)
            if let source = line.tail?["src"]?.string, let eid = line.tail?["eid"]?.string { id = "\(source)/\(eid)" }
        }

        /// It may begin a life.
        var isBeginning: Bool { type == "start" || type == "confirm" }

        /// A life begins with it for certain; where older records may have been pruned, a `confirm` may stand in the
        /// midst of one.
        func isFirst(ofWholeHistory isWhole: Bool) -> Bool {
            verdict == "applied" && (type == "start" || (type == "confirm" && isWhole))
        }
    }

    private static let order: [String: [String: String]] = [
        "placed": ["confirm": "queued"], "queued": ["brew": "brewing"], "brewing": ["ready": "ready"],
        "ready": ["collect": "collected"], "unattended": ["brew": "brewing"],
    ]
    private static let ride: [String: [String: String]] = [
        "called": ["ride": "riding"], "riding": ["pause": "paused", "arrive": "arrived"], "paused": ["ride": "riding"],
    ]
    private static let orderTimers: [String: (after: Int64, to: String)] = [
        "placed": (40_000, "unattended"), "brewing": (90_000, "unattended"),
    ]
    private static let rideTimers: [String: (after: Int64, to: String)] = ["paused": (25_000, "riding")]
    private static let milestoneStates: Set<String> = ["ready", "collected", "cancelled", "riding"]

    let isRide: Bool
    private var lifecycle = ""
    private var state = ""
    private var machineDue: Int64?
    private var staleDue: Int64?
    private var removalDue: Int64?
    /// The hub's clock at the record before: a deadline cannot fire before it was armed.
    private var heard: Int64 = 0
    /// Revs at which a milestone was entered.
    private(set) var milestones: [Int64] = []

    init(isRide: Bool) {
        self.isRide = isRide
    }

    /// Nothing is left of an order but the time, and what was told of it.
    private init(isRide: Bool, after old: ReferenceOrder) {
        self.isRide = isRide
        heard = old.heard
        milestones = old.milestones
    }

    /// - Returns: What is wrong with it.
    mutating func take(_ record: Record) -> String? {
        if record.heard < heard { return "time goes back" }
        heard = record.heard
        if record.type == "pruned" {
            let wasDismissed = lifecycle == "dismissed"
            self = ReferenceOrder(isRide: isRide, after: self)
            return wasDismissed ? nil : "what is \(lifecycle) is pruned"
        }
        if record.type == "deadline" {
            if let fault = fire(record) { return fault }
        } else {
            if let due = nextDue, due <= record.heard {
                return "\(record.type) came \(record.heard - due) ms after a deadline that had not fired"
            }
            if let fault = event(record) { return fault }
        }
        let expected = "\(lifecycle) \(state)"
        return record.state == expected
            ? nil : "\(record.type) (\(record.verdict)) led to \(record.state), not to \(expected)"
    }

    private var nextDue: Int64? { [machineDue, staleDue, removalDue].compactMap { $0 }.min() }

    private mutating func fire(_ record: Record) -> String? {
        guard let due = nextDue else { return "a deadline fired and none was set" }
        if due > record.heard { return "a deadline fired \(due - record.heard) ms too early" }
        if machineDue == due {
            enter(timers[state]?.to ?? "", at: due, rev: record.rev)
            // A timer is no news: what is fresh stays as fresh as it was.
        } else if staleDue == due {
            lifecycle = "stale"
            staleDue = nil
        } else {
            lifecycle = "dismissed"
            removalDue = nil
        }
        return nil
    }

    private mutating func event(_ record: Record) -> String? {
        if lifecycle == "" || (lifecycle == "dismissed" && record.isBeginning && record.verdict != "stale") {
            guard record.verdict == "applied" else {
                return lifecycle == "" ? "it begins with \(record.verdict)" : nil
            }
            lifecycle = "active"
            machineDue = nil
            removalDue = nil
            enter(isRide ? "called" : "placed", at: record.heard, rev: record.rev, isStart: true)
            if record.type == "confirm", !isRide { enter("queued", at: record.heard, rev: record.rev) }
            freshen(at: record.heard)
            return nil
        }
        switch (record.type, record.verdict) {
        case ("dismissed", _), ("seen", _):
            // Whose devices it was on is not the reference's business, so it takes the life-cycle from the record.
            if record.state.hasPrefix("dismissed ") {
                lifecycle = "dismissed"
                (machineDue, staleDue, removalDue) = (nil, nil, nil)
            }
            return nil
        case (_, "stale"): return nil
        case ("start", _): return record.verdict == "ignored" ? nil : "a second start is \(record.verdict)"
        case ("update", "applied"), ("update", "noop"):
            if lifecycle == "ended" { return "an ended one is updated" }
            freshen(at: record.heard)
            return nil
        case ("update", _):
            return lifecycle == "ended" || lifecycle == "dismissed" ? nil : "an update is \(record.verdict)"
        case ("end", "applied"):
            end(at: record.heard, linger: isRide ? 20_000 : 60_000)
            return nil
        case ("end", _): return lifecycle == "ended" || lifecycle == "dismissed" ? nil : "an end is \(record.verdict)"
        case (_, "ignored"):
            if lifecycle != "ended", lifecycle != "dismissed", target(of: record.type) != nil {
                return "\(record.type) in \(state) is ignored"
            }
            return nil
        case (_, "applied"), (_, "noop"):
            guard lifecycle == "active" || lifecycle == "stale" else {
                return "\(record.type) moves what is \(lifecycle)"
            }
            guard let target = target(of: record.type) else { return "\(record.type) has no edge in \(state)" }
            enter(target, at: record.heard, rev: record.rev)
            if ["collected", "cancelled", "arrived"].contains(target) {
                end(at: record.heard, linger: target == "cancelled" ? 10_000 : isRide ? 20_000 : 60_000)
            } else {
                freshen(at: record.heard)
            }
            return nil
        case _: return "\(record.type) is \(record.verdict)"
        }
    }

    private var timers: [String: (after: Int64, to: String)] { isRide ? Self.rideTimers : Self.orderTimers }

    private func target(of event: String) -> String? {
        if !isRide, event == "cancel" { return "cancelled" }
        return (isRide ? Self.ride : Self.order)[state]?[event]
    }

    private mutating func enter(_ next: String, at time: Int64, rev: Int64, isStart: Bool = false) {
        state = next
        machineDue = timers[next].map { time + $0.after }
        if Self.milestoneStates.contains(next), isMilestone(next), milestones.last != rev { milestones.append(rev) }
    }

    private func isMilestone(_ state: String) -> Bool { isRide ? state == "riding" : state != "riding" }

    private mutating func freshen(at time: Int64) {
        lifecycle = "active"
        staleDue = isRide ? nil : time + 30_000
    }

    private mutating func end(at time: Int64, linger: Int64) {
        lifecycle = "ended"
        machineDue = nil
        staleDue = nil
        removalDue = time + linger
    }
}
