internal import DequeModule
internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// One client's stay. Good until the hub is told that the connection is gone.
public struct SessionID: Hashable, Sendable {
    /// A small number that no other open session has: good for a place in a table.
    public let slot: Int32
    /// The connection's number, so that a late callback of an old connection meets nobody.
    public let number: Int64

    init(slot: Int32, number: Int64) {
        self.slot = slot
        self.number = number
    }
}

/// A part of a session's next bytes; parts leave in order.
enum OutboundItem: Sendable {
    /// Lines that answer so many requests.
    case bytes([UInt8], replyCount: Int = 1)
    /// A `LIST` that goes on at `next`, of which `count` rows have left.
    /// `since` is the newest commit when it began.
    indirect case list(Request, Pattern, WidgetTerms, ViewName, next: Int32, count: Int, since: Int64)
    /// A `GET` or an `OPEN` behind a `LIST`; a `KIND`, a `KINDS` or a `HELP` behind much that has not left.
    indirect case read(Request)
    indirect case gallery(GalleryCursor)
    /// A `HISTORY` that waits for its turn, or for the journal.
    indirect case history(HistoryCursor)

    /// How many requests it answers.
    var replyCount: Int { if case .bytes(_, let count) = self { count } else { 1 } }
}

/// One connection. An object, so that looking at a part of it touches nothing else; only its hub holds it.
///
/// Ten thousand of them may be idle, so it is kept small: what takes a byte stands together.
final class Session {
    /// About what one takes in memory, its connection's handle included: Swift does not tell the size of an object.
    static let byteCount = 640

    let id: SessionID
    var decoder: LineDecoder
    /// Bytes behind as many requests as may wait, as they came.
    var unread: [UInt8] = []
    /// Requests that wait to be decided.
    private(set) var inbox: Deque<WaitingRequest> = []
    /// Of each of them where it will be decided, beside them: to look at one of them would be to count it.
    var prefetchHints: Deque<PrefetchHint> = []
    var staged = StagedReplies()
    var outbox: Deque<OutboundItem> = []
    /// By their numbers, in ascending order.
    var subscriptions: [SubscriptionIndex] = []
    var client: String?
    var account: String?
    var traits = Traits() { didSet { noteApartness() } }
    /// The device whose budget its rows of widgets have while its screen is off; `nil` = none.
    var unit: BudgetUnit? { didSet { noteApartness() } }
    /// Kinds that this connection serves.
    var served: [String] = []
    var lastSent: MonotonicTime
    var lastReceived: MonotonicTime
    /// When its queues gave back what they did not need.
    var trimmed: MonotonicTime
    /// When the hub looks at it next.
    var inspectionTime = MonotonicTime.distantFuture
    /// Since when the socket has accepted nothing; `nil` while it is writable.
    var blockedSince: MonotonicTime?
    /// It has tapped a control: it may be shown what it wants before that is confirmed.
    var hasTapped = false { didSet { noteApartness() } }
    /// Rows of widgets are paid of ``unit``.
    private(set) var isBudgeted = false
    /// It is not sent what any other session is: a tap shows on its own session alone, and a budget is a device's.
    private(set) var isApart = false
    /// The client asked for heartbeats, and so owes a sign of life itself.
    var owesLife = false
    /// A sign of life is due to it.
    var owesMark = false
    /// How far it is from its end. One byte: there are many idle sessions.
    enum Ending: UInt8 {
        case none
        /// Its `BYE` was carried out: it ends once each of its subscriptions is live.
        case leaving
        /// Nothing is read or decided any more; it ends when what is due has left.
        case closing
    }
    var ending = Ending.none
    var isClosing: Bool {
        get { ending == .closing }
        set { if newValue { ending = .closing } }
    }
    /// The client has shut its side.
    var inputEnded = false
    /// It said `BYE`: what it sent behind that means nothing.
    var hasSaidBye = false
    /// Some of what it asked waits for the next turn's share of reading: nothing more of it is decided before.
    var isPostponed = false
    /// It has said no good `HELLO` on a server with tokens, so few of its requests may wait.
    var isRestricted = false
    var surface: Surface?
    /// Its client knows widgets: what follows everything follows them too.
    var showsWidgets = false
    /// It has, or had, a subscription with `deliver=notice`: what it reads is noted.
    var hasNotices = false
    /// The device of `HELLO device=`, by its place in the catalogue; -1 = unknown.
    var device: Int16 = -1
    private var heartbeatMilliseconds: Int32 = 0
    private var waitingAnnouncementBytes: Int32 = 0
    /// Of the lines that came since ``inbox`` was empty last.
    private var inboxByteCount: Int32 = 0

    /// Of the lines in ``inbox``, those that were decided since it was empty last included.
    @inline(__always)
    var waitingByteCount: Int { inbox.isEmpty ? 0 : Int(inboxByteCount) }
    /// How many subscriptions it ever had: their numbers are not used again.
    var subscriptionCount: Int32 = 0

