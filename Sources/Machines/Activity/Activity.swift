public import Kinds
public import TelltaleModel
internal import TelltaleStatechart

/// One live activity, from its announcement until it has left every screen.
///
/// A value without a clock: events and deadlines come with their time. Its rows are table 2.1 of rules.md,
/// and `Protocols/Machines/activity.table` runs them.
public struct Activity: Sendable {
    /// ActivityKit's five states.
    public enum Lifecycle: String, CaseIterable, Hashable, Sendable {
        /// Scheduled; nothing is shown before its start.
        case pending
        /// Shown, and current.
        case active
        /// Shown as out of date: its publisher promised an update that did not come.
        case stale
        /// Shows its last content until ``Activity/removeAt``, frozen.
        case ended
        /// Gone from every screen. Final.
        case dismissed
    }

    /// What one account's devices did with it.
    struct Mark: Hashable, Sendable {
        var account: String
        var isDismissed = false
        var seenRev: Int64?
    }

    /// What a pending one has to tell when it starts.
    struct ScheduledStart: Hashable, Sendable {
        var alert: ActivityAlert
        /// Those that it passed before anybody saw it, oldest first.
        private(set) var milestones: [ActivityOutcome.Milestone] = []

        init(alert: ActivityAlert, milestones: [ActivityOutcome.Milestone] = []) {
            self.alert = alert
            self.milestones = milestones
        }

        /// As many as a subscription keeps for a slow reader; the oldest go first.
        private static let milestoneLimit = 64

        mutating func pass(_ new: [ActivityOutcome.Milestone]) {
            milestones = (milestones + new).suffix(Self.milestoneLimit)
        }
    }

    /// What it was started with, and keeps. Behind one reference: an activity is copied with every event.
    final class Origin: Sendable {
        let key: Key
        let kind: ActivityKind
        let accounts: [String]
        let attributes: JSON
        /// As compact JSON.
        let attributesByteCount: Int
        /// What ``Activity/stateHash`` begins with while it is active: so long a text would else be read with every event.
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
    /// `for=`: whose devices may show it, sorted; empty = everybody's.
    public var accounts: [String] { origin.accounts }
    /// It is meant for every account.
    public var isForEverybody: Bool { origin.accounts.isEmpty }
    /// The static data, an object.
    public var attributes: JSON { origin.attributes }
    var attributesByteCount: Int { origin.attributesByteCount }

    public internal(set) var lifecycle: Lifecycle
    /// The content state, an object.
    public internal(set) var content: JSON
    /// The relevance score; `nil` = 0.
    public internal(set) var score: Double?
    /// The fraction that the current states give, or the last one that any gave.
    public internal(set) var progress: Double?
    /// When it became active; while pending, when it will.
    public internal(set) var startedAt: Timestamp
    /// When an event or a timer of its machine last changed it.
    public internal(set) var updatedAt: Timestamp
    /// When it goes stale, or went stale.
    public internal(set) var staleAt: Timestamp?
    public internal(set) var endedAt: Timestamp?
    /// When an ended one leaves, or a dismissed one left.
    public internal(set) var removeAt: Timestamp?
    public internal(set) var lastAlertAt: Timestamp?
    /// Its last change came with an alert.
    public internal(set) var isAlerting = false
    /// Stale from the start: no surface shows it before it becomes active (rules.md 2.1, L3).
    public internal(set) var isWithheld = false

    /// The memory of the kind's machine.
    var machine: MachineInstance
    /// When a scheduled one was scheduled. Its machine stands still from then until the start, so that the timers of its
    /// states count from the start.
    var scheduledAt: Timestamp?
    /// What to say at the start of a pending one.
    var scheduled: ScheduledStart?
    /// An event's own stale date, as long as it stands.
    var staleDate: Timestamp?
    /// When the last event that was applied, or a noop, was taken.
    var freshAt: Timestamp
    var newestVersion: Int64?
    var newestAt: Timestamp
    /// In the order of accounts.
    var marks: [Mark] = []
    private let addressOnly = AddressOnly()
}

extension Activity {
    /// Begins an activity under a key that has none, or whose last one is dismissed.
    ///
    /// - Parameters:
    ///   - event: `started`, or a domain event that the kind lists under `startsOn`, which is then taken too: one commit,
    ///     verdict `applied` whatever the machine makes of it.
    ///   - accounts: Those of `for=`; empty = everybody.
    /// - Returns: No activity where the event is `ignored` (its `at=` is too far ahead).
    /// - Throws: ``ActivityRejection/notStarted`` where the event starts nothing, and whatever speaks against this one.
    ///   Limits of a person are the owner's to check (``ActivityCounts``).
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
            let start = try kind.statechart.start(at: now, values: &values, contentLimit: limit)
            machine = start.instance
            isDone = start.result.isDone
            entered = start.result.entries
            outcome.guardErrors = start.result.guardErrors
            if let domainEvent, !isDone {
                let step = try kind.statechart.handle(
                    event: domainEvent, content: details.content ?? [:], at: now, instance: &machine, values: &values,
                    contentLimit: limit)
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

    /// Takes one event.
    ///
    /// The owner fires every deadline that is due at or before `now` first. A `started` is `ignored` here; on a dismissed
    /// activity the owner begins a new one instead (``isReplaced(by:)``).
    ///
    /// - Throws: ``ActivityRejection``; the activity is as it was.
    public mutating func apply(
        _ event: ActivityEvent, settings: ActivitySettings, at now: Timestamp
    ) throws(ActivityRejection) -> ActivityOutcome {
        // What may throw does so before anything is changed: no copy is needed to go back to.
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
            try takeDomainEvent(kind.accept[name] ?? name, event, settings: settings, at: now, &outcome)
            return outcome
        case .updated where lifecycle != .ended:
            guard !isOld else { return ActivityOutcome(.stale) }
            return try takeUpdate(event, settings: settings, at: now)
        case .ended where lifecycle != .ended:
            guard !isOld || settings.acceptsOldEnd else { return ActivityOutcome(.stale) }
            return try takeEnd(event, isOld: isOld, settings: settings, at: now)
        case .started, .updated, .ended, .dismissed, .seen:
            return ActivityOutcome(.ignored)  // The last two are taken above.
        }
    }

    /// Whether this event begins a new activity in the place of this one.
    public func isReplaced(by event: ActivityEvent) -> Bool { lifecycle == .dismissed && event.change == .started }
}

extension Activity {
    /// Asks the processor for what every event looks at, and what does not lie in the activity itself.
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

    /// Older than the newest event taken; an equal one is not.
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
