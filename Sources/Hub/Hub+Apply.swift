internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// MARK: The one place where the protocol meets the domain

extension Hub {
    /// Does what `input` says, at the hub's `time`. Live and in a recovery it is the same code, so that the same records
    /// give the same state.
    ///
    /// How to take it back is noted in ``undo``, for a batch that cannot be written.
    ///
    /// - Throws: What the sender is answered; nothing has changed then.
    mutating func apply(_ input: JournalEntry, sequence: Int64) throws(WireError) -> DecisionResult {
        switch input {
        case .settings(let settings):
            undo.append(.settings(self.settings, hadSettings: hasSettings))
            self.settings = DecisionSettings(settings)
            hasSettings = true
            // Who is to be forgotten earlier than was said is looked at earlier.
            for entity in entities.existing where entities[entity].dismissedAt != nil { arm(entity) }
            return DecisionResult(verdict: .applied)
        case .kinds(let sources):
            undo.append(.kinds(kinds))
            return try adopt(sources)
        case .event(let posted, let source):
            return try apply(posted, from: source, sequence: sequence)
        case .dismissed(let key, let account):
            return try applyToActivity(
                key, ActivityEvent(.dismissed(account: account)), sequence: sequence)
        case .seen(let key, let account, let rev):
            return try applyToActivity(
                key, ActivityEvent(.seen(account: account, rev: rev)), sequence: sequence)
        case .created, .tapped, .reported, .done, .failed, .providerChanged, .raiseRefused, .restarted, .kindChanged:
            return try applyToControl(input, sequence: sequence)
        case .deadline(let key, _):
            return try fireDeadline(input, of: key, sequence: sequence)
        case .pruned(let key): return try forget(key, sequence: sequence)
        }
    }

    // MARK: Events

    mutating func apply(_ posted: PostedEvent, from source: String, sequence: Int64) throws(WireError) -> DecisionResult
    {
        // What the event holds is asked for where it is needed: a copy of all of it would touch a dozen counts.
        let applied: DecisionResult
        let known = entities.index(of: posted.command.key, hash: posted.keyHash)
        if let known, let current = activity(at: known), current.isLive {
            // Its kind is there: one that something lives by cannot go.
            applied = try applyToActivity(current, at: known, posted.command.key, posted.event, sequence: sequence)
        } else {
            applied = try applyWhereNoneLives(posted, at: known, sequence: sequence)
        }
        if let eid = posted.command.eid {
            let number = eventIDs.insert(
                EventIDs.Entry(digest: posted.digest, rev: applied.rev), source: source, eid: eid,
                hash: posted.eidHash, wall: wall)
            undo.append(.eventID(source: number))
        }
        return applied
    }

    /// - Parameter known: The index of its key, where it has one.
    private mutating func applyWhereNoneLives(
        _ posted: PostedEvent, at known: EntityIndex?, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        let key = posted.command.key
        let kindIndex = try kindOfActivities(named: String(key.kind))
        guard let known, let current = activity(at: known), !current.isReplaced(by: posted.event) else {
            return try begin(posted, kind: kindIndex, sequence: sequence)
        }
        return try applyToActivity(current, at: known, key, posted.event, sequence: sequence)
    }

    /// The index of the version in force.
    private func kindOfActivities(named name: String) throws(WireError) -> Int {
        guard let index = kinds.current[name] else {
            throw WireError(
                .unknownKind, "there is no kind \(name); KINDS lists those there are, a file in --kinds makes one")
        }
        guard case .activity = kinds.versions[index].body else {
            throw WireError(.badAction, "\(name) is a control; SET or PRESS it, EVT is for live activities")
        }
        return index
    }

    /// Starts an activity under a key that has none, or whose last one is dismissed.
    private mutating func begin(
        _ posted: PostedEvent, kind kindIndex: Int, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        let command = posted.command
        let kind = kinds.versions[kindIndex]
        guard case .activity(let activityKind) = kind.body else { throw unknownKey(command.key) }
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
        let entity = entities.intern(command.key)
        if let previous = activity(at: entity), previous.accounts != started.accounts {
            undo.append(.readdressed(entity, entities.audienceHistories[entity]))
            entities.audienceHistories[entity, default: AudienceHistory()]
                .append(AudienceHistory.Change(commit: sequence, accounts: previous.accounts))
        }
        remember(entity)
        countActivity(at: entity, by: -1)
        entities[entity].kind = kindIndex
        return settle(entity, ActivityBox(started), outcome, sequence: sequence)
    }

    /// Whether an activity that takes up no room yet has any, among those of its people.
    private func checkRoom(for activity: Activity, kind: Int) throws(ActivityRejection) {
        // Those that nothing is counted of have no number.
        let occupied = activity.occupiedAccounts.map { accounts.known($0) ?? -1 }
        guard !occupied.isEmpty else { return }
        try activityCounts.check(app: kinds.appNumbers[kind], accounts: occupied, limits: settings.activityLimits)
    }

