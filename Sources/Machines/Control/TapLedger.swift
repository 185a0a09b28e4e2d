public import TelltaleModel

/// Records the taps that have acted, so that a retry does not act again, on any control.
///
/// Call ``answer(to:on:tap:)`` before any other check, and ``record(_:on:tap:operation:at:)`` for each tap that
/// was not refused.
public struct TapLedger: Sendable {
    /// The sender of a tap and the sender's id for it.
    public struct Identity: Hashable, Sendable {
        /// The account; without one the client's name, or else the connection.
        public var sender: String
        public var eid: String

        public init(sender: String, eid: String) {
            self.sender = sender
            self.eid = eid
        }
    }

    public enum Answer: Hashable, Sendable {
        case new
        /// The operation of the first tap; `nil` if it had nothing to do.
        case duplicate(OperationID?)
        /// The same id came with another key or another tap (`dup_mismatch`).
        case mismatch
    }

    struct Entry: Hashable, Sendable {
        var identity: Identity
        var key: Key
        var tap: Tap
        var operation: OperationID?
        var time: Timestamp
    }

    /// The largest age of an id: 7 days, as for events (Protocols/Line/line-protocol.md §4).
    public static let ageLimit = Milliseconds.days(7)
    /// The largest number of ids. Taps are rare.
    public let countLimit: Int

    /// Oldest first. Entries before `start` are removed; their memory is freed in batches.
    private var entries: [Entry] = []
    private var start = 0
    private var known: [Identity: Known] = [:]

    private struct Known: Sendable {
        var key: Key
        var tap: Tap
        var operation: OperationID?
    }

    public init(countLimit: Int = 100_000) {
        self.countLimit = max(1, countLimit)
    }

    public var count: Int { entries.count - start }

    public func answer(to identity: Identity, on key: Key, tap: Tap) -> Answer {
        guard let first = known[identity] else { return .new }
        guard first.key == key, first.tap == tap else { return .mismatch }
        return .duplicate(first.operation)
    }

    /// Records a tap; a known one stays unchanged. No older tap is dropped before ``forget(at:)``: if this tap cannot be made
    /// durable it is rolled back, and a dropped id would let its retry act again.
    public mutating func record(
        _ identity: Identity, on key: Key, tap: Tap, operation: OperationID?, at time: Timestamp
    ) {
        guard known[identity] == nil else { return }
        known[identity] = Known(key: key, tap: tap, operation: operation)
        entries.append(Entry(identity: identity, key: key, tap: tap, operation: operation, time: time))
    }

    /// Drops ids that are too old at `time` and those beyond the newest ``countLimit``.
    public mutating func forget(at time: Timestamp) {
        while start < entries.count, count > countLimit || entries[start].time + Self.ageLimit < time {
            known[entries[start].identity] = nil
            start += 1
        }
        if start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        }
    }
}

extension TapLedger {
    /// Rolls back the newest tap if it has this identity, because it could not be made durable.
    public mutating func forgetNewest(_ identity: Identity) {
        guard count > 0, entries.last?.identity == identity else { return }
        entries.removeLast()
        known[identity] = nil
    }
}

extension TapLedger: Hashable {
    public static func == (left: TapLedger, right: TapLedger) -> Bool {
        left.countLimit == right.countLimit && left.entries[left.start...] == right.entries[right.start...]
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(countLimit)
        hasher.combine(entries[start...])
    }
}

extension TapLedger {
    public func encode(to writer: inout BinaryWriter) {
        writer.write(countLimit)
        writer.write(Array(entries[start...])) { writer, entry in
            writer.write(entry.identity.sender)
            writer.write(entry.identity.eid)
            writer.write(entry.key.text)
            writer.write(entry.tap.value) { $0.write($1) }
            writer.write(entry.operation) { $0.write($1.number) }
            writer.write(entry.time)
        }
    }

    public init(from reader: inout BinaryReader) throws(BinaryError) {
        self.init(countLimit: try reader.readInt())
        let entries = try reader.readArray { (reader: inout BinaryReader) throws(BinaryError) in
            let identity = Identity(sender: try reader.readString(), eid: try reader.readString())
            guard let key = Key(try reader.readString()) else { throw reader.failure("not a key") }
            let value = try reader.readOptional { (reader) throws(BinaryError) in try reader.readBool() }
            let operation = try reader.readOptional { (reader) throws(BinaryError) in
                OperationID(try reader.readInt64())
            }
            return Entry(
                identity: identity, key: key, tap: Tap(value: value), operation: operation,
                time: try reader.readTimestamp())
        }
        for entry in entries {
            record(entry.identity, on: entry.key, tap: entry.tap, operation: entry.operation, at: entry.time)
        }
    }
}
