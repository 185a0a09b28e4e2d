internal import Kinds
internal import Model
internal import Statechart

// What each event does. Whatever may be refused is asked before anything is changed: a refusal leaves the activity as it
// was, without a copy of it.
extension Activity {
    /// Becomes visible: by a `start`, or when its scheduled start comes.
    mutating func begin(
        entered: StateList, alert: ActivityAlert?, at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        startedAt = now
        updatedAt = now
        lifecycle = .active
        refresh(at: now)
        isWithheld = lifecycle == .stale
        announce(entered: entered, alert: alert ?? stateAlert(of: entered), at: now, &outcome)
    }

    mutating func takeUpdate(
        _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        let details = event.details
        if let replaced = details.content {
            try Self.checkSize(replaced, attributesByteCount: attributesByteCount, settings: settings)
        }
        let before = (content, score, lifecycle, staleAt)
        let staleDateChanged = details.staleDate != staleDate
        content = details.content ?? content
        score = details.score
        staleDate = details.staleDate
        remember(event, at: now)

        var outcome = ActivityOutcome(.noop)
        if lifecycle != .pending {
            refresh(at: now)
            if let alert = details.alert { announce(entered: [], alert: alert, at: now, &outcome) }
        }
        let isChanged =
            (content, score, lifecycle) != (before.0, before.1, before.2) || staleDateChanged || outcome.alert != nil
        finish(isChanged: isChanged, staleAtChanged: staleAt != before.3, at: now, &outcome)
        return outcome
    }

    mutating func takeEnd(
        _ event: ActivityEvent, isOld: Bool, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        let details = event.details
        // What is older than what is shown ends it, and takes nothing back.
        if !isOld {
            if let replaced = details.content {
                try Self.checkSize(replaced, attributesByteCount: attributesByteCount, settings: settings)
                content = replaced
            }
            score = details.score ?? score
        }
        remember(event, at: now)

        var outcome = ActivityOutcome(.applied, .publish)
        outcome.isOldEnd = isOld
        updatedAt = now
        isAlerting = false
        guard lifecycle != .pending else {
            remove(at: now, &outcome)
            return outcome
        }
        end(requested: details.dismissalDate, at: now, &outcome)
        // What is out of order does not call anybody.
        if !isOld, let alert = details.alert { announce(entered: [], alert: alert, at: now, &outcome) }
        return outcome
    }

    mutating func takeDomainEvent(
        _ name: String, _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        let patch = event.details.content ?? [:]
        var values = MachineValues(
            attributes: attributes, content: event.details.content == nil ? content : content.merging(patch))
        try Self.checkSize(values.content, attributesByteCount: attributesByteCount, settings: settings)
        let limit = settings.byteCountLimit

        let ending =
            lifecycle == .ended ? (endedAt, removeAt, machine, staleDate, freshAt, isWithheld) : nil
        let step: StepResult
        do throws(MachineError) {
            if lifecycle == .ended {
                guard now < startedAt + kind.maxActive,
                    let reopened = try kind.statechart.reopen(
                        event: name, content: patch, at: machineTime(now), instance: &machine, values: &values,
                        contentLimit: limit)
                else { return ActivityOutcome(.ignored) }
                step = reopened
                endedAt = nil
                removeAt = nil
                lifecycle = .active
            } else {
                step = try kind.statechart.handle(
                    event: name, content: patch, at: machineTime(now), instance: &machine, values: &values,
                    contentLimit: limit)
            }
        } catch {
            throw .machine(error)
        }
        var outcome = ActivityOutcome(step.verdict)
        outcome.guardErrorCount = step.guardErrorCount
        outcome.guardErrorLocation = step.guardErrorLocation
        guard step.verdict != .ignored else { return outcome }
        remember(event, at: now)
        // A parked event's content comes with it, when the machine takes it up.
        guard step.verdict != .deferred else { return outcome }

        let before = (score, lifecycle, staleAt, content)
        let staleDateChanged = event.details.staleDate.map { $0 != staleDate } ?? false
        content = values.content
        score = event.details.score ?? score
        staleDate = event.details.staleDate ?? staleDate
        updateProgress()
        guard lifecycle != .pending else {
            let passed = milestones(in: step.entries, at: now)
            scheduled?.pass(passed)
            outcome.verdict = .noop
            let isChanged = step.verdict == .applied || content != before.3 || score != before.0
            finish(isChanged: isChanged, staleAtChanged: false, at: now, &outcome)
            if step.isDone { remove(at: now, &outcome) }
            return outcome
        }
        // A stale date that has passed is spent: it does not keep stale what has just been heard of.
        if event.details.staleDate == nil, let date = staleDate, date <= now { staleDate = nil }
        refresh(at: now)
        announce(entered: step.entries, alert: event.details.alert ?? stateAlert(of: step.entries), at: now, &outcome)
        outcome.verdict = .noop
        let isChanged =
            step.verdict == .applied || content != before.3 || score != before.0 || lifecycle != before.1
            || staleDateChanged || outcome.alert != nil
        if !isChanged, step.isDone, let ending {
            // Opened, and done again with nothing to show for it: its end is where it was.
            (endedAt, removeAt, machine, staleDate, freshAt, isWithheld) = ending
            (lifecycle, staleAt) = (.ended, nil)
            return outcome
        }
        finish(isChanged: isChanged, staleAtChanged: staleAt != before.2, at: now, &outcome)
        if step.isDone { end(requested: event.details.dismissalDate, at: now, &outcome) }
        return outcome
    }

