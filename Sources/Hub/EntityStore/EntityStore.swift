internal import FanOut
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
            countActivity(at: entity, by: -1)
            countGroup(at: entity, by: -1)
            unlist(entity)
            noteItem(at: entity, isThere: false)
            entities[entity].restore(state, kind: kind, rev: rev, lastRecord: lastRecord, dismissedAt: dismissedAt)
            countGroup(at: entity, by: 1)
            noteItem(at: entity, isThere: true)
            countActivity(at: entity, by: 1)
            list(entity)
            notePendingOperation(at: entity)
            arm(entity)
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

    /// Changes the content of a key. The caller has recorded the undo (``recordUndo(of:)``).
    @inline(__always)
    mutating func update(_ entity: EntityIndex, _ body: (inout Entity) -> Void) { entities.update(entity, body) }

    /// The number of a kind's name, by which patterns match. It is retained until ``releaseKind(_:)``.
    mutating func retainKind(_ name: String) -> Int32 { entities.kindNumbers.retain(name) }
    mutating func releaseKind(_ number: Int32) { entities.kindNumbers.release(number) }

    mutating func insertEventID(_ digest: UInt64, hash: UInt64, eid: String, rev: Int64, source: String) {
        let number = eventIDs.insert(
            EventIDs.Entry(digest: digest, rev: rev), source: source, eid: eid, hash: hash, wall: wall)
        undo.append(.eventID(source: number))
    }

    mutating func insertTap(
        _ identity: TapLedger.Identity, on key: Key, action: ControlAction, operation: OperationID?
    ) {
        taps.record(identity, on: key, action: action, operation: operation, at: wall)
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

    /// Records the state of a key before it changes.
    mutating func recordUndo(of entity: EntityIndex) { undo.append(Undo(to: entities[entity], at: entity)) }

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

    @inline(__always)
    mutating func changeAccounts(_ body: (inout AccountIndex) -> Void) { body(&accounts) }
    mutating func changeBoards(_ body: (inout Boards) -> Void) { body(&boards) }
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
        if let step = deadlines.note(nil, ofControl: entity), isDeciding { undo.append(step) }
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

    /// Records that a replayed record is durable.
    mutating func finishReplay() {
        undo.removeAll(keepingCapacity: true)
        recordClocks = (time, wall)
        forgetIDs()
        ageMarks.note(sequence, at: wall)
    }

    mutating func restore(_ header: HubSnapshot.Header) {
        sequence = header.sequence
        (time, wall, resumeFloor) = (header.time, header.wall, header.resumeFloor)
        recordClocks = (time, wall)
        if let settings = header.settings { (self.settings, hasSettings) = (settings, true) }
        kinds = header.kinds
        ageMarks = AgeMarks(header.marks)
        entities.reserve(header.entityCount)
        eventIDs.reserve(header.sources)
    }

    mutating func restore(_ past: AudienceHistory?, of key: EntityIndex) { entities.audienceHistories[key] = past }
    mutating func restore(_ ids: [StoredEventID]) { eventIDs.restore(ids) }
    mutating func restore(_ chunk: StoredIDChunk) -> Bool { eventIDs.restore(chunk) }
    mutating func restore(_ taps: TapLedger) { self.taps = taps }
}
