internal import Journal
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// The current batch, and what waits for the next one. Many requests share one disk sync.
///
/// A batch is idle, then deciding, then committing, then idle again.
///
/// Invariants:
/// - Nothing is decided while a batch is committing, and nothing is rendered before it is settled.
/// - ``durableSequence`` is the newest record that the journal has confirmed. It never decreases.
/// - The hub's own entries (kinds, settings, restarts, provider changes) are in a batch or wait here. A refused batch returns
///   them.
struct GroupCommit: ~Copyable {
    private enum Phase {
        case idle, deciding, committing
    }

    private let addressOnly = AddressOnly()
    private var phase = Phase.idle
    /// Another node of the cluster decides: records come from its log, and a batch here answers reads alone.
    private(set) var isFollowing = false
    private var batch = Batch(expecting: 0, limit: 0, requestLimit: 0, byteLimit: 0, scanShare: 0)
    /// The previous batch, kept until there is time to free it.
    private var settledBatch: Batch?
    /// The newest record that is durable.
    private(set) var durableSequence: Int64 = 0
    /// The number of records in the previous batch.
    private(set) var lastRecordCount = 0
    /// After a refused batch, no deadline fires before this.
    private(set) var retryTime = MonotonicTime.distantPast
    /// The hub's own entries of the next batch, in this order: settings, kinds, entries.
    private var pendingSettings: DecisionSettings?
    private var pendingKinds: [Kind]?
    private var pendingEntries: [JournalEntry] = []
    /// The principal whose request is being decided; `nil` = the hub itself, or a server without tokens.
    private var author: String?
    /// A reusable buffer for records; `nil` while a record is written.
    private var spareWriter: BinaryWriter?

    /// How long the hub's own work waits after a refused batch.
    private static let retryPause = Milliseconds.seconds(1)

    var isIdle: Bool { phase == .idle }
    /// The batch still takes decisions.
    var isDeciding: Bool { phase == .deciding }

    /// Whether the batch accepts another request, with parts of `limit` records.
    @inline(__always)
    func takesRequest(limit: Int) -> Bool { batch.hasRoom && batch.room > 0 && batch.records.count < limit }
    var isFull: Bool { !batch.hasRoom || batch.room == 0 }
    var hasRoomForDeadlines: Bool { batch.hasRoomForDeadlines }
    /// Whether the batch has room for the records of another key of a `RELOAD`.
    var mayReloadMore: Bool { !batch.reloadShare.isUsedUp && batch.hasRoom }
    /// Whether the batch has room for the records of another key that is assigned a provider.
    var mayAlignMore: Bool { !batch.alignShare.isUsedUp && batch.hasRoom }
    /// How many requests were decided for the batch.
    var requestCount: Int { batch.requestCount }
    /// How many more requests may be decided for it; `nil` = there is no batch.
    var room: Int? { isIdle ? nil : batch.room }

    /// Whether the hub has its own entries to commit.
    var hasOwnWork: Bool { !pendingEntries.isEmpty || pendingKinds != nil || pendingSettings != nil }

    // MARK: Modes

    /// Decides nothing from now on. What the hub would have originated is not its to decide any more.
    mutating func follow() {
        isFollowing = true
        (pendingSettings, pendingKinds, pendingEntries) = (nil, nil, [])
        retryTime = .distantPast
    }

    mutating func lead() { isFollowing = false }

    // MARK: What the hub originates

    /// The settings that take effect with the next batch; `nil` = those in force stay.
    var proposedSettings: DecisionSettings? { pendingSettings }

    mutating func propose(_ settings: DecisionSettings) { pendingSettings = settings }
    /// - Parameter kinds: `nil` withdraws the pending proposal.
    mutating func propose(_ kinds: [Kind]?) { pendingKinds = kinds }
    mutating func propose(_ entry: JournalEntry) { pendingEntries.append(entry) }

    /// Moves the pending settings into the batch.
    mutating func takeSettings() -> DecisionSettings? {
        batch.settings = pendingSettings.take()
        return batch.settings
    }

    mutating func takeKinds() -> [Kind]? {
        batch.kinds = pendingKinds.take()
        return batch.kinds
    }

    mutating func takeEntries() -> [JournalEntry] {
        batch.ownEntries = pendingEntries
        pendingEntries = []
        return batch.ownEntries
    }

    /// Counts the batch's records so far as the hub's own.
    mutating func noteOwnRecords() { batch.noteOwnRecords() }

    // MARK: Deciding

