internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// Everything that a replay of the journal recomputes: kinds, settings, activities, controls, ids, deadlines. Besides, it holds
/// ``suggestions``, which are not replayed: the keys of widgets that boards show without a tile.
///
/// Every function that changes replayable state records in the undo log how to undo the change. So a batch that the journal
/// refuses leaves no trace, however many keys it touched.
///
/// Invariants:
/// - The same records in the same order give the same state, in every process (``HubSnapshot/stateHash``).
/// - Between two batches the undo log is empty, and ``sequence`` is the newest durable record.
/// - ``time`` and ``wall`` never decrease.
/// - A key is listed, counted and armed exactly as its state says.
///
/// It has no notion of connections: it names no session and no subscription. It knows which boards are read, because
/// suggestions have keys only then.
struct EntityStore: ~Copyable {
    private let addressOnly = AddressOnly()
    /// The lineage of this history.
    let epoch: UInt64
    /// The newest record that was decided on.
    private(set) var sequence: Int64 = 0
    /// The kinds' clock: never before that of the newest record.
    private(set) var time: Timestamp = .distantPast
    /// Wall time, never before that of the newest record: controls, retention and event ids go by it.
    private(set) var wall: Timestamp = .distantPast
    /// ``time`` and ``wall`` of the newest kept record. A batch without records advances the clocks on this node only.
    private(set) var recordClocks = (time: Timestamp.distantPast, wall: Timestamp.distantPast)
    private(set) var kinds = KindTable()
    private(set) var settings = DecisionSettings.unsaid
    /// Whether a record has said which settings are in force.
    private(set) var hasSettings = false
    /// A resume from before this sequence cannot be complete, because deletions were forgotten.
    private(set) var resumeFloor: Int64 = 0
    private(set) var entities = EntityTable()
    private(set) var eventIDs = EventIDs()
    private(set) var accounts = AccountIndex()
    private(set) var taps = TapLedger()
    private(set) var attachments = Attachments()
    /// The control of each operation that a provider performs.
    private var pendingOperations: [Int64: Key] = [:]
    private(set) var changeOrder = ChangeOrder()
    private(set) var deadlines = DeadlineQueue()
    private(set) var ageMarks = AgeMarks()
    private(set) var faults = MachineFaultLog()
    private(set) var aggregates = Aggregates()
    private(set) var boards = Boards()
    private(set) var suggestions = Suggestions()
    /// Ranks committed activities only.
    private(set) var competition: Competition
    /// An activity that was stale from its start does not compete until it becomes active.
    private let hidesStaleFromStart: Bool
    private var undo: [Undo] = []
    /// A batch is being decided. Otherwise this is a recovery, whose faults were reported when they happened.
    private var isDeciding = false
    /// Keys that the batch forgets. Their indices are retained until the batch is settled, so that no other key gets them.
    private(set) var forgotten: [EntityIndex] = []
    /// The last records of keys forgotten since ``takePrunedChains()``.
    private var prunedChains: [Int64] = []

    init(epoch: UInt64, activitiesPerView: Int = Limits().activitiesPerView, hidesStaleFromStart: Bool = true) {
        self.epoch = epoch
        competition = Competition(limit: activitiesPerView)
        self.hidesStaleFromStart = hidesStaleFromStart
    }

    // MARK: A batch

    /// - Parameter count: The expected number of records.
    mutating func beginBatch(expecting count: Int, at now: HubTime) {
        isDeciding = true
        // An event with an id records two undo steps.
        undo.reserveCapacity(2 * count)
        setClocks(time: now.time, wall: now.wall)
        deadlines.setLeap(now.leap)
    }

    /// The batch is durable.
    ///
    /// - Returns: Its undo log with the former states, which can be freed when there is time.
    mutating func commitBatch(hasRecords: Bool) -> [Undo] {
        isDeciding = false
        // Not earlier: the changes that require it may still be undone.
        if hasRecords { forgetIDs() }
        if hasRecords { recordClocks = (time, wall) }
        ageMarks.note(sequence, at: wall)
        defer { undo = [] }
        return undo
    }

