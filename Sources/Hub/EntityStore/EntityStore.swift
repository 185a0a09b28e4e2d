internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// Everything that a replay of the journal recomputes: kinds, settings, activities, controls, ids, deadlines. The table also has
/// keys without state, which subscriptions follow or hold.
///
/// Every function that changes replayable state records in the undo log how to undo the change. So a batch that the journal
/// refuses leaves no trace, however many keys it touched.
///
/// Invariants:
/// - The same records in the same order give the same state, in every process (``HubSnapshot/stateHash``).
/// - Between two batches the undo log is empty, and ``sequence`` is the newest durable record.
/// - ``time`` and ``wall`` are those of the batch that is being decided, or of the newest record; never below the latter.
/// - A key is listed, counted and armed exactly as its state says.
///
/// It has no notion of connections: it names no session and no subscription.
struct EntityStore: ~Copyable {
    private let addressOnly = AddressOnly()
    private var clock: HistoryClock
    private var kinds = KindTable()
    /// The settings in force, and whether a record has set them.
    private var inForce = (settings: DecisionSettings.unsaid, isRecorded: false)
    private var entities = EntityTable()
    private var ids = RequestIDs()
    private var accounts = AccountIndex()
    private var attachments = Attachments()
    private var changeOrder = ChangeOrder()
    /// Ranks committed activities only.
    private var competition: Competition
    private var deadlines = DeadlineQueue()
    private var retention = Retention()
    private var aggregates = Aggregates()
    private var boards = Boards()
    private let references = KeyReferences()
    private var log = DecisionLog()

    init(epoch: UInt64, activitiesPerView: Int = Limits().activitiesPerView, hidesStaleFromStart: Bool = true) {
        clock = HistoryClock(epoch: epoch)
        competition = Competition(limit: activitiesPerView, hidesStaleFromStart: hidesStaleFromStart)
    }

    var epoch: UInt64 { clock.epoch }
    /// The newest record that was decided on.
    var sequence: Int64 { clock.sequence }
    /// The record that is being decided.
    var nextSequence: Int64 { clock.sequence + 1 }
    /// The kinds' clock.
    var time: Timestamp { clock.time }
    /// Wall time: controls, retention and event ids go by it.
    var wall: Timestamp { clock.wall }
    var settings: DecisionSettings { inForce.settings }
    var hasSettings: Bool { inForce.isRecorded }

    // MARK: A batch

    /// - Parameter count: The expected number of records.
    mutating func beginBatch(expecting count: Int, at now: HubTime) {
        freeReleased()
        log.begin(expecting: count)
        raiseClocks(to: now)
        deadlines.setLeap(now.leap)
    }

    mutating func raiseClocks(to now: HubTime) { clock.raise(time: now.time, wall: now.wall) }

    /// A batch follows that another node has decided: each record of it by ``replay(_:)``, then ``commitBatch(hasRecords:)``.
    mutating func beginReplay() { log.beginReplay() }

    /// The batch is durable.
    ///
    /// - Returns: Its undo log with the former states, which can be freed when there is time.
    mutating func commitBatch(hasRecords: Bool) -> [Undo] {
        if hasRecords { keepRecord() }
        retention.note(sequence, at: wall)
        return log.end()
    }

    /// Releases the indices of the keys that the batch forgot, after its changes are published. Some of these keys may exist
    /// again by now.
    mutating func releaseForgotten() {
        for entity in log.forgotten {
            if !exists(entity) { changeOrder.remove(entity) }
            references.release(entity)
        }
        log.removeForgotten()
        freeReleased()
    }

    /// Frees the indices of keys without content that nothing refers to any more. Done before another index is assigned, in the
    /// order in which they were released.
    mutating func freeReleased() {
        guard references.hasReleased else { return }
        for entity in references.takeReleased() { freeIfUnused(entity) }
    }

    private mutating func freeIfUnused(_ entity: EntityIndex) {
        if !references.isReferred(entity) { entities.freeIfEmpty(entity) }
    }

    /// Undoes everything decided after the record `durable`, because the batch was not written.
    mutating func rollBack(to durable: Int64) {
        aggregates.dropReports()
        freeReleased()
        for step in log.end().reversed() { takeBack(step) }
        for entity in log.forgotten { references.release(entity) }
        log.removeForgotten()
        freeReleased()
        clock.rollBack(to: durable)
        ids.rollBack(to: durable)
        retention.rollBack(to: durable)
    }

    /// Lets `body` change the store; if it throws, its changes are undone.
    mutating func undoingFailure<Result>(
        _ body: (inout EntityStore) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        let count = log.undoCount
        do {
            return try body(&self)
        } catch {
            log.drop(to: count)
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
            freeIfUnused(entity)
        case .eventID(let source): ids.events.removeNewest(of: source)
        case .tap(let identity): ids.taps.forgetNewest(identity)
        case .kinds(let table):
            kinds = table
            rebuildAggregates()
        case .contributed(let entity, let number, let former): _ = aggregates.set(former, of: entity, in: number)
        case .part(let entity, let number, let value, let former):
            _ = aggregates.replace(former, at: Int(value), of: entity, in: Int(number))
        case .settings(let settings, let isRecorded): inForce = (settings, isRecorded)
        case .resumeFloor(let floor): retention.setResumeFloor(floor)
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
        log.note(Undo(to: entities[entity], at: entity))
        if isPlaceKept {
            entities.update(entity, body)
        } else {
            replace(entity, body)
        }
    }

    /// Changes the content of a key, and what follows from it, without undo.
    @inline(__always)
    private mutating func replace(_ entity: EntityIndex, _ body: (inout Entity) -> Void) {
        withdraw(entity)
        entities.update(entity, body)
        enter(entity)
    }

    @inline(__always)
    private mutating func withdraw(_ entity: EntityIndex) {
        if let isForEverybody = entities.isActivityForEverybody(at: entity) {
            // It stays listed: its accounts do not change before it is dismissed.
            if !isForEverybody { countActivity(at: entity, by: -1) }
        } else if exists(entity) {
            unlist(entity)
            countGroup(at: entity, by: -1)
            noteItem(at: entity, isThere: false)
        }
    }

    @inline(__always)
    private mutating func enter(_ entity: EntityIndex) {
        guard let activity = entities.activity(at: entity)?.activity else { return enterOther(entity) }
        if !activity.isForEverybody { countActivity(at: entity, by: 1) }
        list(entity, isListed: activity.lifecycle != .dismissed)
        arm(entity, deadline: activity.deadline)
    }

    private mutating func enterOther(_ entity: EntityIndex) {
        countGroup(at: entity, by: 1)
        noteItem(at: entity, isThere: true)
        list(entity, isListed: isListed(entity))
        arm(entity)
    }

    // MARK: What follows from the content of a key

    /// Updates the list of visible keys after a change at `entity`.
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

    /// Adds what is at `entity` to the boards, or removes it, including a relevant widget.
    private mutating func noteItem(at entity: EntityIndex, isThere: Bool) {
        noteRelevantWidget(at: entity, isThere: isThere)
        guard case .tile(let item) = entities[entity].state, !item.isGone else { return }
        let number = entities[entity].kindName
        if isThere {
            boards.insert(entity, item, onBoard: number)
        } else {
            boards.remove(entity, item, onBoard: number)
        }
    }

    /// Records a relevant widget, or that it no longer exists.
    private mutating func noteRelevantWidget(at entity: EntityIndex, isThere: Bool) {
        guard isThere else {
            if !boards.relevantWidgets.isEmpty { boards.relevantWidgets.remove(entity) }
            return
        }
        guard !kinds.everVisiting.isEmpty, let widget = widget(at: entity), !widget.isGone,
            let kind = widgetKind(at: entity), kind.isVisiting, let key = entities[entity].key
        else { return }
        let member = RelevantWidgets.Member(createdAt: widget.createdAt, key: key, entity: entity)
        boards.relevantWidgets.insert(member, accounts: widget.accounts)
    }

    /// Records the operation in progress of a control or a widget, so that the provider's answer finds it.
    private mutating func notePendingOperation(at entity: EntityIndex) {
        if let operation = entities[entity].state.operation, let key = entities[entity].key {
            began(operation, on: key)
        }
    }

    // MARK: The newest record

    /// Makes the record `sequence` the newest one of `entity`.
    ///
    /// - Returns: The key's previous record; 0 = there is none.
    mutating func advance(to sequence: Int64, about entity: EntityIndex?) -> Int64 {
        clock.setSequence(sequence)
        guard let entity else { return 0 }
        let previous = entities[entity].lastRecord
        entities[entity].lastRecord = sequence
        return previous
    }

    /// The newest record is durable. Ids are not forgotten earlier: the changes that require it may still be undone.
    private mutating func keepRecord() {
        clock.keepRecord()
        ids.forget(at: wall, settings)
    }

    subscript(entity: EntityIndex) -> Entity {
        @inline(__always) _read { yield entities[entity] }
    }

    /// The index of `key`, which is created if there is none.
    mutating func intern(_ key: Key) -> EntityIndex { intern(key, hash: HashIndex.hash(of: key.text)) }
    mutating func intern(_ key: Key, hash: UInt64) -> EntityIndex {
        freeReleased()
        return entities.intern(key, hash: hash)
    }

    /// Retains an index for a subscription or a queue: no other key gets it before ``release(_:)``.
    func retain(_ entity: EntityIndex) { references.retain(entity) }
    func release(_ entity: EntityIndex) { references.release(entity) }

    /// The number of a kind's name, by which patterns match. It is retained until ``releaseKind(_:)``.
    mutating func retainKind(_ name: String) -> Int32 { entities.kindNumbers.retain(name) }
    mutating func releaseKind(_ number: Int32) { entities.kindNumbers.release(number) }

    // MARK: Ids

    func knownEvent(_ eid: String, of source: String, hash: UInt64) -> EventIDs.Entry? {
        ids.events.entry(source: source, eid: eid, hash: hash)
    }

    /// Whether event ids of `source` can be remembered within a limit of sources.
    func hasRoom(forIDsOf source: String, limit: Int) -> Bool {
        ids.events.sourceCount < limit || ids.events.knows(source)
    }

    func answer(to identity: TapLedger.Identity, on key: Key, tap: Tap) -> TapLedger.Answer {
        ids.taps.answer(to: identity, on: key, tap: tap)
    }

    var eventIDCount: Int { ids.events.count }
    var tapCount: Int { ids.taps.count }

    mutating func insertEventID(_ digest: UInt64, hash: UInt64, eid: String, rev: Int64, source: String) {
        let number = ids.events.insert(
            EventIDs.Entry(digest: digest, rev: rev), source: source, eid: eid, hash: hash, wall: wall)
        log.note(.eventID(source: number))
    }

    mutating func insertTap(_ identity: TapLedger.Identity, on key: Key, tap: Tap, operation: OperationID?) {
        ids.taps.record(identity, on: key, tap: tap, operation: operation, at: wall)
        log.note(.tap(identity))
    }

    /// The control whose provider performs `operation`; `nil` = none is waiting.
    func control(performing operation: OperationID) -> Key? { ids.control(performing: operation) }
    mutating func began(_ operation: OperationID, on key: Key) { ids.began(operation, on: key) }
    mutating func ended(_ operation: OperationID) { ids.ended(operation) }

    // MARK: Undo

    /// The edition of the rules in force.
    var rules: DecisionRules { settings.activities.rules }

    mutating func setSettings(_ settings: DecisionSettings) {
        log.note(.settings(inForce.settings, isRecorded: inForce.isRecorded))
        inForce = (settings, true)
    }

    /// - Returns: The names of the kinds that came, went, or changed their version.
    mutating func adoptKinds(_ kinds: [Kind]) -> Set<String> {
        let former = self.kinds.current
        log.note(.kinds(self.kinds))
        self.kinds.adopt(kinds)
        rebuildAggregates()
        let current = self.kinds.current
        return Set(former.keys).union(current.keys).filter { former[$0] != current[$0] }
    }

    mutating func raiseResumeFloor(to rev: Int64) {
        log.note(.resumeFloor(retention.resumeFloor))
        retention.setResumeFloor(max(retention.resumeFloor, rev))
    }

    /// Records that the activity that ends under a key was for `accounts`, and that the new one is for others.
    mutating func readdress(_ entity: EntityIndex, from accounts: [String], commit: Int64) {
        log.note(.readdressed(entity, entities.audienceHistories[entity]))
        entities.audienceHistories[entity, default: AudienceHistory()]
            .append(AudienceHistory.Change(commit: commit, accounts: accounts))
    }

    /// Attaches a control to an activity or detaches it, and lists it for the accounts that may then see it.
    mutating func setAttachment(_ attachment: Attachments.Attachment?, of control: EntityIndex, undoably: Bool = true) {
        if undoably { log.note(.attached(control, attachments[control])) }
        unlist(control)
        attachments.set(attachment, of: control)
        list(control, isListed: isListed(control))
    }

    /// Records a durable change of `entity`: a resume finds it by this, and an activity is ranked again.
    ///
    /// - Parameters:
    ///   - isReordered: `false` if the change kept what ranks the activity (``ActivityBox/keepsFeatures(of:)``).
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
        let features = activity.features(
            kind: kind, version: version, hidesStaleFromStart: competition.hidesStaleFromStart)
        return competition.confirm(entity, features, of: activity, within: depth)
            ?? competition.update(
                entity, to: Contender(features: features, key: activity.value.key.text, accounts: activity.accounts),
                within: depth)
    }

