public import TelltaleModel

/// One thing that happened and was decided: an accepted input, a deadline that fired, a kind, a setting.
///
/// The journal keeps its order and its bytes, and knows nothing of what they mean.
public struct JournalRecord: Hashable, Sendable {
    /// The commit number: 1, 2, 3 …, without gaps.
    public var sequence: Int64
    /// The hub's time when it was decided.
    public var time: Timestamp
    /// The key that it is about, or "" for kinds and settings. At most 1,024 bytes.
    public var entity: String
    /// The sequence of the record before it of the same entity, 0 = none.
    ///
    /// So the history of an entity is a chain that is read backwards from its last record, and costs no index.
    public var previous: Int64
    /// What happened, as the hub encoded it.
    public var body: [UInt8]

    public init(sequence: Int64, time: Timestamp, entity: String, previous: Int64, body: [UInt8]) {
        self.sequence = sequence
        self.time = time
        self.entity = entity
        self.previous = previous
        self.body = body
    }
}

/// The whole state after one record, from which a recovery starts.
public struct JournalSnapshot: Hashable, Sendable {
    /// The sequence of the last record that it contains; the records after it are replayed.
    public var sequence: Int64
    /// How many chunks ``Journal/readChunk(_:)`` gives.
    public var chunkCount: Int
    /// All chunks together, in bytes.
    public var byteCount: Int64

    public init(sequence: Int64, chunkCount: Int, byteCount: Int64) {
        self.sequence = sequence
        self.chunkCount = chunkCount
        self.byteCount = byteCount
    }
}

/// What nobody needs any more. Asked for twice it does no harm, so a replay may ask again.
public struct Pruning: Hashable, Sendable {
    /// Every record up to and including this one goes, whoever's it is; 0 = none.
    ///
    /// The older part of a longer history goes too, and that history then begins later.
    public var through: Int64
    /// The sequences of the last records of entities that are gone for good: their whole chains go.
    public var chains: [Int64]

    public init(through: Int64 = 0, chains: [Int64] = []) {
        self.through = through
        self.chains = chains
    }
}

/// How the journal was found when it was opened.
public struct JournalOpening: Hashable, Sendable {
    public enum Ending: String, Hashable, Sendable {
        /// There was no journal; this one is new.
        case new
        /// The last daemon that wrote to it had stopped in order.
        case clean
        /// It had not; what was not acknowledged may have been dropped.
        case unclean
    }

    public var ending: Ending
    /// Why ``Journal/epoch`` is another one than before, or `nil` when it is the same, or the first.
    public var epochReplaced: String?
    /// How many bytes of an unfinished transaction were dropped: nobody had been told of it.
    public var droppedByteCount: Int

    public init(ending: Ending, epochReplaced: String? = nil, droppedByteCount: Int = 0) {
        self.ending = ending
        self.epochReplaced = epochReplaced
        self.droppedByteCount = droppedByteCount
    }
}