    /// Releases the indices of the keys that the batch forgot, after its changes are published. Some of these keys may exist
    /// again by now.
    mutating func releaseForgotten() {
        for entity in forgotten {
            if !exists(entity) { changeOrder.remove(entity) }
            entities.release(entity)
        }
        forgotten.removeAll(keepingCapacity: true)
    }

    /// Undoes everything decided after the record `durable`, because the batch was not written.
    mutating func rollBack(to durable: Int64) {
        isDeciding = false
        aggregates.dropTold()
        var log: [Undo] = []
        swap(&log, &undo)
        for step in log.reversed() { takeBack(step) }
        for entity in forgotten { entities.release(entity) }
        forgotten.removeAll()
        sequence = durable
        pendingOperations = pendingOperations.filter { $0.key <= durable }
        prunedChains.removeAll { $0 > durable }
    }

    /// Lets `body` change the store; if it throws, its changes are undone.
    mutating func undoingFailure<Result>(
        _ body: (inout EntityStore) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        let count = undo.count
        do {
            return try body(&self)
        } catch {
            undo.removeLast(undo.count - count)
            throw error
        }
    }

    private mutating func takeBack(_ step: Undo) {
        switch step {
        case .entity(let entity, let state, let kind, let rev, let lastRecord, let dismissedAt):
            // Here alone an activity may become something else while it is listed.
            unlist(entity)
            replace(entity) {
                $0.restore(state, kind: kind, rev: rev, lastRecord: lastRecord, dismissedAt: dismissedAt)
            }
            notePendingOperation(at: entity)
            entities.freeIfUnused(entity)
        case .eventID(let source): eventIDs.removeNewest(of: source)
        case .tap(let identity): taps.forgetNewest(identity)
        case .kinds(let table):
            kinds = table
            rebuildAggregates()
        case .contributed(let entity, let number, let former): _ = aggregates.set(former, of: entity, in: number)
        case .part(let entity, let number, let value, let former):
            _ = aggregates.replace(former, at: Int(value), of: entity, in: Int(number))
        case .settings(let settings, let hadSettings): (self.settings, hasSettings) = (settings, hadSettings)
        case .resumeFloor(let floor): resumeFloor = floor
        case .readdressed(let entity, let history): entities.audienceHistories[entity] = history
        case .timed(let control, let former): deadlines.restore(former, ofControl: control)
        case .attached(let control, let attachment): setAttachment(attachment, of: control, undoably: false)
        }
    }

    // MARK: A change of a key

    /// Changes the content of a key. Records how to undo it, and updates what follows from the content: lists, counts, boards,
    /// and deadlines.
    ///
    /// - Parameter isPlaceKept: Nothing that lists, counts, boards or deadlines depend on changes.
    @inline(__always)
    mutating func mutate(_ entity: EntityIndex, isPlaceKept: Bool = false, _ body: (inout Entity) -> Void) {
        undo.append(Undo(to: entities[entity], at: entity))
        if isPlaceKept {
            entities.update(entity, body)
        } else {
            replace(entity, body)
        }
    }

    /// Changes the content of a key, and what follows from it, without undo.
    @inline(__always)
    mutating func replace(_ entity: EntityIndex, _ body: (inout Entity) -> Void) {
        withdraw(entity)
        entities.update(entity, body)
        enter(entity)
    }

    /// Sets the `rev` of a key without content, for a deletion.
    mutating func setRev(_ rev: Int64, ofAbsent entity: EntityIndex) { entities[entity].rev = rev }

    @inline(__always)
    private mutating func withdraw(_ entity: EntityIndex) {
        if let activity = activity(at: entity) {
            // It stays listed: its accounts do not change before it is dismissed.
            if !activity.isForEverybody { countActivity(at: entity, by: -1) }
        } else if exists(entity) {
            unlist(entity)
            countGroup(at: entity, by: -1)
            noteItem(at: entity, isThere: false)
        }
    }

    @inline(__always)
    private mutating func enter(_ entity: EntityIndex) {
        guard let activity = activity(at: entity) else { return enterOther(entity) }
        if !activity.isForEverybody { countActivity(at: entity, by: 1) }
        list(entity, isListed: activity.lifecycle != .dismissed)
        arm(entity, deadline: activity.deadline)
    }