    /// The longest pause between two signs of life.
    var heartbeat: Milliseconds {
        get { Milliseconds(Int64(heartbeatMilliseconds)) }
        set { heartbeatMilliseconds = Int32(clamping: newValue.count) }
    }

    /// Milestones and alerts that wait for it, in bytes.
    var announcementByteCount: Int {
        get { Int(waitingAnnouncementBytes) }
        set { waitingAnnouncementBytes = Int32(clamping: newValue) }
    }

    init(id: SessionID, limits: Limits, now: MonotonicTime) {
        self.id = id
        decoder = LineDecoder(lineLengthLimit: limits.lineLength)
        heartbeatMilliseconds = Int32(clamping: limits.heartbeat.count)
        lastSent = now
        lastReceived = now
        trimmed = now
    }

    private func noteApartness() {
        isBudgeted = unit != nil && traits.widgets.isScreenOff
        isApart = hasTapped || isBudgeted
    }

    /// Counts the line of the newest request. Beside ``append(_:id:ignored:)``, which would hand the command on once more.
    @inline(__always)
    func countLine(_ byteCount: Int) {
        inboxByteCount = (inbox.count > 1 ? inboxByteCount : 0) &+ Int32(truncatingIfNeeded: byteCount)
    }

    /// Lets what was understood wait to be decided.
    func append(_ command: consuming Command, id: consuming String?, ignored: consuming [String]) {
        switch consume command {
        case .event(let event):
            let details: EventDetails
            var unknown: [String] = []
            do throws(WireError) {
                details = try PostedEvent.details(of: event, unknown: &unknown)
            } catch {
                return append(Request(id: id, command: .refused(error)))
            }
            var ignored = ignored
            if !unknown.isEmpty {
                var names = IgnoredNames(ignored)
                for name in unknown { names.append(member: name) }
                ignored = names.names
            }
            let posted = PostedEvent(consume event, details, requestID: id, ignored: ignored)
            prefetchHints.append(PrefetchHint(posted))
            inbox.append(.event(consume posted))
        case let command: append(Request(id: id, command: command, ignored: ignored))
        }
    }

    func append(_ request: Request) {
        prefetchHints.append(PrefetchHint())
        inbox.append(.other(request))
    }

    /// Lets a `RELOAD` go on before everything else of this session.
    func putBack(_ walk: ReloadWalk) {
        prefetchHints.prepend(PrefetchHint())
        inbox.prepend(.reload(walk))
    }

    /// Ends the `RELOAD` that was to go on.
    func refuseReload(_ error: WireError) {
        guard case .reload(let walk)? = popRequest() else { return }
        var writer = LineWriter()
        writer.error(error, id: walk.request.id)
        staged.append(writer.bytes)
    }

    /// Its next request is a `RELOAD` of many keys.
    var reloadsNext: Bool {
        switch inbox.first {
        case .reload?: true
        case .other(let request)?: if case .reload(let pattern) = request.command { !pattern.isKey } else { false }
        case .event?, nil: false
        }
    }

    /// The request that is to be decided next, where it is a `HELLO`.
    var nextHello: Hello? {
        guard case .other(let request)? = inbox.first, case .hello(let hello) = request.command else { return nil }
        return hello
    }

    /// The request that is to be decided next.
    func popRequest() -> WaitingRequest? {
        _ = prefetchHints.popFirst()
        return inbox.popFirst()
    }

    /// Gives back the memory of what waited, where nothing does: what once came in a burst would be kept for ever. Once a
    /// heartbeat: a busy session would only have to ask for it again.
    func trim(at now: MonotonicTime) {
        trimmed = now
        if unread.isEmpty { unread = [] }
        if inbox.isEmpty { (inbox, prefetchHints) = ([], []) }
        if staged.isEmpty { staged = StagedReplies() }
        if outbox.isEmpty { outbox = [] }
    }

    /// Its earlier requests are yet to be looked up, and its next one would change as whom it asked; or there was more
    /// of that than a turn takes.
    var holdsBack: Bool {
        if isPostponed { return true }
        guard case .other(let request)? = inbox.first else { return false }
        switch request.command {
        case .hello, .traits: return staged.hasReads
        case _: return false
        }
    }

    /// A `LIST` is on its way.
    var isListing: Bool { outbox.contains { if case .list = $0 { true } else { false } } }

    /// The next thing to leave is an answer that is rendered.
    var owesAnswer: Bool { if case .bytes? = outbox.first { true } else { false } }

    /// Requests that have not been answered yet.
    var inFlightCount: Int { inbox.count + staged.count + outbox.reduce(0) { $0 + $1.replyCount } }

    /// Bytes that are rendered and have not left.
    var outboxByteCount: Int {
        outbox.reduce(0) { count, item in
            if case .bytes(let bytes, _) = item { count + bytes.count } else { count }
        }
    }

    /// Sends bytes behind everything else that is due.
    func send(_ bytes: [UInt8]) {
        if !bytes.isEmpty { outbox.append(.bytes(bytes)) }
    }
}
