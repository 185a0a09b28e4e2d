internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// The result of one journal entry: for its reply, its record and the followers of its key.
struct DecisionResult: Sendable {
    var verdict: Verdict
    var entity: EntityIndex?
    /// The key's rev after it.
    var rev: Int64 = 0
    /// The innermost state after it.
    var state = ""
    /// For the history.
    var description = StateName("")
    var stateHash: UInt64 = 0
    var isOldEnd = false
    /// The names of the tail that a widget does not know; `nil` if the entry is not a widget's event.
    var unknownToWidget: [String]?
    /// A widget began that is loaded by a provider, so the acting connection must be recorded.
    var beginsAsking = false
    var operation: OperationID?
    var calls: [(key: Key, ProviderCall)] = []
    /// Events that a button sends to activities; they are decided next.
    var raised: [RaisedEvent] = []
    /// The consequence for the controls of an activity; they are decided next.
    var controls = ControlConsequence.none
    /// The change that followers see; `nil` when nothing changed for them.
    var change: Change?
    /// The changes to the widgets that show the activity; `nil` = none.
    var derived: DerivedChanges?
    private let addressOnly = AddressOnly()
}

extension EntityStore {
    /// Applies `entry` at the store's clocks, as the record after the newest one.
    ///
    /// Live decisions and recovery use the same code, so the same records give the same state.
    ///
    /// - Throws: The error that the sender receives; nothing has changed then.
    mutating func apply(_ entry: JournalEntry) throws(WireError) -> DecisionResult {
        let sequence = sequence + 1
        switch entry {
        case .event, .dismissed, .seen, .deadline, .tapped, .reported, .done, .failed: break
        // The entry may concern a widget, and needs its state before this commit.
        default: settleAggregates()
        }
        return try undoingFailure { store throws(WireError) in try store.apply(entry, as: sequence) }
    }

    /// Applies an event without wrapping it in a ``JournalEntry``: nearly every entry is one, and it would be unwrapped again at
    /// once.
    mutating func apply(_ posted: PostedEvent, from source: String) throws(WireError) -> DecisionResult {
        let sequence = sequence + 1
        if aggregates.hasTold, isWidgetKind(posted.command.key.kind) { settleAggregates() }
        return try undoingFailure { store throws(WireError) in
            try store.apply(posted, from: source, as: sequence)
        }
    }

    /// - Parameter sequence: The record that holds `entry`.
    mutating func apply(_ entry: JournalEntry, as sequence: Int64) throws(WireError) -> DecisionResult {
        switch entry {
        case .settings(let settings):
            let former = self.settings.activities
            do throws(UnknownRules) {
                setSettings(try DecisionSettings(settings))
            } catch {
                throw WireError(.internal, error.description)
            }
            // With a shorter retention, dismissed activities are forgotten before their armed deadlines.
            for entity in entities.existing where entities[entity].dismissedAt != nil { arm(entity) }
            var result = DecisionResult(verdict: .applied)
            result.derived = foreseeAnew(since: former, sequence: sequence)
            return result
        case .kinds(let sources):
            let (kinds, former) = (try kinds(of: sources), self.kinds.current)
            adoptKinds(kinds)
            var result = DecisionResult(verdict: .applied)
            result.derived = adoptTiles(since: former, sequence: sequence)
            return result
        case .tile(let entry): return try apply(entry, sequence: sequence)
        case .event(let posted, let source):
            return try apply(posted, from: source, as: sequence)
        case .dismissed(let key, let account):
            var result = try applyToActivity(key, ActivityEvent(.dismissed(account: account)), sequence: sequence)
            if case .none = result.controls, result.change != nil, let entity = result.entity,
                attachments.contains(activity: entity)
            {
                result.controls = .readdress
            }
            return result
        case .seen(let key, let account, let rev):
            return try applyToActivity(key, ActivityEvent(.seen(account: account, rev: rev)), sequence: sequence)
        case .created, .tapped, .reported, .done, .failed, .providerChanged, .raiseRefused, .restarted, .kindChanged,
            .attached, .supplied, .reloaded, .asked:
            return try applyToControl(entry, sequence: sequence)
        case .deadline(let key, _):
            return try fireDeadline(entry, of: key, sequence: sequence)
        case .detached(let key): return try detach(key, sequence: sequence)
        case .pruned(let key): return try forget(key, sequence: sequence)
        }
    }

    private func kinds(of sources: [JSON]) throws(WireError) -> [Kind] {
        var kinds: [Kind] = []
        for source in sources {
            guard let kind = Kind.read(journaled: source) else {
                throw WireError(.internal, "a kind of the journal cannot be read any more")
            }
            kinds.append(kind)
        }
        return kinds
    }

