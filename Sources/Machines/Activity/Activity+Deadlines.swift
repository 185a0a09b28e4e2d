internal import Kinds
public import TelltaleModel
internal import TelltaleStatechart

extension Activity {
    /// The next due change. At one time, the machine's timers come first and the end last.
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

    /// The time of the next call of ``deadlineReached(by:settings:isEnabled:)``: the earliest of the start, the
    /// machine's timers, the stale date, the longest active time and the removal. `nil` if nothing can become due.
    public var deadline: Timestamp? { next?.time }

    /// Fires the earliest deadline, if it is due at or before `now`, at its own time.
    ///
    /// The owner calls this until it returns `nil`; each deadline is a separate commit.
    ///
    /// - Parameter isEnabled: Whether the app may show activities. A start that is due while it may not is dropped
    ///   (L10).
    /// - Returns: `nil` if nothing was due. If the machine refused a timer's step, the timer is dropped and the outcome
    ///   holds ``ActivityOutcome/failure``.
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
            // The milestones passed while pending are announced now, those of the active states included.
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
                contentLimit: settings.byteCountLimit, deferral: settings.rules.deferral)
            guard let fired else {
                // The machine reported a deadline and fired nothing. Its timers are cancelled, so that they do not stay due
                // forever.
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

    /// Updates the stale date after a timer entered another state. A timer is no event from the publisher: a stale
    /// activity stays stale, and the kind's stale time still counts from the last event. A state's own stale time
    /// counts from its entry.
    private mutating func rearm(at time: Timestamp) {
        guard staleDate == nil else { return }
        staleAt = ownStale.map { time + $0 } ?? kind.stale.map { freshAt + $0 }
        if let staleAt, staleAt <= time { lifecycle = .stale }
    }
}
