public import TelltaleModel

/// One node's connection to the log that all nodes append to: an engine outside, such as NATS JetStream.
///
/// A ``Replica`` decides when to append, read, beat and ask about bases, and takes the ``LogEvent``s.
///
/// All calls come from the thread of the event loop, return at once and fail silently: where an engine does not answer,
/// no event comes. What an engine should not say makes events that a replica ignores.
public protocol ReplicatedLog: AnyObject {
    /// Called on the thread of the event loop, and never from within another call of this protocol.
    ///
    /// Events wait until it is set.
    var onEvent: ((LogEvent) -> Void)? { get set }

    /// Appends a message if the newest of the log is number `position`.
    ///
    /// Answered by ``LogEvent/stored(token:position:)``, ``LogEvent/refused(token:)``, ``LogEvent/full(token:)``,
    /// ``LogEvent/tooLong(token:)`` or ``LogEvent/declined(token:reason:)``; or not at all, and then its fate is not known. An answer may be late by seconds, come twice, or come for a message that was
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

    /// Sends a beat to the other nodes. Answered by ``LogEvent/beatStored(number:)``, or not at all.
    ///
    /// Beats of the others come as ``LogEvent/heard(_:)``. Those that were stored before this one come before
    /// ``LogEvent/beatsShown(through:)``.
    func beat(_ beat: Beat)

    /// Stores, reads or removes bases, or purges the log: answered by ``LogEvent/base(_:)``, or not at all.
    func ask(_ request: BaseRequest)

    /// The state of the engine, for people: `STATS` and the log.
    var status: EngineStatus { get }

    /// Ends the connection. Nothing is called afterwards, and no event comes.
    func close()
}

/// An event of the engine.
public enum LogEvent: Hashable, Sendable {
    /// A message is stored, and a majority has synced it. The acknowledgement may be a repeated one.
    case stored(token: Int64, position: Int64)
    /// The engine reports that the condition does not hold. It may be wrong.
    case refused(token: Int64)
    /// The engine has no room, and stored nothing.
    case full(token: Int64)
    /// The engine takes no longer messages, head included. Comes before the first connection is reported, and when it
    /// changes.
    case limited(byteCount: Int)
    /// A message is longer, and was not sent this time. It may have been sent before.
    case tooLong(token: Int64)
    /// The engine rejects a message for another reason. It may be stored all the same.
    ///
    /// - Parameter token: `nil` = a piece of a base.
    case declined(token: Int64?, reason: String)
    /// All that the engine does not let this node do, one text each, where that has changed: `publish on tt.shop.log`.
    ///
    /// - Parameter mayLead: Whether it may append and beat.
    case denied([String], mayLead: Bool)
    /// Messages of the log, in its order and without a gap, the first of them number `from + 1`.
    ///
    /// `from` is after the requested position where the messages before it were purged, and before it where a reader
    /// goes back. `end` is the newest message that the reader saw; it may be an old one. At most 8 MiB of messages.
    case read([[UInt8]], from: Int64, end: Int64)
    /// An own beat is acknowledged.
    case beatStored(number: Int64)
    /// The newest beat of another node. It may come more than once, and is left out where a newer view was delivered.
    case heard(Beat)
    /// A beat that another node has just sent. It is not stored yet, and is no sign of life; but it cannot be an old
    /// one.
    case overheard(Beat)
    /// Every beat of another node that was stored before this own one has been delivered, or a newer one of that node.
    /// A lagging replica does not report it.
    case beatsShown(through: Int64)
    /// An answer about bases.
    case base(BaseAnswer)
    /// The connection began or ended, or why it has not begun yet. Nothing depends on it; operators should know.
    case connection(isUp: Bool, text: String)
    /// Whether the engine's servers sync before they acknowledge, where that has changed, with the reasons, for people: each
    /// server that does not, and each that has not said so.
    case sync(EngineSync, [String])
    /// The engine cannot be used as it is configured, and no more events come: each fault in one line. A daemon that is
    /// starting exits with it.
    case unusable([String])
}

/// Whether the servers of an engine sync before they acknowledge, as they last reported.
public enum EngineSync: String, Hashable, Sendable {
    /// They are not asked, or an operator vouches for them.
    case trusted
    /// Every server does.
    case proven
    /// No server denies it, and not every server has confirmed it.
    case unknown
    /// One does not: its acknowledgement covers memory only.
    case refuted
}

/// The state of an engine, as `STATS` tells it.
public struct EngineStatus: Hashable, Sendable {
    /// Such as `nats`.
    public var name: String
    /// The version of the server that the node is connected to; empty before the first connection.
    public var version = ""
    public var sync = EngineSync.trusted
    public var isConnected = false
    /// The time from the newest acknowledged append to its acknowledgement.
    public var roundTrip = Duration.zero
    /// Appends that took longer than ``stallLimit``, or were never acknowledged.
    public var stalls = 0
    public var longestStall = Duration.zero
    /// What the engine does not let this node do.
    public var denials: [String] = []

    /// An append that takes longer counts as a stall.
    public static let stallLimit = Duration.milliseconds(250)

    public init(name: String) {
        self.name = name
    }
}

extension Replica {
    /// Takes an event of the engine.
    ///
    /// A performer with a local journal calls ``read(_:from:end:at:)`` itself, message by message, so that the journal
    /// gets the position of each.
    public mutating func take(_ event: LogEvent, at now: MonotonicTime) {
        switch event {
        case .stored(let token, let position): acknowledged(token: token, position: position, at: now)
        case .refused(let token): refused(token: token, at: now)
        case .full(let token): full(token: token, at: now)
        case .limited(let byteCount): limited(to: byteCount)
        case .tooLong(let token): tooLong(token: token, at: now)
        case .declined(let token, let reason): declined(token: token, because: reason)
        case .denied(_, let mayLead): barred(!mayLead, at: now)
        case .read(let messages, let from, let end): read(messages, from: from, end: end, at: now)
        case .beatStored(let number): beatAcknowledged(number: number, at: now)
        case .heard(let beat): heard(beat, at: now)
        case .overheard(let beat): overheard(beat, at: now)
        case .beatsShown(let number): beatsShown(through: number, at: now)
        // Silence proves nothing: neither that a server does not sync, nor that one is mended.
        case .sync(.unknown, _), .connection, .unusable, .base: break
        case .sync(let sync, _): syncChanged(isRefuted: sync == .refuted, at: now)
        }
    }
}
