public import TelltaleModel

/// One node's connection to the log that all nodes append to: a log store outside, such as NATS JetStream.
///
/// A ``Replica`` decides when to append, read, send heartbeats and ask about checkpoints, and takes the ``LogEvent``s.
///
/// All calls come from the thread of the event loop, return at once and fail silently: where a log store does not answer,
/// no event comes. What a log store should not say makes events that a replica ignores.
public protocol ReplicatedLog: AnyObject {
    /// Called on the thread of the event loop, and never from within another call of this protocol.
    ///
    /// Events wait until it is set.
    var onEvent: ((LogEvent) -> Void)? { get set }

    /// Appends a message if the newest of the log is number `position`.
    ///
    /// Answered by ``LogEvent/stored(token:position:)``, ``LogEvent/refused(token:)``, ``LogEvent/full(token:)``,
    /// ``LogEvent/tooLong(token:)`` or ``LogEvent/declined(token:reason:)``; or not at all, and then its fate is not known. An
    /// answer may be late by seconds, come twice, or come for a message that was
    /// given up. The same message may be sent again with the same condition and token.
    ///
    /// - Parameter bytes: At most ``MessageLimits/byteCount`` and a head of less than ``MessageLimits/headByteCount``.
    func append(_ bytes: [UInt8], after position: Int64, token: Int64)

    /// Reads the messages after this position.
    ///
    /// Answered by ``LogEvent/read(_:from:end:)``: several times where there are many, each beginning where the one
    /// before ended; once without messages where there are none; or not at all. Messages that are stored later are
    /// usually delivered without a request.
    ///
    /// A read that is requested during another one follows it; several become one, from the lowest position.
    func read(from position: Int64)

    /// Stops delivering messages, or resumes: a node that cannot take more is sent none, except those on their way.
    ///
    /// A read that is requested meanwhile happens on resuming.
    func hold(_ isHeld: Bool)

    /// Sends a heartbeat to the other nodes. Answered by ``LogEvent/heartbeatStored(number:)``, or not at all.
    ///
    /// Heartbeats of the others come as ``LogEvent/heard(_:)``. Those that were stored before this one come before
    /// ``LogEvent/heartbeatsShown(through:)``.
    func heartbeat(_ heartbeat: Heartbeat)

    /// Stores, reads or removes checkpoints, or purges the log: answered by ``LogEvent/checkpoint(_:)``, or not at all.
    func queryServers(_ request: CheckpointRequest)

    /// The state of the log store, for people: `STATS` and the log.
    var status: LogStoreStatus { get }

    /// Ends the connection. Nothing is called afterwards, and no event comes.
    func close()
}

/// An event of the log store.
public enum LogEvent: Hashable, Sendable {
    /// A message is stored, and a majority has synced it. The acknowledgement may be a repeated one.
    case stored(token: Int64, position: Int64)
    /// The log store reports that the condition does not hold. It may be wrong.
    case refused(token: Int64)
    /// The log store has no room, and stored nothing.
    case full(token: Int64)
    /// The log store takes no longer messages, head included. Comes before the first connection is reported, and when it
    /// changes.
    case limited(byteCount: Int)
    /// A message is longer, and was not sent this time. It may have been sent before.
    case tooLong(token: Int64)
    /// The log store rejects a message for another reason. It may be stored all the same.
    ///
    /// - Parameter token: `nil` = a piece of a checkpoint.
    case declined(token: Int64?, reason: String)
    /// All that the log store does not let this node do, one text each, where that has changed: `publish on tt.shop.log`.
    ///
    /// - Parameter mayLead: Whether it may append and send heartbeats.
    case denied([String], mayLead: Bool)
    /// Messages of the log, in its order and without a gap, the first of them number `from + 1`.
    ///
    /// `from` is after the requested position where the messages before it were purged, and before it where a reader
    /// goes back. `end` is the newest message that the reader saw; it may be an old one. At most 8 MiB of messages.
    case read([[UInt8]], from: Int64, end: Int64)
    /// An own heartbeat is acknowledged.
    case heartbeatStored(number: Int64)
    /// The newest heartbeat of another node. It may come more than once, and is left out where a newer view was delivered.
    case heard(Heartbeat)
    /// A heartbeat that another node has just sent. It is not stored yet, and is no sign of life; but it cannot be an old
    /// one.
    case overheard(Heartbeat)
    /// Every heartbeat of another node that was stored before this own one has been delivered, or a newer one of that node.
    /// A lagging replica does not report it.
    case heartbeatsShown(through: Int64)
    /// An answer about checkpoints.
    case checkpoint(CheckpointAnswer)
    /// The connection began or ended, or why it has not begun yet. Nothing depends on it; operators should know.
    case connection(isUp: Bool, text: String)
    /// Whether the log store's servers sync before they acknowledge, where that has changed, with the reasons, for people: each
    /// server that does not, and each that has not said so.
    case sync(LogStoreSync, [String])
    /// The log store cannot be used as it is configured, and no more events come: each fault in one line. A daemon that is
    /// starting exits with it.
    case unusable([String])
}

/// Whether the servers of a log store sync before they acknowledge, as they last reported.
public enum LogStoreSync: String, Hashable, Sendable {
    /// They are not asked, or an operator vouches for them.
    case trusted
    /// Every server does.
    case proven
    /// No server denies it, and not every server has confirmed it.
    case unknown
    /// One does not: its acknowledgement covers memory only.
    case refuted
}

/// The state of a log store, as `STATS` reports it.
public struct LogStoreStatus: Hashable, Sendable {
    /// Such as `nats`.
    public var name: String
    /// The version of the server that the node is connected to; empty before the first connection.
    public var version = ""
    public var sync = LogStoreSync.trusted
    public var isConnected = false
    /// The time from the newest acknowledged append to its acknowledgement.
    public var roundTrip = Duration.zero
    /// Appends that took longer than ``stallLimit``, or were never acknowledged.
    public var stalls = 0
    public var longestStall = Duration.zero
    /// What the log store does not let this node do.
    public var denials: [String] = []

    /// An append that takes longer counts as a stall.
    public static let stallLimit = Duration.milliseconds(250)

    public init(name: String) {
        self.name = name
    }
}

extension Replica {
    /// Takes an event of the log store.
    ///
    /// A performer with a local journal calls ``read(_:from:end:at:)`` itself, message by message, so that the journal
    /// gets the position of each.
    public mutating func handleEvent(_ event: LogEvent, at now: MonotonicTime) {
        switch event {
        case .stored(let token, let position): acknowledged(token: token, position: position, at: now)
        case .refused(let token): refused(token: token, at: now)
        case .full(let token): full(token: token, at: now)
        case .limited(let byteCount): limited(to: byteCount)
        case .tooLong(let token): tooLong(token: token, at: now)
        case .declined(let token, let reason): declined(token: token, because: reason)
        case .denied(_, let mayLead): barred(!mayLead, at: now)
        case .read(let messages, let from, let end): read(messages, from: from, end: end, at: now)
        case .heartbeatStored(let number): heartbeatAcknowledged(number: number, at: now)
        case .heard(let heartbeat): heard(heartbeat, at: now)
        case .overheard(let heartbeat): overheard(heartbeat, at: now)
        case .heartbeatsShown(let number): heartbeatsShown(through: number, at: now)
        // Silence proves nothing: neither that a server does not sync, nor that one is mended.
        case .sync(.unknown, _), .connection, .unusable, .checkpoint: break
        case .sync(let sync, _): syncChanged(isRefuted: sync == .refuted, at: now)
        }
    }
}
