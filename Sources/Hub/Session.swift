internal import DequeModule
internal import FanOut
internal import Model
internal import Surfaces
internal import Wire

/// One client's stay. Good until the hub is told that the connection is gone.
public struct SessionID: Hashable, Sendable {
    /// A small number that no other open session has: good for a place in a table.
    public let slot: Int32
    /// The connection's number, so that a late callback of an old connection meets nobody.
    let number: Int64

    init(slot: Int32, number: Int64) {
        self.slot = slot
        self.number = number
    }
}

/// What a session's next bytes are made of, in the order in which they leave.
enum OutboundItem: Sendable {
    case bytes([UInt8])
    /// A `LIST` that goes on at `next`, of which `count` rows have left.
    case list(Request, Pattern, ViewName, next: Int32, count: Int)
    /// A `HISTORY` that waits for the journal.
    case awaitingHistory
}

/// What a decided request will be answered with, once the commit that carries it is durable.
enum StagedReply: Sendable {
    /// Independent of the commit.
    case bytes([UInt8])
    /// Depends on the commit: if that fails, the refusal goes out in its place.
    case committed([UInt8], requestID: String?)
    /// Carried out after the commit, on what is durable by then.
    case read(Request)
}

/// One connection. An object, so that looking at a part of it touches nothing else; only its hub holds it.
final class Session {
    let id: SessionID
    var decoder: LineDecoder
    /// Requests that wait to be decided.
    var inbox: Deque<Request> = []
    var staged: Deque<StagedReply> = []
    var outbox: Deque<OutboundItem> = []
    /// By number, in ascending order.
    var subscriptions: [(number: Int, index: SubscriptionIndex)] = []
    var nextSubscriptionNumber = 1
    var client: String?
    var account: String?
    var surface: Surface?
    var traits = Traits()
    /// Kinds that this connection serves.
    var served: [String] = []
    /// It has tapped a control: it may be shown what it wants before that is confirmed.
    var hasTapped = false
    var heartbeat: Int64
    /// The client asked for heartbeats, and so owes a sign of life itself.
    var owesLife = false
    var lastSent: Int64
    var lastReceived: Int64
    /// When its queues gave back what they did not need, by the monotonic clock.
    var trimmed: Int64
    /// When the hub looks at it next, by the monotonic clock.
    var inspectionTime = Int64.max
    /// Since when the socket has accepted nothing; `nil` while it is writable.
    var blockedSince: Int64?
    /// Nothing is read or decided any more; it ends when what is due has left.
    var isClosing = false
    /// The client has shut its side.
    var inputEnded = false
    /// It stands in the hub's list of sessions that have something to send.
    var isReady = false

    init(id: SessionID, limits: Limits, now: Int64) {
        self.id = id
        decoder = LineDecoder(lineLengthLimit: limits.lineLength)
        heartbeat = limits.heartbeat
        lastSent = now
        lastReceived = now
        trimmed = now
    }

    /// Gives back the memory of what waited, where nothing does: what once came in a burst would be kept for ever.
    func trim() {
        if inbox.isEmpty { inbox = [] }
        if staged.isEmpty { staged = [] }
        if outbox.isEmpty { outbox = [] }
    }

    /// Requests that have not been answered yet.
    var inFlightCount: Int { inbox.count + staged.count + outbox.count }
}

/// What a subscription asked for. Shared, so that looking at it copies nothing of what changes.
final class SubscriptionTerms: Sendable {
    let session: SessionID
    let number: Int
    let selector: PatternIndex.Selector
    let view: ViewName
    let account: String?
    let placement: String?
    let selection: UInt16
    /// Milliseconds between two rows of one key; `nil` = as fast as the reader takes them.
    let rateInterval: Int64?

    init(
        session: SessionID, number: Int, selector: PatternIndex.Selector, view: ViewName, account: String?,
        placement: String?, selection: UInt16, rateInterval: Int64?
    ) {
        self.session = session
        self.number = number
        self.selector = selector
        self.view = view
        self.account = account
        self.placement = placement
        self.selection = selection
        self.rateInterval = rateInterval
    }

    /// Activities compete for places among what one device of an account sees (protocol.md §4).
    var competes: Bool {
        if case .surface = view { account != nil } else { false }
    }

    /// What its cursors are good for, in the usual situation and in another.
    ///
    /// A competing view sends every row on a resume, so there it makes no difference.
    func selection(isSituated: Bool) -> UInt16 { isSituated && !competes ? selection ^ 1 : selection }

    /// Whether what it shows of a key depends on more than the key, so that what was shown must be remembered.
    var tracksRows: Bool {
        if case .surface = view { true } else { account != nil }
    }
}

/// One subscription of one session. An object for the same reason as ``Session``.
final class Subscription {
    let terms: SubscriptionTerms
    var queue = DirtyQueue()
    /// The snapshot, or the resume, has been sent.
    var isLive = false
    /// The sequence of the cursor that was told last.
    var toldCursor: Int64 = 0
    /// What the subscriber holds of each key, where that cannot be known from the key itself.
    var shown: [Int32: Placement] = [:]
    /// Of a competing one: where each activity stands now.
    var placements: [Int32: Placement] = [:]
    /// The subscriber's rows are, or were, of another situation than the usual, and may be other than its cursors tell.
    var isSituated = false
    /// What surrounds its activities changed: the projection is due.
    var needsProjection = false
    /// When the last row of a key left, for `rate=`.
    var lastSent: [Int32: Int64] = [:]

    init(_ terms: SubscriptionTerms) {
        self.terms = terms
    }

    /// Gives back the memory of what is over at `time` of the monotonic clock.
    func trim(at time: Int64) {
        queue.trim()
        if shown.isEmpty { shown = [:] }
        if placements.isEmpty { placements = [:] }
        if let interval = terms.rateInterval, !lastSent.isEmpty {
            lastSent = lastSent.filter { time - $0.value < interval }
        }
    }
}
