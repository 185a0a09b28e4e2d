internal import DequeModule
internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// What one input did: what its reply, its record and its followers are told.
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
    var operation: OperationID?
    var performances: [(key: Key, ControlPerformance)] = []
    /// Events that a button sends to activities; they are decided next.
    var raised: [RaisedEvent] = []
    /// What followers see, `nil` when nothing changed for them.
    var change: Change?
    private let addressOnly = AddressOnly()
}

extension Hub {
    /// The most records of one commit, so that no commit grows without bound.
    private static let batchLimit = 8_192

    /// What the hub itself has to say does not count: it must not shut out whoever asks, when it cannot be written.
    var batchHasRoom: Bool { requestRecordCount < Self.batchLimit }

    var batchHasRoomForDeadlines: Bool { requestRecordCount < Self.batchLimit / 2 }

    private var requestRecordCount: Int { (batch?.recordCount ?? 0) - (batch?.ownRecordCount ?? 0) }

    /// Whether ``decide(at:limit:batchLimit:)`` would find something to do.
    public func hasWork(at now: HubTime) -> Bool {
        if !arrivals.isEmpty || !postponed.isEmpty { return true }
        // What could not be written is not tried again at once.
        guard now.monotonic >= storageRetryAt else { return false }
        return !pendingInputs.isEmpty || !unalignedKinds.isEmpty || pendingKinds != nil || pendingSettings != nil
            || isDeadlineDue(at: now)
    }

    /// After a full disk: nothing but a request makes the hub try again before this moment of the monotonic clock, lest it
    /// spin.
    public var decisionsPausedUntil: Int64 { storageRetryAt }

    /// Whether a batch waits for the journal. Nothing is decided and nothing is rendered until it is settled.
    public var isCommitting: Bool { batch != nil }

    /// Whether the end of the batch is yet to be decided: ``decide(at:limit:batchLimit:)`` goes on with it.
    public var isDeciding: Bool { batch?.isComplete == false }

    /// How many requests wait to be decided.
    public var waitingCount: Int { arrivals.count }

    /// How many were decided for the batch that is not settled.
    public var batchRequestCount: Int { batch?.requestCount ?? 0 }

    /// How many records are worth giving to the journal at once: a quarter of the requests that are still to be decided for
    /// this batch, but 32 to 256.
    ///
    /// Everybody waits for the last part of a batch, so it is to be short. Each part wakes the journal's thread, so they are
    /// to be few.
    ///
    /// - Parameter batchLimit: As of ``decide(at:limit:batchLimit:)``.
    public func partLength(batchLimit: Int = .max) -> Int {
        min(max(32, min(arrivals.count, batch?.room ?? batchLimit) / 4), 256)
    }

    /// Decides what is waiting, in the order of arrival; deadlines that are due come first.
    ///
    /// A long batch comes in parts, so that the journal can write one while the next is decided: call this again for as
    /// long as it ``isDeciding``, at the same moment, with nothing in between.
    ///
    /// - Parameters:
    ///   - limit: The part ends with the input that makes this many records.
    ///   - batchLimit: How many requests it decides at most, all parts together; the first part says so. Others wait for the
    ///     next batch.
    /// - Returns: The records to be made durable. After the last part call ``committed(at:)``, at once when there were
    ///   none, or ``refused(at:)``.
    public mutating func decide(at now: HubTime, limit: Int = .max, batchLimit: Int = .max) -> [JournalRecord] {
        if batch == nil {
            goOnAnswering(at: now)
            batch = Batch(expecting: lastBatchCount, limit: limit, requestLimit: batchLimit)
            // An event with an id notes two ways back.
            undo.reserveCapacity(2 * lastBatchCount)
            time = max(time, now.time)
            wall = max(wall, now.wall)
            takeEffect(at: now)
            batch?.noteOwnRecords()
            fireDeadlines(at: now)
        }
        precondition(isDeciding, "the journal still has the last batch")
        while batchHasRoom, batch?.room ?? 0 > 0, batch?.records.count ?? 0 < limit, let id = arrivals.popFirst() {
            guard let session = self[id] else { continue }
            if session.holdsBack, !session.isClosing, !session.hasSaidBye {
                batch?.held.append(id)
                continue
            }
            fetchAhead(of: session)
            guard let request = session.popRequest(), !session.isClosing, !session.hasSaidBye else { continue }
            batch?.requestCount += 1
            decide(request, from: session, at: now)
        }
        let isComplete = arrivals.isEmpty || !batchHasRoom || batch?.room == 0
        batch?.isComplete = isComplete
        return batch?.takeRecords() ?? []
    }

