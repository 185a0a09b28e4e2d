internal import Kinds
internal import TelltaleModel
internal import TelltaleStatechart

// The transition for each event. Each function checks all conditions before it changes anything, so that a refusal
// leaves the activity unchanged without a copy.
extension Activity {
    /// Becomes visible, by a `start` or at its scheduled start.
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
        // An `end` older than the newest event ends the activity, but does not replace newer content.
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
        // An alert that arrives out of order is not shown.
        if !isOld, let alert = details.alert { announce(entered: [], alert: alert, at: now, &outcome) }
        return outcome
    }

    /// Applies a domain event.
    ///
    /// - Parameter outcome: `ignored` on entry. It stays so if the event has no effect.
    mutating func applyDomainEvent(
        _ name: String, _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) throws(ActivityRejection) {
        if lifecycle == .ended { return try reopen(by: name, event, settings: settings, at: now, &outcome) }
        var newContent = try content(with: event, settings: settings)
        let step: StepResult
        do throws(MachineError) {
            if let plain = kind.statechart.cachedStep(event: name, instance: &machine) {
                step = plain
            } else {
                var values = MachineValues(attributes: attributes, content: newContent)
                step = try kind.statechart.uncachedStep(
                    event: name, content: event.details.content ?? [:], at: machineTime(now), instance: &machine,
                    values: &values, contentLimit: settings.byteCountLimit, deferral: settings.rules.deferral)
                newContent = values.content
            }
        } catch {
            throw .machine(error)
        }
        outcome.adopt(step)
        guard step.verdict != .ignored else { return }
        remember(event, at: now)
        // The content of a deferred event is merged when the machine takes the event.
        guard step.verdict != .deferred else { return }
        guard lifecycle != .pending else { return advance(step, newContent, event, at: now, &outcome) }
        let change = adopt(step, newContent, event, at: now, &outcome)
        conclude(change, step, event, at: now, &outcome)
    }

    /// Applies a domain event to an ended activity: a `reopen` transition of its final state may take it.
    ///
    /// - Parameter outcome: As for ``applyDomainEvent(_:_:settings:at:_:)``.
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
                values: &values, contentLimit: settings.byteCountLimit, deferral: settings.rules.deferral)
            guard let reopened else { return }
            step = reopened
        } catch {
            throw .machine(error)
        }
        (endedAt, removeAt, lifecycle) = (nil, nil, .active)
        outcome.adopt(step)
        remember(event, at: now)
        let change = adopt(step, values.content, event, at: now, &outcome)
        guard change.isChanged || !step.isDone else {
            // The machine reopened and ended again without a visible change, so the first end stays in effect.
            (endedAt, removeAt, machine, staleDate, freshAt, isWithheld) = ending
            (lifecycle, staleAt) = (.ended, nil)
            return
        }
        conclude(change, step, event, at: now, &outcome)
    }

    /// The content with that of the event merged into it.
    private func content(
        with event: ActivityEvent, settings: ActivitySettings
    ) throws(ActivityRejection) -> JSON {
        let merged = event.details.content.map { content.merging($0) } ?? content
        try Self.checkSize(merged, attributesByteCount: attributesByteCount, settings: settings)
        return merged
    }

    /// Applies a machine's step to a pending activity, which is not visible.
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

    /// Applies a machine's step to a visible activity and announces its milestones and alert.
    private mutating func adopt(
        _ step: StepResult, _ newContent: consuming JSON, _ event: ActivityEvent, at now: Timestamp,
        _ outcome: inout ActivityOutcome
    ) -> (isChanged: Bool, staleAtChanged: Bool) {
        let before = (lifecycle, staleAt)
        let staleDateChanged = event.details.staleDate.map { $0 != staleDate } ?? false
        let detailsChanged = takeDetails(newContent, event)
        // A stale date that has passed is cleared. It must not keep the activity stale after a new event.
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

    /// - Returns: Whether the content or the score of the row changed.
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
        // A pending activity was not visible yet, and a dismissed one no longer is.
        case .pending, .dismissed: return ActivityOutcome(.ignored)
        case .active, .stale, .ended: break
        }
        guard isAddressed(to: account) else { return ActivityOutcome(.ignored) }
        guard !isDismissed(by: account) else { return ActivityOutcome(.noop) }
        let position = try positionOfMark(of: account, settings: settings)
        marks[position].isDismissed = true
        isAlerting = false
        var outcome = ActivityOutcome(.applied, .publish)
        if !accounts.isEmpty, accounts.allSatisfy({ isDismissed(by: $0) }) { remove(at: now, &outcome) }
        return outcome
    }

    /// The position of an account's mark, which is inserted if there is none. When every mark is of an account that dismissed the
    /// activity, the names of some give way to digests: few, because a digest takes a microsecond.
    private mutating func positionOfMark(
        of account: String, settings: ActivitySettings
    ) throws(ActivityRejection) -> Int {
        do throws(ActivityRejection) {
            return try marks.position(of: account, limit: settings.markLimit)
        } catch {
            guard settings.rules.keepsDismissers else { throw error }
            guard dismissers.count + settings.markLimit < Dismissers.limit else { throw .markLimit(Dismissers.limit) }
            for dismisser in marks.removeDismissed(limit: 64) { dismissers.insert(dismisser) }
            return try marks.position(of: account, limit: settings.markLimit)
        }
    }

    mutating func see(
        account: String, rev: Int64, settings: ActivitySettings
    ) throws(ActivityRejection) -> ActivityOutcome {
        guard lifecycle != .dismissed, isAddressed(to: account) else { return ActivityOutcome(.ignored) }
        let position = try positionOfMark(of: account, settings: settings)
        if let seen = marks[position].seenRev, seen >= rev { return ActivityOutcome(.noop) }
        marks[position].seenRev = rev
        return ActivityOutcome(.applied)
    }
}

