public import Kinds
internal import Prefetch
public import TelltaleModel
internal import TelltaleStatechart

/// One live activity, from its start until it has left every screen.
///
/// A value without a clock: events and deadlines carry their time. Its transitions are table 2.1 of
/// Protocols/Surfaces/rules.md, and `Protocols/Machines/activity.table` tests them.
public struct Activity: Sendable {
    /// ActivityKit's five states.
    public enum Lifecycle: String, CaseIterable, Hashable, Sendable {
        /// Scheduled. Nothing is shown before its start.
        case pending
        /// Shown, and current.
        case active
        /// Shown as out of date: an update that its publisher promised did not arrive.
        case stale
        /// Ended. Shows its last content, frozen, until ``Activity/removeAt``.
        case ended
        /// Removed from every screen. Final.
        case dismissed
    }

    /// The alert and the milestones that a pending activity reports when it starts.
    struct ScheduledStart: Hashable, Sendable {
        var alert: ActivityAlert
        /// The milestones passed before the start, oldest first.
        private(set) var milestones: [ActivityOutcome.Milestone] = []

        init(alert: ActivityAlert, milestones: [ActivityOutcome.Milestone] = []) {
            self.alert = alert
            self.milestones = milestones
        }

        /// The number of milestones kept, which equals a subscription's limit for a slow reader. The oldest are dropped
        /// first.
        private static let milestoneLimit = 64

        mutating func pass(_ new: [ActivityOutcome.Milestone]) {
            milestones = (milestones + new).suffix(Self.milestoneLimit)
        }
    }

    /// The properties that never change after the start. A class, because an activity is copied for every event.
    final class Origin: Sendable {
        let key: Key
        let kind: ActivityKind
        let accounts: [String]
        let attributes: JSON
        /// In bytes of compact JSON.
        let attributesByteCount: Int
        /// The beginning of ``Activity/stateHash`` while the activity is active, cached to avoid hashing the attributes
        /// for every event.
        let activeHash: StableHash

        init(key: Key, kind: ActivityKind, accounts: [String], attributes: JSON) {
            self.key = key
            self.kind = kind
            self.accounts = accounts
            self.attributes = attributes
            attributesByteCount = attributes.textByteCount
            activeHash = Activity.hash(of: .active, accounts: accounts, attributes: attributes)
        }
    }

    let origin: Origin

    public var key: Key { origin.key }
    public var kind: ActivityKind { origin.kind }
    /// `for=`: the accounts whose devices may show the activity, sorted; empty for all accounts.
    public var accounts: [String] { origin.accounts }
    /// Whether the activity is for all accounts.
    public var isForEverybody: Bool { origin.accounts.isEmpty }
    /// The static data, an object.
    public var attributes: JSON { origin.attributes }
    var attributesByteCount: Int { origin.attributesByteCount }

    public internal(set) var lifecycle: Lifecycle
    /// The content state, an object.
    public internal(set) var content: JSON
    /// The relevance score; `nil` means 0.
    public internal(set) var score: Double?
    /// The fraction of the active states, or the last one that any state gave.
    public internal(set) var progress: Double?
    /// The time at which it became active, or while pending, at which it will.
    public internal(set) var startedAt: Timestamp
    /// The time of the last change by an event or by a timer of its machine.
    public internal(set) var updatedAt: Timestamp
    /// The time at which it becomes or became stale.
    public internal(set) var staleAt: Timestamp?
    public internal(set) var endedAt: Timestamp?
    /// The time at which an ended activity is removed, or a dismissed one was.
    public internal(set) var removeAt: Timestamp?
    public internal(set) var lastAlertAt: Timestamp?
    /// Whether the last change came with an alert.
    public internal(set) var isAlerting = false
    /// Whether it was stale from the start. No surface shows it before it becomes active (Protocols/Surfaces/rules.md
    /// 2.1, L3).
    public internal(set) var isWithheld = false