    mutating func dismiss(
        account: String, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        switch lifecycle {
        // Nobody has seen a pending one, and a dismissed one is gone.
        case .pending, .dismissed: return ActivityOutcome(.ignored)
        case .active, .stale, .ended: break
        }
        guard isAddressed(to: account) else { return ActivityOutcome(.ignored) }
        let position = try markPosition(of: account, settings: settings)
        guard !marks[position].isDismissed else { return ActivityOutcome(.noop) }
        marks[position].isDismissed = true
        isAlerting = false
        var outcome = ActivityOutcome(.applied, .publish)
        if !accounts.isEmpty, accounts.allSatisfy({ mark(of: $0)?.isDismissed == true }) { remove(at: now, &outcome) }
        return outcome
    }

    mutating func see(
        account: String, rev: Int64, settings: ActivitySettings
    ) throws(ActivityRejection) -> ActivityOutcome {
        guard lifecycle != .dismissed, isAddressed(to: account) else { return ActivityOutcome(.ignored) }
        let position = try markPosition(of: account, settings: settings)
        if let seen = marks[position].seenRev, seen >= rev { return ActivityOutcome(.noop) }
        marks[position].seenRev = rev
        return ActivityOutcome(.applied)
    }
}

// MARK: Parts of a transition

extension Activity {
    /// The clock of the machine, which stands still while the activity is pending.
    func machineTime(_ now: Timestamp) -> Timestamp {
        guard let scheduledAt else { return now }
        return lifecycle == .pending ? scheduledAt : now + Milliseconds(0 - machineDelay.count)
    }

    /// How far the machine's clock is behind.
    var machineDelay: Milliseconds {
        guard let scheduledAt else { return .zero }
        return startedAt - scheduledAt
    }

    /// Something fresh was heard: the stale date is set anew, by the event's own, else the state's, else the kind's.
    mutating func refresh(at now: Timestamp) {
        freshAt = now
        staleAt = staleDate ?? (ownStale ?? kind.stale).map { now + $0 }
        lifecycle = staleAt.map { $0 <= now } ?? false ? .stale : .active
        if lifecycle == .active { isWithheld = false }
    }

    /// Closes a transition that was accepted: its verdict, and whether the row is another one now.
    mutating func finish(
        isChanged: Bool, staleAtChanged: Bool, at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        if isChanged {
            outcome.verdict = .applied
            updatedAt = now
        }
        // A noop that only moves the stale date is a noop to its sender, and another row to a reader of `staleAt`.
        guard isChanged || staleAtChanged else { return }
        outcome.effects.insert(.publish)
        if outcome.alert == nil { isAlerting = false }
    }

    /// Tells what was entered: milestones, and the alert that goes with it.
    mutating func announce(
        entered: StateList, alert: ActivityAlert?, at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        let passed = milestones(in: entered, at: now)
        if !passed.isEmpty { outcome.milestones += passed }
        // What no surface shows calls nobody.
        guard let alert, !isWithheld else { return }
        outcome.effects.insert(.alert)
        outcome.alert = alert
        lastAlertAt = now
        isAlerting = true
    }

    func milestones(in entered: StateList, at now: Timestamp) -> [ActivityOutcome.Milestone] {
        var milestones: [ActivityOutcome.Milestone] = []
        for state in entered where traits(of: state)?.isMilestone == true {
            guard let path = path(of: state) else { continue }
            milestones.append(.init(state: path, time: now))
        }
        return milestones
    }

    /// Ends it: frozen from here on, and removed at once or after its linger (table 2.1, L21–L23).
    mutating func end(requested: Timestamp?, at now: Timestamp, _ outcome: inout ActivityOutcome) {
        machine.cancelDeadlines()
        endedAt = now
        staleAt = nil
        // It ends within its longest time, so the longest linger is counted from here alone.
        let removal = min(requested ?? now + (ownDismiss ?? kind.dismiss), now + kind.maxLinger)
        outcome.effects.insert(.publish)
        guard removal > now else { return remove(at: now, &outcome) }
        lifecycle = .ended
        removeAt = removal
    }

    /// Takes it off every screen, for good.
    mutating func remove(at now: Timestamp, _ outcome: inout ActivityOutcome) {
        machine.cancelDeadlines()
        lifecycle = .dismissed
        staleAt = nil
        endedAt = endedAt ?? now
        removeAt = now
        outcome.effects.formUnion([.publish, .retire])
    }
}

