internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The batch under way, and what waits for the next one: many requests share one sync of the disk.
///
/// A batch is idle, then deciding, then committing, then idle again.
///
/// Invariants:
/// - Nothing is decided while a batch is committing, and nothing is rendered before it is settled.
/// - ``durableSequence`` is the newest record that the journal has confirmed; it never goes back.
/// - The hub's own entries (kinds, settings, restarts, provider changes) are in a batch, or wait here; a batch that is
///   refused gives it back.
struct GroupCommit: ~Copyable {
    private enum Phase {
        case idle, deciding, committing
    }

    private let addressOnly = AddressOnly()
    private var phase = Phase.idle
    private var batch = Batch(expecting: 0, limit: 0, requestLimit: 0, byteLimit: 0, walkShare: 0)
    /// The batch before, until there is time to free what it held.
    private var settledBatch: Batch?
    /// The newest record that is durable.
    private(set) var durableSequence: Int64 = 0
    /// How many records the batch before had.
    private(set) var lastRecordCount = 0
    /// After a refused batch, no deadline fires before this moment.
    private(set) var retryTime = MonotonicTime.distantPast
    /// The hub's own entries of the next batch, in this order: settings, kinds, entries.
    private var pendingSettings: DecisionSettings?
    private var pendingKinds: [Kind]?
    private var pendingEntries: [JournalEntry] = []
    /// The principal whose request is being decided; `nil` = the hub itself, or a server without tokens.
    private var author: String?
    /// Memory for records; `nil` while one is written.
    private var spareWriter: BinaryWriter?

    /// After a batch was refused, the hub's own work waits so long.
    private static let retryPause = Milliseconds.seconds(1)

    var isIdle: Bool { phase == .idle }
    /// The end of the batch is yet to be decided.
    var isDeciding: Bool { phase == .deciding }

    /// Whether the batch takes another request of `limit` records a part.
    @inline(__always)
    func takesRequest(limit: Int) -> Bool { batch.hasRoom && batch.room > 0 && batch.records.count < limit }
    var isFull: Bool { !batch.hasRoom || batch.room == 0 }
    var hasRoomForDeadlines: Bool { batch.hasRoomForDeadlines }
    /// Whether the batch has room for what another key of a `RELOAD` makes.
    var mayReloadMore: Bool { !batch.reloadShare.isUsedUp && batch.hasRoom }
    /// The same of what another key makes that is told which provider acts for it.
    var mayAlignMore: Bool { !batch.alignShare.isUsedUp && batch.hasRoom }
    /// How many requests were decided for the batch.
    var requestCount: Int { batch.requestCount }
    /// How many requests may still be decided for it; `nil` = there is none.
    var room: Int? { isIdle ? nil : batch.room }

    /// Whether the hub has something of its own to say.
    var hasOwnWork: Bool { !pendingEntries.isEmpty || pendingKinds != nil || pendingSettings != nil }

    // MARK: What the hub originates

    /// The settings that take effect with the next batch; `nil` = those in force stay.
    var proposedSettings: DecisionSettings? { pendingSettings }

    mutating func propose(_ settings: DecisionSettings) { pendingSettings = settings }
    /// - Parameter kinds: `nil` takes back what still waits.
    mutating func propose(_ kinds: [Kind]?) { pendingKinds = kinds }
    mutating func propose(_ entry: JournalEntry) { pendingEntries.append(entry) }

    /// Moves what waits into the batch.
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

    /// The records of the batch so far are the hub's own.
    mutating func noteOwnRecords() { batch.noteOwnRecords() }

    // MARK: Deciding

    /// Begins a batch.
    ///
    /// - Parameters: As of ``Batch/init(expecting:limit:requestLimit:byteLimit:walkShare:)``.
    mutating func begin(limit: Int, requestLimit: Int, byteLimit: Int = .max, walkShare: Int = .max) {
        phase = .deciding
        batch = Batch(
            expecting: lastRecordCount, limit: limit, requestLimit: requestLimit, byteLimit: byteLimit,
            walkShare: walkShare)
    }

