internal import DequeModule
internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Identifies one connection, until the hub is notified that it is gone.
public struct SessionID: Hashable, Sendable {
    /// A small number, unique among open sessions, for an index into a table.
    public let slot: Int32
    /// The connection's number, so that a late callback of a closed connection finds no session. Records name connections by it,
    /// so it is unique among the nodes of a cluster: the process part, then the ``counter``.
    public let number: Int64

    private static let counterBits: Int64 = 32

    init(slot: Int32, number: Int64) {
        self.slot = slot
        self.number = number
    }

    /// - Parameters:
    ///   - process: At most 31 bits; 0 = a server without a cluster.
    ///   - counter: The connections that the process has accepted, this one included.
    init(slot: Int32, process: UInt32, counter: Int64) {
        self.init(slot: slot, number: Int64(process) << Self.counterBits &+ counter)
    }

    /// The connection among those of its process, as `conn=` and the log say it.
    public var counter: Int64 { number & ((1 << Self.counterBits) - 1) }

    /// The process that accepted the connection with this number; 0 = a server without a cluster.
    static func process(of number: Int64) -> UInt32 { UInt32(truncatingIfNeeded: number >> counterBits) }
}

/// A part of a session's output. Parts are sent in order.
enum OutboundItem: Sendable {
    /// Lines that answer this many requests.
    case bytes([UInt8], replyCount: Int = 1)
    /// A `LIST` that continues at `next`, of which `count` rows have been sent. `since` is the newest commit when it began.
    indirect case list(Request, Pattern, WidgetTerms, ViewName, next: Int32, count: Int, since: Int64)
    /// A `GET` or an `OPEN` after a `LIST`; or a `KIND`, a `KINDS` or a `HELP` after much unsent output.
    indirect case read(Request)
    indirect case gallery(GalleryCursor)
    /// A `HISTORY` that waits for its turn, or for the journal.
    indirect case history(HistoryCursor)

    /// How many requests it answers.
    var replyCount: Int { if case .bytes(_, let count) = self { count } else { 1 } }
}

/// One connection. A class, so that reading one property touches nothing else; only its hub references it.
///
/// Ten thousand sessions may be idle, so it is kept small: one-byte properties are grouped.
final class Session {
    /// The approximate memory of one session, its connection's handle included. Swift does not report the size of an object.
    static let byteCount = 640

    let id: SessionID
    var decoder: LineDecoder
    /// Received bytes after as many requests as may wait, unparsed.
    var unread: [UInt8] = []
    /// Requests that wait to be decided.
    private(set) var inbox: Deque<WaitingRequest> = []
    /// The prefetch hint of each waiting request. Stored separately, because reading a request would retain it.
    var prefetchHints: Deque<PrefetchHint> = []
    var staged = StagedReplies()
    var outbox: Deque<OutboundItem> = []
    /// In ascending order of their numbers.
    var subscriptions: [SubscriptionIndex] = []
    var client: String?
    var account: String?
    var traits = Traits() { didSet { noteApartness() } }
    /// The device whose budget is charged for widget rows while its screen is off; `nil` = none.
    var unit: BudgetUnit? { didSet { noteApartness() } }
    /// Kinds that this connection serves.
    var served: [String] = []
    var lastSent: MonotonicTime
    var lastReceived: MonotonicTime
    /// When its queues last released unused memory.
    var trimmed: MonotonicTime
    /// When the hub examines it next.
    var inspectionTime = MonotonicTime.distantFuture
    /// Since when the socket has accepted nothing; `nil` while it is writable.
    var blockedSince: MonotonicTime?
    /// It has tapped a control, so it may be shown the requested value before that is confirmed.
    var hasTapped = false { didSet { noteApartness() } }
    /// Rows of widgets are charged to ``unit``.
    private(set) var isBudgeted = false
    /// Its rows cannot be shared: the effect of a tap shows on its own session only, and a budget belongs to a device.
    private(set) var isApart = false
    /// The client asked for heartbeats, so it must send some itself.
    var hasLifePending = false
    /// A `MARK` is due.
    var hasMarkPending = false
    /// The phase of its end. One byte, because there are many idle sessions.
    enum Ending: UInt8 {
        case none
        /// Its `BYE` was carried out: it ends once each of its subscriptions is live.
        case leaving
        /// Its farewell is decided: it ends once everything before that is answered.
        case sentAway
        /// Nothing is read or decided any more; it ends when the pending output is sent.
        case closing
    }
    var ending = Ending.none
    var isClosing: Bool {
        get { ending == .closing }
        set { if newValue { ending = .closing } }
    }
    /// The client has shut its side.
    var inputEnded = false
    /// It sent `BYE`; what follows is ignored.
    var hasSaidBye = false
    /// Two properties in one byte.
    private var flags: UInt8 = 0
    /// It has asked for something that only the leader decides.
    private(set) var hasWritten: Bool {
        get { flags & 1 != 0 }
        set { flags = newValue ? flags | 1 : flags & ~1 }
    }
    /// Some of its reads wait for the next turn's share; nothing more of it is decided before.
    var isPostponed = false
    /// It has sent no valid `HELLO` on a server with tokens, so few of its requests may wait.
    var isRestricted: Bool {
        get { flags & 2 != 0 }
        set { flags = newValue ? flags | 2 : flags & ~2 }
    }
    var surface: Surface?
    /// Its client supports widgets, so subscriptions to everything include them.
    var showsWidgets = false
    /// It has or had a subscription with `deliver=notice`, so its reads are recorded.
    var hasNotices = false
    /// The device of `HELLO device=`, by its place in the catalogue; -1 = unknown.
    var device: Int16 = -1
    private var heartbeatMilliseconds: Int32 = 0
    private var waitingAnnouncementBytes: Int32 = 0
    /// The bytes of the lines received since ``inbox`` was last empty.
    private var inboxByteCount: Int32 = 0

