public import TelltaleModel

/// The attributes of a row: its key and position, and the commits that were folded into it
/// (Protocols/Line/line-protocol.md §5).
public struct RowHead: Sendable {
    /// The reason why commits were folded.
    public enum Fold: String, CaseIterable, Hashable, Sendable {
        /// The reader had not taken earlier bytes.
        case slow
        /// The subscription limited its lines per second.
        case rate
        /// The reader was disconnected.
        case resume
        /// The device's screen was off, and its budget of rows for that widget was used up.
        case budget
    }

    /// The subscription's number; 0 for `LIST`.
    public var subscription: Int
    public var key: Key
    public var rev: Int64
    /// Set if the cursor advanced.
    public var cursor: Cursor?
    /// The number of commits that were folded into this row.
    public var skip = 0
    /// Written whenever it is set; the rows of a resume have it with or without a ``skip``.
    public var why: Fold?
    /// The states of milestones that were dropped for lack of room.
    public var missed: [String] = []

    public init(subscription: Int, key: Key, rev: Int64) {
        self.subscription = subscription
        self.key = key
        self.rev = rev
    }
}

/// The reason why a key left a view.
public enum DeletionReason: String, CaseIterable, Hashable, Sendable {
    case dismissed, hidden, removed
}

/// The reason why a cursor was rejected.
public enum ResetReason: String, CaseIterable, Hashable, Sendable {
    /// The cursor is from another history.
    case epoch
    /// The cursor is for another selection.
    case selection
    /// Deletions since the cursor are no longer recorded.
    case expired
    /// The cursor is ahead of this history.
    case future
}

extension LineWriter {
    /// - Parameter body: One JSON object as text, which many rows may share.
    public mutating func snapshot(_ head: RowHead, body: [UInt8]) {
        append("SNAP")
        write(head)
        row(body, missed: head.missed)
    }

    /// - Parameter body: One JSON object as text, which many rows may share.
    public mutating func update(_ head: RowHead, body: [UInt8]) {
        append("UPD")
        write(head)
        row(body, missed: head.missed)
    }

    /// Writes a deletion. `why=` is the reason given here; ``RowHead/why`` is ignored.
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

    /// Writes the notice of a subscription with `deliver=notice`.
    ///
    /// - Parameters:
    ///   - rev: The newest commit that it is about.
    ///   - count: How many keys changed; `nil` = more than are counted.
    public mutating func changed(subscription: Int, rev: Int64, count: Int?, cursor: Cursor?) {
        append("CHANGED")
        attribute("sub", subscription)
        attribute("rev", rev)
        if let count { attribute("count", count) }
        if let cursor { attribute("cur", cursor) }
        end()
    }

    public mutating func reset(subscription: Int, why: ResetReason) {
        append("RESET")
        attribute("sub", subscription)
        attribute("why", why.rawValue)
        end()
    }

    /// Writes a heartbeat, with one subscription's cursor if it advanced.
    /// - Parameter staleness: How old the rows of a node of a cluster may be; `nil` = they are current.
    public mutating func mark(
        now: Timestamp, subscription: Int? = nil, cursor: Cursor? = nil, staleness: Milliseconds? = nil
    ) {
        append("MARK")
        attribute("now", now)
        if let subscription { attribute("sub", subscription) }
        if let cursor { attribute("cur", cursor) }
        if let staleness { attribute("stale", staleness.count) }
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

    /// Writes one past event of a key.
    ///
    /// - Parameters:
    ///   - happenedAt: The time of the event at its source.
    ///   - heardAt: The time at which the server received it.
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

    /// Writes one kind of widget of the gallery.
    public mutating func widget(name: String, families: [String], body: [UInt8]) {
        append("WIDGET")
        attribute("name", name)
        attribute("families", joined: families)
        tail(body)
        end()
    }

    /// Writes a provider's order to act.
    ///
    /// - Parameters:
    ///   - value: The value to set on a toggle; `nil` presses a button.
    ///   - deadline: The time at which the operation is abandoned.
    ///   - term: The term of a cluster's leader; `nil` for a single server.
    public mutating func action(operation: String, key: Key, value: Bool?, deadline: Timestamp, term: Int64? = nil) {
        append("DO")
        attribute("op", operation)
        attribute("key", key)
        if let value {
            append(value ? " action=set value=on" : " action=set value=off")
        } else {
            append(" action=press")
        }
        attribute("deadline", deadline)
        if let term { attribute("term", term) }
        end()
    }

    /// Writes a `DO` that refreshes a widget. `reason` says why.
    public mutating func refresh(operation: String, key: Key, reason: String, deadline: Timestamp, term: Int64? = nil) {
        append("DO")
        attribute("op", operation)
        attribute("key", key)
        append(" action=timeline")
        attribute("reason", reason)
        attribute("deadline", deadline)
        if let term { attribute("term", term) }
        end()
    }

    /// Ends a row and adds `missed` milestones as a member of its body.
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