    /// The state of the kind's machine.
    var machine: MachineInstance
    /// The time at which a scheduled activity was posted. Its machine's clock stands still from then until the start,
    /// so that the timers of its states count from the start.
    var scheduledAt: Timestamp?
    /// The announcements to make when a pending activity starts.
    var scheduled: ScheduledStart?
    /// The stale date that an event gave, as long as it applies.
    var staleDate: Timestamp?
    /// The time of the last event whose verdict was applied or noop.
    var freshAt: Timestamp
    var newestVersion: Int64?
    var newestAt: Timestamp
    var marks = AccountMarks()
    /// Accounts that dismissed it and for whose marks there was no room.
    var dismissers = Dismissers()
    private let addressOnly = AddressOnly()
}

extension Activity {
    /// Starts an activity under a key that has none, or whose last one is dismissed.
    ///
    /// - Parameters:
    ///   - event: `started`, or a domain event that the kind lists under `startsOn`. Such an event is then also taken
    ///     by the machine in the same commit, and its verdict is `applied` whatever the machine does.
    ///   - accounts: The accounts of `for=`; empty for all accounts.
    /// - Returns: No activity if the event is `ignored` because its `at=` is too far ahead.
    /// - Throws: ``ActivityRejection/notStarted`` if the event starts nothing, or another ``ActivityRejection``. The
    ///   caller checks the limits per account (``ActivityCounts``).
    public static func start(
        key: Key, kind: ActivityKind, event: ActivityEvent, accounts: [String], settings: ActivitySettings,
        at now: Timestamp
    ) throws(ActivityRejection) -> (activity: Activity?, outcome: ActivityOutcome) {
        var domainEvent: String?
        switch event.change {
        case .started: break
        case .happened(let name):
            let renamed = kind.accept[name] ?? name
            guard kind.startsOn.contains(renamed) else { throw .notStarted }
            domainEvent = renamed
        case .updated, .ended, .dismissed, .seen: throw .notStarted
        }
        guard !isTooFarAhead(event, settings: settings, at: now) else { return (nil, ActivityOutcome(.ignored)) }

        let details = event.details
        let isScheduled = details.startDate.map { $0 > now } ?? false
        if isScheduled, details.alert == nil { throw .alertMissing }

        var values = MachineValues(attributes: details.attributes ?? [:], content: details.content ?? [:])
        try checkSize(values.content, attributesByteCount: values.attributes.textByteCount, settings: settings)
        let limit = settings.byteCountLimit
        var entered: StateList
        var outcome = ActivityOutcome(.applied, .publish)
        var (machine, isDone): (MachineInstance, Bool)
        do throws(MachineError) {
            let start = try kind.statechart.start(
                at: now, values: &values, contentLimit: limit, deferral: settings.rules.deferral)
            machine = start.instance
            isDone = start.result.isDone
            entered = start.result.entries
            outcome.guardErrors = start.result.guardErrors
            if let domainEvent, !isDone {
                let step = try kind.statechart.handle(
                    event: domainEvent, content: details.content ?? [:], at: now, instance: &machine, values: &values,
                    contentLimit: limit, deferral: settings.rules.deferral)
                isDone = step.isDone
                for state in step.entries { entered.append(state) }
                outcome.guardErrors = .joined(outcome.guardErrors, step.guardErrors)
            }
        } catch {
            throw .machine(error)
        }

        var activity = Activity(
            origin: Origin(key: key, kind: kind, accounts: sortedUnique(accounts), attributes: values.attributes),
            lifecycle: isScheduled ? .pending : .active,
            content: values.content, score: details.score,
            startedAt: isScheduled ? details.startDate ?? now : now, updatedAt: now, machine: machine,
            scheduledAt: isScheduled ? now : nil,
            scheduled: isScheduled ? details.alert.map { ScheduledStart(alert: $0) } : nil,
            staleDate: details.staleDate, freshAt: now, newestVersion: event.version,
            newestAt: event.happenedAt ?? now)
        activity.updateProgress()
        if isScheduled {
            let passed = activity.milestones(in: entered, at: now)
            activity.scheduled?.pass(passed)
            if isDone { activity.remove(at: now, &outcome) }
        } else {
            activity.begin(entered: entered, alert: details.alert, at: now, &outcome)
            if isDone { activity.end(requested: details.dismissalDate, at: now, &outcome) }
        }
        return (activity, outcome)
    }