    // MARK: Deadlines

    /// Arms the next deadlines of a key after it changed.
    mutating func arm(_ entity: EntityIndex) {
        if let step = deadlines.note(controlDeadline(of: entity), ofControl: entity), log.isDeciding { log.note(step) }
        arm(entity, deadline: kindsDeadline(of: entity))
    }

    /// - Parameter deadline: The activity's deadline on the kinds' clock; `nil` = none.
    @inline(__always)
    mutating func arm(_ entity: EntityIndex, deadline: Timestamp?) {
        deadlines.arm(entity, at: deadline, onWallClock: wallDeadline(of: entity), in: &entities)
    }

    /// Arms the deadlines of every key that has one and is not armed.
    mutating func armAll() { for entity in existing { arm(entity) } }

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
    mutating func noteFault(_ body: (inout MachineFaultLog) -> Void) { log.noteFault(body) }
    mutating func takeFaultTexts() -> [String] { log.takeFaultTexts() }
    var faults: MachineFaultLog { log.faults }

    // MARK: Forgetting

    /// The record ``sequence`` forgot the key at `entity`. Its history ends here: if the key returns, it begins a new one.
    mutating func endChain(of entity: EntityIndex) {
        entities[entity].lastRecord = 0
        retention.endChain(at: sequence)
        if log.isInBatch {
            // Retained, because until the batch is settled the key may have to be restored, and its end published.
            references.retain(entity)
            log.forget(entity)
        } else {
            changeOrder.remove(entity)
            freeIfUnused(entity)
        }
    }

    /// Keys that the batch forgot, until ``releaseForgotten()``.
    var forgotten: [EntityIndex] { log.forgotten }
    var resumeFloor: Int64 { retention.resumeFloor }

    mutating func takePrunedChains() -> [Int64] { retention.takePrunedChains() }

    mutating func takePrunableSequence() -> Int64 {
        retention.takePrunable(olderThan: settings.retention, at: wall)
    }

    // MARK: A replay and a snapshot

    /// Applies a record again, and compares the result: by itself in a recovery, or as a part of a batch after ``beginReplay()``.
    ///
    /// - Returns: The result, whose changes are still to be published in a batch.
    @discardableResult
    mutating func replay(_ record: JournalRecord) throws(RecoveryError) -> DecisionResult {
        let body: RecordBody
        do throws(BinaryError) {
            body = try RecordBody(decoding: record.body)
        } catch {
            throw .unreadable(place: "record \(record.sequence)", reason: error.description)
        }
        clock.set(time: record.time, wall: body.wall)
        clock.setSequence(record.sequence - 1)
        defer { log.removeUndo() }
        let result: DecisionResult
        do {
            result = try Decisions.apply(body.entry, &self)
        } catch {
            throw .diverged(
                sequence: record.sequence, entity: record.entity, expected: body.verdict.rawValue,
                computed: "a refusal: \(error)")
        }
        _ = advance(to: record.sequence, about: result.entity)
        if !log.isInBatch { settle(result) }
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
        return result
    }

    /// Settles a record that a recovery has applied: nobody follows its changes.
    private mutating func settle(_ result: DecisionResult) {
        if let change = result.change { touch(change.entity) }
        for change in result.derived?.changes ?? [] { touch(change.entity) }
        for change in settledChanges() { touch(change.entity) }
        keepRecord()
        retention.note(sequence, at: wall)
    }

    private mutating func restore(_ header: HubSnapshot.Header) {
        clock.setSequence(header.sequence)
        clock.set(time: header.time, wall: header.wall)
        clock.keepRecord()
        if let settings = header.settings { inForce = (settings, true) }
        kinds = header.kinds
        retention.restore(resumeFloor: header.resumeFloor, header.marks)
        entities.reserve(header.entityCount)
        ids.events.reserve(header.sources)
    }

    /// The state after the newest record.
    ///
    /// - Precondition: No batch is in progress: a snapshot contains only what is durable.
    var snapshot: HubSnapshot {
        HubSnapshot(
            sequence: sequence, time: clock.ofRecord.time, wall: clock.ofRecord.wall, resumeFloor: resumeFloor,
            settings: hasSettings ? settings : nil, kinds: kinds, entities: entities.withoutLookup,
            entityCount: entities.count, eventIDs: ids.events.past, taps: ids.taps, attachments: attachments,
            marks: retention.ageMarks.all)
    }

    /// A decoder for the chunks after those that were loaded.
    var snapshotDecoder: SnapshotDecoder { SnapshotDecoder(kinds: kinds) }

    /// Loads the next part of a snapshot into a store without history.
    mutating func load(_ part: SnapshotPart) throws(RecoveryError) {
        switch part.content {
        case .header(let header): restore(header)
        case .entities(let stored): load(stored)
        case .eventIDs(let stored): ids.events.restore(stored)
        case .eventIDChunk(let chunk):
            guard ids.events.restore(chunk) else {
                throw .unreadable(place: "the snapshot", reason: "the event ids of \(chunk.source) have a gap")
            }
        case .taps(let taps): ids.taps = taps
        }
    }