    private mutating func enterOther(_ entity: EntityIndex) {
        countGroup(at: entity, by: 1)
        noteItem(at: entity, isThere: true)
        list(entity)
        arm(entity)
    }

    // MARK: What follows from the content of a key

    /// Updates the list of visible keys after a change at `entity`.
    private mutating func list(_ entity: EntityIndex) { list(entity, isListed: isListed(entity)) }

    private mutating func list(_ entity: EntityIndex, isListed: Bool) {
        guard isListed else { return unlist(entity) }
        guard !accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        let isActivity = if case .activity = entities[entity].state { true } else { false }
        accounts.list(entity, isActivity: isActivity, kind: kind, accounts: names)
    }

    /// Removes `entity` from the list, before its content is replaced.
    private mutating func unlist(_ entity: EntityIndex) {
        guard accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        accounts.unlist(entity, kind: kind, accounts: names)
    }

    /// Adds the activity at `entity` to its accounts' counts, or subtracts it.
    private mutating func countActivity(at entity: EntityIndex, by difference: Int) {
        guard let activity = activity(at: entity), !activity.accounts.isEmpty else { return }
        let app = kinds.appNumbers[entities[entity].kind]
        let names = activity.value.occupiedAccounts
        if difference > 0 {
            accounts.add(names, app: app)
        } else {
            accounts.remove(names, app: app)
        }
    }

    /// Adds the widget at `entity` to the count of groups, or subtracts it.
    private mutating func countGroup(at entity: EntityIndex, by difference: Int) {
        guard case .widget(let widget) = entities[entity].state, widget.isAggregate else { return }
        let name = entities[entity].kindName
        aggregates.countKey(ofKind: name, by: difference)
    }

    /// Adds what is at `entity` to the boards or removes it, including a relevant widget.
    private mutating func noteItem(at entity: EntityIndex, isThere: Bool) {
        noteVisitor(at: entity, isThere: isThere)
        guard case .tile(let item) = entities[entity].state, !item.isGone, item.tile?.isSuggested != true
        else { return }
        let number = entities[entity].kindName
        if isThere {
            boards.insert(entity, item, onBoard: number)
        } else {
            boards.remove(entity, item, onBoard: number)
        }
    }

    /// Records a relevant widget, or that it no longer exists.
    private mutating func noteVisitor(at entity: EntityIndex, isThere: Bool) {
        guard isThere else {
            if !visitors.isEmpty { suggestions.visitors.remove(entity) }
            return
        }
        guard !kinds.everVisiting.isEmpty, let widget = widget(at: entity), !widget.isGone,
            let kind = widgetKind(at: entity), kind.isVisiting, let key = entities[entity].key
        else { return }
        let member = Visitors.Member(createdAt: widget.createdAt, key: key, entity: entity)
        suggestions.visitors.insert(member, accounts: widget.accounts)
    }

    /// Records the operation in progress of a control or a widget, so that the provider's answer finds it.
    private mutating func notePendingOperation(at entity: EntityIndex) {
        let operation: OperationID? =
            switch entities[entity].state {
            case .toggle(let toggle): toggle.flight?.operation.id
            case .button(let button): button.flight?.operation
            case .widget(let widget): widget.asking?.flight?.operation
            case .none, .activity, .tile: nil
            }
        if let operation, let key = entities[entity].key { began(operation, on: key) }
    }

    // MARK: The newest record

    /// Makes the record `sequence` the newest one of `entity`.
    ///
    /// - Returns: The key's previous record; 0 = there is none.
    mutating func advance(to sequence: Int64, about entity: EntityIndex?) -> Int64 {
        self.sequence = sequence
        guard let entity else { return 0 }
        let previous = entities[entity].lastRecord
        entities[entity].lastRecord = sequence
        return previous
    }

    /// Advances the clocks to those of a record or a snapshot.
    mutating func setClocks(time: Timestamp, wall: Timestamp) {
        self.time = max(self.time, time)
        self.wall = max(self.wall, wall)
    }

    subscript(entity: EntityIndex) -> Entity {
        @inline(__always) _read { yield entities[entity] }
    }