    /// Records that are appended from now on are of this principal; `nil` = of the hub.
    mutating func setAuthor(_ author: String?) { self.author = author }

    mutating func countRequest() { batch.requestCount += 1 }
    mutating func changeReloadShare(_ body: (inout WalkShare) -> Void) { body(&batch.reloadShare) }
    mutating func changeAlignShare(_ body: (inout WalkShare) -> Void) { body(&batch.alignShare) }
    mutating func hold(_ session: SessionID) { batch.held.append(session) }
    mutating func appendSession(_ session: SessionID) { batch.sessions.append(session) }
    mutating func append(_ tap: DecidedTap) { batch.append(tap) }
    mutating func recordUndo(_ undo: SessionUndo) { batch.sessionUndo.append(undo) }

    /// Makes what was applied the next record.
    ///
    /// - Parameters:
    ///   - entity: The text of its key; empty = it is about none.
    ///   - previous: The key's record before it; 0 = there is none.
    ///   - writeEntry: Writes what was decided on.
    mutating func append(
        _ result: inout DecisionResult, at sequence: Int64, time: Timestamp, wall: Timestamp,
        entity: consuming String, previous: Int64, _ writeEntry: (inout BinaryWriter) -> Void
    ) {
        var writer = spareWriter.take() ?? BinaryWriter()
        let body = RecordBody.encode(result, wall: wall, by: author, &writer, writeEntry)
        spareWriter = consume writer
        batch.append(JournalRecord(sequence: sequence, time: time, entity: entity, previous: previous, body: body))
        for call in result.calls { batch.append(call) }
        // Moved, because nothing else asks for it.
        if let change = result.change.take() { batch.append(change) }
        if let derived = result.derived.take() { for change in derived.changes { batch.append(change) } }
    }

    /// Ends a part of the batch.
    ///
    /// - Parameters:
    ///   - isLast: All of the batch is decided.
    ///   - late: Changes of its records that are known at its end, in the order of their commits.
    /// - Returns: The records of the part.
    mutating func endPart(isLast: Bool, late: [Change] = []) -> [JournalRecord] {
        batch.merge(late)
        if isLast { phase = .committing }
        return batch.takeRecords(isLast: isLast)
    }

    // MARK: Settled

    /// The batch is durable up to the record `sequence`.
    ///
    /// - Returns: What there is to be published and answered. Give it back with ``keep(_:undo:)``.
    mutating func committed(through sequence: Int64) -> Batch {
        lastRecordCount = batch.recordCount
        durableSequence = sequence
        return takeBatch()
    }

    /// The batch is not written.
    ///
    /// - Returns: What there is to be taken back and refused.
    mutating func refused(at now: MonotonicTime) -> Batch {
        retryTime = now + Self.retryPause
        pendingEntries = batch.ownEntries + pendingEntries
        pendingKinds = pendingKinds ?? batch.kinds
        pendingSettings = pendingSettings ?? batch.settings
        return takeBatch()
    }

    /// A snapshot or a record was replayed.
    mutating func replayed(through sequence: Int64) { durableSequence = sequence }

    private mutating func takeBatch() -> Batch {
        phase = .idle
        var taken = Batch(expecting: 0, limit: 0, requestLimit: 0, byteLimit: 0, walkShare: 0)
        swap(&taken, &batch)
        return taken
    }

    /// Keeps a settled batch until ``freeSettled()``.
    mutating func keep(_ batch: consuming Batch, undo: consuming [Undo]) {
        batch.storeUndo = undo
        settledBatch = consume batch
    }

    /// Frees what the batch before held, such as the former state of every key in it. Best while the journal has the next
    /// batch, and every client waits: it takes a good part of the time of deciding.
    mutating func freeSettled() { settledBatch = nil }
}
