public import TelltaleModel

/// Appends one message so that its fate is known: the rules one to four, as a machine.
///
/// - One message is in flight, and it expects a position that was read or acknowledged.
/// - Only an acknowledgement of its own token, at the position after the expected one, proves that it is stored.
/// - Neither a refusal nor silence proves anything. The message at that position does.
/// - A message of unknown fate is sent again: the same bytes, the same condition.
public struct Appender: Hashable, Sendable {
    /// How long to wait for an acknowledgement before the log is read, and how often the message is then sent again.
    public struct Pace: Hashable, Sendable {
        public var patience = Milliseconds(250)
        public var interval = Milliseconds(50)

        public init() {}
    }

    public enum Phase: Hashable, Sendable {
        case idle
        /// Sent, without an answer so far.
        case sent
        /// Refused, or not answered in time: its fate is not known.
        case unknown
    }

    /// The fate of the message.
    public enum Outcome: Hashable, Sendable {
        /// It is stored at the position after the expected one.
        case stored(position: Int64)
        /// The log store has no room, and nothing was stored.
        case full
        /// The log store takes no message of this length, and nothing was stored.
        case tooLong
    }

    public enum Action: Hashable, Sendable {
        /// Append the bytes if the newest message of the log is number `after`.
        case append([UInt8], after: Int64, token: Int64)
        /// Read the log after this position.
        case read(from: Int64)
    }

    public private(set) var phase = Phase.idle
    public private(set) var bytes: [UInt8] = []
    /// The position that the message expects.
    public private(set) var expected: Int64 = 0
    /// The token of the message: each has another one, and keeps it when it is sent again.
    public private(set) var token: Int64 = 0
    private var isSentAgain = false
    private var next = MonotonicTime.distantFuture
    private let pace: Pace

    public init(pace: Pace = Pace()) {
        self.pace = pace
    }

    /// When ``tick(at:)`` has something to do; `nil` = never.
    public var deadline: MonotonicTime? { phase == .idle ? nil : next }

    /// Sends a message.
    ///
    /// - Parameter expected: The newest position that was read or acknowledged.
    /// - Precondition: It is ``Phase/idle``.
    public mutating func send(_ bytes: [UInt8], after expected: Int64, at now: MonotonicTime) -> Action {
        precondition(phase == .idle, "one message in flight")
        self.bytes = bytes
        self.expected = expected
        token += 1
        phase = .sent
        isSentAgain = false
        next = now + pace.patience
        return .append(bytes, after: expected, token: token)
    }

    /// The log store acknowledges a message.
    ///
    /// - Returns: `nil` where this proves nothing of the message in flight.
    public mutating func acknowledged(token: Int64, at position: Int64) -> Outcome? {
        guard phase != .idle, token == self.token, position == expected + 1 else { return nil }
        phase = .idle
        return .stored(position: position)
    }

    /// Where the log is read from: the message that this one follows comes with it, for a log that was set back may have
    /// grown to the same length again.
    var readPosition: Int64 { max(0, expected - 1) }

    /// The log store says that something else stands there. It may be wrong, so the log is read.
    public mutating func refused(token: Int64, at now: MonotonicTime) -> Action? {
        guard phase == .sent, token == self.token else { return nil }
        phase = .unknown
        next = now + pace.interval
        return .read(from: readPosition)
    }

    /// The log store has no room, and says so before anything is stored.
    ///
    /// - Returns: `nil` where the message was sent before and may be stored since then.
    public mutating func full(token: Int64) -> Outcome? {
        guard phase == .sent, !isSentAgain, token == self.token else { return nil }
        phase = .idle
        return .full
    }

    /// The message is longer than the log store takes, and was not sent this time.
    ///
    /// - Returns: `nil` where it was sent before and may be stored since then.
    public mutating func tooLong(token: Int64) -> Outcome? {
        guard full(token: token) != nil else { return nil }
        return .tooLong
    }

    /// Time has passed.
    public mutating func tick(at now: MonotonicTime) -> [Action] {
        guard phase != .idle, now >= next else { return [] }
        next = now + pace.interval
        phase = .unknown
        isSentAgain = true
        return [.append(bytes, after: expected, token: token), .read(from: readPosition)]
    }

    /// The message after the expected position was read, and it is this one.
    public mutating func foundOwn() -> Outcome {
        phase = .idle
        return .stored(position: expected + 1)
    }

    /// The message after the expected position was read, and it is void: the position advances.
    public mutating func foundVoid(at now: MonotonicTime) -> Action {
        expected += 1
        token += 1
        // Under the former condition nothing can be stored any more.
        phase = .sent
        isSentAgain = false
        next = now + pace.patience
        return .append(bytes, after: expected, token: token)
    }

    /// Another node leads: the message is not stored, and never will be.
    public mutating func deposed() { phase = .idle }
}