    /// Begins a batch.
    ///
    /// - Parameters: As of ``Batch/init(expecting:limit:requestLimit:byteLimit:scanShare:)``.
    mutating func begin(limit: Int, requestLimit: Int, byteLimit: Int = .max, scanShare: Int = .max) {
        phase = .deciding
        batch = Batch(
            expecting: lastRecordCount, limit: limit, requestLimit: requestLimit, byteLimit: byteLimit,
            scanShare: scanShare)
    }

    /// Sets the principal of the records appended from now on; `nil` = the hub.
    mutating func setAuthor(_ author: String?) { self.author = author }

    mutating func countRequest() { batch.requestCount += 1 }
    mutating func changeReloadShare(_ body: (inout ScanShare) -> Void) { body(&batch.reloadShare) }
    mutating func changeAlignShare(_ body: (inout ScanShare) -> Void) { body(&batch.alignShare) }
    mutating func hold(_ session: SessionID) { batch.held.append(session) }
    mutating func appendSession(_ session: SessionID) { batch.sessions.append(session) }
    mutating func append(_ tap: DecidedTap) { batch.append(tap) }
    mutating func note(_ former: Traits, of session: SessionID) { batch.note(former, of: session) }
    mutating func recordUndo(_ undo: SessionUndo) { batch.sessionUndo.append(undo) }

    /// Appends what was applied as the next record.
    ///
    /// - Parameters:
    ///  - entity: The text of its key; empty = none.
    ///  - previous: The key's previous record; 0 = none.
    ///  - writeEntry: Writes the entry that was decided on.
    mutating func append(
        _ result: inout DecisionResult, at sequence: Int64, time: Timestamp, wall: Timestamp,
        entity: consuming String, previous: Int64, _ writeEntry: (inout BinaryWriter) -> Void
    ) {
        var writer = spareWriter.take() ?? BinaryWriter()
        let body = RecordBody.encode(result, wall: wall, by: author, &writer, writeEntry)
        spareWriter = consume writer
        batch.append(JournalRecord(sequence: sequence, time: time, entity: entity, previous: previous, body: body))
        gather(&result)
    }

    /// Takes a record that another node has decided into the batch, which has no other.
    mutating func append(replayed result: inout DecisionResult) {
        batch.countReplayed()
        gather(&result)
    }

    /// What the record changes, and what it asks of providers, waits for the end of the batch.
    private mutating func gather(_ result: inout DecisionResult) {
        for call in result.calls { batch.append(call) }
        // Moved out, because nothing else reads it.
        if let change = result.change.take() { batch.append(change) }
        if let derived = result.derived.take() { for change in derived.changes { batch.append(change) } }
    }

    /// Ends a part of the batch.
    ///
    /// - Parameters:
    ///   - isLast: The whole batch is decided.
    ///   - late: Changes that become known only at the end of the batch, in the order of their commits.
    /// - Returns: The records of the part.
    mutating func endPart(isLast: Bool, late: [Change] = []) -> [JournalRecord] {
        batch.merge(late)
        if isLast { phase = .committing }
        return batch.takeRecords(isLast: isLast)
    }

    // MARK: Settled

    /// The batch is durable up to the record `sequence`.
    ///
    /// - Returns: What to publish and answer. Return it with ``keep(_:undo:)``.
    mutating func committed(through sequence: Int64) -> Batch {
        lastRecordCount = batch.recordCount
        durableSequence = sequence
        return takeBatch()
    }

    /// The batch was not written.
    ///
    /// - Returns: What to undo and refuse.
    mutating func refused(at now: MonotonicTime) -> Batch {
        retryTime = now + Self.retryPause
        pendingEntries = batch.ownEntries + pendingEntries
        pendingKinds = pendingKinds ?? batch.kinds
        pendingSettings = pendingSettings ?? batch.settings
        return takeBatch()
    }

    /// Records that a snapshot or a record was replayed.
    mutating func replayed(through sequence: Int64) { durableSequence = sequence }

    private mutating func takeBatch() -> Batch {
        phase = .idle
        var taken = Batch(expecting: 0, limit: 0, requestLimit: 0, byteLimit: 0, scanShare: 0)
        swap(&taken, &batch)
        return taken
    }

    /// Keeps a settled batch until ``freeSettled()``.
    mutating func keep(_ batch: consuming Batch, undo: consuming [Undo]) {
        batch.storeUndo = undo
        settledBatch = consume batch
    }

    /// Frees the previous batch, including the former state of each of its keys. Call it while the journal writes the next batch:
    /// it takes a good part of the time of deciding, and nothing waits for it then.
    mutating func freeSettled() { settledBatch = nil }
}
