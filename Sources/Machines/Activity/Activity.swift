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
}