    /// The index of `key`, which is created if there is none.
    mutating func intern(_ key: Key) -> EntityIndex { entities.intern(key) }
    mutating func intern(_ key: Key, hash: UInt64) -> EntityIndex { entities.intern(key, hash: hash) }

    /// Retains an index for a subscription or a queue: no other key gets it before ``release(_:)``.
    mutating func retain(_ entity: EntityIndex) { entities.retain(entity) }
    mutating func release(_ entity: EntityIndex) { entities.release(entity) }

    /// The number of a kind's name, by which patterns match. It is retained until ``releaseKind(_:)``.
    mutating func retainKind(_ name: String) -> Int32 { entities.kindNumbers.retain(name) }
    mutating func releaseKind(_ number: Int32) { entities.kindNumbers.release(number) }

    mutating func insertEventID(_ digest: UInt64, hash: UInt64, eid: String, rev: Int64, source: String) {
        let number = eventIDs.insert(
            EventIDs.Entry(digest: digest, rev: rev), source: source, eid: eid, hash: hash, wall: wall)
        undo.append(.eventID(source: number))
    }

    mutating func insertTap(
        _ identity: TapLedger.Identity, on key: Key, tap: Tap, operation: OperationID?
    ) {
        taps.record(identity, on: key, tap: tap, operation: operation, at: wall)
        undo.append(.tap(identity))
    }

    private mutating func forgetIDs() {
        eventIDs.forget(at: wall, ageLimit: settings.eventIDAge, countLimit: settings.eventIDsPerSource)
        taps.forget(at: wall)
    }

    /// The control whose provider performs `operation`; `nil` = none is waiting.
    func control(performing operation: OperationID) -> Key? { pendingOperations[operation.number] }
    mutating func began(_ operation: OperationID, on key: Key) { pendingOperations[operation.number] = key }
    mutating func ended(_ operation: OperationID) { pendingOperations[operation.number] = nil }

    // MARK: Undo

    /// The edition of the rules in force.
    var rules: DecisionRules { settings.activities.rules }

    mutating func setSettings(_ settings: DecisionSettings) {
        undo.append(.settings(self.settings, hadSettings: hasSettings))
        (self.settings, hasSettings) = (settings, true)
    }

    mutating func adoptKinds(_ kinds: [Kind]) {
        undo.append(.kinds(self.kinds))
        self.kinds.adopt(kinds)
        rebuildAggregates()
    }

    mutating func note(_ step: Undo) { undo.append(step) }

    mutating func changeSuggestions(_ body: (inout Suggestions) -> Void) { body(&suggestions) }
    mutating func changeAggregates<Result>(_ body: (inout Aggregates) -> Result) -> Result { body(&aggregates) }

    mutating func raiseResumeFloor(to rev: Int64) {
        undo.append(.resumeFloor(resumeFloor))
        resumeFloor = max(resumeFloor, rev)
    }

    /// Records that the activity that ends under a key was for `accounts`, and that the new one is for others.
    mutating func readdress(_ entity: EntityIndex, from accounts: [String], commit: Int64) {
        undo.append(.readdressed(entity, entities.audienceHistories[entity]))
        entities.audienceHistories[entity, default: AudienceHistory()]
            .append(AudienceHistory.Change(commit: commit, accounts: accounts))
    }

    /// Attaches a control to an activity or detaches it, and lists it for the accounts that may then see it.
    mutating func setAttachment(_ attachment: Attachments.Attachment?, of control: EntityIndex, undoably: Bool = true) {
        if undoably { undo.append(.attached(control, attachments[control])) }
        unlist(control)
        attachments.set(attachment, of: control)
        list(control)
    }