    private mutating func load(_ stored: [StoredEntity]) {
        for (position, one) in stored.enumerated() {
            let ahead = position + Self.lookahead
            if ahead < stored.count { entities.prefetch(hash: stored[ahead].hash) }
            let entity = intern(one.key, hash: one.hash)
            if let history = one.history { entities.audienceHistories[entity] = history }
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

    // MARK: Keys

    /// Every index with content, in the order of the table.
    var existing: some Sequence<EntityIndex> { entities.existing }
    var keyCount: Int { entities.count }
    /// The number of indices that were ever assigned; some may be free now.
    var indexCount: Int { entities.indexCount }

    func index(of key: Key, hash: UInt64) -> EntityIndex? { entities.index(of: key, hash: hash) }

    /// The number of a kind's name, if something uses it.
    func kindNumber(of name: some StringProtocol) -> Int32? { entities.kindNumbers.known(String(name)) }
    var kindNumberCount: Int { entities.kindNumbers.count }
    /// The numbers of all kind names are below this.
    var kindNumberLimit: Int { entities.kindNumbers.limit }
    func isBoard(_ number: Int32) -> Bool { entities.kindNumbers.isBoard(number) }

    /// The former accounts of a key, if they differ.
    func audienceHistory(of entity: EntityIndex) -> AudienceHistory? { entities.audienceHistories[entity] }

    func prefetch(keyHash: UInt64, eidHash: UInt64) {
        entities.prefetch(hash: keyHash)
        if eidHash != 0 { ids.events.prefetch(hash: eidHash) }
    }

    func prefetchEntity(keyHash: UInt64) -> EntityIndex? { entities.prefetchEntity(hash: keyHash) }

    // MARK: Accounts

    var accountCount: Int { accounts.count }

    /// Whether an account can be remembered within a limit of accounts.
    func hasRoom(for account: String, limit: Int) -> Bool { accounts.count < limit || accounts.knows(account) }

    /// The listed keys of a kind that are visible to the devices of an account.
    func visible(to account: String, kind: Int32) -> [EntityIndex] {
        accounts.visible(to: account, kind: kind).filter { isVisible($0, to: account) }
    }

    /// The number of keys that ``visible(to:kind:)`` examines.
    func visibleCount(to account: String, kind: Int32) -> Int { accounts.visibleCount(to: account, kind: kind) }

    /// Whether an activity that is not counted yet fits within the limits of its accounts.
    func checkRoom(for activity: Activity, kind: Int) throws(ActivityRejection) {
        try accounts.checkRoom(
            for: activity.occupiedAccounts, app: kinds.appNumbers[kind], limits: settings.activityLimits)
    }

    // MARK: Controls of activities

    func attachment(of control: EntityIndex) -> Attachments.Attachment? { attachments[control] }
    func hasControls(_ activity: EntityIndex) -> Bool { attachments.contains(activity: activity) }

    /// The accounts that may see `entity`; empty = every account.
    func audience(of entity: EntityIndex) -> [String] {
        switch entities[entity].state {
        case .activity(let activity): activity.accounts
        case .widget(let widget): widget.accounts
        case .tile(let item): item.accounts
        case .none, .toggle, .button: attachments[entity]?.accounts ?? []
        }
    }

    /// The activity that a control belongs to, while both exist.
    func owner(of control: EntityIndex) -> ActivityBox? { attachments[control]?.activity.flatMap { activity(at: $0) } }

    /// Whether a view of its activity offers a control now (E6); `nil` if it is always offered.
    func isOffered(_ control: EntityIndex) -> Bool? {
        guard let owner = attachments[control]?.activity, hidesControls(owner), let activity = activity(at: owner),
            case .activity(let kind)? = kind(at: owner)?.body, let key = entities[control].key
        else { return nil }
        return kind.views.offers(key.text, in: activity.value.viewContext)
    }

    /// Whether an activity has controls that are not always offered.
    func hidesControls(_ activity: EntityIndex) -> Bool {
        guard attachments.contains(activity: activity), case .activity(let kind)? = kind(at: activity)?.body else {
            return false
        }
        return kind.hidesControls
    }

    /// Whether the activity of a control that is not always offered changed after `sequence`.
    func mayBeOfferedAnew(_ control: EntityIndex, after sequence: Int64) -> Bool {
        guard let owner = attachments[control]?.activity, hidesControls(owner) else { return false }
        return hasOwnChange(owner, after: sequence)
    }

    var hasAttachments: Bool { !attachments.isEmpty }
    func controls(of activity: EntityIndex) -> [EntityIndex] { attachments.controls(of: activity) }

    /// Whether a control went with its activity, or a widget has ended. Its outcome can be requested until it is pruned.
    func isGone(_ entity: EntityIndex) -> Bool {
        entities[entity].dismissedAt != nil
            && (isControl(entity) || widget(at: entity) != nil || boardItem(at: entity) != nil)
    }

    /// The keys of the controls of an activity.
    func attachedControls(of activity: EntityIndex) -> [Key] {
        attachments.controls(of: activity).compactMap { entities[$0].key }
    }

    // MARK: Competition

    /// How many activities of a kind compete in a view, and how many a view shows.
    var activitiesPerView: Int { competition.limit }
    /// Increases with every change that may affect a view.
    var competitionVersion: Int { competition.version }
    func hasOwnActivities(_ account: String) -> Bool { competition.hasOwn(account) }

    /// How many activities may be shown to an account, dismissed ones included.
    func competingCount(for account: String, kind: Int32?) -> Int { competition.count(for: account, kind: kind) }

    // MARK: Reads

    func index(of key: Key) -> EntityIndex? { entities.index(of: key) }

    func activity(at entity: EntityIndex) -> ActivityBox? {
        if case .activity(let activity) = entities[entity].state { activity } else { nil }
    }

    /// The version of the kind that a key uses; `nil` if the key has no content.
    func kind(at entity: EntityIndex) -> Kind? {
        let index = entities[entity].kind
        return kinds.versions.indices.contains(index) ? kinds.versions[index] : nil
    }

    /// Whether the key has content, dismissed or not.
    func exists(_ entity: EntityIndex) -> Bool {
        if case .none = entities[entity].state { false } else { true }
    }

    /// Whether it exists, and is in views and lists.
    func isListed(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .none: false
        case .activity(let activity): activity.value.lifecycle != .dismissed
        case .toggle, .button, .widget, .tile: entities[entity].dismissedAt == nil
        }
    }

    /// Whether `account` may request its outcome, dismissed or not.
    func isAddressed(_ entity: EntityIndex, to account: String?) -> Bool {
        guard let account else { return true }
        switch entities[entity].state {
        case .none: return true
        case .activity(let activity): return activity.value.isAddressed(to: account)
        case .widget(let widget): return widget.isVisible(to: account)
        case .tile(let item): return item.isVisible(to: account)
        case .toggle, .button: return attachments[entity]?.isAddressed(to: account) ?? true
        }
    }

    /// Whether `account` could see the key's content at `sequence`, or can now. Otherwise not even its deletion is sent.
    func mayHaveKnown(_ entity: EntityIndex, account: String?, at sequence: Int64) -> Bool {
        guard let account, !isAddressed(entity, to: account) else { return true }
        return entities.audienceHistories[entity]?.contains(account, after: sequence) == true
    }

    /// Whether the devices of `account` may show it; without an account everything is visible.
    ///
    /// - Parameter digest: `Activity.digest(of:)` the account, if it is known.
    func isVisible(_ entity: EntityIndex, to account: String?, digest: UInt64? = nil) -> Bool {
        guard let account else { return true }
        switch entities[entity].state {
        case .none: return true
        case .activity(let activity): return activity.value.isVisible(to: account, digest: digest)
        case .widget(let widget):
            guard widget.isVisible(to: account) else { return false }
            return !widget.isDerived || !isShownActivityDismissed(entity, by: account, digest: digest)
        case .tile(let item): return item.isVisible(to: account)
        case .toggle, .button:
            guard let attachment = attachments[entity] else { return true }
            return attachment.activity.flatMap { activity(at: $0) }?.value.isVisible(to: account, digest: digest)
                ?? false
        }
    }

    /// The keys that exist, are not dismissed, match `selector` and are visible to `account`, in the order of the table.
    ///
    /// - Complexity: With an account, O(what it can see); without one, O(everything).
    func visible(
        to account: String?, digest: UInt64? = nil, followedBy selector: PatternIndex.Selector
    ) -> [EntityIndex] {
        let candidates: [EntityIndex]
        switch (selector, account) {
        case (.key(let entity), _): candidates = [entity]
        case (.kind(let number), _) where entities.kindNumbers.isBoard(number):
            candidates = boards.items(onBoard: number)
        case (.all, let account?), (.allWithWidgets, let account?):
            candidates = accounts.visible(to: account, kind: nil)
        case (.kind(let kind), let account?): candidates = accounts.visible(to: account, kind: kind)
        case (.all, nil), (.allWithWidgets, nil), (.kind, nil): candidates = Array(entities.indices)
        }
        return candidates.filter { entity in
            isListed(entity) && follows(selector, entity) && isVisible(entity, to: account, digest: digest)
        }
    }

    /// The keys of ``visible(to:followedBy:)`` that are not activities.
    func others(
        visibleTo account: String, digest: UInt64? = nil, followedBy selector: PatternIndex.Selector
    ) -> [EntityIndex] {
        let candidates: [EntityIndex]
        switch selector {
        case .key(let entity): candidates = activity(at: entity) == nil ? [entity] : []
        case .kind(let number) where entities.kindNumbers.isBoard(number): candidates = boards.items(onBoard: number)
        case .kind(let kind): candidates = accounts.others(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: candidates = accounts.others(visibleTo: account, kind: nil)
        }
        return candidates.filter { entity in
            isListed(entity) && follows(selector, entity) && isVisible(entity, to: account, digest: digest)
        }
    }

    /// The number of keys that ``others(visibleTo:followedBy:)`` examines.
    func otherCount(visibleTo account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let number) where entities.kindNumbers.isBoard(number):
            boards.items(onBoard: number).count
        case .kind(let kind): accounts.otherCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.otherCount(visibleTo: account, kind: nil)
        }
    }

    /// The activities that compete in the views of an account.
    ///
    /// - Parameters:
    ///   - account: `nil` = any account without its own activities that dismissed none.
    ///   - more: How many beyond the limit of a kind are examined too.
    func lineup(
        for account: String?, digest: UInt64? = nil, kind: Int32?, more: [Int32: Int] = [:]
    ) -> Competition.Lineup {
        guard let account else { return competition.lineup(for: nil, kind: kind, more: more) { _ in true } }
        // A copy, because a closure cannot capture an entity store.
        let entities = entities
        return competition.lineup(for: account, kind: kind, more: more) { entity in
            if case .activity(let activity) = entities[entity].state {
                activity.value.isVisible(to: account, digest: digest)
            } else {
                false
            }
        }
    }

    /// The activities that were in a view of an account at some moment since a commit and have not changed since. The result may
    /// contain others too.
    ///
    /// An unchanged activity was among the first of its kind at that moment, and at most as many have overtaken it as have
    /// changed.
    ///
    /// - Parameter changed: The keys that commits since then changed.
    func competitors(
        for account: String, digest: UInt64?, kind: Int32?, unlike changed: [EntityIndex]
    ) -> [EntityIndex] {
        var more: [Int32: Int] = [:]
        for entity in changed { more[entities[entity].kindName, default: 0] += 1 }
        return lineup(for: account, digest: digest, kind: kind, more: more).entities
    }

