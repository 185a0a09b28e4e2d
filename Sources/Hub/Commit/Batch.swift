internal import Journal
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// The decisions of one turn, until they are durable.
struct Batch: ~Copyable, Sendable {
    /// Records that were not handed to the journal yet.
    private(set) var records: [JournalRecord] = []
    /// All records, handed over or not.
    private(set) var recordCount = 0
    /// An upper bound of the bytes that the journal writes for all records.
    private(set) var byteCount = 0
    /// Records that the hub originated: kinds, settings, provider changes.
    private var ownRecordCount = 0
    private var ownByteCount = 0
    /// How many requests were decided for it, and the limit.
    var requestCount = 0
    private let requestLimit: Int
    private let byteLimit: Int
    /// How many more keys a `RELOAD` of patterns may process, and how many more may be assigned a provider.
    var reloadShare: ScanShare
    var alignShare: ScanShare
    /// The hub's own entries in it; they are retried if it cannot be written.
    var ownEntries: [JournalEntry] = []
    /// Kinds and settings that take effect with it, and are retried if it cannot be written.
    var kinds: [Kind]?
    var settings: DecisionSettings?
    /// The change that each record makes for the followers of its key.
    private(set) var changes: [Change] = []
    /// The actions to request from providers.
    private(set) var calls: [(key: Key, ProviderCall)] = []
    /// Taps by devices with a budget.
    private(set) var taps: [DecidedTap] = []
    /// The senders of requests that wait for the end of this batch.
    var held: [SessionID] = []
    /// Sessions that have replies in it, in the order of their first reply.
    var sessions: [SessionID] = []
    /// The traits that sessions had before it, of those whose traits were set.
    private(set) var formerTraits: [SessionID: Traits] = [:]
    /// How to undo its effects on sessions and providers.
    var sessionUndo: [SessionUndo] = []
    /// The store's undo log after the batch is settled, kept only to be freed with it.
    var storeUndo: [Undo] = []

    /// The most records in one commit.
    private static let recordLimit = 8_192
    /// An upper bound for the numbers and lengths that the journal writes with a record.
    private static let headBytes = 48

    /// - Parameters:
    ///  - count: The expected number of records, usually that of the last batch. Growing step by step would copy each record
    ///    several times.
    ///  - limit: The number of records in a part.
    ///  - requestLimit: How many requests may be decided for the whole batch.
    ///   - byteLimit: ``Limits/batchBytes``
    ///  - scanShare: How many keys all scans of one kind may process together.
    init(expecting count: Int, limit: Int, requestLimit: Int, byteLimit: Int, scanShare: Int) {
        self.requestLimit = requestLimit
        self.byteLimit = byteLimit
        reloadShare = ScanShare(keys: scanShare)
        alignShare = ScanShare(keys: scanShare)
        records.reserveCapacity(min(count, limit))
        changes.reserveCapacity(count)
    }

    /// How many more requests may be decided for it.
    var room: Int { requestLimit - requestCount }

    /// The hub's own records do not count: if they cannot be written, they must not keep requests out.
    var hasRoom: Bool {
        recordCount - ownRecordCount < Self.recordLimit && byteCount - ownByteCount < byteLimit
    }
    /// Deadlines take up at most half of a batch, so that timers alone cannot starve requests.
    var hasRoomForDeadlines: Bool {
        recordCount - ownRecordCount < Self.recordLimit / 2 && byteCount - ownByteCount < byteLimit / 2
    }

    mutating func append(_ record: JournalRecord) {
        records.append(record)
        recordCount += 1
        byteCount += Self.headBytes + record.entity.utf8.count + record.body.count
    }

    /// Counts a record that another node has decided and the log already has.
    mutating func countReplayed() { recordCount += 1 }

    mutating func append(_ change: consuming Change) { changes.append(change) }

    /// - Parameter late: Changes in the order of their commits, like those already there.
    mutating func merge(_ late: [Change]) {
        guard !late.isEmpty else { return }
        var merged: [Change] = []
        merged.reserveCapacity(changes.count + late.count)
        var next = late.startIndex
        for change in changes {
            while next < late.endIndex, late[next].commit < change.commit {
                merged.append(late[next])
                next += 1
            }
            merged.append(change)
        }
        merged += late[next...]
        changes = merged
    }

    mutating func append(_ call: (key: Key, ProviderCall)) { calls.append(call) }
    mutating func append(_ tap: DecidedTap) { taps.append(tap) }

    /// Records the traits of a session before they are set. Only the first in the batch counts.
    mutating func note(_ former: Traits, of session: SessionID) {
        if formerTraits[session] == nil { formerTraits[session] = former }
    }

    /// Counts the records so far as the hub's own.
    mutating func noteOwnRecords() { (ownRecordCount, ownByteCount) = (recordCount, byteCount) }

    /// Hands over the records that were not handed over yet.
    mutating func takeRecords(isLast: Bool) -> [JournalRecord] {
        var taken: [JournalRecord] = []
        swap(&taken, &records)
        if !isLast { records.reserveCapacity(taken.count) }
        return taken
    }
}

/// A tap by a device with a row budget.
struct DecidedTap: Sendable {
    let control: Key
    let session: SessionID
    let commit: Int64
}

/// How to undo what a request did to its session, if its batch is not written.
enum SessionUndo: Sendable {
    /// The session had not tapped a control before.
    case tapped(SessionID)
    /// The connection began to serve a kind.
    case served(String, SessionID)
    /// A `RELOAD` of the session continues with the next batch.
    case reloads(SessionID)
}
