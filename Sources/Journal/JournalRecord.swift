public import TelltaleModel

/// One decided change: an accepted request, a fired deadline, a kind or a setting.
///
/// The journal stores its order and its bytes, and does not interpret them.
public struct JournalRecord: Hashable, Sendable {
    /// The commit number: 1, 2, 3 …, without gaps.
    public var sequence: Int64
    /// The server's time of the decision.
    public var time: Timestamp
    /// The key of the changed entity; empty for kinds and settings. At most 1,024 bytes.
    public var entity: String
    /// The sequence of the entity's record before this one; 0 if there is none.
    ///
    /// The history of an entity is thus a chain that is read backwards from its last record, without an index.
    public var previous: Int64
    /// The change, as the hub encoded it.
    public var body: [UInt8]

    public init(sequence: Int64, time: Timestamp, entity: String, previous: Int64, body: [UInt8]) {
        self.sequence = sequence
        self.time = time
        self.entity = entity
        self.previous = previous
        self.body = body
    }

    /// The checksum that a journal stores with the record. It covers that of the record before it, so that a removed, added or moved
    /// record is noticed.
    ///
    /// - Parameter link: The checksum of the record before it; 0 for the first.
    public func checksum(after link: UInt64) -> UInt64 {
        var hash = StableHash(seed: link)
        hash.combine(UInt64(bitPattern: sequence))
        hash.combine(UInt64(bitPattern: time.milliseconds))
        hash.combine(UInt64(bitPattern: previous))
        hash.combine(entity)
        hash.combine(body.span)
        return hash.finalize()
    }
}

/// The whole state after one record, from which a recovery starts.
public struct JournalSnapshot: Hashable, Sendable {
    /// The sequence of the last record in the snapshot. Records after it are replayed.
    public var sequence: Int64
    /// The number of chunks of ``Journal/readChunk(_:)``.
    public var chunkCount: Int
    /// The size of all chunks, in bytes.
    public var byteCount: Int64

    public init(sequence: Int64, chunkCount: Int, byteCount: Int64) {
        self.sequence = sequence
        self.chunkCount = chunkCount
        self.byteCount = byteCount
    }
}

/// A chunk of a snapshot that stays the same, so that later snapshots share it.
public struct SnapshotBlock: Hashable, Sendable {
    /// Stands for ``bytes``: within one journal, equal names have equal bytes.
    public var name: String
    public var bytes: [UInt8]

    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
}

/// Records that are no longer needed. A repeated request has no effect, so a replay may repeat it.
public struct Pruning: Hashable, Sendable {
    /// Every record up to and including this one, of any entity; 0 for none.
    ///
    /// The history of an entity that reaches further back then begins later.
    public var through: Int64
    /// The sequences of the last records of removed entities, whose whole chains are pruned.
    public var chains: [Int64]

    public init(through: Int64 = 0, chains: [Int64] = []) {
        self.through = through
        self.chains = chains
    }
}

/// The state of the journal when it was opened.
public struct JournalOpening: Hashable, Sendable {
    public enum Ending: String, Hashable, Sendable {
        /// The journal is new.
        case new
        /// The last daemon stopped cleanly.
        case clean
        /// The last daemon did not stop cleanly. Writes that were not acknowledged may have been dropped.
        case unclean
    }

    public var ending: Ending
    /// The reason why ``Journal/epoch`` was replaced; `nil` if it was not, or if the journal is new.
    public var epochReplaced: String?
    /// The size of a dropped, unfinished transaction, in bytes. It was never acknowledged.
    public var droppedByteCount: Int

    public init(ending: Ending, epochReplaced: String? = nil, droppedByteCount: Int = 0) {
        self.ending = ending
        self.epochReplaced = epochReplaced
        self.droppedByteCount = droppedByteCount
    }
}