// MARK: What the current states say

extension Activity {
    func traits(of state: StateIndex) -> StateTraits? {
        kind.states.indices.contains(state.rawValue) ? kind.states[state.rawValue] : nil
    }

    func path(of state: StateIndex) -> String? {
        let states = kind.statechart.states
        return states.indices.contains(state.rawValue) ? states[state.rawValue].path : nil
    }

    /// The nearest value that an active state gives, from the innermost outwards; of several regions, the shortest.
    private func nearest(_ value: (StateTraits) -> Milliseconds?) -> Milliseconds? {
        var shortest: Milliseconds?
        for leaf in machine.leaves(in: kind.statechart) {
            var state: StateIndex? = leaf
            while let index = state {
                if let found = traits(of: index).flatMap(value) {
                    shortest = shortest.map { min($0, found) } ?? found
                    break
                }
                let states = kind.statechart.states
                state = states.indices.contains(index.rawValue) ? states[index.rawValue].parent : nil
            }
        }
        return shortest
    }

    var ownStale: Milliseconds? { nearest(\.stale) }
    private var ownDismiss: Milliseconds? { nearest(\.dismiss) }

    /// A state that gives no progress leaves the last one as it is.
    mutating func updateProgress() {
        for leaf in machine.leaves(in: kind.statechart) {
            guard let fraction = traits(of: leaf)?.progress else { continue }
            progress = fraction
            return
        }
    }

    /// The alert of the innermost state that was entered last, filled in.
    func stateAlert(of entered: StateList) -> ActivityAlert? {
        for state in entered.reversed() {
            guard let alert = traits(of: state)?.alert else { continue }
            let context = templateContext
            return ActivityAlert(
                title: alert.title.rendered(in: context), body: alert.body.rendered(in: context), sound: alert.sound)
        }
        return nil
    }
}

// MARK: Accounts

extension Activity {
    /// Whether it was meant for `account`, which may have dismissed it since.
    public func isAddressed(to account: String) -> Bool {
        accounts.isEmpty || accounts.contains { $0.utf8.elementsEqual(account.utf8) }
    }

    func mark(of account: String) -> Mark? {
        if marks.isEmpty { return nil }
        let (position, isThere) = markPosition(of: account)
        return isThere ? marks[position] : nil
    }

    /// Where the mark of `account` is; it is made when there is none.
    private mutating func markPosition(
        of account: String, settings: ActivitySettings
    ) throws(ActivityRejection) -> Int {
        var (position, isThere) = markPosition(of: account)
        if isThere { return position }
        if marks.count >= settings.markLimit {
            let spare = try sparePosition(settings)
            marks.remove(at: spare)
            if spare < position { position -= 1 }
        }
        marks.insert(Mark(account: account), at: position)
        return position
    }

    /// The mark that is missed least: of one who has only looked, the longest ago.
    private func sparePosition(_ settings: ActivitySettings) throws(ActivityRejection) -> Int {
        var spare: (position: Int, seenRev: Int64)?
        for (position, mark) in marks.enumerated() where !mark.isDismissed {
            let seenRev = mark.seenRev ?? 0
            if seenRev < spare?.seenRev ?? .max { spare = (position, seenRev) }
        }
        guard let spare else { throw .markLimit(settings.markLimit) }
        return spare.position
    }

    /// Where the mark of `account` is, or would have to be inserted.
    private func markPosition(of account: String) -> (position: Int, isThere: Bool) {
        var low = 0
        var high = marks.count
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].account.utf8.lexicographicallyPrecedes(account.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return (low, low < marks.count && marks[low].account.utf8.elementsEqual(account.utf8))
    }

    /// Whether the devices of `account` may show it; `nil` is a connection without an account, which sees everything.
    public func isVisible(to account: String?) -> Bool {
        guard lifecycle != .dismissed else { return false }
        guard let account else { return true }
        return isAddressed(to: account) && mark(of: account)?.isDismissed != true
    }

    /// Whether the person of `account` swiped it away.
    public func isDismissed(by account: String) -> Bool { mark(of: account)?.isDismissed == true }

    /// Whether the alert of the commit `rev` need not go to the devices of `account` any more: it was seen on one of
    /// them, or its person dismissed the activity. That it has gone by itself is no reason: its end may be what the alert
    /// tells.
    public func isAlertSpent(rev: Int64, for account: String) -> Bool {
        guard let mark = mark(of: account) else { return false }
        return mark.isDismissed || mark.seenRev.map { $0 >= rev } ?? false
    }

    /// The accounts in whose limits it takes up room (table 2.1: pending, active and stale; an ended one leaves its room).
    public var occupiedAccounts: [String] {
        switch lifecycle {
        case .pending, .active, .stale: accounts.filter { !isDismissed(by: $0) }
        case .ended, .dismissed: []
        }
    }
}