    // MARK: Events

    private mutating func apply(
        _ posted: PostedEvent, from source: String, as sequence: Int64
    ) throws(WireError) -> DecisionResult {
        // Parts of the event are read where they are needed: copying the whole event would update a dozen reference counts.
        let result: DecisionResult
        let known = entities.index(of: posted.command.key, hash: posted.keyHash)
        if let known, let current = activity(at: known), current.isLive {
            // The kind exists: a kind in use cannot be removed.
            result = try applyToActivity(current, at: known, posted.command.key, posted.event, sequence: sequence)
        } else {
            result = try applyWhereNoneLives(posted, at: known, sequence: sequence)
        }
        if let eid = posted.command.eid {
            insertEventID(posted.digest, hash: posted.eidHash, eid: eid, rev: result.rev, source: source)
        }
        return result
    }

    /// - Parameter known: The index of its key, if it has one.
    private mutating func applyWhereNoneLives(
        _ posted: PostedEvent, at known: EntityIndex?, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        let key = posted.command.key
        let kindIndex = try kindOfEvents(named: String(key.kind))
        if case .widget(let kind) = kinds.versions[kindIndex].body {
            return try applyToWidget(posted, at: known, kind: kind, kindIndex, sequence: sequence)
        }
        guard let known, let current = activity(at: known), !current.isReplaced(by: posted.event) else {
            return try begin(posted, kind: kindIndex, sequence: sequence)
        }
        return try applyToActivity(current, at: known, key, posted.event, sequence: sequence)
    }

    /// The index of the version in force.
    private func kindOfEvents(named name: String) throws(WireError) -> Int {
        guard let index = kinds.current[name] else {
            if name.utf8.first == UInt8(ascii: "@") {
                throw WireError(
                    .badAction, "\(name) is a board; TILE arranges it, and events go to what its tiles show")
            }
            throw WireError(
                .unknownKind, "there is no kind \(name); KINDS lists those there are, a file in --kinds makes one")
        }
        guard !kinds.versions[index].isControl else {
            throw WireError(.badAction, "\(name) is a control; SET or PRESS it, EVT is for live activities")
        }
        return index
    }

    /// Starts an activity under a key that has none, or whose last one was dismissed.
    private mutating func begin(
        _ posted: PostedEvent, kind kindIndex: Int, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        let command = posted.command
        let kind = kinds.versions[kindIndex]
        guard case .activity(let activityKind) = kind.body else { throw .unknownKey(command.key) }
        let (started, outcome): (Activity?, ActivityOutcome)
        do throws(ActivityRejection) {
            (started, outcome) = try Activity.start(
                key: command.key, kind: activityKind, event: posted.event, accounts: command.accounts,
                settings: settings.activities, at: time)
            if let started { try checkRoom(for: started, kind: kindIndex) }
        } catch {
            throw wireError(error, key: command.key)
        }
        guard let started else { return DecisionResult(verdict: outcome.verdict) }
        let entity = intern(command.key)
        if let previous = activity(at: entity), previous.accounts != started.accounts {
            readdress(entity, from: previous.accounts, commit: sequence)
        }
        var result = replaceActivity(
            at: entity, by: ActivityBox(started), outcome, kind: kindIndex, sequence: sequence)
        if kinds.hasOwnControls(kindIndex), started.lifecycle != .dismissed { result.controls = .begin }
        return result
    }

    /// Whether an activity that is not counted yet fits within the limits of its accounts.
    private func checkRoom(for activity: Activity, kind: Int) throws(ActivityRejection) {
        try accounts.checkRoom(
            for: activity.occupiedAccounts, app: kinds.appNumbers[kind], limits: settings.activityLimits)
    }

    /// Applies an event to an existing activity.
    private mutating func applyToActivity(
        _ key: Key, _ event: ActivityEvent, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        guard let entity = entities.index(of: key), let current = activity(at: entity) else { throw .unknownKey(key) }
        return try applyToActivity(current, at: entity, key, event, sequence: sequence)
    }

    private mutating func applyToActivity(
        _ current: ActivityBox, at entity: EntityIndex, _ key: Key, _ event: ActivityEvent, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        var activity = current.value
        let hadEnded = activity.lifecycle == .ended
        let outcome: ActivityOutcome
        do throws(ActivityRejection) {
            outcome = try activity.apply(event, settings: settings.activities, at: time)
            // A reopened activity counts against the limits again.
            if hadEnded { try checkRoom(for: activity, kind: entities[entity].kind) }
        } catch {
            throw wireError(error, key: key)
        }
        let box = ActivityBox(consume activity)
        var result = replaceActivity(
            at: entity, by: box, outcome, kind: entities[entity].kind, sequence: sequence)
        if box.keepsStanding(of: current) { result.change?.isReordered = false }
        return result
    }