    /// The batch is durable: its replies leave, and those who follow its keys are owed their rows.
    public mutating func committed(at now: HubTime) {
        guard var batch else { return }
        precondition(batch.isComplete, "its end is not decided yet")
        self.batch = nil
        swap(&batch.undo, &undo)
        arrivals.prepend(contentsOf: batch.held)
        lastBatchCount = batch.recordCount
        durableSequence = sequence
        if batch.recordCount > 0 {
            statistics.commits += 1
            forgetIDs()
        }
        prunedChains += batch.prunedChains
        markAge()
        readingShare = Self.keysPerTurn
        spread(batch.changes.span)
        for entity in batch.forgotten {
            // Not before: had it been refused, its place among the changes would be gone. It may be there anew by now.
            if !exists(entity) { changes.remove(entity) }
            entities.release(entity)
        }
        for id in batch.sessions { answer(id, at: now) }
        // Behind the answer to what made it necessary: a provider that has just come is told so first.
        for (key, performance) in batch.performances { ask(performance, key: key) }
        settledBatch = consume batch
    }

    /// Frees what the last batch held, such as what every key in it was before. Best while the journal has the next one,
    /// and everybody waits: it takes a thirtieth of the time of deciding.
    public mutating func freeSettledBatch() { settledBatch = nil }

    /// The disk has no room for the batch, and nothing of it was written: it is taken back, and its senders are told.
    ///
    /// Readers and fan-out go on. The next batch is tried as if nothing had been; so writing recovers by itself.
    public mutating func refused(at now: HubTime) {
        statistics.storageFullBatches += 1
        takeBatchBack(
            WireError(.storageFull, "the disk is full; free some space, and send it again later"), at: now)
    }

    /// The disk failed, and whether it has the batch is not known: nothing is shown of it, its senders are told and closed.
    ///
    /// Decide nothing after this: whoever is started next begins with what the disk has.
    public mutating func failed(at now: HubTime) {
        takeBatchBack(
            WireError(
                .storageFailed, "the disk failed, and the server ends; send it again when it is back, with the same eid"
            ),
            at: now)
    }

    private mutating func takeBatchBack(_ error: WireError, at now: HubTime) {
        guard let batch else { return }
        precondition(batch.isComplete, "its end is not decided yet")
        self.batch = nil
        arrivals.prepend(contentsOf: batch.held)
        storageRetryAt = now.monotonic + 1_000
        var undo: [Undo] = []
        swap(&undo, &self.undo)
        for undo in undo.reversed() { take(back: undo) }
        for entity in batch.forgotten { entities.release(entity) }
        sequence = durableSequence
        flights = flights.filter { $0.key <= durableSequence }
        pendingInputs = batch.taken + pendingInputs
        pendingKinds = pendingKinds ?? batch.adoptedKinds
        pendingSettings = pendingSettings ?? batch.adoptedSettings
        unalignedKinds.formUnion(rosters.keys)
        for id in batch.sessions {
            self[id]?.staged.refuseCommitted(error)
            answer(id, at: now)
            if error.code.isFatal { self[id]?.isClosing = true }
        }
    }

    // MARK: Deciding

    private mutating func decide(_ request: WaitingRequest, from session: Session, at now: HubTime) {
        // A timer that is due by now comes before an event of now (definitions.md).
        fireDeadlines(at: now)
        if !batchHasRoomForDeadlines, let key = request.key { fireDeadlines(of: key, at: now) }
        switch request {
        case .event(let event):
            stageCommitted(event.requestID, for: session) { hub, writer in
                hub.decideEvent(event, from: session, at: now, &writer)
            }
        case .other(let request): decide(request, from: session.id, at: now)
        }
    }

    private mutating func decide(_ request: Request, from id: SessionID, at now: HubTime) {
        switch request.command {
        case .hello(let hello):
            let traits = self[id]?.traits
            let reply = greet(hello, request, from: id, at: now)
            stage(for: id) { $0.append(reply) }
            if self[id]?.traits != traits { reproject(id, locked: false) }
        case .traits(let attributes):
            let reply = change(attributes, request, of: id)
            stage(for: id) { $0.append(reply) }
        case .dismiss(let key): decideDismissal(of: key, request, from: id, at: now)
        case .seen(let key, let rev): decideSeen(key, rev: rev, request, from: id, at: now)
        case .set, .press, .serve, .done, .fail, .report:
            stageCommitted(request.id, for: id) { hub, writer in
                hub.decideControl(request, from: id, at: now, &writer)
            }
        case .bye:
            self[id]?.hasSaidBye = true
            stage(for: id) { $0.append(read: request) }
        case .ping, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .history, .stats, .open, .refused:
            stage(for: id) { $0.append(read: request) }
        case .event: break  // Waits in a form of its own.
        }
    }