    /// Records a durable change of `entity`: a resume finds it by this, and an activity is ranked again.
    ///
    /// - Parameters:
    ///   - isReordered: `false` if the change kept what ranks the activity (``ActivityBox/keepsStanding(of:)``).
    ///   - depth: The deepest position of an activity that affects a view.
    /// - Returns: The views that the change of an activity may affect; `nil` for everything else.
    @discardableResult
    mutating func touch(_ entity: EntityIndex, isReordered: Bool = true, within depth: Int = 0) -> Competition.Reach? {
        changeOrder.touch(entity)
        guard isReordered else { return competition.noteUnmoved(entity, within: depth) }
        guard let (activity, kind, version) = entities.activity(at: entity) else {
            // It may have been an activity that was dismissed and forgotten in one batch.
            competition.forget(entity)
            return nil
        }
        let standing = activity.standing(kind: kind, version: version, hidesStaleFromStart: hidesStaleFromStart)
        return competition.confirm(entity, standing, of: activity, within: depth)
            ?? competition.update(
                entity, to: Contender(standing: standing, key: activity.value.key.text, accounts: activity.accounts),
                within: depth)
    }

    // MARK: Deadlines

    /// Arms the next deadlines of a key after it changed.
    mutating func arm(_ entity: EntityIndex) {
        if let step = deadlines.note(controlDeadline(of: entity), ofControl: entity), isDeciding { undo.append(step) }
        arm(entity, deadline: kindsDeadline(of: entity))
    }

    /// - Parameter deadline: The activity's deadline on the kinds' clock; `nil` = none.
    @inline(__always)
    mutating func arm(_ entity: EntityIndex, deadline: Timestamp?) {
        deadlines.arm(entity, at: deadline, onWallClock: wallDeadline(of: entity), in: &entities)
    }

    /// Takes the first key that is due on the kinds' clock; `nil` = none is due.
    mutating func popDue() -> EntityIndex? {
        while let next = deadlines.pop(by: time, in: &entities) {
            if kindsDeadline(of: next.entity) == next.time { return next.entity }
            arm(next.entity)
        }
        return nil
    }

    /// Takes the first key that is due on the real clock.
    mutating func popDueOnWallClock() -> EntityIndex? {
        while let next = deadlines.popOnWallClock(by: wall, in: &entities) {
            if wallDeadline(of: next.entity) == next.time { return next.entity }
            arm(next.entity)
        }
        return nil
    }

    // MARK: Faults

    /// Lets `body` record a machine's fault. A recovery records none, because it repeats the past.
    mutating func noteFault(_ body: (inout MachineFaultLog) -> Void) { if isDeciding { body(&faults) } }
    mutating func takeFaultTexts() -> [String] { faults.takeTexts() }

    // MARK: Forgetting

    /// The record ``sequence`` forgot the key at `entity`. Its history ends here: if the key returns, it begins a new one.
    mutating func endChain(of entity: EntityIndex) {
        entities[entity].lastRecord = 0
        prunedChains.append(sequence)
        if isDeciding {
            // Retained, because the key may have to be restored until the batch is settled.
            entities.retain(entity)
            forgotten.append(entity)
        } else {
            changeOrder.remove(entity)
            entities.freeIfUnused(entity)
        }
    }

    mutating func takePrunedChains() -> [Int64] {
        defer { prunedChains = [] }
        return prunedChains
    }

    mutating func takePrunableSequence() -> Int64 { ageMarks.takePrunable(olderThan: settings.retention, at: wall) }

    // MARK: A replay and a snapshot

    /// Applies a record again, and compares the result.
    mutating func replay(_ record: JournalRecord) throws(RecoveryError) {
        let body: RecordBody
        do throws(BinaryError) {
            body = try RecordBody(decoding: record.body)
        } catch {
            throw .unreadable(place: "record \(record.sequence)", reason: error.description)
        }
        setClocks(time: record.time, wall: body.wall)
        defer { finishReplay() }
        let result: DecisionResult
        do {
            result = try apply(body.entry, as: record.sequence)
        } catch {
            throw .diverged(
                sequence: record.sequence, entity: record.entity, expected: body.verdict.rawValue,
                computed: "a refusal: \(error)")
        }
        _ = advance(to: record.sequence, about: result.entity)
        if let change = result.change { touch(change.entity) }
        for change in result.derived?.changes ?? [] { touch(change.entity) }
        for change in settledChanges() { touch(change.entity) }
        // The journal may have heard of the chain's end already; a second time does no harm.
        if case .pruned = body.entry, let entity = result.entity { endChain(of: entity) }
        guard result.verdict == body.verdict, result.rev == body.rev, result.stateHash == body.stateHash else {
            throw .diverged(
                sequence: record.sequence, entity: record.entity,
                expected: "\(body.verdict.rawValue), \(body.state), rev \(body.rev), hash \(body.stateHash)",
                computed:
                    "\(result.verdict.rawValue), \(result.description), rev \(result.rev), hash \(result.stateHash)"
            )
        }
    }

