internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// Everything that a replay of the journal computes again: kinds, settings, activities, controls, ids, deadlines; and
/// ``suggestions``, which are not replayed: the keys of widgets that boards show without a tile.
///
/// Every verb that changes what is replayable notes in the undo log how to take the change back. So a batch that the
/// journal refuses leaves no trace, however many keys it touched.
///
/// Invariants:
/// - The same records in the same order give the same state, in every process (``HubSnapshot/stateHash``).
/// - Between two batches the undo log is empty, and ``sequence`` is the newest durable record.
/// - ``time`` and ``wall`` never go back.
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
    /// ``time`` and ``wall`` of the newest record that is kept. A batch without records moves the clocks on here, and on no other node.
    private(set) var recordClocks = (time: Timestamp.distantPast, wall: Timestamp.distantPast)
    private(set) var kinds = KindTable()
    private(set) var settings = DecisionSettings.unsaid
    /// Whether a record has said which settings are in force.
    private(set) var hasSettings = false
    /// Resumes from before this sequence cannot be complete: deletions were forgotten.
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
    /// Of committed activities alone.
    private(set) var competition: Competition
    /// An activity that was stale from its start takes part in nothing until it becomes active.
    private let hidesStaleFromStart: Bool
    private var undo: [Undo] = []
    /// A batch is being decided. Without one it is a recovery, whose faults were told when they happened.
    private var isDeciding = false
    /// Keys that the batch forgets. Their indices are held until the batch is settled, so that no other key gets them.
    private(set) var forgotten: [EntityIndex] = []
    /// The last records of keys that were forgotten since ``takePrunedChains()``.
    private var prunedChains: [Int64] = []

    init(epoch: UInt64, activitiesPerView: Int = Limits().activitiesPerView, hidesStaleFromStart: Bool = true) {
        self.epoch = epoch
        competition = Competition(limit: activitiesPerView)
        self.hidesStaleFromStart = hidesStaleFromStart
    }

    // MARK: A batch

    /// - Parameter count: About how many records the batch will have.
    mutating func beginBatch(expecting count: Int, at now: HubTime) {
        isDeciding = true
        // An event with an id notes two ways back.
        undo.reserveCapacity(2 * count)
        setClocks(time: now.time, wall: now.wall)
        deadlines.setLeap(now.leap)
    }

    /// The batch is durable.
    ///
    /// - Returns: Its undo log, which holds the former states: freeing it can wait until there is time.
    mutating func commitBatch(hasRecords: Bool) -> [Undo] {
        isDeciding = false
        // Not before: what makes room necessary may be taken back.
        if hasRecords { forgetIDs() }
        if hasRecords { recordClocks = (time, wall) }
        ageMarks.note(sequence, at: wall)
        defer { undo = [] }
        return undo
    }

    /// After the changes of a committed batch are published: gives away the indices of the keys that it forgot. A key may
    /// be there anew by now.
    mutating func releaseForgotten() {
        for entity in forgotten {
            if !exists(entity) { changeOrder.remove(entity) }
            entities.release(entity)
        }
        forgotten.removeAll(keepingCapacity: true)
    }

    /// The batch is not written: takes everything back that was decided after the record `durable`.
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

    /// Lets `body` change the store; what it throws leaves nothing to take back.
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

    /// The record `sequence` about `entity` was made: it is the newest of its key.
    ///
    /// - Returns: The key's record before it; 0 = there is none.
    mutating func advance(to sequence: Int64, about entity: EntityIndex?) -> Int64 {
        self.sequence = sequence
        guard let entity else { return 0 }
        let previous = entities[entity].lastRecord
        entities[entity].lastRecord = sequence
        return previous
    }

    /// Takes the clocks of a record or a snapshot.
    mutating func setClocks(time: Timestamp, wall: Timestamp) {
        self.time = max(self.time, time)
        self.wall = max(self.wall, wall)
    }

    subscript(entity: EntityIndex) -> Entity {
        @inline(__always) _read { yield entities[entity] }
    }

    /// The index of `key`, which gets one when it has none.
    mutating func intern(_ key: Key) -> EntityIndex { entities.intern(key) }
    mutating func intern(_ key: Key, hash: UInt64) -> EntityIndex { entities.intern(key, hash: hash) }

    /// Holds an index for a subscription or a queue: no other key gets it before ``release(_:)``.
    mutating func retain(_ entity: EntityIndex) { entities.retain(entity) }
    mutating func release(_ entity: EntityIndex) { entities.release(entity) }

    /// Changes what stands behind a key. The caller notes the way back before (``recordUndo(of:)``).
    @inline(__always)
    mutating func update(_ entity: EntityIndex, _ body: (inout Entity) -> Void) { entities.update(entity, body) }

    /// The number of a kind's name, which patterns go by; it is held until ``releaseKind(_:)``.
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

    /// The control whose provider performs `operation`; `nil` = nothing waits for it.
    func control(performing operation: OperationID) -> Key? { pendingOperations[operation.number] }
    mutating func began(_ operation: OperationID, on key: Key) { pendingOperations[operation.number] = key }
    mutating func ended(_ operation: OperationID) { pendingOperations[operation.number] = nil }

    // MARK: The way back

    /// Notes the state of a key before it changes.
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

    /// Notes that the activity that ends under a key was for `accounts`, and the one that begins is for others.
    mutating func readdress(_ entity: EntityIndex, from accounts: [String], commit: Int64) {
        undo.append(.readdressed(entity, entities.audienceHistories[entity]))
        entities.audienceHistories[entity, default: AudienceHistory()]
            .append(AudienceHistory.Change(commit: commit, accounts: accounts))
    }

    /// Makes a control an activity's, or frees it, and lists it for the accounts that may be shown it then.
    mutating func setAttachment(_ attachment: Attachments.Attachment?, of control: EntityIndex, undoably: Bool = true) {
        if undoably { undo.append(.attached(control, attachments[control])) }
        unlist(control)
        attachments.set(attachment, of: control)
        list(control)
    }

    /// `entity` has just changed, durably: a resume finds it by that, and an activity takes its place among the others.
    ///
    /// - Parameter depth: The deepest place of an activity that concerns a view.
    /// - Returns: Whom the change of an activity concerns; `nil` for all else.
    @discardableResult
    mutating func touch(_ entity: EntityIndex, within depth: Int = 0) -> Competition.Reach? {
        changeOrder.touch(entity)
        guard case .activity(let activity) = entities[entity].state, let key = entities[entity].key else {
            // It may have been one that was dismissed and forgotten in one batch.
            competition.forget(entity)
            return nil
        }
        let contender = activity.contender(
            key: key.text, kind: entities[entity].kindName, app: kinds.appNumbers[entities[entity].kind],
            hidesStaleFromStart: hidesStaleFromStart)
        return competition.update(entity, to: contender, within: depth)
    }

    // MARK: Deadlines

    /// Notes the next moments of a key, after anything about it changed.
    mutating func arm(_ entity: EntityIndex) {
        if let step = deadlines.note(controlDeadline(of: entity), ofControl: entity), isDeciding { undo.append(step) }
        arm(entity, deadline: kindsDeadline(of: entity))
    }

    /// - Parameter deadline: Of the activity behind it, by the kinds' clock; `nil` where it has none.
    @inline(__always)
    mutating func arm(_ entity: EntityIndex, deadline: Timestamp?) {
        deadlines.arm(entity, at: deadline, onWallClock: wallDeadline(of: entity), in: &entities)
    }

    /// Takes the key whose deadline on the kinds' clock is due first; `nil` = none is due.
    mutating func popDue() -> EntityIndex? {
        while let next = deadlines.pop(by: time, in: &entities) {
            if kindsDeadline(of: next.entity) == next.time { return next.entity }
            arm(next.entity)
        }
        return nil
    }

    /// The same of the real clock.
    mutating func popDueOnWallClock() -> EntityIndex? {
        while let next = deadlines.popOnWallClock(by: wall, in: &entities) {
            if wallDeadline(of: next.entity) == next.time { return next.entity }
            arm(next.entity)
        }
        return nil
    }

    // MARK: Faults

    /// Lets `body` note what went wrong in a machine, unless this is a recovery, which tells of the past.
    mutating func noteFault(_ body: (inout MachineFaultLog) -> Void) { if isDeciding { body(&faults) } }
    mutating func takeFaultTexts() -> [String] { faults.takeTexts() }

    // MARK: Forgetting

    /// The record ``sequence`` forgot the key at `entity`, which has no history from here on: a key that comes anew begins
    /// a new one.
    mutating func endChain(of entity: EntityIndex) {
        if let step = deadlines.note(nil, ofControl: entity), isDeciding { undo.append(step) }
        entities[entity].lastRecord = 0
        prunedChains.append(sequence)
        if isDeciding {
            // Until the batch is settled the key may have to be taken back.
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

    /// A record was replayed: what it made is durable.
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