    /// Lets `body` add what a session is to be answered with behind the commit.
    private mutating func stage(for id: SessionID, _ body: (inout StagedReplies) -> Void) {
        if let session = self[id] { stage(for: session, body) }
    }

    private mutating func stage(for session: Session, _ body: (inout StagedReplies) -> Void) {
        if session.staged.isEmpty { batch?.sessions.append(session.id) }
        body(&session.staged)
    }

    /// Lets `body` decide what makes a record, and write what its sender is answered when that is durable.
    private mutating func stageCommitted(
        _ requestID: String?, for id: SessionID, _ body: (inout Hub, inout LineWriter) -> Void
    ) {
        if let session = self[id] { stageCommitted(requestID, for: session, body) }
    }

    private mutating func stageCommitted(
        _ requestID: String?, for session: Session, _ body: (inout Hub, inout LineWriter) -> Void
    ) {
        var writer = spare.lines.take() ?? LineWriter()
        body(&self, &writer)
        stage(for: session) { $0.append(committed: &writer, requestID: requestID) }
        writer.removeAll()
        spare.lines = consume writer
    }

    private mutating func decideEvent(
        _ posted: PostedEvent, from session: Session, at now: HubTime, _ writer: inout LineWriter
    ) {
        let source = posted.command.source ?? session.client ?? "-"
        if let eid = posted.command.eid, let known = eventIDs.entry(source: source, eid: eid, hash: posted.eidHash) {
            if known.digest == posted.digest {
                statistics.count(.duplicate)
                let state = entities.index(of: posted.command.key).flatMap { activity(at: $0)?.value.statePath }
                writer.ok(
                    id: posted.requestID, verdict: .duplicate, rev: known.rev, state: state, ignored: posted.ignored)
            } else {
                statistics.refusals += 1
                writer.error(
                    WireError(
                        .duplicateMismatch,
                        "eid \(eid) of \(source) was used for another event; give every event an id of its own"),
                    id: posted.requestID)
            }
            return
        }
        do throws(WireError) {
            let applied = try record(posted, from: source, at: now)
            writer.ok(
                id: posted.requestID, verdict: applied.verdict, rev: applied.rev, state: applied.state,
                isOldEnd: applied.isOldEnd, ignored: posted.ignored)
        } catch {
            statistics.refusals += 1
            writer.error(error, id: posted.requestID)
        }
    }

    private mutating func decideDismissal(
        of key: Key, _ request: Request, from id: SessionID, at now: HubTime
    ) {
        decideForAccount(request, of: id) { hub, account throws(WireError) in
            _ = try hub.addressed(key, to: account)
            return try hub.record(.dismissed(key, account: account), at: now)
        }
    }

    private mutating func decideSeen(
        _ key: Key, rev: Int64, _ request: Request, from id: SessionID, at now: HubTime
    ) {
        decideForAccount(request, of: id) { hub, account throws(WireError) in
            let entity = try hub.addressed(key, to: account)
            // Nobody has seen what is yet to come.
            return try hub.record(.seen(key, account: account, rev: min(rev, hub.entities[entity].rev)), at: now)
        }
    }

    /// The activity behind a key of which the people of `account` may know.
    private func addressed(_ key: Key, to account: String) throws(WireError) -> EntityIndex {
        guard let entity = entities.index(of: key), exists(entity), isAddressed(entity, to: account) else {
            throw unknownKey(key)
        }
        guard !isControl(entity) else {
            throw WireError(.badAction, "\(key) is a control; DISMISS and SEEN are for live activities")
        }
        return entity
    }

    private mutating func decideForAccount(
        _ request: Request, of id: SessionID,
        _ body: (inout Hub, String) throws(WireError) -> DecisionResult
    ) {
        guard let account = self[id]?.account else {
            var writer = LineWriter()
            writer.error(
                WireError(.forbidden, "this acts for a person; say whose device this is with HELLO account=NAME"),
                id: request.id)
            return stage(for: id) { $0.append(writer.bytes) }
        }
        stageCommitted(request.id, for: id) { hub, writer in
            do throws(WireError) {
                let applied = try body(&hub, account)
                writer.ok(
                    id: request.id, verdict: applied.verdict, rev: applied.rev, state: nil, ignored: request.ignored)
            } catch {
                hub.statistics.refusals += 1
                writer.error(error, id: request.id)
            }
        }
    }