    /// Records that a replayed record is durable.
    private mutating func finishReplay() {
        undo.removeAll(keepingCapacity: true)
        recordClocks = (time, wall)
        forgetIDs()
        ageMarks.note(sequence, at: wall)
    }

    private mutating func restore(_ header: HubSnapshot.Header) {
        sequence = header.sequence
        (time, wall, resumeFloor) = (header.time, header.wall, header.resumeFloor)
        recordClocks = (time, wall)
        if let settings = header.settings { (self.settings, hasSettings) = (settings, true) }
        kinds = header.kinds
        ageMarks = AgeMarks(header.marks)
        entities.reserve(header.entityCount)
        eventIDs.reserve(header.sources)
    }

    private mutating func restore(_ past: AudienceHistory?, of key: EntityIndex) {
        entities.audienceHistories[key] = past
    }
    private mutating func restore(_ ids: [StoredEventID]) { eventIDs.restore(ids) }
    private mutating func restore(_ chunk: StoredIDChunk) -> Bool { eventIDs.restore(chunk) }
    private mutating func restore(_ taps: TapLedger) { self.taps = taps }

    /// The state after the newest record.
    ///
    /// - Precondition: No batch is in progress: a snapshot contains only what is durable.
    var snapshot: HubSnapshot {
        HubSnapshot(
            sequence: sequence, time: recordClocks.time, wall: recordClocks.wall, resumeFloor: resumeFloor,
            settings: hasSettings ? settings : nil, kinds: kinds, entities: entities.withoutLookup,
            entityCount: entities.count, eventIDs: eventIDs.past, taps: taps, attachments: attachments,
            marks: ageMarks.all)
    }

    /// A decoder for the chunks after those that were loaded.
    var snapshotDecoder: SnapshotDecoder { SnapshotDecoder(kinds: kinds) }

    /// Loads the next part of a snapshot into a store without history.
    mutating func load(_ part: SnapshotPart) throws(RecoveryError) {
        switch part.content {
        case .header(let header): restore(header)
        case .entities(let stored): load(stored)
        case .eventIDs(let stored): restore(stored)
        case .eventIDChunk(let chunk):
            guard restore(chunk) else {
                throw .unreadable(place: "the snapshot", reason: "the event ids of \(chunk.source) have a gap")
            }
        case .taps(let taps): restore(taps)
        }
    }

    private mutating func load(_ stored: [StoredEntity]) {
        for (position, one) in stored.enumerated() {
            let ahead = position + Self.lookahead
            if ahead < stored.count { entities.prefetch(hash: stored[ahead].hash) }
            let entity = intern(one.key, hash: one.hash)
            if let history = one.history { restore(history, of: entity) }
            entities.update(entity) { place in
                place.restore(
                    one.state, kind: one.kind, rev: one.rev, lastRecord: one.lastRecord, dismissedAt: one.dismissedAt)
                switch one.state {
                case .widget, .tile: place.isWidget = true
                case .none, .activity, .toggle, .button: break
                }
            }
            if let (owner, accounts) = one.attachment {
                let attachment = Attachments.Attachment(activity: owner.map { intern($0) }, accounts: accounts)
                setAttachment(attachment, of: entity, undoably: false)
            }
        }
    }

    /// How many entries ahead their memory is prefetched.
    private static let lookahead = 8

    /// Finishes loading a snapshot; the records after it follow.
    mutating func finishLoading() {
        // Sorted separately: a table lookup for each comparison would take several times as long.
        var order: [(rev: Int64, entity: EntityIndex)] = []
        order.reserveCapacity(entities.count)
        for entity in entities.existing { order.append((entities[entity].rev, entity)) }
        order.sort { $0.rev < $1.rev }
        for (_, entity) in order {
            touch(entity)
            enter(entity)
            notePendingOperation(at: entity)
        }
        rebuildAggregates()
    }
}