    /// Applies one event.
    ///
    /// The owner first fires every deadline that is due at or before `now`. A `started` is `ignored`; for a dismissed
    /// activity the owner starts a new one instead (``isReplaced(by:)``).
    ///
    /// - Throws: ``ActivityRejection``; the activity is then unchanged.
    public mutating func apply(
        _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        // Each case throws before it changes anything, so no copy is needed to restore.
        switch event.change {
        case .dismissed(let account): return try dismiss(account: account, settings: settings, at: now)
        case .seen(let account, let rev): return try see(account: account, rev: rev, settings: settings)
        case .started, .updated, .ended, .happened: break
        }
        guard lifecycle != .dismissed, !Self.isTooFarAhead(event, settings: settings, at: now) else {
            return ActivityOutcome(.ignored)
        }
        let isOld = isOlder(event, at: now)
        switch event.change {
        case .happened(let name):
            guard !isOld else { return ActivityOutcome(.stale) }
            var outcome = ActivityOutcome(.ignored)
            try applyDomainEvent(kind.accept[name] ?? name, event, settings: settings, at: now, &outcome)
            return outcome
        case .updated where lifecycle != .ended:
            guard !isOld else { return ActivityOutcome(.stale) }
            return try takeUpdate(event, settings: settings, at: now)
        case .ended where lifecycle != .ended:
            guard !isOld || settings.acceptsOldEnd else { return ActivityOutcome(.stale) }
            return try takeEnd(event, isOld: isOld, settings: settings, at: now)
        case .started, .updated, .ended, .dismissed, .seen:
            return ActivityOutcome(.ignored)  // The switch above handled the last two.
        }
    }

    /// Whether this event starts a new activity that replaces this one.
    public func isReplaced(by event: ActivityEvent) -> Bool { lifecycle == .dismissed && event.change == .started }
}

extension Activity {
    /// Prefetches the memory outside the value that every event reads.
    package func prefetchParts() {
        MemoryAddress(of: origin).prefetch(byteCount: 88)
        guard case .object(let object) = content else { return }
        let place = object.place
        place.address.prefetch(byteCount: place.byteCount)
    }
}

// MARK: Ordering and size

extension Activity {
    static func isTooFarAhead(_ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp) -> Bool {
        guard let happenedAt = event.happenedAt else { return false }
        return happenedAt - now > settings.aheadLimit
    }

    /// Whether the event is older than the newest one that was applied. An equally old event is not.
    func isOlder(_ event: ActivityEvent, at now: Timestamp) -> Bool {
        if let version = event.version, let newestVersion, version < newestVersion { return true }
        return (event.happenedAt ?? now) < newestAt
    }

    mutating func remember(_ event: ActivityEvent, at now: Timestamp) {
        newestAt = max(newestAt, event.happenedAt ?? now)
        if let version = event.version { newestVersion = newestVersion.map { max($0, version) } ?? version }
    }

    static func checkSize(
        _ content: JSON, attributesByteCount: Int, settings: ActivitySettings
    ) throws(ActivityRejection) {
        guard content.isText(longerThan: settings.byteCountLimit - attributesByteCount) else { return }
        throw .tooLarge(byteCount: content.textByteCount + attributesByteCount, limit: settings.byteCountLimit)
    }

