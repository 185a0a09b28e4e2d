internal import Kinds
public import TelltaleModel
internal import TelltaleStatechart

extension Activity {
    /// What falls due next. Of those at one instant the machine's timers go first, and the end last.
    private enum Due {
        case start, machine, stale, end, removal
    }

    private var next: (time: Timestamp, due: Due)? {
        switch lifecycle {
        case .pending: return (startedAt, .start)
        case .active, .stale:
            var next = (time: startedAt + kind.maxActive, due: Due.end)
            if lifecycle == .active, let staleAt, staleAt <= next.time { next = (staleAt, .stale) }
            if let time = machine.deadline.map({ $0 + machineDelay }), time <= next.time { next = (time, .machine) }
            return next
        case .ended: return removeAt.map { ($0, .removal) }
        case .dismissed: return nil
        }
    }

    /// When to call ``deadlineReached(by:settings:isEnabled:)`` next, or `nil` while nothing can fall due: the earliest of
    /// its start, its machine's timers, going stale, its longest time, and its removal.
    public var deadline: Timestamp? { next?.time }

    /// Fires the one earliest deadline, if it is due at or before `now`, at its own time.
    ///
    /// The owner calls this until it gives `nil`: each deadline is a commit of its own.
    ///
    /// - Parameter isEnabled: Whether its app may show activities; a start that comes when it may not is dropped (L10).
    /// - Returns: `nil` when nothing was due. A timer whose step the machine refused is dropped, and the outcome says so
    ///   in ``ActivityOutcome/failure``.
    public mutating func deadlineReached(
        by now: Timestamp, settings: ActivitySettings, isEnabled: Bool = true
    ) -> ActivityOutcome? {
        guard let (time, due) = next, time <= now else { return nil }
        var outcome = ActivityOutcome(.applied, .publish)
        switch due {
        case .start:
            guard isEnabled else {
                remove(at: time, &outcome)
                break
            }
            // They are told now, when there is somebody to tell; those of the states that it is in are among them.
            outcome.milestones = scheduled?.milestones ?? []
            let alert = scheduled?.alert ?? stateAlert(of: machine.configuration(in: kind.statechart))
            scheduled = nil
            begin(entered: [], alert: alert, at: time, &outcome)
        case .machine:
            return fireMachine(at: time, settings: settings)
        case .stale:
            isAlerting = false
            lifecycle = .stale
        case .end:
            isAlerting = false
            end(requested: nil, at: time, &outcome)
        case .removal:
            isAlerting = false
            remove(at: time, &outcome)
        }
        return outcome
    }

    private mutating func fireMachine(at time: Timestamp, settings: ActivitySettings) -> ActivityOutcome {
        var outcome = ActivityOutcome(.applied)
        var values = MachineValues(attributes: attributes, content: content)
        var stepped = machine
        let step: StepResult
        do throws(MachineError) {
            let fired = try kind.statechart.fireDeadline(
                dueBy: machineTime(time), instance: &stepped, values: &values,
                contentLimit: settings.byteCountLimit)
            guard let fired else {
                // It said that it had something to do. Not to be asked again for ever, it is to have nothing.
                machine.cancelDeadlines()
                return ActivityOutcome(.ignored)
            }
            step = fired
        } catch {
            kind.statechart.dropDeadline(dueBy: machineTime(time), instance: &machine)
            outcome.verdict = .ignored
            outcome.failure = error
            return outcome
        }
        machine = stepped
        let isChanged = !step.entries.isEmpty || values.content != content
        let staleAtBefore = staleAt
        content = values.content
        updateProgress()
        outcome.guardErrors = step.guardErrors
        if lifecycle == .active, !step.entries.isEmpty { rearm(at: time) }
        announce(entered: step.entries, alert: stateAlert(of: step.entries), at: time, &outcome)
        finish(isChanged: isChanged, staleAtChanged: staleAt != staleAtBefore, at: time, &outcome)
        if step.isDone { end(requested: nil, at: time, &outcome) }
        return outcome
    }

    /// A timer entered another state. That is no news from the publisher: what is stale stays stale, and the kind's own
    /// time still counts from the last event; a state's own time counts from its entry.
    private mutating func rearm(at time: Timestamp) {
        guard staleDate == nil else { return }
        staleAt = ownStale.map { time + $0 } ?? kind.stale.map { freshAt + $0 }
        if let staleAt, staleAt <= time { lifecycle = .stale }
    }
}
