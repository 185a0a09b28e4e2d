internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The decisions of one turn, until the journal has them.
struct Batch: ~Copyable, Sendable {
    /// Records that were not given away yet.
    private(set) var records: [JournalRecord] = []
    /// How many there are, given away or not.
    private(set) var recordCount = 0
    /// Of all records, about as many as the journal writes, and never fewer.
    private(set) var byteCount = 0
    /// Records that the hub originated: kinds, settings, provider changes.
    private var ownRecordCount = 0
    private var ownByteCount = 0
    /// How many requests were decided for it, and how many may be.
    var requestCount = 0
    private let requestLimit: Int
    private let byteLimit: Int
    /// How many keys `RELOAD` of patterns may still go through, and how many may be told which provider acts for them.
    var reloadShare: WalkShare
    var alignShare: WalkShare
    /// The hub's own entries in it; they come again when it cannot be written.
    var ownEntries: [JournalEntry] = []
    /// Kinds and settings that take effect with it, and else must come again.
    var kinds: [Kind]?
    var settings: DecisionSettings?
    /// The change that each record makes for the followers of its key.
    private(set) var changes: [Change] = []
    /// The actions that providers are asked for.
    private(set) var calls: [(key: Key, ProviderCall)] = []
    /// Taps of devices that have a budget.
    private(set) var taps: [DecidedTap] = []
    /// The senders of requests that wait for its end.
    var held: [SessionID] = []
    /// Sessions that have replies in it, in the order of their first.
    var sessions: [SessionID] = []
    /// How to take back what it did to sessions and providers.
    var sessionUndo: [SessionUndo] = []
    /// The store's undo log, once the batch is settled: only to be freed with the rest of it.
    var storeUndo: [Undo] = []

    /// The most records of one commit, so that no commit grows without bound.
    private static let recordLimit = 8_192
    /// The numbers of a record and its lengths, at their longest.
    private static let headBytes = 48

    /// - Parameters:
    ///   - count: About how many records it will have. A busy hub's next batch has about as many as the last one, and
    ///     growing to them step by step copies each record a few times.
    ///   - limit: Of how many records a part is.
    ///   - requestLimit: How many requests may be decided for all of it.
    ///   - byteLimit: ``Limits/batchBytes``
    ///   - walkShare: On how many keys each kind of walk may do something, all walks of the kind together.
    init(expecting count: Int, limit: Int, requestLimit: Int, byteLimit: Int, walkShare: Int) {
        self.requestLimit = requestLimit
        self.byteLimit = byteLimit
        reloadShare = WalkShare(keys: walkShare)
        alignShare = WalkShare(keys: walkShare)
        records.reserveCapacity(min(count, limit))
        changes.reserveCapacity(count)
    }

    /// How many requests may still be decided for it.
    var room: Int { requestLimit - requestCount }

    /// The hub's own records do not count: when they cannot be written, they must not shut out requests.
    var hasRoom: Bool {
        recordCount - ownRecordCount < Self.recordLimit && byteCount - ownByteCount < byteLimit
    }
    /// Deadlines take up half of a batch at most: timers alone must not keep requests from being decided.
    var hasRoomForDeadlines: Bool {
        recordCount - ownRecordCount < Self.recordLimit / 2 && byteCount - ownByteCount < byteLimit / 2
    }

    mutating func append(_ record: JournalRecord) {
        records.append(record)
        recordCount += 1
        byteCount += Self.headBytes + record.entity.utf8.count + record.body.count
    }

    mutating func append(_ change: consuming Change) { changes.append(change) }

    /// - Parameter late: In the order of their commits, as those that are there.
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

    /// The records so far are the hub's own.
    mutating func noteOwnRecords() { (ownRecordCount, ownByteCount) = (recordCount, byteCount) }

    /// Gives away the records that were not given away yet.
    mutating func takeRecords(isLast: Bool) -> [JournalRecord] {
        var taken: [JournalRecord] = []
        swap(&taken, &records)
        if !isLast { records.reserveCapacity(taken.count) }
        return taken
    }
}

/// A tap of a device that has a budget of rows.
struct DecidedTap: Sendable {
    let control: Key
    let session: SessionID
    let commit: Int64
}

/// How to take back what a request did to its session, when its batch is not written.
enum SessionUndo: Sendable {
    /// The session had not tapped a control before.
    case tapped(SessionID)
    /// The connection began to serve a kind.
    case served(String, SessionID)
    /// A `RELOAD` of its goes on with the next batch.
    case reloads(SessionID)
}
