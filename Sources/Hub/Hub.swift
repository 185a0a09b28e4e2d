internal import DequeModule
internal import FanOut
internal import HeapModule
internal import Journal
internal import Kinds
internal import Machines
internal import Surfaces
public import TelltaleModel
internal import TelltaleWire

/// Telltale as one value: what is true of every activity and control, who follows it, and what each is owed.
///
/// A shell tells it what happened (``connected(at:)``, ``received(_:from:at:)``, ``disconnected(_:at:)``), then turns it:
/// ``decide(at:limit:batchLimit:)`` gives the records to be made durable, ``committed(at:)`` or ``refused(at:)`` says what
/// became of them, and ``output(for:at:to:)`` renders what a writable session is due. Between a decision and its
/// commit nothing is rendered, so nobody can be shown what is not durable (architecture.md, *A turn*).
///
/// It asks no clock and does no IO: the same calls give the same bytes. There is one of it at a time: a copy would share
/// its sessions, and copying the rest would be costly by accident.
public struct Hub: ~Copyable {
    let configuration: HubConfiguration

    // MARK: What is true (rebuilt from the journal)

    /// The lineage of this history.
    public internal(set) var epoch: UInt64
    /// The newest record that was decided on.
    var sequence: Int64 = 0
    /// The newest record that is durable.
    public internal(set) var durableSequence: Int64 = 0
    /// The hub's time: never before that of its last record.
    var time: Timestamp = .distantPast
    var kinds = KindTable()
    private let addressOnly = AddressOnly()
    var entities = EntityTable()
    var eventIDs = EventIDs()
    var activityCounts = ActivityCounts()
    /// What there is to be shown, by whose devices may show it.
    var audience = AudienceIndex()
    var accounts = Interner()
    var taps = TapLedger()
    /// The control of each operation that a provider is at.
    var flights: [Int64: Key] = [:]
    /// Wall time, never before that of the last record: what controls, retention and event ids go by.
    var wall: Timestamp = .distantPast
    /// The settings in force, and whether a record has said so.
    var settings = DecisionSettings()
    var hasSettings = false
    /// Resumes from before this sequence cannot be complete: tombstones were pruned.
    var resumeFloor: Int64 = 0
    /// When the journal was how long.
    var ageMarks: Deque<AgeMark> = []

    // MARK: Who follows it (lost with the process)

    var sessions: [Session?] = []
    var freeSessions: [Int32] = []
    var connectionCount: Int64 = 0
    var openSessionCount = 0
    var subscriptions = SubscriptionTable()
    /// Those of the newest subscription: the next one's are alike more often than not.
    var lastTerms: SubscriptionTerms?
    var patterns = PatternIndex()
    var changes = ChangeOrder()
    /// Sessions with requests that wait to be decided: one entry a request, in the order of their arrival.
    var arrivals: Deque<SessionID> = []
    /// Sessions that asked more than a turn takes, and wait for the next.
    var postponed: [SessionID] = []
    /// How many keys may still be looked at in this turn.
    var readingShare = 0
    var ready = ReadyQueue()
    /// Sessions that ended by a decision of the hub; the shell closes their connections.
    var ended: [SessionID] = []
    /// Who serves each kind of control, by its name.
    var rosters: [String: ProviderRoster] = [:]
    /// The session of each connection that serves a kind.
    var providers: [ConnectionNumber: SessionID] = [:]
    /// Kinds of controls for which another connection acts than their controls were told.
    var unalignedKinds: Set<String> = []
    /// What the hub itself wants decided.
    var pendingInputs: [JournalEntry] = []
    /// The newest record when this process began: it tells its connections from those of earlier ones.
    var firstSequence: Int64 = 0
    /// Reused by every walk over a key's followers.
    var followerBuffer: [SubscriptionIndex] = []
    /// What the log has not been told yet.
    var machineFaults: [String] = []
    /// The length of the `LIST` that was just completed.
    var listCount = 0

    // MARK: What is being decided

    /// The batch that the journal is writing, or `nil` between commits.
    var batch: Batch?
    /// How to take it all back, newest last; empty between batches.
    var undo: [Undo] = []
    /// The one before, until there is time to free what it held.
    var settledBatch: Batch?
    /// How many records the one before had.
    var lastBatchCount = 0
    var deadlines = Heap<Deadline>()
    /// Those that go by the real clock: of controls, and the end of retention.
    var wallDeadlines = Heap<Deadline>()
    var sessionDeadlines = Heap<SessionDeadline>()
    var armedCount: Int64 = 0
    /// After a full disk, no deadline fires before this moment of the monotonic clock.
    var storageRetryAt: Int64 = 0
    /// Kinds that wait to take effect with the next batch.
    var pendingKinds: [Kind]?
    var pendingSettings: DecisionSettings?
    var historyRequests: [HistoryRequest] = []
    /// The last records of keys that were forgotten.
    var prunedChains: [Int64] = []
    var parser = RequestParser()
    /// Memory for what is written at every event and every row; `nil` while somebody writes.
    var spare = SpareWriters()
    var rows = RowCache()
    var controlReferences = ControlReferences()
    public var statistics = Statistics()

    /// A hub with no past.
    ///
    /// - Parameter epoch: A number that no other history has, from a random source.
    public init(configuration: HubConfiguration, epoch: UInt64) {
        self.configuration = configuration
        self.epoch = epoch
    }

    /// Where a recovery stands: the newest record that was replayed.
    public var lastRecordSequence: Int64 { sequence }
    /// The hub's time: that of its newest record, after a recovery.
    public var lastRecordTime: Timestamp { time }
    /// The same on the real clock.
    public var lastRecordWall: Timestamp { wall }

