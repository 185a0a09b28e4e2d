internal import Kinds
internal import TelltaleModel
internal import TelltaleStatechart

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

    /// What every event does that is not one of the activity's own.
    ///
    /// - Parameter outcome: `ignored` before, and where nothing comes of it.
    mutating func takeDomainEvent(
        _ name: String, _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) throws(ActivityRejection) {
        if lifecycle == .ended { return try reopen(by: name, event, settings: settings, at: now, &outcome) }
        var newContent = try content(with: event, settings: settings)
        let step: StepResult
        do throws(MachineError) {
            if let plain = kind.statechart.plainStep(event: name, instance: &machine) {
                step = plain
            } else {
                var values = MachineValues(attributes: attributes, content: newContent)
                step = try kind.statechart.wholeStep(
                    event: name, content: event.details.content ?? [:], at: machineTime(now), instance: &machine,
                    values: &values, contentLimit: settings.byteCountLimit)
                newContent = values.content
            }
        } catch {
            throw .machine(error)
        }
        outcome.take(step)
        guard step.verdict != .ignored else { return }
        remember(event, at: now)
        // A parked event's content comes with it, when the machine takes it up.
        guard step.verdict != .deferred else { return }
        guard lifecycle != .pending else { return advance(step, newContent, event, at: now, &outcome) }
        let change = adopt(step, newContent, event, at: now, &outcome)
        conclude(change, step, event, at: now, &outcome)
    }

    /// What an ended one makes of a domain event: an edge of its final state's `reopen` may take it.
    ///
    /// - Parameter outcome: As of ``takeDomainEvent(_:_:settings:at:_:)``.
    private mutating func reopen(
        by name: String, _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) throws(ActivityRejection) {
        var values = MachineValues(attributes: attributes, content: try content(with: event, settings: settings))
        let ending = (endedAt, removeAt, machine, staleDate, freshAt, isWithheld)
        guard now < startedAt + kind.maxActive else { return }
        let step: StepResult
        do throws(MachineError) {
            let reopened = try kind.statechart.reopen(
                event: name, content: event.details.content ?? [:], at: machineTime(now), instance: &machine,
                values: &values, contentLimit: settings.byteCountLimit)
            guard let reopened else { return }
            step = reopened
        } catch {
            throw .machine(error)
        }
        (endedAt, removeAt, lifecycle) = (nil, nil, .active)
        outcome.take(step)
        remember(event, at: now)
        let change = adopt(step, values.content, event, at: now, &outcome)
        guard change.isChanged || !step.isDone else {
            // Opened, and done again with nothing to show for it: its end is where it was.
            (endedAt, removeAt, machine, staleDate, freshAt, isWithheld) = ending
            (lifecycle, staleAt) = (.ended, nil)
            return
        }
        conclude(change, step, event, at: now, &outcome)
    }

    /// The content, once that of the event is merged into it.
    private func content(
        with event: ActivityEvent, settings: ActivitySettings
    ) throws(ActivityRejection) -> JSON {
        let merged = event.details.content.map { content.merging($0) } ?? content
        try Self.checkSize(merged, attributesByteCount: attributesByteCount, settings: settings)
        return merged
    }

    /// Takes over what a step of one that nobody has seen yet came to.
    private mutating func advance(
        _ step: StepResult, _ newContent: consuming JSON, _ event: ActivityEvent, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) {
        let isChanged = takeDetails(newContent, event) || step.verdict == .applied
        let passed = milestones(in: step.entries, at: now)
        scheduled?.pass(passed)
        outcome.verdict = .noop
        finish(isChanged: isChanged, staleAtChanged: false, at: now, &outcome)
        if step.isDone { remove(at: now, &outcome) }
    }

    /// Takes over what a step of one that is shown came to, and tells what is to be told.
    private mutating func adopt(
        _ step: StepResult, _ newContent: consuming JSON, _ event: ActivityEvent, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) -> (isChanged: Bool, staleAtChanged: Bool) {
        let before = (lifecycle, staleAt)
        let staleDateChanged = event.details.staleDate.map { $0 != staleDate } ?? false
        let detailsChanged = takeDetails(newContent, event)
        // A stale date that has passed is spent: it does not keep stale what has just been heard of.
        if event.details.staleDate == nil, let date = staleDate, date <= now { staleDate = nil }
        refresh(at: now)
        let alert = event.details.alert ?? stateAlert(of: step.entries)
        announce(entered: step.entries, alert: alert, at: now, &outcome)
        outcome.verdict = .noop
        let isChanged =
            step.verdict == .applied || detailsChanged || lifecycle != before.0 || staleDateChanged
            || outcome.alert != nil
        return (isChanged, staleAt != before.1)
    }

    /// - Returns: Whether the row's content or its score is another one.
    private mutating func takeDetails(_ newContent: consuming JSON, _ event: ActivityEvent) -> Bool {
        let newScore = event.details.score ?? score
        let isChanged = newScore != score || newContent != content
        content = newContent
        score = newScore
        staleDate = event.details.staleDate ?? staleDate
        updateProgress()
        return isChanged
    }

    private mutating func conclude(
        _ change: (isChanged: Bool, staleAtChanged: Bool), _ step: StepResult, _ event: ActivityEvent,
        at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        finish(isChanged: change.isChanged, staleAtChanged: change.staleAtChanged, at: now, &outcome)
        if step.isDone { end(requested: event.details.dismissalDate, at: now, &outcome) }
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
        if entered.isEmpty { return [] }
        var milestones: [ActivityOutcome.Milestone] = []
        for state in entered where kind.states[state.rawValue].isMilestone {
            milestones.append(.init(state: path(of: state), time: now))
        }
        return milestones
    }

    /// Ends it: frozen from here on, and removed at once or after its linger (rules.md 2.1, L21–L23).
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
    /// What the kind says of a state. Whoever asks for a part of it copies nothing else.
    func traits(of state: StateIndex) -> StateTraits { kind.states[state.rawValue] }

    func path(of state: StateIndex) -> String { kind.statechart.states[state.rawValue].path }

    /// What the innermost active states say; of several regions, the shortest.
    private func shortest(_ value: (StateIndex) -> Milliseconds?) -> Milliseconds? {
        // Nearly every machine has one of them, which takes no list.
        if let leaf = machine.loneLeaf(in: kind.statechart) { return value(leaf) }
        return machine.leaves(in: kind.statechart).lazy.compactMap(value).min()
    }

    var ownStale: Milliseconds? { shortest { kind.states[$0.rawValue].stale } }
    private var ownDismiss: Milliseconds? { shortest { kind.states[$0.rawValue].dismiss } }

    /// A state that gives no progress leaves the last one as it is.
    mutating func updateProgress() {
        if let leaf = machine.loneLeaf(in: kind.statechart) {
            progress = kind.states[leaf.rawValue].progress ?? progress
            return
        }
        for leaf in machine.leaves(in: kind.statechart) {
            guard let fraction = kind.states[leaf.rawValue].progress else { continue }
            progress = fraction
            return
        }
    }

    /// The alert of the innermost state that was entered last, filled in.
    func stateAlert(of entered: StateList) -> ActivityAlert? {
        if entered.isEmpty { return nil }
        for state in entered.reversed() {
            guard let alert = traits(of: state).alert else { continue }
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

    /// The accounts in whose limits it takes up room (rules.md 2.1: pending, active and stale; an ended one leaves its room).
    public var occupiedAccounts: [String] {
        switch lifecycle {
        case .pending, .active, .stale: accounts.filter { !isDismissed(by: $0) }
        case .ended, .dismissed: []
        }
    }
}