// MARK: Parts of a transition

extension Activity {
    /// The time of the machine's clock, which stands still while the activity is pending.
    func machineTime(_ now: Timestamp) -> Timestamp {
        guard let scheduledAt else { return now }
        return lifecycle == .pending ? scheduledAt : now + Milliseconds(0 - machineDelay.count)
    }

    /// The lag of the machine's clock.
    var machineDelay: Milliseconds {
        guard let scheduledAt else { return .zero }
        return startedAt - scheduledAt
    }

    /// Records a new event: the stale date is set again, from the event, or else the state, or else the kind.
    mutating func refresh(at now: Timestamp) {
        freshAt = now
        staleAt = staleDate ?? (ownStale ?? kind.stale).map { now + $0 }
        lifecycle = staleAt.map { $0 <= now } ?? false ? .stale : .active
        if lifecycle == .active { isWithheld = false }
    }

    /// Completes an accepted transition: its verdict, and whether the row changed.
    mutating func finish(
        isChanged: Bool, staleAtChanged: Bool, at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        if isChanged {
            outcome.verdict = .applied
            updatedAt = now
        }
        // A noop that only moves the stale date stays a noop for its sender, but changes the row, which shows
        // `staleAt`.
        guard isChanged || staleAtChanged else { return }
        outcome.effects.insert(.publish)
        if outcome.alert == nil { isAlerting = false }
    }

    /// Announces the milestones among the entered states, and the alert.
    mutating func announce(
        entered: StateList, alert: ActivityAlert?, at now: Timestamp, _ outcome: inout ActivityOutcome
    ) {
        let passed = milestones(in: entered, at: now)
        if !passed.isEmpty { outcome.milestones += passed }
        // A withheld activity is not visible, so it does not alert.
        guard let alert, !isWithheld else { return }
        outcome.effects.insert(.alert)
        outcome.alert =
            kind.hasPrivateAlerts
            ? ActivityAlert(
                title: alert.title, body: alert.body, sound: alert.sound, summary: summary(of: entered)) : alert
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

    /// Ends the activity: its content is frozen, and it is removed at once or after its linger
    /// (Protocols/Surfaces/rules.md 2.1, L21–L23).
    mutating func end(requested: Timestamp?, at now: Timestamp, _ outcome: inout ActivityOutcome) {
        machine.cancelDeadlines()
        endedAt = now
        staleAt = nil
        // An activity ends within its longest active time, so the longest linger is counted from the end alone.
        let removal = min(requested ?? now + (ownDismiss ?? kind.dismiss), now + kind.maxLinger)
        outcome.effects.insert(.publish)
        guard removal > now else { return remove(at: now, &outcome) }
        lifecycle = .ended
        removeAt = removal
    }

    /// Removes the activity from every screen, finally.
    mutating func remove(at now: Timestamp, _ outcome: inout ActivityOutcome) {
        machine.cancelDeadlines()
        lifecycle = .dismissed
        staleAt = nil
        endedAt = endedAt ?? now
        removeAt = now
        outcome.effects.formUnion([.publish, .retire])
    }
}