    /// How many activities and controls there are, dismissed ones that can still be asked for included.
    public var entityCount: Int { entities.count }
    public var kindCount: Int { kinds.current.count }
}

/// Writers that keep their memory from one use to the next.
struct SpareWriters: ~Copyable {
    var lines: LineWriter?
    var rows: JSONWriter?
    var records: BinaryWriter?
}

/// What one turn decided, until the journal has it.
struct Batch: Sendable {
    /// Those that ``Hub/decide(at:limit:batchLimit:)`` has not given away yet.
    var records: [JournalRecord] = []
    /// How many there are, given away or not.
    var recordCount = 0
    /// Those of them that nobody asked for and no deadline made.
    var ownRecordCount = 0
    /// How many requests were decided for it, and how many may be.
    var requestCount = 0
    var requestLimit = Int.max
    /// Everything in it is decided.
    var isComplete = false
    /// The keys that it forgets, and the ends of their chains.
    var forgotten: [EntityIndex] = []
    var prunedChains: [Int64] = []
    /// The hub's own inputs in it; they come again when it cannot be written.
    var taken: [JournalEntry] = []
    /// What takes effect with it, and else must come again.
    var adoptedKinds: [Kind]?
    var adoptedSettings: DecisionSettings?
    /// What each record changed for those who follow its key.
    var changes: [Change] = []
    /// How it could have been taken back, once it is settled: only to be freed with the rest of it.
    var undo: [Undo] = []
    /// What providers are asked to do.
    var performances: [(key: Key, ControlPerformance)] = []
    /// The senders of requests that wait for its end.
    var held: [SessionID] = []
    /// Sessions that have replies in it, in the order of their first.
    var sessions: [SessionID] = []

    init() {}

    /// With room for as many records as the last one had: a busy hub's next has about as many, and growing to them step
    /// by step would copy each a few times.
    ///
    /// - Parameters:
    ///   - limit: Of how many records a part is.
    ///   - requestLimit: How many requests may be decided for all of it.
    init(expecting count: Int, limit: Int, requestLimit: Int) {
        self.requestLimit = requestLimit
        records.reserveCapacity(min(count, limit))
        changes.reserveCapacity(count)
    }

    mutating func append(_ record: JournalRecord) {
        records.append(record)
        recordCount += 1
    }

    /// How many requests may still be decided for it.
    var room: Int { requestLimit - requestCount }

    /// What it holds so far, nobody asked for.
    mutating func noteOwnRecords() { ownRecordCount = recordCount }

    /// Leaves none.
    mutating func takeRecords() -> [JournalRecord] {
        var taken: [JournalRecord] = []
        swap(&taken, &records)
        if !isComplete { records.reserveCapacity(taken.count) }
        return taken
    }
}

/// A key that a commit changed.
struct Change: Sendable {
    var entity: EntityIndex
    var commit: Int64
    var milestones: [Announcement] = []
    var alert: ActivityAlert?
    /// What it made of an activity: whose it was then. A later one of the same batch may be other people's.
    var activity: ActivityBox?

    /// Something goes out before its row.
    var isAnnounced: Bool { alert != nil || !milestones.isEmpty }

    /// Whether the devices of `account` could show it then; without an account everything is visible.
    func isVisible(to account: String?) -> Bool { account.map { activity?.value.isVisible(to: $0) ?? true } ?? true }

    /// Whether what goes out before its row is for the devices of `account`. An activity that leaves with this commit
    /// can be seen no more, and its end may be what is told.
    func isTold(to account: String?) -> Bool {
        guard let account, let activity = activity?.value else { return true }
        return activity.isAddressed(to: account) && !activity.isDismissed(by: account)
    }

    /// Whether it was for `account` then.
    func isAddressed(to account: String?) -> Bool {
        account.map { activity?.value.isAddressed(to: $0) ?? true } ?? true
    }
}

extension Change {
    /// What `outcome` made of an activity.
    init(entity: EntityIndex, commit: Int64, activity: ActivityBox, _ outcome: ActivityOutcome) {
        self.init(
            entity: entity, commit: commit,
            milestones: outcome.milestones.map { .milestone(rev: commit, state: $0.state, at: $0.time) },
            alert: outcome.effects.contains(.alert) ? outcome.alert : nil, activity: activity)
    }
}

/// How to take back one part of a batch that could not be written.
enum Undo: Sendable {
    case entity(EntityIndex, EntityState, kind: Int, rev: Int64, lastRecord: Int64, dismissedAt: Timestamp?)
    /// The newest id of a source.
    case eventID(source: Int)
    // What is rare stands behind a reference: an event with an id notes two ways back.
    indirect case tap(TapLedger.Identity)
    indirect case kinds(KindTable)
    indirect case settings(DecisionSettings, hadSettings: Bool)
    case resumeFloor(Int64)
    indirect case readdressed(EntityIndex, AudienceHistory?)
    /// A connection began to serve a kind.
    case serving(String, SessionID)
}

/// A moment at which a key has something to do. Old ones stay in the heap and are passed over.
struct Deadline: Comparable, Sendable {
    var time: Timestamp
    /// In the order in which they were armed.
    var order: Int64
    var entity: EntityIndex

    static func < (left: Deadline, right: Deadline) -> Bool {
        (left.time, left.order) < (right.time, right.order)
    }
}

/// A moment of the monotonic clock at which a session must be looked at.
struct SessionDeadline: Comparable, Sendable {
    var time: Int64
    var session: SessionID

    static func < (left: SessionDeadline, right: SessionDeadline) -> Bool {
        (left.time, left.session.number) < (right.time, right.session.number)
    }
}
