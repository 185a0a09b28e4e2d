import Model
import Wire

/// What an order or a ride must do, on a page: the reference that histories are held against.
///
/// It goes by ``ReferenceRules``, which know the machines of the simulation's kinds and of those that ship as tables.
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
        func isBeginning(by rules: ReferenceRules) -> Bool {
            type == "start" || rules.beginnings[rules.renames[type] ?? type] != nil
        }

        /// A life begins with it for certain; where older records may have been pruned, another event than `start` may
        /// stand in the midst of one.
        func isFirst(ofWholeHistory isWhole: Bool, by rules: ReferenceRules) -> Bool {
            verdict == "applied" && (type == "start" || (isBeginning(by: rules) && isWhole))
        }
    }

    let rules: ReferenceRules
    private var lifecycle = ""
    private var state = ""
    private var machineDue: Int64?
    private var staleDue: Int64?
    private var endDue: Int64?
    private var removalDue: Int64?
    /// The hub's clock at the record before: a deadline cannot fire before it was armed.
    private var heard: Int64 = 0
    /// Revs at which a milestone was entered.
    private(set) var milestones: [Int64] = []

    init(_ rules: ReferenceRules) {
        self.rules = rules
    }

    /// Nothing is left of an order but the time, and what was told of it.
    private init(after old: ReferenceOrder) {
        rules = old.rules
        heard = old.heard
        milestones = old.milestones
    }

    /// - Returns: What is wrong with it.
    mutating func take(_ record: Record) -> String? {
        if record.heard < heard { return "time goes back" }
        heard = record.heard
        if record.type == "pruned" {
            let wasDismissed = lifecycle == "dismissed"
            self = ReferenceOrder(after: self)
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

    private var nextDue: Int64? { [machineDue, staleDue, endDue, removalDue].compactMap { $0 }.min() }

    private mutating func fire(_ record: Record) -> String? {
        guard let due = nextDue else { return "a deadline fired and none was set" }
        if due > record.heard { return "a deadline fired \(due - record.heard) ms too early" }
        if machineDue == due {
            enter(rules.timers[state]?.to ?? "", at: due, rev: record.rev)
            // A timer is no news: what is fresh stays as fresh as it was.
        } else if staleDue == due {
            lifecycle = "stale"
            staleDue = nil
        } else if endDue == due {
            end(at: due, linger: rules.linger)
        } else {
            lifecycle = "dismissed"
            removalDue = nil
        }
        return nil
    }

    private mutating func event(_ record: Record) -> String? {
        if lifecycle == "" || (lifecycle == "dismissed" && record.isBeginning(by: rules) && record.verdict != "stale") {
            guard record.verdict == "applied" else {
                return lifecycle == "" ? "it begins with \(record.verdict)" : nil
            }
            lifecycle = "active"
            machineDue = nil
            removalDue = nil
            endDue = record.heard + rules.longestLife
            enter(rules.initial, at: record.heard, rev: record.rev, isStart: true)
            if let next = rules.beginnings[rules.renames[record.type] ?? record.type] {
                enter(next, at: record.heard, rev: record.rev)
            }
            freshen(at: record.heard)
            return nil
        }
        switch (record.type, record.verdict) {
        case ("dismissed", _), ("seen", _):
            // Whose devices it was on is not the reference's business, so it takes the life-cycle from the record.
            if record.state.hasPrefix("dismissed ") {
                lifecycle = "dismissed"
                (machineDue, staleDue, endDue, removalDue) = (nil, nil, nil, nil)
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
            end(at: record.heard, linger: rules.linger)
            return nil
        case ("end", _): return lifecycle == "ended" || lifecycle == "dismissed" ? nil : "an end is \(record.verdict)"
        case (_, "ignored"):
            if lifecycle != "ended", lifecycle != "dismissed", rules.target(of: record.type, in: state) != nil {
                return "\(record.type) in \(state) is ignored"
            }
            return nil
        case (_, "applied"), (_, "noop"):
            guard lifecycle == "active" || lifecycle == "stale" else {
                return "\(record.type) moves what is \(lifecycle)"
            }
            guard let target = rules.target(of: record.type, in: state) else {
                return "\(record.type) has no edge in \(state)"
            }
            enter(target, at: record.heard, rev: record.rev)
            if let linger = rules.ends[target] {
                end(at: record.heard, linger: linger)
            } else {
                freshen(at: record.heard)
            }
            return nil
        case _: return "\(record.type) is \(record.verdict)"
        }
    }

    private mutating func enter(_ next: String, at time: Int64, rev: Int64, isStart: Bool = false) {
        // To itself without a new entry: its timers go on.
        if next == state, !isStart { return }
        state = next
        machineDue = rules.timers[next].map { time + $0.after }
        if rules.milestones.contains(next), milestones.last != rev { milestones.append(rev) }
    }

    private mutating func freshen(at time: Int64) {
        lifecycle = "active"
        staleDue = rules.staleAfter.map { time + $0 }
    }

    private mutating func end(at time: Int64, linger: Int64) {
        lifecycle = "ended"
        machineDue = nil
        staleDue = nil
        endDue = nil
        removalDue = time + linger
    }
}