    private mutating func fireDeadline(
        _ entry: JournalEntry, of key: Key, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        guard let entity = entities.index(of: key) else { throw .unknownKey(key) }
        guard var activity = activity(at: entity)?.value else {
            return try applyToControl(entry, sequence: sequence)
        }
        guard let outcome = activity.deadlineReached(by: time, settings: settings.activities) else {
            throw WireError(.internal, "no deadline of \(key) is due")
        }
        return replaceActivity(
            at: entity, by: ActivityBox(consume activity), outcome, kind: entities[entity].kind, isForeseen: true,
            sequence: sequence)
    }

    /// Stores a changed activity.
    ///
    /// - Parameters:
    ///   - kind: The version of its kind that it uses.
    ///   - isForeseen: The change comes from a deadline and not an event.
    private mutating func replaceActivity(
        at entity: EntityIndex, by box: ActivityBox, _ outcome: ActivityOutcome, kind: Int, isForeseen: Bool = false,
        sequence: Int64
    ) -> DecisionResult {
        let isShown = kinds.areShownByWidgets(kind)
        let former = isShown ? activity(at: entity) : nil
        let isChanged = outcome.effects.contains(.publish) || outcome.effects.contains(.retire)
        let dismissedAt = box.lifecycle == .dismissed ? entities[entity].dismissedAt ?? wall : nil
        let rev = isChanged ? sequence : entities[entity].rev
        mutate(entity) { place in
            place.state = .activity(box)
            place.kind = kind
            place.rev = rev
            place.dismissedAt = dismissedAt
        }
        if outcome.guardErrorCount > 0 || outcome.failure != nil, let key = entities[entity].key {
            noteFault { $0.note(outcome, of: key) }
        }
        let state = box.statePath
        var result = DecisionResult(
            verdict: outcome.verdict, entity: entity, rev: rev, state: state,
            description: StateName(lifecycle: box.lifecycle.rawValue, state: state),
            stateHash: box.stateHash, isOldEnd: outcome.isOldEnd)
        if box.lifecycle == .dismissed, attachments.contains(activity: entity) { result.controls = .end }
        if isChanged { result.change = Change(entity: entity, commit: sequence, activity: box, outcome) }
        if isShown {
            result.derived = derive(
                from: entity, former, box, isForeseen: isForeseen, isChanged: isChanged, sequence: sequence)
        }
        return result
    }

    // MARK: Forgetting

    private mutating func forget(_ key: Key, sequence: Int64) throws(WireError) -> DecisionResult {
        // A replay frees its place at once, so it would refuse a second removal in the same batch.
        guard let entity = entities.index(of: key), exists(entity) else { throw .unknownKey(key) }
        var change: Change?
        var rev = entities[entity].rev
        if isControl(entity) || widget(at: entity) != nil, !isGone(entity) {
            // No follower has been notified of its end yet.
            rev = sequence
            change = Change(
                entity: entity, isWidget: isWidget(entity), commit: sequence, activity: owner(of: entity))
            for operation in operations(at: entity) { ended(operation) }
        }
        if attachments[entity] != nil { setAttachment(nil, of: entity) }
        raiseResumeFloor(to: rev)
        if !boards.isEmpty { noteForgotten(entity) }
        let wasShown = activity(at: entity) != nil && kinds.areShownByWidgets(entities[entity].kind)
        mutate(entity) { place in
            place.state = .none
            place.rev = rev
            place.dismissedAt = nil
            place.armed = nil
        }
        var result = DecisionResult(
            verdict: .applied, entity: entity, rev: rev, description: StateName("pruned"), change: change)
        if wasShown {
            result.derived = forgetShown(entity, sequence: sequence)
        } else {
            result.derived = touchTiles(on: key, sequence: sequence)
        }
        return result
    }

    private mutating func wireError(_ rejection: ActivityRejection, key: Key) -> WireError {
        if case .machine = rejection { noteFault { $0.noteRefusedStep(of: key, rejection) } }
        var error = WireError(rejection)
        error.message = "\(key): \(error.message)"
        return error
    }
}

extension WireError {
    static func unknownKey(_ key: Key) -> WireError {
        WireError(.unknownKey, "there is no \(key); LIST shows what there is")
    }
}
