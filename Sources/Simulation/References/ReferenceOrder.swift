/// The reference model of an order or a ride, which histories are checked against.
///
/// It follows ``ReferenceRules``: the machines of the simulation's kinds and of the shipped ones as tables.
struct ReferenceOrder: ReferenceModel {
    private let rules: ReferenceRules
    /// Milliseconds for which a dismissed one is kept; `nil` where the kinds' clock is not the one that retention goes by.
    private let retention: Int64?
    private var lifecycle = ""
    private var state = ""
    private var machineDue: Int64?
    private var staleDue: Int64?
    private var endDue: Int64?
    private var removalDue: Int64?
    /// The hub's clock at the record before: a deadline cannot fire before it was armed.
    private var heard: Int64 = 0
    private var pruningDue: Int64?
    /// The newest commit that entered a milestone, and the newest that alerts.
    private(set) var newestMilestone: Int64 = 0
    private(set) var newestAlert: Int64 = 0

    init(_ rules: ReferenceRules, retention: Int64?) {
        self.rules = rules
        self.retention = retention
    }

    private var isThere: Bool { lifecycle != "" }
    private var isDismissed: Bool { lifecycle == "dismissed" }
    private var isShown: Bool { isThere && !isDismissed }
    private var description: String { "\(lifecycle) \(state)" }
    var stateText: String? { isThere ? description : nil }
    var isListed: Bool? { isShown }
    /// The members that a full row must have.
    var staleAt: Int64? { lifecycle == "active" ? staleDue : nil }
    var removeAt: Int64? { lifecycle == "ended" ? removalDue : nil }

    mutating func applyRecord(_ record: HistoryRecord, leap: Int64) -> String? {
        if record.heard < heard { return "time goes back" }
        heard = record.heard
        if record.type == "pruned" {
            let (due, before) = (pruningDue, lifecycle)
            self = ReferenceOrder(rules, retention: retention)
            heard = record.heard
            guard before == "dismissed" else { return "what is \(before) is pruned" }
            return due.map { $0 <= record.heard } ?? true ? nil : "it is pruned too early"
        }
        if record.type == "deadline" {
            if let fault = fire(record) { return fault }
        } else {
            if let due = nextDue, due <= record.heard {
                return "\(record.type) came \(record.heard - due) ms after a deadline that had not fired"
            }
            if let fault = event(record) { return fault }
        }
        return record.state == description
            ? nil : "\(record.type) (\(record.verdict)) led to \(record.state), not to \(description)"
    }

    /// Its next deadline, on the hub's clock.
    var nextDue: Int64? {
        let due = min(
            machineDue ?? .max, staleDue ?? .max, endDue ?? .max, removalDue ?? .max, pruningDue ?? .max)
        return due == .max ? nil : due
    }

    private mutating func fire(_ record: HistoryRecord) -> String? {
        guard let due = nextDue, !isDismissed else { return "a deadline fired and none was set" }
        if due != record.happened { return "the deadline at \(due) fired as the one at \(record.happened)" }
        if due > record.heard { return "a deadline fired \(due - record.heard) ms too early" }
        fire(due, heard: record.heard, rev: record.rev)
        return nil
    }

    private mutating func fire(_ due: Int64, heard: Int64, rev: Int64) {
        if machineDue == due {
            enter(rules.timers[state]?.to ?? "", at: due, rev: rev)
            // A timer is no update, so the date at which the order goes stale stays.
        } else if staleDue == due {
            lifecycle = "stale"
            staleDue = nil
        } else if endDue == due {
            end(at: due, linger: rules.linger)
        } else {
            dismiss(at: heard)
        }
    }

    /// Whether a card shows it: the condition of the kind `card`.
    var isOnCard: Bool { isShown && state != "collected" }

    /// The condition of the kind `nudge`.
    var isReady: Bool { isShown && state == "ready" }

    /// Whether the kind `queue` counts it, and counts it as late.
    var isQueued: Bool { isShown && lifecycle != "ended" }
    var isLate: Bool { isQueued && state == "unattended" }
    var isCollected: Bool { state == "collected" }

    /// The pictures on a card from the newest record on, until an event comes.
    var foreseen: [(date: Int64, drawn: ReferenceWidget.Drawn)] {
        var copy = self
        var moments = [(date: heard, drawn: copy.drawnOnCard)]
        while !copy.isDismissed, let due = copy.nextDue {
            copy.fire(due, heard: due, rev: 0)
            moments.append((due, copy.drawnOnCard))
        }
        return moments
    }

    private var drawnOnCard: ReferenceWidget.Drawn {
        isOnCard ? .init(number: "\(lifecycle) \(state)", isStale: lifecycle == "stale") : .nothing
    }

    private mutating func event(_ record: HistoryRecord) -> String? {
        if record.hasAlert, record.verdict == "applied" { newestAlert = record.rev }
        if lifecycle == "" || (lifecycle == "dismissed" && record.isBeginning(by: rules) && record.verdict != "stale") {
            guard record.verdict == "applied" else {
                return lifecycle == "" ? "it begins with \(record.verdict)" : nil
            }
            lifecycle = "active"
            (machineDue, removalDue, pruningDue) = (nil, nil, nil)
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
                if lifecycle != "dismissed" { dismiss(at: record.heard) }
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
        if rules.milestones.contains(next) { newestMilestone = rev }
        if rules.alerts.contains(next) { newestAlert = rev }
    }

    private mutating func freshen(at time: Int64) {
        lifecycle = "active"
        staleDue = rules.staleAfter.map { time + $0 }
    }

    private mutating func end(at time: Int64, linger: Int64) {
        if linger == 0 { return dismiss(at: time) }
        lifecycle = "ended"
        machineDue = nil
        staleDue = nil
        endDue = nil
        removalDue = time + linger
    }

    private mutating func dismiss(at time: Int64) {
        lifecycle = "dismissed"
        (machineDue, staleDue, endDue, removalDue) = (nil, nil, nil, nil)
        pruningDue = retention.map { time + $0 }
    }
}
