public import TelltaleModel

/// What the head of a row says: whose newest state it is, and what was folded into it (line-protocol.md §5).
public struct RowHead: Sendable {
    /// Why commits were folded.
    public enum Fold: String, CaseIterable, Hashable, Sendable {
        /// The reader was busy taking earlier bytes.
        case slow
        /// The subscription wanted no more lines a second.
        case rate
        /// The reader was away.
        case resume
    }

    /// The subscription's number; 0 for `LIST`.
    public var subscription: Int
    public var key: Key
    public var rev: Int64
    /// Given when it advanced.
    public var cursor: Cursor?
    /// How many commits were folded into this row.
    public var skip = 0
    /// Told whenever it is set; a resume's rows have it with or without a ``skip``.
    public var why: Fold?
    /// Milestones that found no room, by the states' names.
    public var missed: [String] = []

    public init(subscription: Int, key: Key, rev: Int64) {
        self.subscription = subscription
        self.key = key
        self.rev = rev
    }
}

/// Why a key left a view.
public enum DeletionReason: String, CaseIterable, Hashable, Sendable {
    case dismissed, hidden, removed
}

/// Why a cursor was not good.
public enum ResetReason: String, CaseIterable, Hashable, Sendable {
    /// It is from another history.
    case epoch
    /// It was given to another selection.
    case selection
    /// What was removed since then is no longer known.
    case expired
    /// It is ahead of this history.
    case future
}

extension LineWriter {
    /// - Parameter body: One JSON object, encoded, which many rows may share.
    public mutating func snapshot(_ head: RowHead, body: [UInt8]) {
        append("SNAP")
        write(head)
        row(body, missed: head.missed)
    }

    /// - Parameter body: One JSON object, encoded, which many rows may share.
    public mutating func update(_ head: RowHead, body: [UInt8]) {
        append("UPD")
        write(head)
        row(body, missed: head.missed)
    }

    /// `why=` says why the key left; ``RowHead/why`` is not told.
    public mutating func deletion(_ head: RowHead, why: DeletionReason) {
        append("DEL")
        write(head.subscription, head.key, head.rev)
        if let cursor = head.cursor { attribute("cur", cursor) }
        if head.skip > 0 { attribute("skip", head.skip) }
        attribute("why", why.rawValue)
        end()
    }

    public mutating func live(subscription: Int, cursor: Cursor) {
        append("LIVE")
        attribute("sub", subscription)
        attribute("cur", cursor)
        end()
    }

    public mutating func reset(subscription: Int, why: ResetReason) {
        append("RESET")
        attribute("sub", subscription)
        attribute("why", why.rawValue)
        end()
    }

    /// A sign of life, and one subscription's cursor where it advanced.
    public mutating func mark(now: Timestamp, subscription: Int? = nil, cursor: Cursor? = nil) {
        append("MARK")
        attribute("now", now)
        if let subscription { attribute("sub", subscription) }
        if let cursor { attribute("cur", cursor) }
        end()
    }

    public mutating func milestone(subscription: Int, key: Key, rev: Int64, state: String, at time: Timestamp) {
        append("MILE")
        write(subscription, key, rev)
        attribute("state", state)
        attribute("at", time)
        end()
    }

    /// - Parameter body: `{"title":…,"body":…,"sound":…,"style":…}`.
    public mutating func alert(subscription: Int, key: Key, rev: Int64, body: [UInt8]) {
        append("ALERT")
        write(subscription, key, rev)
        tail(body)
        end()
    }

    /// One event of a key's past.
    ///
    /// - Parameters:
    ///   - happenedAt: When it happened, by its sender.
    ///   - heardAt: When the hub heard of it.
    public mutating func history(
        key: Key, rev: Int64, happenedAt: Timestamp, heardAt: Timestamp, type: String, verdict: Verdict, body: [UInt8]
    ) {
        append("HIST")
        attribute("key", key)
        attribute("rev", rev)
        attribute("at", happenedAt)
        attribute("heard", heardAt)
        attribute("type", type)
        attribute("verdict", verdict.rawValue)
        tail(body)
        end()
    }

    public mutating func kind(name: String, type: String, version: Int, body: [UInt8]) {
        append("KIND")
        attribute("name", name)
        attribute("type", type)
        attribute("version", version)
        tail(body)
        end()
    }

    /// Asks a provider to act.
    ///
    /// - Parameters:
    ///   - value: What a toggle is to become; `nil` presses a button.
    ///   - deadline: When the operation is given up.
    public mutating func action(operation: String, key: Key, value: Bool?, deadline: Timestamp) {
        append("DO")
        attribute("op", operation)
        attribute("key", key)
        if let value {
            append(value ? " action=set value=on" : " action=set value=off")
        } else {
            append(" action=press")
        }
        attribute("deadline", deadline)
        end()
    }

    /// Ends a row whose `missed` milestones are a member of its body.
    private mutating func row(_ body: [UInt8], missed: [String]) {
        guard !missed.isEmpty, body.first == UInt8(ascii: "{") else {
            tail(body)
            return end()
        }
        append(" {\"missed\":")
        JSON.array(missed.map { .string($0) }).append(to: &buffer)
        if body.count > 2 { buffer.append(UInt8(ascii: ",")) }
        buffer.append(copying: body.span.extracting(droppingFirst: 1))
        end()
    }

    private mutating func write(_ head: RowHead) {
        write(head.subscription, head.key, head.rev)
        if let cursor = head.cursor { attribute("cur", cursor) }
        if head.skip > 0 { attribute("skip", head.skip) }
        if let why = head.why { attribute("why", why.rawValue) }
    }

    private mutating func write(_ subscription: Int, _ key: Key, _ rev: Int64) {
        attribute("sub", subscription)
        attribute("key", key)
        attribute("rev", rev)
    }
}