    private static func sortedUnique(_ accounts: [String]) -> [String] {
        var result: [String] = []
        for account in accounts.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where result.last.map({ !$0.utf8.elementsEqual(account.utf8) }) ?? true {
            result.append(account)
        }
        return result
    }

    // MARK: The accounts that the activity is for, and what they did with it

    /// Whether the activity is for `account`, which may have dismissed it since.
    public func isAddressed(to account: String) -> Bool {
        accounts.isEmpty || accounts.contains { $0.utf8.elementsEqual(account.utf8) }
    }

    /// The digest by which an activity knows an account that dismissed it, once there is no room for its name. It takes a
    /// microsecond: whoever asks about an account often keeps it.
    public static func digest(of account: String) -> UInt64 { Dismissers.digest(of: account) }

    /// Whether the devices of `account` may show the activity; `nil` is a connection without an account, which may show
    /// all.
    ///
    /// - Parameter digest: ``digest(of:)`` the account, if it is known.
    public func isVisible(to account: String?, digest: UInt64? = nil) -> Bool {
        guard lifecycle != .dismissed else { return false }
        guard let account else { return true }
        return isAddressed(to: account) && !isDismissed(by: account, digest: digest)
    }

    /// Whether a person of `account` swiped it away.
    public func isDismissed(by account: String, digest: UInt64? = nil) -> Bool {
        marks[account]?.isDismissed == true || dismissers.contains(account, digest: digest)
    }

    /// Whether the alert of commit `rev` need not be sent to the devices of `account`: a device of the account has
    /// shown it, or the account dismissed the activity. The end of the activity does not count, because the alert may
    /// report that end.
    public func isAlertSpent(rev: Int64, for account: String, digest: UInt64? = nil) -> Bool {
        if isDismissed(by: account, digest: digest) { return true }
        return marks[account]?.seenRev.map { $0 >= rev } ?? false
    }

    /// The accounts in whose limits the activity counts: while pending, active or stale (Protocols/Surfaces/rules.md
    /// 2.1).
    public var occupiedAccounts: [String] {
        switch lifecycle {
        case .pending, .active, .stale: accounts.filter { !isDismissed(by: $0) }
        case .ended, .dismissed: []
        }
    }

    // MARK: Properties that the kind gives to the active states

    /// The kind's traits of a state. Read single members through this accessor, so that only they are copied.
    func traits(of state: StateIndex) -> StateTraits { kind.states[state.rawValue] }

    func path(of state: StateIndex) -> String { kind.statechart.states[state.rawValue].path }

    /// The shortest value among the innermost active states.
    private func shortest(_ value: (StateIndex) -> Milliseconds?) -> Milliseconds? {
        // Nearly every machine has a single leaf, which needs no list.
        if let leaf = machine.loneLeaf(in: kind.statechart) { return value(leaf) }
        return machine.leaves(in: kind.statechart).lazy.compactMap(value).min()
    }

    var ownStale: Milliseconds? { shortest { kind.states[$0.rawValue].stale } }
    var ownDismiss: Milliseconds? { shortest { kind.states[$0.rawValue].dismiss } }

    /// Keeps the last progress if no active state gives one.
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

    /// The rendered alert of the innermost state that was entered last.
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

    /// The summary of a private alert; `nil` if the alert is not private. An event's own alert is as private as that of the states
    /// that it enters, else of the active ones (E11).
    func summary(of entered: StateList) -> String? {
        let active = machine.configuration(in: kind.statechart)
        let alert =
            entered.reversed().lazy.compactMap { kind.states[$0.rawValue].alert }.first
            ?? active.reversed().lazy.compactMap { kind.states[$0.rawValue].alert }.first
        guard kind.isPrivacySensitive || alert?.isPrivate == true else { return nil }
        return alert?.summary?.rendered(in: templateContext) ?? ""
    }

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

    // MARK: Transitions
    //
    // The transition for each event. Each function checks all conditions before it changes anything, so that a refusal
    // leaves the activity unchanged without a copy.

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