    /// The bytes of the lines in ``inbox``, including those decided since it was last empty.
    @inline(__always)
    var waitingByteCount: Int { inbox.isEmpty ? 0 : Int(inboxByteCount) }
    /// The number of subscriptions it ever had: their numbers are not reused.
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

    /// Counts the line of the newest request. Separate from ``append(_:id:ignored:)``, which would pass the command on once more.
    @inline(__always)
    func countLine(_ byteCount: Int) {
        inboxByteCount = (inbox.count > 1 ? inboxByteCount : 0) &+ Int32(truncatingIfNeeded: byteCount)
    }

    /// Queues a parsed request to be decided.
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
            hasWritten = true
            inbox.append(.event(consume posted))
        case let command: append(Request(id: id, command: command, ignored: ignored))
        }
    }

    func append(_ request: Request) {
        if request.command.isWrite { hasWritten = true }
        append(.other(request))
    }

    /// Queues a request that the hub itself makes of it.
    func append(_ request: WaitingRequest) {
        prefetchHints.append(PrefetchHint())
        inbox.append(request)
    }

    /// Keeps the line of the newest request as it came, if the leader decides it.
    func keepLine(_ line: Span<UInt8>) {
        guard let request = inbox.last, request.isForwarded else { return }
        inbox[inbox.count - 1] = .forwarded(ForwardedRequest(request: request, line: line.bytes(0..<line.count)))
    }

    /// Returns a `RELOAD` to the front, before everything else of this session.
    func putBack(_ scan: ReloadScan) {
        prefetchHints.prepend(PrefetchHint())
        inbox.prepend(.reload(scan))
    }

    /// Refuses the `RELOAD` that was to continue.
    func refuseReload(_ error: WireError) {
        guard case .reload(let scan)? = popRequest() else { return }
        var writer = LineWriter()
        writer.error(error, id: scan.request.id)
        staged.append(writer.bytes)
    }

    /// Its next request is a `RELOAD` of many keys.
    var reloadsNext: Bool {
        switch inbox.first {
        case .reload?: true
        case .other(let request)?: if case .reload(let pattern) = request.command { !pattern.isKey } else { false }
        case .event?, .forwarded?, .farewell?, nil: false
        }
    }

    /// Its next request is for the leader.
    var nextIsForwarded: Bool { if case .forwarded? = inbox.first { true } else { false } }

    /// Its next request may change who the client is.
    var changesIdentityNext: Bool {
        guard case .other(let request)? = inbox.first else { return false }
        switch request.command {
        case .hello, .traits: return true
        case _: return false
        }
    }

    /// The next request, if it is a `HELLO`.
    var nextHello: Hello? {
        guard case .other(let request)? = inbox.first, case .hello(let hello) = request.command else { return nil }
        return hello
    }

    /// The commit that its next request has seen, on another connection: of `after=` or `from=`.
    var nextSeenPosition: HistoryPosition? {
        guard case .other(let request)? = inbox.first else { return nil }
        switch request.command {
        case .hello(let hello): return hello.after
        case .subscribe(let command): return command.from?.position
        case _: return nil
        }
    }

    /// Removes and returns the next request.
    func popRequest() -> WaitingRequest? {
        _ = prefetchHints.popFirst()
        return inbox.popFirst()
    }

    /// Frees unused queue memory, which would otherwise be kept after one burst. Once per heartbeat: a busy session would only
    /// allocate it again.
    func trim(at now: MonotonicTime) {
        trimmed = now
        if unread.isEmpty { unread = [] }
        if inbox.isEmpty { (inbox, prefetchHints) = ([], []) }
        if staged.isEmpty { staged = StagedReplies() }
        if outbox.isEmpty { outbox = [] }
    }

    /// Earlier requests have yet to be read, and its next one would change its identity; or there were more reads than a turn
    /// allows.
    var holdsBack: Bool {
        isPostponed || staged.hasReads && changesIdentityNext
    }

    /// A `LIST` is being sent.
    var isListing: Bool { outbox.contains { if case .list = $0 { true } else { false } } }

    /// The next output is a rendered reply.
    var hasAnswerPending: Bool { if case .bytes? = outbox.first { true } else { false } }

    /// Requests that have not been answered yet.
    var inFlightCount: Int {
        // Iterating an empty deque costs more than asking.
        inbox.count + staged.count + (outbox.isEmpty ? 0 : outbox.reduce(0) { $0 + $1.replyCount })
    }

    /// Bytes that are rendered and have not left.
    var outboxByteCount: Int {
        outbox.isEmpty
            ? 0
            : outbox.reduce(0) { count, item in
                if case .bytes(let bytes, _) = item { count + bytes.count } else { count }
            }
    }

    /// Appends bytes after all pending output.
    func send(_ bytes: [UInt8]) {
        if !bytes.isEmpty { outbox.append(.bytes(bytes)) }
    }
}