    /// Lets an activity that exists take an event.
    private mutating func applyToActivity(
        _ key: Key, _ event: ActivityEvent, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        guard let entity = entities.index(of: key), let current = activity(at: entity) else { throw unknownKey(key) }
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
            // One that is opened again takes up room again.
            if hadEnded { try checkRoom(for: activity, kind: entities[entity].kind) }
        } catch {
            throw wireError(error, key: key)
        }
        remember(entity)
        if !activity.isForEverybody { countActivity(at: entity, by: -1) }
        return settle(entity, ActivityBox(consume activity), outcome, sequence: sequence)
    }

    private mutating func fireDeadline(_ input: JournalEntry, of key: Key, sequence: Int64) throws(WireError)
        -> DecisionResult
    {
        guard let entity = entities.index(of: key) else { throw unknownKey(key) }
        guard var activity = activity(at: entity)?.value else {
            return try applyToControl(input, sequence: sequence)
        }
        guard let outcome = activity.deadlineReached(by: time, settings: settings.activities) else {
            throw WireError(.internal, "no deadline of \(key) is due")
        }
        remember(entity)
        countActivity(at: entity, by: -1)
        return settle(entity, ActivityBox(consume activity), outcome, sequence: sequence)
    }

    /// Takes over what an activity has become: its rev, its deadline, its place among the counted, its followers' due.
    private mutating func settle(
        _ entity: EntityIndex, _ box: ActivityBox, _ outcome: ActivityOutcome, sequence: Int64
    ) -> DecisionResult {
        let isChanged = outcome.effects.contains(.publish) || outcome.effects.contains(.retire)
        let dismissedAt = box.lifecycle == .dismissed ? entities[entity].dismissedAt ?? wall : nil
        let rev = isChanged ? sequence : entities[entity].rev
        entities.update(entity) { entity in
            entity.state = .activity(box)
            entity.rev = rev
            entity.dismissedAt = dismissedAt
        }
        noteFaults(of: outcome, at: entity)
        if !box.isForEverybody { countActivity(at: entity, by: 1) }
        list(entity, isListed: box.lifecycle != .dismissed)
        arm(entity, deadline: box.deadline)
        let state = box.statePath
        var applied = DecisionResult(
            verdict: outcome.verdict, entity: entity, rev: rev, state: state,
            description: StateName(lifecycle: box.lifecycle.rawValue, state: state),
            stateHash: box.stateHash, isOldEnd: outcome.isOldEnd)
        if isChanged { applied.change = Change(entity: entity, commit: sequence, activity: box, outcome) }
        return applied
    }

    // MARK: Forgetting

    private mutating func forget(_ key: Key, sequence: Int64) throws(WireError) -> DecisionResult {
        // Forgotten twice in one batch, it would be refused by a replay, which gives its place away at once.
        guard let entity = entities.index(of: key), exists(entity) else { throw unknownKey(key) }
        remember(entity)
        undo.append(.resumeFloor(resumeFloor))
        var change: Change?
        if isControl(entity) {
            // Nobody has been told yet that it goes.
            entities[entity].rev = sequence
            change = Change(entity: entity, commit: sequence)
            for operation in operations(at: entity) { flights[operation.number] = nil }
        }
        resumeFloor = max(resumeFloor, entities[entity].rev)
        let rev = entities[entity].rev
        unlist(entity)
        entities[entity].state = .none
        entities[entity].dismissedAt = nil
        entities[entity].armed = nil
        return DecisionResult(
            verdict: .applied, entity: entity, rev: rev, description: StateName("pruned"), change: change)
    }

    // MARK: Kinds

    private mutating func adopt(_ sources: [JSON]) throws(WireError) -> DecisionResult {
        var adopted: [Kind] = []
        for source in sources {
            guard let kind = Kind.read(journaled: source) else {
                throw WireError(.internal, "a kind of the journal cannot be read any more")
            }
            adopted.append(kind)
        }
        kinds.adopt(adopted)
        return DecisionResult(verdict: .applied)
    }

    // MARK: What they share

    func activity(at entity: EntityIndex) -> ActivityBox? {
        if case .activity(let activity) = entities[entity].state { activity } else { nil }
    }

    /// Counts what the state at `entity` takes up of its people's room, `difference` times.
    mutating func countActivity(at entity: EntityIndex, by difference: Int) {
        guard let activity = activity(at: entity), !activity.accounts.isEmpty else { return }
        let app = kinds.appNumbers[entities[entity].kind]
        for name in activity.value.occupiedAccounts {
            if difference > 0 {
                activityCounts.add(app: app, account: accounts.retain(name))
            } else if let account = accounts.known(name) {
                activityCounts.remove(app: app, account: account)
                accounts.release(account)
            }
        }
    }

    /// Brings the list of what there is to be shown in line with what stands at `entity`.
    mutating func list(_ entity: EntityIndex) { list(entity, isListed: isListed(entity)) }

    private mutating func list(_ entity: EntityIndex, isListed: Bool) {
        guard isListed else { return unlist(entity) }
        guard !audience.contains(entity) else { return }
        let numbers = (activity(at: entity)?.value.accounts ?? []).map { accounts.retain($0) }
        audience.insert(entity, kind: entities[entity].kindName, accounts: numbers)
    }

    /// Takes what stands at `entity` off that list, before something else is put there.
    mutating func unlist(_ entity: EntityIndex) {
        guard audience.contains(entity) else { return }
        let numbers = (activity(at: entity)?.value.accounts ?? []).compactMap { accounts.known($0) }
        audience.remove(entity, kind: entities[entity].kindName, accounts: numbers)
        for number in numbers { accounts.release(number) }
    }

    mutating func remember(_ entity: EntityIndex) {
        undo.append(
            .entity(
                entity, entities[entity].state, kind: entities[entity].kind, rev: entities[entity].rev,
                lastRecord: entities[entity].lastRecord, dismissedAt: entities[entity].dismissedAt))
    }

    private mutating func wireError(_ rejection: ActivityRejection, key: Key) -> WireError {
        if case .machine = rejection { noteRefusedStep(of: key, rejection) }
        var error = WireError(rejection)
        error.message = "\(key): \(error.message)"
        return error
    }
}