    /// The most activities that compete in a view of an account.
    func competitorCount(for account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let kind): accounts.activityCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.activityCount(visibleTo: account, kind: nil)
        }
    }

    /// The number of keys that ``visible(to:followedBy:)`` examines.
    func candidateCount(for account: String?, followedBy selector: PatternIndex.Selector) -> Int {
        switch (selector, account) {
        case (.key, _): 1
        case (.kind(let number), _) where entities.kindNumbers.isBoard(number):
            boards.items(onBoard: number).count
        case (.all, let account?), (.allWithWidgets, let account?): accounts.visibleCount(to: account, kind: nil)
        case (.kind(let kind), let account?): accounts.visibleCount(to: account, kind: kind)
        case (.all, nil), (.allWithWidgets, nil), (.kind, nil): entities.indexCount
        }
    }

    /// Whether a commit after `sequence` changed the key, as far as is remembered.
    func hasChanged(_ entity: EntityIndex, after sequence: Int64) -> Bool {
        hasOwnChange(entity, after: sequence)
            || hasWidgetChanged(ofTile: entity, after: sequence)
    }

    /// Whether commits after `sequence` changed more than `limit` keys.
    func hasChanged(moreThan limit: Int, after sequence: Int64) -> Bool {
        changeOrder.hasMore(than: limit) { entities[$0].rev > sequence }
    }

    /// The keys that match a selector and that a commit after `sequence` changed, oldest first.
    ///
    /// - Complexity: O(1) for one key, else O(what changed): ten thousand screens with one key each may reconnect at once.
    func changed(after sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        if case .key(let entity) = selector {
            return hasOwnChange(entity, after: sequence) ? [entity] : []
        }
        return changed(after: sequence).filter { follows(selector, $0) }
    }

    /// Whether a commit after `sequence` changed or removed a control in the views of a key.
    func showsControl(in entity: EntityIndex, changedAfter sequence: Int64) -> Bool {
        controlKeys(in: entity).contains { text in
            Key(text).flatMap { index(of: $0) }.map { hasOwnChange($0, after: sequence) } ?? false
        }
    }

    /// Whether a commit after `sequence` changed a key itself.
    func hasOwnChange(_ entity: EntityIndex, after sequence: Int64) -> Bool {
        entities[entity].rev > sequence && changeOrder.contains(entity)
    }

    func changed(after sequence: Int64) -> [EntityIndex] {
        changeOrder.suffix(while: { entities[$0].rev > sequence })
    }

    /// It is or was a widget.
    func isWidget(_ entity: EntityIndex) -> Bool { entities.isWidget(entity) }

    func isControl(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .toggle, .button: true
        case .none, .activity, .widget, .tile: false
        }
    }

    /// Whether a provider acts for it: it is a control, or a widget that a provider loads.
    func isServed(_ entity: EntityIndex) -> Bool {
        (isControl(entity) || widget(at: entity)?.isRefreshed == true) && isListed(entity)
    }

    /// The operation in progress of a control, and the queued one.
    func operations(at entity: EntityIndex) -> [OperationID] {
        let state = entities[entity].state
        let queued: OperationID? = if case .toggle(let toggle) = state { toggle.queued?.id } else { nil }
        return [state.operation, queued].compactMap(\.self)
    }

    /// The keys of the controls in any presentation of an activity or a widget.
    func controlKeys(in entity: EntityIndex) -> [String] {
        if let shown = shownWidget(at: entity) { return controlKeys(in: shown) }
        if case .widget(let widget) = entities[entity].state { return controlKeys(of: widget, at: entity) }
        guard let activity = activity(at: entity), let kind = kind(at: entity) else { return [] }
        switch kind.body {
        case .activity(let kind):
            return kind.views.showsControls ? kind.views.buttonKeys(in: activity.value.templateContext) : []
        case .toggle, .button, .widget: return []
        }
    }

    /// Whether an operation of a control is in progress.
    func isUnderWay(_ entity: EntityIndex) -> Bool {
        switch self[entity].state {
        case .toggle(let toggle): toggle.phase == .pending
        case .button(let button): button.phase == .performing
        case .none, .activity, .widget, .tile: false
        }
    }

    // MARK: Due deadlines

    var nextDeadline: Timestamp? { deadlines.next }
    var nextWallDeadline: Timestamp? { deadlines.nextOnWallClock }
    /// The number of armed entries, stale ones included.
    var deadlineEntryCount: Int { deadlines.entryCount }

    /// Whether a deadline is due at `now`.
    func isDeadlineDue(at now: HubTime) -> Bool {
        if let next = deadlines.next, next <= max(time, now.time) { return true }
        if let next = deadlines.nextOnWallClock, next <= max(wall, now.wall) { return true }
        return false
    }

    /// The deadline of one key that is due by the store's clocks.
    func due(of entity: EntityIndex) -> Timestamp? {
        if let due = kindsDeadline(of: entity), due <= time { return due }
        if let due = wallDeadline(of: entity), due <= wall { return due }
        return nil
    }

    func wallDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .none: nil
        case .activity: entities[entity].dismissedAt.map { $0 + settings.retention }
        case .toggle, .button, .widget, .tile:
            entities[entity].dismissedAt.map { $0 + settings.retention }
                ?? controlDeadline(of: entity).map { deadlines.postponed($0, ofControl: entity) }
        }
    }

    /// The deadline of a control's machine; `nil` for everything else.
    func controlDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .toggle(let toggle): toggle.deadline
        case .button(let button): button.deadline
        case .widget(let widget): widget.refresh?.flightDeadline
        case .none, .activity, .tile: nil
        }
    }

    /// The deadline on the kinds' clock: of an activity, or of a widget that a provider loads.
    func kindsDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .activity(let activity): activity.deadline
        case .widget(let widget): entities[entity].dismissedAt == nil ? widget.refresh?.planDeadline : nil
        case .none, .toggle, .button, .tile: nil
        }
    }

    /// The record of a due deadline: the end of retention, a widget's refresh, or a step of a machine.
    func entry(ofDeadline due: Timestamp, at entity: EntityIndex, _ key: Key) -> JournalEntry {
        if entities[entity].dismissedAt != nil { return .pruned(key) }
        if let ask = widget(at: entity)?.refresh?.planDeadline, ask <= time { return .refreshStarted(key, due: due) }
        return .deadline(key, due: due)
    }

    func follows(_ selector: PatternIndex.Selector, _ entity: EntityIndex) -> Bool {
        switch selector {
        case .all: !entities.isWidget(entity)
        case .allWithWidgets: true
        case .kind(let own): own == entities[entity].kindName
        case .key(let own): own == entity
        }
    }

    /// The controls that a connection served before the restart, or performed an operation of.
    var controlsWithProvider: [Key] {
        existing.compactMap { entity in
            let state = self[entity].state
            return state.provider != nil || state.operation != nil ? self[entity].key : nil
        }
    }

    /// The acting connection that a control or a widget has recorded.
    func provider(of key: Key) -> ConnectionNumber? { index(of: key).flatMap { self[$0].state.provider } }

    /// The operation of a control or a widget that is under way.
    func operation(of key: Key) -> OperationID? { index(of: key).flatMap { self[$0].state.operation } }

    /// Whether what was asked of a provider is still awaited from it.
    func isUnderWay(_ call: ProviderCall, of key: Key) -> Bool {
        provider(of: key) == call.provider && operation(of: key) == call.operation
    }

    /// Whether a control has recorded another acting connection than `acting`.
    func isUnaligned(_ key: Key, with acting: ConnectionNumber?) -> Bool {
        guard let entity = index(of: key), isServed(entity) else { return false }
        return self[entity].state.provider != acting
    }

    // MARK: Widgets

    func widget(at entity: EntityIndex) -> Widget? {
        if case .widget(let widget) = self[entity].state { widget } else { nil }
    }

    /// The version of its kind that a widget uses.
    func widgetKind(at entity: EntityIndex) -> WidgetKind? {
        if case .widget(let kind)? = kind(at: entity)?.body { kind } else { nil }
    }

    /// Whether keys of this kind name are widgets by the kinds in force.
    func isWidgetKind(_ name: some StringProtocol) -> Bool { widgetKind(inForce: name) != nil }

    /// The state of a widget in one word, for replies and histories.
    func phase(of widget: Widget, at entity: EntityIndex) -> String {
        widgetKind(at: entity).map { widget.phase(at: time, kind: $0).rawValue } ?? ""
    }

    /// The keys of the controls in a widget's views, with the content at the newest record.
    func controlKeys(of widget: Widget, at entity: EntityIndex) -> [String] {
        guard let kind = widgetKind(at: entity), kind.showsControls, let key = self[entity].key else { return [] }
        return future(of: widget, at: entity, kind, time).moments.flatMap { moment -> [String] in
            switch moment.content {
            case .content(let content):
                kind.controlKeys(
                    in: kind.context(key: key, content: content, configuration: widget.configuration))
            case .activity(let viewState):
                kind.controlKeys(in: viewState.context(key: key, configuration: widget.configuration))
            case .values(let values):
                kind.controlKeys(in: kind.context(key: key, values: values, configuration: widget.configuration))
            case .placeholder, .nothing: []
            }
        }
    }

    /// Whether a screen may have used up the entries in the row of a widget's newest commit.
    ///
    /// - Parameter ahead: How many later entries a row has.
    func mayBeUsedUp(_ entity: EntityIndex, ahead: Int) -> Bool {
        guard let widget = self.widget(at: entity), let kind = widgetKind(at: entity) else { return false }
        if let keptCount = widget.keptCount {
            // Dates of relevance are not counted.
            if kind.relevance?.hasDates == true { return true }
            // Deadlines that came as predicted were in that row too.
            let future = future(of: widget, at: entity, kind, time)
            return future.continuesAt != nil || Int(keptCount) + future.moments.count > ahead + 1
        }
        // A row has at most one more entry for each tally.
        if let tallies = widget.tallies { return tallies.count > ahead }
        guard kind.isPushed else { return true }
        // A row made later starts with a later moment.
        let moments = widget.moments(at: widget.asOf ?? widget.createdAt, kind: kind)
        guard moments.count <= ahead + 1 else { return true }
        let byteCount = moments.reduce(0) { sum, moment in
            guard case .content(let content) = moment.content else { return sum + kind.viewByteCount }
            return sum + kind.viewByteCount + 4 * content.textByteCount
        }
        return byteCount > WidgetTimeline.byteLimit
    }

    // MARK: Kinds

    /// The version in force of a kind; `nil` = there is no kind with this name.
    func version(named name: some StringProtocol) -> Int? { kinds.current[String(name)] }
    func kind(version: Int) -> Kind { kinds.versions[version] }
    func kind(named name: some StringProtocol) -> Kind? { version(named: name).map { kinds.versions[$0] } }
    /// The kinds in force, and their versions, in the order of their names.
    var kindsInForce: [Kind] { kinds.inForce }
    var versionsInForce: [Int] { kinds.inForceIndices }
    var kindCount: Int { kinds.current.count }
    var hasWidgetKinds: Bool { kinds.hasWidgets }
    var hasDerivedWidgetKinds: Bool { kinds.hasDerivedWidgets }
    var hasAggregateKinds: Bool { kinds.hasAggregates }
    /// Whether views of some kind show controls.
    var showsControls: Bool { kinds.versions.contains(where: \.showsControls) }
    func hasOwnControls(version: Int) -> Bool { kinds.hasOwnControls(version) }
    func areShownByWidgets(version: Int) -> Bool { kinds.areShownByWidgets(version) }
    func appNumber(version: Int) -> Int32 { kinds.appNumbers[version] }
    func number(ofApp name: String) -> Int32? { kinds.number(ofApp: name) }

    // MARK: Whether kinds and settings can take effect

    /// Whether `kinds` differ from those in force. Instances keep the version that they began with.
    ///
    /// - Throws: ``KindRefusal`` if a key still uses a kind that would go or change its type.
    func isChange(to kinds: [Kind]) throws(KindRefusal) -> Bool {
        let names = Set(kinds.map(\.name))
        let types = Dictionary(kinds.map { ($0.name, $0.typeName) }, uniquingKeysWith: { first, _ in first })
        // Most kinds stay, and then no key has to be examined: there may be a million.
        let areLeft = self.kinds.versions.allSatisfy { types[$0.name] == $0.typeName }
        let examined = areLeft ? [] : Array(existing)
        var inUse: [String: Int] = [:]
        for entity in examined where activity(at: entity) != nil && isListed(entity) {
            let name = self.kinds.versions[self[entity].kind].name
            if !names.contains(name) { inUse[name, default: 0] += 1 }
        }
        if let name = inUse.keys.min() { throw .stillInUse(kind: name, count: inUse[name] ?? 0) }
        let known = Dictionary(grouping: self.kinds.versions, by: \.name)
        for kind in kinds {
            let isChanged =
                known[kind.name]?.contains { $0.version == kind.version && $0.source != kind.source } == true
            if isChanged { throw .changedWithoutVersion(kind: kind.name, version: kind.version) }
        }
        for entity in examined where boardItem(at: entity) == nil {
            let kind = self.kinds.versions[self[entity].kind]
            guard let type = types[kind.name], type != kind.typeName else { continue }
            throw .changedType(kind: kind.name, from: kind.typeName, to: type)
        }
        return kinds.map(\.source) != self.kinds.inForce.map(\.source) || self.kinds.current.isEmpty
    }

    /// See ``KindTable/revised(_:)``.
    func revised(_ kinds: [Kind]) -> [Kind] { self.kinds.revised(kinds) }

    /// The `settings` as they take effect in this history: with its rules, if they name none or older ones. Decisions made under newer
    /// rules would be decided differently, so a history does not go back.
    ///
    /// - Returns: `nil` if those in force are the same.
    /// - Throws: ``SettingsRefusal`` if they cannot take effect.
    func change(to settings: DecisionSettings) throws(SettingsRefusal) -> DecisionSettings? {
        var settings = settings
        guard hasSettings else {
            settings.rules = settings.rules ?? .newest
            return settings
        }
        guard settings.clockSpeed == self.settings.clockSpeed else {
            throw .clockSpeed(journal: self.settings.clockSpeed, asked: settings.clockSpeed)
        }
        settings.rules = max(settings.rules ?? rules, rules)
        return settings == self.settings ? nil : settings
    }

    /// The differences between the proposal and what is in force, for people: one text for each kind and each setting.
    ///
    /// - Throws: ``SettingsRefusal`` if the settings cannot take effect.
    func differences(from kinds: [Kind], _ settings: DecisionSettings) throws(SettingsRefusal) -> [String] {
        let change = try change(to: settings)
        let inForce = Dictionary(self.kinds.inForce.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let own = Dictionary(kinds.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var texts: [String] = []
        for name in Set(inForce.keys).union(own.keys).sorted() {
            switch (inForce[name], own[name]) {
            case (let old?, let new?) where old.source != new.source:
                texts.append(
                    old.version == new.version
                        ? "kind \(name) version \(old.version) has another text here"
                        : "kind \(name) has version \(old.version), and version \(new.version) here")
            case (nil, _): texts.append("kind \(name) is here alone")
            case (_, nil): texts.append("kind \(name) is not here")
            case _: break
            }
        }
        if let change, let old = self.settings.json.object, let new = change.json.object {
            // The first edition has no member.
            for member in old where member.name != "rules" {
                guard let value = new[member.name], value != member.value else { continue }
                texts.append("\(member.name) is \(member.value), and \(value) here")
            }
        }
        if let own = settings.rules, own != rules {
            let end = own < rules ? ", which a history does not go back to" : ""
            texts.append("rules is \(rules.number), and \(own.number) here\(end)")
        }
        return texts
    }

    // MARK: Hints

    /// The probable mistake in an event, for people.
    ///
    /// - Parameters:
    ///   - verdict: The decision on the event.
    ///   - entity: The index of its key.
    /// - Returns: `nil` if nothing suggests a mistake.
    func hint(on posted: PostedEvent, _ verdict: Verdict, at entity: EntityIndex?) -> String? {
        if let happenedAt = posted.command.happenedAt {
            if isSeconds(happenedAt) {
                return
                    "at=\(happenedAt.milliseconds) is in January 1970: at= is in milliseconds, and this looks like seconds"
            }
            if verdict == .ignored, happenedAt > time + settings.activities.aheadLimit {
                return
                    "at= is more than \(settings.activities.aheadLimit.count / 3_600_000) hours ahead of the server's clock"
            }
        }
        guard verdict == .ignored, let entity, case .happened(let name) = posted.event.change,
            let kind = kind(at: entity), case .activity(let activityKind) = kind.body
        else { return nil }
        let event = activityKind.accept[name] ?? name
        guard !activityKind.handles(event) else { return nil }
        return "no state of \(kind.name) handles \(name)"
    }

    /// Whether a date that was read as milliseconds would be within a year of now if read as seconds.
    private func isSeconds(_ date: Timestamp) -> Bool {
        let (milliseconds, overflows) = date.milliseconds.multipliedReportingOverflow(by: 1000)
        guard !overflows, date.milliseconds > 0 else { return false }
        let distance = Timestamp(milliseconds: milliseconds) - time
        return (-Milliseconds.days(366).count...Milliseconds.days(366).count).contains(distance.count)
    }

    // MARK: Widgets that are computed: they show one activity (`each`, `one`) or aggregate many (`over`)

    /// The activity that the widget at `entity` shows, while there is one.
    func activityShown(by entity: EntityIndex) -> EntityIndex? {
        guard let key = self[entity].key, let kind = widgetKind(at: entity) else { return nil }
        return activityShown(by: key, kind)
    }

    private func activityShown(by key: Key, _ kind: WidgetKind) -> EntityIndex? {
        guard let name = kind.activityKind, let id = kind.activityID(ofWidget: String(key.id)),
            let shown = Key(kind: name, id: id), let entity = self.index(of: shown), activity(at: entity) != nil
        else { return nil }
        return entity
    }

    /// The moments of a widget from `now` on.
    ///
    /// - Parameter account: The account whose devices show it; `nil` = every account.
    func future(
        of widget: Widget, at entity: EntityIndex, _ kind: WidgetKind, _ now: Timestamp, for account: String? = nil
    ) -> WidgetFuture {
        if let aggregate = kind.aggregate {
            let values = values(ofAggregate: entity, aggregate, for: account)
            return widget.aggregateFuture(at: now, aggregate, values: values)
        }
        let shown = kind.isDerived ? activityShown(by: entity).flatMap { activity(at: $0) } : nil
        return widget.future(at: now, kind: kind, activity: shown?.value, settings: settings.activities)
    }

    /// Whether `account` has dismissed the activity that a widget shows.
    func isShownActivityDismissed(_ entity: EntityIndex, by account: String, digest: UInt64?) -> Bool {
        activityShown(by: entity).flatMap { activity(at: $0) }?.value.isDismissed(by: account, digest: digest) ?? false
    }

    // MARK: A record about an activity

    /// Updates the widgets that show an activity.
    ///
    /// A deadline was predicted, so it changes no widget; it can only add or remove one. An applied event changes them, and its
    /// record becomes their `rev`.
    ///
    /// - Parameters:
    ///  - former: The activity before the record.
    ///  - isForeseen: The record is a deadline and not an event.
    ///   - isChanged: The row of the activity changed.
    @inline(never)
    mutating func derive(
        from activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, isForeseen: Bool, isChanged: Bool
    ) -> DerivedChanges? {
        guard let key = self[activity].key else { return nil }
        let isOvertaken = isChanged || former.map { !$0.value.hasFuture(of: box.value) } ?? true
        guard isForeseen || isOvertaken else { return nil }
        var derived = DerivedChanges()
        if let aggregation = kinds.aggregation(of: self[activity].kind) {
            accumulate(activity, former, box, aggregation, &derived)
        }
        for derivation in kinds.widgetKinds(showing: self[activity].kind) {
            let (index, kind) = (derivation.index, derivation.kind)
            guard let id = kind.widgetID(ofActivity: String(key.id)), let configuration = kind.configuration(ofID: id),
                let widgetKey = Key(kind: derivation.name, id: id)
            else { continue }
            let entity = self.index(of: widgetKey)
            let known = entity.flatMap { self.widget(at: $0) }.flatMap { $0.isGone ? nil : $0 }
            let isMember = box.isLive && (!kind.isEach || box.value.satisfies(kind.condition))
            guard known != nil || isMember else { continue }
            var widget =
                known.flatMap { $0.accounts == box.accounts ? $0 : nil }
                ?? Widget(configuration: configuration, accounts: box.accounts, isDerived: true, at: time)
            let goes = kind.isEach && !isMember
            if known != nil, isForeseen { derived.keptCount += 1 }
            if known != nil, isForeseen, !goes {
                widget.keep()
            } else if goes {
                widget.leave()
            } else {
                widget.overtake(isShown: true, at: time)
            }
            if !isForeseen, known != nil, let due = former?.deadline, due != box.deadline { derived.missedCount += 1 }
            let isKept = known != nil && isForeseen && !goes
            let place = entity ?? intern(widgetKey)
            WidgetDecisions.put(widget, at: place, kind: index, rev: isKept ? self[place].rev : nextSequence, &self)
            guard !isKept else { continue }
            derived.changes.append(
                Change(entity: place, isWidget: true, commit: nextSequence, activity: goes ? former ?? box : box))
        }
        return derived
    }

    /// Removes the widgets that show a forgotten activity. Recommended widgets stay, without content.
    mutating func forgetShown(_ activity: EntityIndex) -> DerivedChanges? {
        guard let key = self[activity].key else { return nil }
        var derived = DerivedChanges()
        for derivation in kinds.widgetKinds(showing: self[activity].kind) {
            let (index, kind) = (derivation.index, derivation.kind)
            guard let id = kind.widgetID(ofActivity: String(key.id)), !kind.instances.contains(id),
                let widgetKey = Key(kind: derivation.name, id: id),
                let entity = self.index(of: widgetKey), var widget = self.widget(at: entity), !widget.isGone
            else { continue }
            widget.leave()
            WidgetDecisions.put(widget, at: entity, kind: index, rev: nextSequence, &self)
            derived.changes.append(Change(entity: entity, isWidget: true, commit: nextSequence))
        }
        return derived
    }

    // MARK: Settings

    /// Updates the widgets whose activity has another future under the new settings: what screens have received is no longer
    /// correct.
    ///
    /// - Parameter former: The settings before.
    mutating func foreseeAnew(since former: ActivitySettings) -> DerivedChanges? {
        guard kinds.hasDerivedWidgets, former != settings.activities else { return nil }
        var derived = DerivedChanges()
        for entity in existing {
            guard var widget = widget(at: entity), widget.isDerived, !widget.isGone, let kind = widgetKind(at: entity),
                let box = activityShown(by: entity).flatMap({ activity(at: $0) })
            else { continue }
            let foreseen = box.value.future(at: time, settings: former, where: kind.condition)
            guard foreseen != box.value.future(at: time, settings: settings.activities, where: kind.condition) else {
                continue
            }
            widget.overtake(isShown: true, at: time)
            WidgetDecisions.put(widget, at: entity, kind: self[entity].kind, rev: nextSequence, &self)
            derived.changes.append(Change(entity: entity, isWidget: true, commit: nextSequence, activity: box))
        }
        return derived
    }

    // MARK: Kinds

    /// A widget of the current activity.
    ///
    /// - Throws: `unknown_key` if the widget exists only with its activity and there is none.
    func derivedWidget(_ key: Key, kind: WidgetKind, configuration: JSON) throws(WireError) -> Widget {
        guard hasPlace(key, in: kind) else { throw .unknownKey(key) }
        if let aggregate = kind.aggregate {
            return Widget(configuration: configuration, tallies: aggregate.tallies.map(\.name), at: time)
        }
        let shown = activityShown(by: key, kind).flatMap { activity(at: $0) }
        var widget = Widget(
            configuration: configuration, accounts: shown?.accounts ?? [], isDerived: true, at: time)
        widget.overtake(isShown: shown != nil, at: time)
        return widget
    }

    /// Whether a kind has a widget with this key: its id must be a configuration. If the widget exists only with what it shows,
    /// that must exist too.
    func hasPlace(_ key: Key, in kind: WidgetKind) -> Bool {
        guard configuration(of: key, in: kind) != nil else { return false }
        guard kind.isEach else { return true }
        guard let entity = activityShown(by: key, kind), let box = activity(at: entity) else { return false }
        return box.isLive && box.value.satisfies(kind.condition)
    }

    /// The configuration of a widget: that of its id, or of the activities in its group.
    func configuration(of key: Key, in kind: WidgetKind) -> JSON? {
        let id = String(key.id)
        if let known = kind.configuration(ofID: id) { return known }
        if kind.aggregate != nil, let index = version(named: key.kind),
            let known = aggregates.configuration(of: id, in: index)
        {
            return known
        }
        return configuration(byTileOn: key, in: kind)
    }

    /// The groups of activities without a widget, as far as the limits allow.
    private var missingAggregates: [Key] {
        var missing: [Key] = []
        for index in kinds.inForceIndices {
            let name = kinds.versions[index].name
            guard case .widget(let kind) = kinds.versions[index].body, kind.aggregate != nil else { continue }
            var room = min(groupRoom(of: name[...]), settings.groups - aggregates.keyCount - missing.count)
            for group in aggregates.groups(in: index) where !kind.instances.contains(group.id) {
                guard let key = Key(kind: name, id: group.id) else { continue }
                let known = self.index(of: key).flatMap { widget(at: $0) }
                if let known, !known.isGone { continue }
                guard known != nil || room > 0 else { continue }
                if known == nil { room -= 1 }
                missing.append(key)
            }
        }
        return missing
    }

    /// Widgets of existing activities that new kinds make possible.
    var missingDerived: [Key] {
        guard kinds.hasDerivedWidgets else { return [] }
        var missing = missingAggregates
        for entity in existing {
            guard let box = activity(at: entity), box.isLive, let key = self[entity].key else { continue }
            for derivation in kinds.widgetKinds(showing: self[entity].kind) {
                let kind = derivation.kind
                guard let id = kind.widgetID(ofActivity: String(key.id)), !kind.instances.contains(id),
                    let widgetKey = Key(kind: derivation.name, id: id), hasPlace(widgetKey, in: kind)
                else { continue }
                if let known = self.index(of: widgetKey), exists(known), !isGone(known) { continue }
                missing.append(widgetKey)
            }
        }
        return missing
    }

    // MARK: Aggregates

    /// Updates the aggregates over a kind after a change of one activity.
    mutating func accumulate(
        _ activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, _ aggregation: Aggregation,
        _ derived: inout DerivedChanges
    ) {
        let changes = former.map { aggregation.plan.changes(of: box.value, since: $0.value) } ?? .max
        var reader: AggregateReader?
        for member in aggregation.kinds where changes & member.all != 0 {
            let read = reader ?? box.aggregateReader
            reader = read
            if changes & (member.reads.membership | member.reads.tallies) == 0 {
                follow(activity, read, member, changes, &derived)
            } else {
                accumulate(activity, former, box, read, member, &derived)
            }
        }
    }

    /// Updates the parts of an activity's contribution that may have changed, if it stays in the same group.
    private mutating func follow(
        _ activity: EntityIndex, _ reader: AggregateReader, _ member: Aggregation.Member, _ changes: UInt64,
        _ derived: inout DerivedChanges
    ) {
        let number = member.number
        guard aggregates.counts(activity, in: number) else { return }
        var (isChanged, faultCount) = (false, 0)
        for (value, reads) in member.reads.values.enumerated() where changes & reads != 0 {
            let part = reader.part(of: member.kind.aggregate.values[value])
            guard
                let (formerPart, isOther) = aggregates.replace(part, at: value, of: activity, in: number)
            else { continue }
            // There are at most 64 aggregates of 16 values.
            log.note(.part(activity, number: Int16(number), value: Int16(value), formerPart))
            if isOther { isChanged = true }
            faultCount += (part == .fault ? 1 : 0) - (formerPart == .fault ? 1 : 0)
        }
        noteFaults(faultCount, of: activity)
        guard isChanged else { return }
        if let widget = aggregates.widget(of: activity, in: number), isReportedLater(widget, member.kind.index) {
            let (rev, time) = (nextSequence, time)
            aggregates.report(activity, in: number, rev: rev, asOf: time)
        } else if let group = aggregates.changedGroup(of: activity, in: number) {
            reportTotals(group, [], member, &derived)
        }
    }

    /// Whether a widget exists and uses a version of its kind.
    private func isReportedLater(_ widget: EntityIndex, _ version: Int) -> Bool {
        guard self[widget].kind == version, self[widget].dismissedAt == nil else { return false }
        if case .widget = self[widget].state { return true }
        return false
    }

    private mutating func accumulate(
        _ activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, _ reader: AggregateReader,
        _ member: Aggregation.Member, _ derived: inout DerivedChanges
    ) {
        let (number, aggregate) = (member.number, member.kind.aggregate)
        let old = aggregates.contribution(of: activity, to: number)
        let new = reader.contribution(to: aggregate, parameters: member.kind.kind.parameters)
        let amounts = old == nil ? [] : tallied(aggregate, former, box)
        guard old != new || !amounts.isEmpty else { return }
        var changed: [Aggregates.ChangedGroup] = []
        if old != new {
            log.note(.contributed(activity, number: number, old))
            changed = aggregates.set(new, of: activity, in: number)
            noteFaults((new?.faultCount ?? 0) - (old?.faultCount ?? 0), of: activity)
        }
        if !amounts.isEmpty, let old, !changed.contains(where: { $0.id == old.group }) {
            changed.append(
                Aggregates.ChangedGroup(
                    id: old.group, configuration: old.configuration, memberCount: 1, isChanged: false))
        }
        for group in changed {
            let grown = group.id == old?.group ? amounts : []
            reportTotals(group, grown, member, &derived)
        }
    }

    /// How much each tally grows; empty if none does.
    private mutating func tallied(
        _ aggregate: WidgetAggregate, _ former: ActivityBox?, _ box: ActivityBox
    ) -> [(name: String, amount: Int64)] {
        guard !aggregate.tallies.isEmpty, let former else { return [] }
        var faultCount = 0
        var amounts: [(name: String, amount: Int64)] = []
        for (name, tally) in aggregate.tallies
        where box.value.isIn(state: tally.state) && !former.value.isIn(state: tally.state) {
            guard let amount = box.value.amount(of: tally) else {
                faultCount += 1
                continue
            }
            if amount != 0 { amounts.append((name, amount)) }
        }
        if faultCount > 0 { noteFault { $0.noteFaults(faultCount, of: box.value.key) } }
        return amounts
    }

    private mutating func noteFaults(_ count: Int, of activity: EntityIndex) {
        guard count > 0, let key = self[activity].key else { return }
        noteFault { $0.noteFaults(count, of: key) }
    }

    private mutating func reportTotals(
        _ group: Aggregates.ChangedGroup, _ amounts: [(name: String, amount: Int64)], _ member: Aggregation.Member,
        _ derived: inout DerivedChanges
    ) {
        let (index, kind, aggregate) = (member.kind.index, member.kind.kind, member.kind.aggregate)
        let (number, rev, time) = (member.number, nextSequence, time)
        if amounts.isEmpty, group.memberCount > 0, let place = group.widget, isReportedLater(place, index) {
            // The common case: its widget stays, for the same accounts.
            if group.isChanged { aggregates.report(group.id, in: number, rev: rev, asOf: time) }
            return
        }
        // It needs the state before this commit.
        settleAggregates()
        guard let key = Key(kind: kinds.versions[index].name, id: group.id) else { return }
        let known = self.index(of: key)
        let current = known.flatMap { self.widget(at: $0) }.flatMap { $0.isGone ? nil : $0 }
        let isKept = current != nil && !aggregate.tallies.isEmpty
        let stays =
            group.memberCount > 0 || !amounts.isEmpty || isKept || kind.instances.contains(group.id)
            || boards.hasTiles(on: key)
        guard current == nil || group.isChanged || !amounts.isEmpty || !stays else { return }
        guard stays || current != nil else { return }
        if current == nil, known.map({ self.widget(at: $0) == nil }) ?? true, groupRoom(of: key.kind) == 0 {
            let wall = wall
            return noteFault { $0.noteRefusedGroup(key, at: wall) }
        }
        var widget =
            current ?? Widget(configuration: group.configuration, tallies: aggregate.tallies.map(\.name), at: time)
        if stays {
            widget.tally(amounts, aggregate, at: time)
        } else {
            widget.leave()
        }
        let place = known ?? intern(key)
        WidgetDecisions.put(widget, at: place, kind: index, rev: nextSequence, &self)
        aggregates.note(stays ? place : nil, of: group.id, in: number)
        derived.changes.append(Change(entity: place, isWidget: true, commit: nextSequence))
    }

    // MARK: The end of a batch

    /// Updates the widgets with a changed value to the newest commit that changed one. A replay calls this after each record,
    /// with the same result.
    ///
    /// - Precondition: No record is being applied; its refusal would undo what this notes in the undo log.
    mutating func settleAggregates() {
        guard aggregates.hasReports else { return }
        for reported in aggregates.takeReports() {
            guard case .widget(var widget) = self[reported.widget].state else { continue }
            widget.tally([], aggregates.aggregate(reported.number), at: reported.asOf)
            mutate(reported.widget, isPlaceKept: true) { entity in
                entity.state = .widget(widget)
                entity.rev = reported.rev
            }
            let change = Change(entity: reported.widget, isWidget: true, commit: reported.rev)
            aggregates.noteSettled(change)
        }
    }

    var hasUnsettledWidgets: Bool { aggregates.hasReports }

    /// The changes of this batch to widgets that were updated after their records, in the order of commits.
    mutating func settledChanges() -> [Change] {
        settleAggregates()
        return aggregates.takeSettled()
    }

    // MARK: Limits

    /// How many more groups the widgets of a kind may show.
    func groupRoom(of kind: Substring) -> Int {
        let own = kindNumber(of: kind).map { aggregates.keyCount(ofKind: $0) } ?? 0
        return max(0, min(settings.groupsPerKind - own, settings.groups - aggregates.keyCount))
    }

    /// Whether a tile may open another group of a kind that no activity has opened. Tiles open at most half of the allowed
    /// groups, so that boards cannot use up those of activities.
    func hasRoomForTile(on kind: Substring) -> Bool {
        guard widgetKind(inForce: kind)?.kind.aggregate != nil else { return true }
        let own = kindNumber(of: kind).map { aggregates.keyCount(ofKind: $0) } ?? 0
        return own < (settings.groupsPerKind + 1) / 2 && aggregates.keyCount < (settings.groups + 1) / 2
    }

    // MARK: Rows

    /// The current values of an aggregate, without its tallies.
    ///
    /// - Parameter account: The account whose devices show them; `nil` = every account.
    func values(ofAggregate entity: EntityIndex, _ aggregate: WidgetAggregate, for account: String?) -> JSONObject {
        guard let key = self[entity].key else { return JSONObject() }
        let (index, group) = (self[entity].kind, String(key.id))
        guard let account, !aggregate.isForAll else {
            return aggregates.values(of: group, in: index) ?? aggregates.emptyValues(in: index)
        }
        guard let number = kindNumber(of: aggregate.kind) else { return aggregates.emptyValues(in: index) }
        let visible = visible(to: account, kind: number)
        return aggregates.values(of: group, in: index, among: visible)
    }

    /// The configurations of the groups that contain activities visible to an account.
    ///
    /// - Parameter limit: If more activities are visible, the result is empty: a turn does not examine them all.
    func configurations(
        ofAggregate index: Int, _ aggregate: WidgetAggregate, for account: String, _ limit: Int
    ) -> [JSON] {
        guard let number = kindNumber(of: aggregate.kind),
            visibleCount(to: account, kind: number) <= limit
        else { return [] }
        let visible = visible(to: account, kind: number)
        return aggregates.configurations(of: visible, in: index)
    }

    /// The first values of a parameter of an aggregate's groups.
    func firstValues(of parameter: String, ofAggregate version: Int, limit: Int) -> (values: [String], more: Int) {
        aggregates.firstValues(of: parameter, in: version, limit: limit)
    }

    // MARK: Kinds and starts

    /// Recomputes the levels after a start and when other kinds take effect.
    mutating func rebuildAggregates() {
        guard kinds.hasAggregates || !aggregates.isEmpty else { return }
        aggregates.removeAll()
        let kinds = kinds.aggregateKinds
        var places: [String: Int] = [:]
        for kind in kinds {
            let place = places[kind.aggregate.kind, default: 0]
            places[kind.aggregate.kind] = place + 1
            let count = kinds.count { $0.aggregate.kind == kind.aggregate.kind }
            aggregates.begin(kind.index, kind.aggregate, place: place, placeCount: count)
        }
        for entity in existing {
            guard let box = activity(at: entity), let aggregation = self.kinds.aggregation(of: self[entity].kind)
            else { continue }
            let reader = box.aggregateReader
            for member in aggregation.kinds {
                let new = reader.contribution(to: member.kind.aggregate, parameters: member.kind.kind.parameters)
                if let new { _ = aggregates.set(new, of: entity, in: member.number) }
            }
        }
    }

    // MARK: Boards

    var hasBoards: Bool { !boards.isEmpty }
    var boardNumbers: [Int32] { boards.numbers }
    /// The number of an account's boards; `nil` = boards that belong to everybody.
    func boardCount(of account: String?) -> Int { boards.boardCount(of: account) }
    /// The tiles and stacks on a board, in the order of their indices.
    func items(onBoard number: Int32) -> [EntityIndex] { boards.items(onBoard: number) }
    func tiles(showing widget: Key) -> [EntityIndex] { boards.tiles(on: widget) }
    func tiles(onKinds names: some Collection<Substring>) -> [EntityIndex] { boards.tiles(onKinds: names) }
    func takesSuggestions(_ board: Int32) -> Bool { boards.takesSuggestions(board) }
    func boardsWithSuggestions(of account: String?) -> [Int32] { boards.boardsWithSuggestions(of: account) }
    var allBoardsWithSuggestions: [Int32] { boards.allBoardsWithSuggestions }

    func boardItem(at entity: EntityIndex) -> BoardItem? {
        if case .tile(let item) = self[entity].state { item } else { nil }
    }

    /// Everything on a board.
    func board(named name: some StringProtocol) -> Board {
        kindNumber(of: name).map { board(numbered: $0) } ?? Board()
    }

    /// The name of a board with tiles or stacks, and its account; `nil` = it has none.
    func name(ofBoard number: Int32) -> (name: Substring, account: String?)? {
        guard let first = boards.items(onBoard: number).first, let name = entities[first].key?.kind,
            let item = boardItem(at: first)
        else { return nil }
        return (name, item.account)
    }

    func board(numbered number: Int32) -> Board {
        var items: [String: BoardItem] = [:]
        for entity in boards.items(onBoard: number) {
            if let key = self[entity].key, let item = boardItem(at: entity) { items[String(key.id)] = item }
        }
        return Board(items)
    }

    /// The version in force of a kind of widgets; `nil` = there is none with this name.
    func widgetVersion(named name: some StringProtocol) -> Int? { widgetKind(inForce: name)?.version }

    func widgetKind(inForce name: some StringProtocol) -> (version: Int, kind: WidgetKind)? {
        guard let version = version(named: name), case .widget(let kind) = kinds.versions[version].body else {
            return nil
        }
        return (version, kind)
    }

    // MARK: The widgets of tiles

    /// The widget that a tile shows, if it exists.
    func widgetEntity(of tile: Tile) -> EntityIndex? {
        guard let entity = self.index(of: tile.widget), widget(at: entity) != nil, !isGone(entity) else {
            return nil
        }
        return entity
    }

    /// Whether the key of a widget must exist before it has content: a provider loads it, it counts activities, its hours pass,
    /// or only the tile knows its configuration.
    func needsWidget(_ key: Key) -> Bool {
        guard let kind = widgetKind(inForce: key.kind)?.kind else { return false }
        if let entity = self.index(of: key), widget(at: entity) != nil, !isGone(entity) { return false }
        switch kind.source {
        case .refreshed, .over, .schedule: return true
        case .pushed, .one: return kind.configuration(ofID: String(key.id)) == nil
        case .each: return false
        }
    }

    /// The configuration of a key as given by a tile that shows it, if the kind still accepts it.
    func configuration(byTileOn key: Key, in kind: WidgetKind) -> JSON? {
        guard !boards.isEmpty, let tile = boards.someTile(on: key).flatMap({ boardItem(at: $0)?.tile }),
            let object = tile.configuration.object,
            let whole = try? WidgetParameter.configuration(of: object, parameters: kind.parameters),
            WidgetParameter.id(of: whole, parameters: kind.parameters) == String(key.id)
        else { return nil }
        return whole
    }

    /// Widgets that tiles show and that new kinds make possible again.
    var missingTileWidgets: [Key] {
        boards.isEmpty
            ? []
            : boards.widgets.filter { key in
                guard needsWidget(key), let kind = widgetKind(inForce: key.kind)?.kind else { return false }
                return hasPlace(key, in: kind) && !kind.instances.contains(String(key.id))
            }
    }

    // MARK: Revs

    /// The `rev` of the row of a key; for a tile, the newer of its own and its widget's.
    func rowRev(of entity: EntityIndex) -> Int64 {
        let rev = self[entity].rev
        guard !boards.isEmpty, isWidget(entity), let shown = shownWidget(at: entity) else { return rev }
        return max(rev, self[shown].rev)
    }

    /// The widget in the row of a tile; `nil` for every other key.
    func shownWidget(at entity: EntityIndex) -> EntityIndex? {
        if case .none = self[entity].state {
            return isWidget(entity) ? unplacedTile(at: entity).flatMap { index(of: $0.tile.widget) } : nil
        }
        guard case .tile(let item) = self[entity].state, !item.isGone, let tile = item.tile else { return nil }
        return self.index(of: tile.widget)
    }

    /// Whether a commit after `sequence` changed the widget of a tile, or of another one in its smart stack.
    func hasWidgetChanged(ofTile entity: EntityIndex, after sequence: Int64) -> Bool {
        guard !boards.isEmpty, isWidget(entity) else { return false }
        if hasSuggestionChanged(besideTile: entity, after: sequence) { return true }
        return ([entity] + neighbours(ofTile: entity)).contains { tile in
            guard let shown = shownWidget(at: tile) else { return false }
            return hasOwnChange(shown, after: sequence)
        }
    }

    /// The other tiles of a tile's smart stack. The row of each says which one is on top.
    ///
    /// - Complexity: O(the tiles of its board).
    func neighbours(ofTile entity: EntityIndex) -> [EntityIndex] {
        let number = self[entity].kindName
        return tiles(inStacks: smartStacks(ofTiles: [entity], onBoard: number), onBoard: number)
            .filter { $0 != entity }
    }

    /// The ids of the smart stacks that contain any of these tiles of a board.
    func smartStacks(ofTiles tiles: [EntityIndex], onBoard number: Int32) -> Set<String> {
        smart(tiles.compactMap { boardItem(at: $0)?.tile?.stack }, onBoard: number)
    }

    /// Those of these stacks of a board that are smart.
    func smart(_ stacks: [String], onBoard number: Int32) -> Set<String> {
        guard let name = name(ofBoard: number)?.name else { return [] }
        return Set(
            stacks.filter { id in
                let holder = Key(kind: name, id: id).flatMap { index(of: $0) }
                return holder.flatMap { boardItem(at: $0)?.stack }?.isSmart == true
            })
    }

    /// The placed tiles of these stacks of a board.
    func tiles(inStacks stacks: Set<String>, onBoard board: Int32) -> [EntityIndex] {
        guard !stacks.isEmpty else { return [] }
        return boards.items(onBoard: board).filter {
            boardItem(at: $0)?.tile?.stack.map { stacks.contains($0) } ?? false
        }
    }

    /// The tiles that a selector follows and whose widgets a commit after `sequence` changed.
    ///
    /// - Complexity: O(tiles of the board), else O(what changed, and the tiles that show it).
    func tiles(changedAfter sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        guard !boards.isEmpty else { return [] }
        let candidates: [EntityIndex]
        switch selector {
        case .all: return []
        case .key(let entity): candidates = [entity]
        case .kind(let number): candidates = boards.items(onBoard: number)
        case .allWithWidgets:
            // Other tiles of their stacks may have turned.
            let tiles = changed(after: sequence).flatMap { entity in
                isWidget(entity) ? self[entity].key.map { boards.tiles(on: $0) } ?? [] : []
            }
            candidates = Set(tiles.flatMap { [$0] + neighbours(ofTile: $0) }).sorted()
        }
        return candidates.filter { hasWidgetChanged(ofTile: $0, after: sequence) }
    }

    // MARK: Stacks after a resume

    /// Whether a relevant widget may appear on the board of a tile.
    private func hasRelevantTiles(besideTile entity: EntityIndex) -> Bool {
        !kinds.visiting.isEmpty && relevantWidgetCount(for: boardItem(at: entity)?.account) > 0
    }

    /// The tiles on boards on which a commit after `sequence` changed anything: on a watch, and in StandBy, each may have moved.
    func tiles(reorderedAfter sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        guard !boards.isEmpty, selector != .all else { return [] }
        // A key that is on no board need not be searched on all of them.
        if case .key(let entity) = selector, boards.items(onBoard: self[entity].kindName).isEmpty { return [] }
        var numbers: Set<Int32> = []
        for entity in changed(after: sequence) where isWidget(entity) {
            // A relevant widget that came or went moved the others.
            if isOfVisitingKind(entity) { numbers.formUnion(boardsWithRelevantTiles(followedBy: selector)) }
            if boardItem(at: entity) != nil { numbers.insert(self[entity].kindName) }
            for tile in self[entity].key.map({ boards.tiles(on: $0) }) ?? [] {
                numbers.insert(self[tile].kindName)
            }
        }
        return numbers.sorted().flatMap { boards.items(onBoard: $0) }.filter { follows(selector, $0) }
    }

    /// Whether a subscriber may have used up the turns in a tile's row that it got after the newest change of the smart stack.
    ///
    /// - Parameter isOnWatch: The whole board is one stack.
    func mayTurnsBeUsedUp(ofTile entity: EntityIndex, isOnWatch: Bool) -> Bool {
        let tiles =
            isOnWatch
            ? boards.items(onBoard: self[entity].kindName) : [entity] + neighbours(ofTile: entity)
        // The relevance of unplaced widgets is not examined, so the answer is conservative.
        if isOnWatch, hasRelevantTiles(besideTile: entity) { return true }
        if !isOnWatch, !kinds.suggested.isEmpty, let stack = stack(ofTile: entity), stack.suggests, stack.isSmart {
            return true
        }
        guard tiles.count > 1 else { return false }
        var stack = Stack([], isSmart: true)
        var begin = Timestamp.distantPast
        for tile in tiles {
            guard let shown = shownWidget(at: tile), let widget = widget(at: shown), let key = self[tile].key,
                let kind = widgetKind(at: shown)
            else { continue }
            // By now its content may be known further ahead.
            if kind.relevance != nil, !kind.isPushed { return true }
            begin = max(begin, widget.asOf ?? widget.createdAt)
            let future = widget.future(at: begin, kind: kind)
            stack.tiles.append(Stack.Tile(key, widget.relevance(key: key, kind: kind, future: future)))
        }
        if isOnWatch {
            return SmartStack(stack.tiles.map { SmartStack.Member($0.key, $0.relevance) }).future(at: begin).continuesAt
                != nil
        }
        let future = stack.future(at: begin)
        // A choice that ends takes one more turn.
        return future.continuesAt != nil || future.turns.count >= Stack.turnLimit - 1
    }

    // MARK: Tiles that nobody placed: suggestions of stacks (W42), and relevant widgets on a watch (W43)

    /// Increases when other kinds take effect.
    var kindsGeneration: Int { kinds.generation }
    var suggestsWidgets: Bool { !kinds.suggested.isEmpty }
    var hasVisitingKinds: Bool { !kinds.visiting.isEmpty }

    /// Whether stacks may suggest a widget.
    func maySuggest(_ widget: Key) -> Bool { kinds.suggested.contains { $0.widget == widget } }

    /// The tile that nobody placed at a key of a board; `nil` = there is none at present.
    func unplacedTile(at key: Key) -> BoardTile? {
        guard key.mayBeUnplaced, !boards.isEmpty, let number = kindNumber(of: key.kind) else { return nil }
        return unplacedTiles(onBoard: number).first { $0.key == key }
    }

    func unplacedTile(at entity: EntityIndex) -> BoardTile? { self[entity].key.flatMap { unplacedTile(at: $0) } }

    /// The tiles of a board that nobody placed. They follow from the kinds, the board and the widgets, and are stored nowhere.
    ///
    /// - Parameter withRelevantTiles: Includes the tiles that only a watch shows.
    func unplacedTiles(onBoard number: Int32, withRelevantTiles: Bool = true) -> [BoardTile] {
        let suggestions = boards.takesSuggestions(number) ? suggestions(of: board(numbered: number), number) : []
        return withRelevantTiles ? suggestions + relevantTiles(onBoard: number) : suggestions
    }

    /// The tiles that the stacks of a board may suggest, in the order of the stacks' ids, then of the widgets. Relevance decides
    /// which of them are shown, and when.
    ///
    /// - Parameter stack: Limits the result to this stack.
    func suggestions(of board: Board, _ number: Int32, inStack stack: String? = nil) -> [BoardTile] {
        guard !kinds.suggested.isEmpty, let (name, account) = name(ofBoard: number) else { return [] }
        return board.suggestions(from: kinds.suggested, ofStack: stack).compactMap { id, tile in
            Key(kind: name, id: id).flatMap { unplaced(tile, at: $0, number, account) }
        }
    }

    /// The tiles that a watch may show on a board: the newest relevant widgets of its account and of everybody, in the order in
    /// which they began. Relevance decides which of them are shown, and when.
    ///
    /// - Complexity: O(``RelevantWidgets/limit``), however many there are.
    func relevantTiles(onBoard number: Int32) -> [BoardTile] {
        guard !kinds.visiting.isEmpty, !boards.relevantWidgets.isEmpty, let (name, account) = name(ofBoard: number)
        else {
            return []
        }
        return boards.relevantWidgets.newest(RelevantWidgets.limit, for: account).reversed().compactMap { member in
            guard let family = kinds.visiting[member.key.kind], isVisible(member.entity, to: account),
                let widget = widget(at: member.entity),
                let key = Key(kind: name, id: Board.relevantTileID(of: member.key))
            else { return nil }
            let tile = Board.relevantTile(of: member.key, configuration: widget.configuration, family: family)
            return unplaced(tile, at: key, number, account)
        }
    }

    private func unplaced(_ tile: Tile, at key: Key, _ board: Int32, _ account: String?) -> BoardTile? {
        // A kept tile with this id that was removed is not suggested again until it is forgotten.
        guard index(of: key).map({ !exists($0) }) ?? true,
            let (version, definition) = widgetKind(inForce: tile.widget.kind)
        else { return nil }
        return BoardTile(
            key: key, board: board, tile: tile, account: account, kind: kinds.versions[version], definition: definition)
    }

    /// The tile at a key, placed or not; `nil` for every other key.
    func boardTile(at entity: EntityIndex) -> BoardTile? {
        switch self[entity].state {
        case .none: return isWidget(entity) ? unplacedTile(at: entity) : nil
        case .tile(let item):
            guard !item.isGone, let tile = item.tile, let key = self[entity].key, let kind = kind(at: entity),
                case .widget(let definition) = kind.body
            else { return nil }
            return BoardTile(
                key: key, board: self[entity].kindName, tile: tile, account: item.account, kind: kind,
                definition: definition)
        case .activity, .toggle, .button, .widget: return nil
        }
    }

    /// The `rev` of the row of a tile that nobody placed: the newest change of its stack or its widget.
    func rev(ofUnplaced tile: BoardTile) -> Int64 {
        let stack = tile.tile.stack.flatMap { Key(kind: tile.key.kind, id: $0) }
        return max(stack.map { rev(of: $0) } ?? 0, rev(of: tile.tile.widget))
    }

    /// The newest `rev` of a key; 0 if the key does not exist.
    func rev(of key: Key) -> Int64 { index(of: key).map { self[$0].rev } ?? 0 }

    /// The index of the key of a tile that nobody placed, or no longer does, for its rows and its deletion. The caller retains it.
    ///
    /// - Parameter rev: The `rev` of its next row or deletion, unless one sent before it is newer.
    mutating func intern(unplaced key: Key, rev: Int64) -> EntityIndex {
        let entity = intern(key)
        raiseRev(ofUnplaced: entity, to: rev)
        return entity
    }

    mutating func raiseRev(ofUnplaced entity: EntityIndex, to rev: Int64) {
        entities.update(entity) { place in
            place.isWidget = true
            place.rev = max(place.rev, rev)
        }
    }

    /// The boards with suggestions that a selector follows.
    ///
    /// A subscription to everything without an account gets the suggestions of everybody's boards only: there may be many others,
    /// and none is arranged for it.
    func boardsWithSuggestions(followedBy selector: PatternIndex.Selector, account: String?) -> [Int32] {
        switch selector {
        case .all: []
        case .kind(let number): boards.takesSuggestions(number) ? [number] : []
        case .key(let entity):
            boards.takesSuggestions(self[entity].kindName) ? [self[entity].kindName] : []
        case .allWithWidgets: boards.boardsWithSuggestions(of: account)
        }
    }

    /// The keys that may have been suggestions since a commit and no longer are: of stacks that changed since, and of removed
    /// kinds.
    ///
    /// - Returns: The `rev` of the deletion of each.
    func formerSuggestions(
        since sequence: Int64, onBoards numbers: [Int32], followedBy selector: PatternIndex.Selector,
        by account: String?
    ) -> [Key: Int64] {
        guard !kinds.everSuggested.isEmpty else { return [:] }
        var stacks = numbers.flatMap { boards.items(onBoard: $0) }.filter { boardItem(at: $0)?.stack?.suggests == true }
        stacks += changed(after: sequence, followedBy: selector).filter { boardItem(at: $0)?.stack != nil }
        stacks.removeAll { !mayHaveKnown($0, account: account, at: sequence) }
        var keys: [Key: Int64] = [:]
        for stack in stacks {
            guard let key = self[stack].key else { continue }
            for widget in kinds.everSuggested {
                guard let own = Key(kind: key.kind, id: Board.suggestionID(of: widget, inStack: String(key.id))) else {
                    continue
                }
                // Not older than a row that was sent for the stack or the widget, which may have been forgotten since.
                let shown = rev(of: widget)
                keys[own] = max(self[stack].rev, shown > 0 ? shown : resumeFloor)
            }
        }
        return keys
    }

    /// Whether a commit after `sequence` changed what the smart stack of a tile may suggest, which also affects its turns.
    func hasSuggestionChanged(besideTile entity: EntityIndex, after sequence: Int64) -> Bool {
        guard !kinds.suggested.isEmpty, stack(ofTile: entity)?.suggests == true else { return false }
        return kinds.suggested.contains { suggested in
            index(of: suggested.widget).map { hasOwnChange($0, after: sequence) } ?? false
        }
    }

    /// The stacks of a board that take suggestions, with their tiles.
    func itemsOfSuggestingStacks(onBoard number: Int32) -> [EntityIndex] {
        boards.items(onBoard: number).filter { entity in
            boardItem(at: entity)?.stack?.suggests ?? (stack(ofTile: entity)?.suggests == true)
        }
    }

    /// The stack that contains a tile.
    func stack(ofTile entity: EntityIndex) -> TileStack? {
        guard let id = boardItem(at: entity)?.tile?.stack, let name = self[entity].key?.kind else { return nil }
        return Key(kind: name, id: id).flatMap { index(of: $0) }.flatMap { boardItem(at: $0)?.stack }
    }

    func relevantWidgetCount(for account: String?) -> Int { boards.relevantWidgets.count(for: account) }

    /// Whether a key is or was of a kind with relevant widgets.
    func isOfVisitingKind(_ entity: EntityIndex) -> Bool {
        guard !kinds.everVisiting.isEmpty, let key = self[entity].key else { return false }
        return kinds.everVisiting.contains(key.kind)
    }

    /// The boards whose relevant widgets a watch with `selector` gets. A selector for everything gets the widgets themselves.
    func boardsWithRelevantTiles(followedBy selector: PatternIndex.Selector) -> [Int32] {
        guard !kinds.visiting.isEmpty else { return [] }
        let number: Int32
        switch selector {
        case .all, .allWithWidgets: return []
        case .kind(let kind): number = kind
        case .key(let entity): number = self[entity].kindName
        }
        return boards.items(onBoard: number).isEmpty ? [] : [number]
    }

    /// Whether a relevant widget is, or was until now, for everybody.
    func isRelevantForEverybody(_ member: EntityIndex) -> Bool { widget(at: member)?.accounts.isEmpty != false }

    /// Whether every board considers a relevant widget of everybody's, unless its account has newer ones.
    func isAmongNewestRelevantWidgets(_ member: EntityIndex) -> Bool {
        boards.relevantWidgets.newest(RelevantWidgets.limit, for: nil).contains { $0.entity == member }
    }

    /// The keys that may have been relevant widgets since a commit and no longer are: of widgets that changed since, and of as
    /// many that have become too old for a board.
    ///
    /// - Returns: The `rev` of the deletion of each.
    func formerRelevantTiles(since sequence: Int64, onBoards numbers: [Int32], for viewer: String?) -> [Key: Int64] {
        guard !kinds.everVisiting.isEmpty, !numbers.isEmpty else { return [:] }
        let changed = changed(after: sequence).filter { isOfVisitingKind($0) }
        var revs: [Key: Int64] = [:]
        for number in numbers {
            guard let (name, account) = name(ofBoard: number), account == nil || viewer == nil || account == viewer
            else { continue }
            let older = boards.relevantWidgets.newest(RelevantWidgets.limit + changed.count, for: account).dropFirst(
                RelevantWidgets.limit)
            for member in changed.filter({ mayHaveVisited($0, account, at: sequence) }) + older.map(\.entity) {
                guard let widget = self[member].key, let key = Key(kind: name, id: Board.relevantTileID(of: widget))
                else {
                    continue
                }
                revs[key] = self[member].rev
            }
        }
        return revs
    }

    /// Whether a widget was for boards of `account` at `sequence`, or is now; `nil` = everybody's boards. If not, its deletion is
    /// not sent either, so its existence stays private.
    private func mayHaveVisited(_ member: EntityIndex, _ account: String?, at sequence: Int64) -> Bool {
        guard account == nil else { return mayHaveKnown(member, account: account, at: sequence) }
        return widget(at: member)?.accounts.isEmpty == true
            || audienceHistory(of: member)?.contains(nil, after: sequence) == true
    }
}

/// A tile of a board, placed or not, and the version of its widget's kind that draws it.
struct BoardTile {
    let key: Key
    /// The number of its board's name.
    let board: Int32
    let tile: Tile
    /// The board's account; `nil` = everybody's.
    let account: String?
    let kind: Kind
    let definition: WidgetKind

    /// Whether the devices of `account` may show it; without an account everything is visible.
    func isVisible(to account: String?) -> Bool { self.account == nil || account == nil || self.account == account }
}

extension Key {
    /// Ids of tiles that nobody placed begin with `~`. A kept suggestion has such an id too.
    var mayBeUnplaced: Bool { id.utf8.first == UInt8(ascii: "~") }
}

extension WidgetKind {
    /// Its widgets come and go by relevance, and nobody places them.
    var isVisiting: Bool { isEach && relevance != nil }
}