    /// Forgets the ids of events and taps that are too old, or too many. After a commit, and not with what makes room
    /// necessary: that may be taken back.
    mutating func forgetIDs() {
        eventIDs.forget(at: wall, ageLimit: settings.eventIDAge, countLimit: settings.eventIDsPerSource)
        taps.forget(at: wall)
    }

    // MARK: Recording

    /// Applies one input and, unless it was refused, makes it the batch's next record.
    @discardableResult
    mutating func record(_ input: JournalEntry, at now: HubTime) throws(WireError) -> DecisionResult {
        if case .event(let posted, let source) = input { return try record(posted, from: source, at: now) }
        var applied = try rememberingHow { hub throws(WireError) in
            try hub.apply(input, sequence: hub.sequence + 1)
        }
        note(applied, of: input.key?.text ?? "") { $0.write(input) }
        noteChange(of: &applied)
        if case .pruned = input, let entity = applied.entity {
            batch?.prunedChains.append(sequence)
            batch?.forgotten.append(entity)
            // Until the batch is settled nobody may get its index: it may have to be taken back.
            entities.retain(entity)
            endChain(of: entity)
        }
        if !applied.raised.isEmpty, let key = input.key {
            for raised in applied.raised { raise(raised, by: key, at: now) }
        }
        return applied
    }

    /// The same for an event, which is not made an ``JournalEntry`` on the way: nearly every input is one, and it would be taken
    /// apart again.
    private mutating func record(
        _ posted: PostedEvent, from source: String, at now: HubTime
    ) throws(WireError) -> DecisionResult {
        var applied = try rememberingHow { hub throws(WireError) in
            try hub.apply(posted, from: source, sequence: hub.sequence + 1)
        }
        note(applied, of: posted.command.key.text) { $0.write(posted, from: source) }
        noteChange(of: &applied)
        return applied
    }

    /// Makes what was applied the batch's next record, and notes what is to be done for it.
    private mutating func note(
        _ applied: borrowing DecisionResult, of entity: consuming String, _ writeInput: (inout BinaryWriter) -> Void
    ) {
        sequence += 1
        let previous = link(applied.entity)
        var writer = spare.records.take() ?? BinaryWriter()
        let body = RecordBody.encode(applied, wall: wall, &writer, writeInput)
        spare.records = consume writer
        batch?.append(
            JournalRecord(sequence: sequence, time: time, entity: entity, previous: previous, body: body))
        for performance in applied.performances { batch?.performances.append(performance) }
        statistics.count(applied.verdict)
    }

    private mutating func noteChange(of applied: inout DecisionResult) {
        // Moved, because nobody else asks for it.
        if let change = applied.change.take() { batch?.changes.append(change) }
    }

    /// Lets `body` apply an input; where that is refused there is nothing to take back.
    private mutating func rememberingHow(
        _ body: (inout Hub) throws(WireError) -> DecisionResult
    ) throws(WireError) -> DecisionResult {
        let count = undo.count
        do {
            return try body(&self)
        } catch {
            undo.removeLast(undo.count - count)
            throw error
        }
    }

    /// Makes the record being written the newest of its entity, and gives the one before it.
    mutating func link(_ entity: EntityIndex?) -> Int64 {
        guard let entity else { return 0 }
        let previous = entities[entity].lastRecord
        entities[entity].lastRecord = sequence
        return previous
    }

    /// A key that is forgotten has no history either: whatever begins under it begins a new one.
    mutating func endChain(of entity: EntityIndex) { entities[entity].lastRecord = 0 }

    private mutating func take(back undo: Undo) {
        switch undo {
        case .entity(let entity, let state, let kind, let rev, let lastRecord, let dismissedAt):
            countActivity(at: entity, by: -1)
            unlist(entity)
            entities[entity].state = state
            entities[entity].kind = kind
            entities[entity].rev = rev
            entities[entity].lastRecord = lastRecord
            entities[entity].dismissedAt = dismissedAt
            countActivity(at: entity, by: 1)
            list(entity)
            noteFlight(at: entity)
            arm(entity)
            entities.freeIfUnused(entity)
        case .eventID(let source): eventIDs.removeNewest(of: source)
        case .tap(let identity): taps.forgetNewest(identity)
        case .kinds(let table): kinds = table
        case .settings(let settings, let hadSettings):
            self.settings = settings
            hasSettings = hadSettings
        case .resumeFloor(let floor): resumeFloor = floor
        case .readdressed(let entity, let audiences): entities.audienceHistories[entity] = audiences
        case .serving(let kind, let id):
            self[id]?.served.removeAll { $0 == kind }
            _ = rosters[kind]?.leave(id.number)
        }
    }
}
