internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// The effects of journal entries on activities.
enum ActivityDecisions {
    static func post(
        _ posted: PostedEvent, from source: String, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        // Parts of the event are read where they are needed: copying the whole event would update a dozen reference counts.
        let result: DecisionResult
        let known = store.index(of: posted.command.key, hash: posted.keyHash)
        if let known, let current = store.activity(at: known), current.isLive {
            // The kind exists: a kind in use cannot be removed.
            result = try apply(current, at: known, posted.command.key, posted.event, &store)
        } else {
            result = try postWhereNoneLives(posted, at: known, &store)
        }
        if let eid = posted.command.eid {
            store.insertEventID(posted.digest, hash: posted.eidHash, eid: eid, rev: result.rev, source: source)
        }
        return result
    }

    /// - Parameter known: The index of its key, if it has one.
    private static func postWhereNoneLives(
        _ posted: PostedEvent, at known: EntityIndex?, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        let key = posted.command.key
        let kindIndex = try kindOfEvents(named: String(key.kind), store)
        if case .widget(let kind) = store.kind(version: kindIndex).body {
            return try WidgetDecisions.post(posted, at: known, kind: kind, kindIndex, &store)
        }
        guard let known, let current = store.activity(at: known), !current.isReplaced(by: posted.event) else {
            return try begin(posted, kind: kindIndex, &store)
        }
        return try apply(current, at: known, key, posted.event, &store)
    }

    /// The index of the version in force.
    private static func kindOfEvents(named name: String, _ store: borrowing EntityStore) throws(WireError) -> Int {
        guard let index = store.version(named: name) else {
            if name.utf8.first == UInt8(ascii: "@") {
                throw WireError(
                    .badAction, "\(name) is a board; TILE arranges it, and events go to what its tiles show")
            }
            throw WireError(
                .unknownKind, "there is no kind \(name); KINDS lists those there are, a file in --kinds makes one")
        }
        guard !store.kind(version: index).isControl else {
            throw WireError(.badAction, "\(name) is a control; SET or PRESS it, EVT is for live activities")
        }
        return index
    }

    /// Starts an activity under a key that has none, or whose last one was dismissed.
    private static func begin(
        _ posted: PostedEvent, kind kindIndex: Int, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        let command = posted.command
        let kind = store.kind(version: kindIndex)
        guard case .activity(let activityKind) = kind.body else { throw .unknownKey(command.key) }
        let (started, outcome): (Activity?, ActivityOutcome)
        do throws(ActivityRejection) {
            (started, outcome) = try Activity.start(
                key: command.key, kind: activityKind, event: posted.event, accounts: command.accounts,
                settings: store.settings.activities, at: store.time)
            if let started { try store.checkRoom(for: started, kind: kindIndex) }
        } catch {
            throw wireError(error, key: command.key, &store)
        }
        guard let started else { return DecisionResult(verdict: outcome.verdict) }
        let entity = store.intern(command.key)
        if let previous = store.activity(at: entity), previous.accounts != started.accounts {
            store.readdress(entity, from: previous.accounts, commit: store.nextSequence)
        }
        var result = replace(
            at: entity, by: ActivityBox(started), outcome, kind: kindIndex, &store)
        if store.hasOwnControls(version: kindIndex), started.lifecycle != .dismissed { result.controls = .begin }
        return result
    }

    /// Applies an event to an existing activity.
    static func apply(
        _ key: Key, _ event: ActivityEvent, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        guard let entity = store.index(of: key), let current = store.activity(at: entity) else {
            throw .unknownKey(key)
        }
        return try apply(current, at: entity, key, event, &store)
    }

    private static func apply(
        _ current: ActivityBox, at entity: EntityIndex, _ key: Key, _ event: ActivityEvent, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        var activity = current.value
        let hadEnded = activity.lifecycle == .ended
        let outcome: ActivityOutcome
        do throws(ActivityRejection) {
            outcome = try activity.apply(event, settings: store.settings.activities, at: store.time)
            // A reopened activity counts against the limits again.
            if hadEnded { try store.checkRoom(for: activity, kind: store[entity].kind) }
        } catch {
            throw wireError(error, key: key, &store)
        }
        let box = ActivityBox(consume activity)
        var result = replace(at: entity, by: box, outcome, kind: store[entity].kind, &store)
        if box.keepsFeatures(of: current) { result.change?.isReordered = false }
        return result
    }

    static func fireDeadline(
        _ entry: JournalEntry, of key: Key, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        guard let entity = store.index(of: key) else { throw .unknownKey(key) }
        guard var activity = store.activity(at: entity)?.value else {
            return try ControlDecisions.apply(entry, &store)
        }
        guard let outcome = activity.deadlineReached(by: store.time, settings: store.settings.activities) else {
            throw WireError(.internal, "no deadline of \(key) is due")
        }
        return replace(
            at: entity, by: ActivityBox(consume activity), outcome, kind: store[entity].kind, isForeseen: true, &store)
    }

    /// Stores a changed activity.
    ///
    /// - Parameters:
    ///   - kind: The version of its kind that it uses.
    ///   - isForeseen: The change comes from a deadline and not an event.
    private static func replace(
        at entity: EntityIndex, by box: ActivityBox, _ outcome: ActivityOutcome, kind: Int, isForeseen: Bool = false,
        _ store: inout EntityStore
    ) -> DecisionResult {
        let isShown = store.areShownByWidgets(version: kind)
        let former = isShown ? store.activity(at: entity) : nil
        let isChanged = outcome.effects.contains(.publish) || outcome.effects.contains(.retire)
        let dismissedAt = box.lifecycle == .dismissed ? store[entity].dismissedAt ?? store.wall : nil
        let rev = isChanged ? store.nextSequence : store[entity].rev
        store.mutate(entity) { place in
            place.state = .activity(box)
            place.kind = kind
            place.rev = rev
            place.dismissedAt = dismissedAt
        }
        if outcome.guardErrorCount > 0 || outcome.failure != nil, let key = store[entity].key {
            store.noteFault { $0.note(outcome, of: key) }
        }
        let state = box.statePath
        var result = DecisionResult(
            verdict: outcome.verdict, entity: entity, rev: rev, state: state,
            description: StateName(lifecycle: box.lifecycle.rawValue, state: state),
            stateHash: box.stateHash, isOldEnd: outcome.isOldEnd)
        if box.lifecycle == .dismissed, store.hasControls(entity) { result.controls = .end }
        if isChanged { result.change = Change(entity: entity, commit: store.nextSequence, activity: box, outcome) }
        if isShown {
            result.derived = store.derive(
                from: entity, former, box, isForeseen: isForeseen, isChanged: isChanged)
        }
        return result
    }

    private static func wireError(_ rejection: ActivityRejection, key: Key, _ store: inout EntityStore) -> WireError {
        if case .machine = rejection { store.noteFault { $0.noteRefusedStep(of: key, rejection) } }
        var error = WireError(rejection)
        error.message = "\(key): \(error.message)"
        return error
    }
}
