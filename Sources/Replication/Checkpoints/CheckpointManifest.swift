public import TelltaleModel

/// The head of a checkpoint: of the state after one message of the log, in pieces that the log store stores beside
/// the log.
///
/// It is stored after all pieces, so an incomplete checkpoint has none.
public struct CheckpointManifest: Hashable, Sendable {
    /// A place in the log.
    public struct Place: Hashable, Sendable {
        public var position: Int64
        /// When the checkpoint there was taken, on the clock of its node.
        public var time: Timestamp

        public init(position: Int64, time: Timestamp) {
            (self.position, self.time) = (position, time)
        }
    }

    /// The name of the checkpoint: the position, a hyphen, and a unique suffix.
    public var id: String
    /// The log up to there: the position, the epoch, the records and their checksum, and the newest messages.
    public var reader: LogReader
    /// When it was taken, on the clock of its node.
    public var time: Timestamp
    public var pieceCount: Int
    /// Of all pieces, in their order.
    public var checksum: UInt64
    /// The checkpoints before this one, oldest first, so that a leader knows how old a part of the log is. At most ``trailCount``.
    public var trail: [Place]

    public static let trailCount = 512

    public init(id: String, reader: LogReader, time: Timestamp, pieceCount: Int, checksum: UInt64, trail: [Place]) {
        (self.id, self.reader, self.time) = (id, reader, time)
        (self.pieceCount, self.checksum, self.trail) = (pieceCount, checksum, trail.suffix(Self.trailCount))
    }

    /// Whether the log has the message that the checkpoint follows. If not, the checkpoint belongs to another history.
    func follows(_ message: [UInt8]) -> Bool { reader.digests.last == LogReader.digest(of: message) }

    public var place: Place { Place(position: reader.position, time: time) }

    /// The position in the name of a checkpoint; `nil` for a name that no node has given.
    static func position(in id: String) -> Int64? {
        guard let hyphen = id.firstIndex(of: "-"), let position = Int64(id[..<hyphen]), position > 0 else { return nil }
        return position
    }

    private static let version: UInt8 = 1

    /// The bytes of the manifest, the checksum of all others last.
    public func encoded() -> [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.version)
        writer.write(id)
        writer.write(reader.mark)
        writer.write(time)
        writer.write(pieceCount)
        writer.write(checksum)
        writer.write(trail) { writer, place in
            writer.write(place.position)
            writer.write(place.time)
        }
        return LogMessage.withChecksum(writer.take())
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: For any other bytes. No input traps.
    public init(decoding bytes: [UInt8]) throws(BinaryError) {
        guard bytes.count > 8, LogMessage.withChecksum(Array(bytes.dropLast(8))) == bytes else {
            throw BinaryReader(bytes).failure("its checksum is another one")
        }
        var input = BinaryReader(Array(bytes.dropLast(8)))
        guard try input.readByte() == Self.version else { throw input.failure("a base of another release") }
        id = try input.readString()
        reader = try LogReader(mark: try input.readBytes())
        time = try input.readTimestamp()
        pieceCount = try input.readInt()
        checksum = try input.readUInt64()
        let count = try input.readUInt64()
        guard count <= UInt64(Self.trailCount), pieceCount > 0 else { throw input.failure("no base") }
        trail = []
        for _ in 0..<count {
            trail.append(Place(position: try input.readInt64(), time: try input.readTimestamp()))
        }
        guard input.isAtEnd else { throw input.failure("more than a manifest") }
    }
}

/// A checkpoint as the log store has it.
public struct StoredCheckpoint: Hashable, Sendable {
    public var id: String
    /// `nil` = its node has not stored all of it, or never will.
    public var manifest: [UInt8]?
    /// How many pieces the log store has.
    public var pieceCount: Int

    public init(id: String, manifest: [UInt8]?, pieceCount: Int) {
        (self.id, self.manifest, self.pieceCount) = (id, manifest, pieceCount)
    }

    /// The checkpoints that a node may use, oldest first: whole, and of this history.
    ///
    /// - Parameter epoch: `nil` for a node that has no history.
    public static func usable(_ stored: [StoredCheckpoint], cluster: String, epoch: UInt64?) -> [CheckpointManifest] {
        let whole = stored.compactMap { checkpoint -> CheckpointManifest? in
            guard let bytes = checkpoint.manifest, let manifest = try? CheckpointManifest(decoding: bytes),
                manifest.id == checkpoint.id,
                manifest.pieceCount == checkpoint.pieceCount, manifest.reader.cluster == cluster,
                manifest.reader.position > 0,
                CheckpointManifest.position(in: checkpoint.id) == manifest.reader.position,
                let lineage = manifest.reader.epoch, lineage == epoch ?? lineage
            else { return nil }
            return manifest
        }
        return whole.sorted { ($0.reader.position, $0.id) < ($1.reader.position, $1.id) }
    }
}

/// How much of the log the log store keeps.
public struct LogExtent: Hashable, Sendable {
    /// The first message that is not purged: 1 where all are there.
    public var first: Int64
    public var byteCount: Int64

    public init(first: Int64, byteCount: Int64) {
        (self.first, self.byteCount) = (first, byteCount)
    }
}

/// A request about checkpoints and the beginning of the log. A node has one of them under way, beside ``remove(_:)`` and
/// ``purge(before:)``, which nothing answers.
public enum CheckpointRequest: Hashable, Sendable {
    /// Answered by ``CheckpointAnswer/list(_:_:)``.
    case list
    /// Stores a piece; answered by ``CheckpointAnswer/stored(number:of:)``, or not at all.
    case store([UInt8], number: Int, of: String)
    /// Stores the manifest; answered by ``CheckpointAnswer/finished(_:)``, or not at all.
    case finish([UInt8], of: String)
    /// Reads pieces; answered by ``CheckpointAnswer/pieces(_:of:from:)``.
    case read(of: String, from: Int)
    /// Reads one message of the log; answered by ``CheckpointAnswer/message(_:at:)``.
    case message(at: Int64)
    /// Removes a checkpoint.
    case remove(String)
    /// Removes the messages of the log before this one.
    case purge(before: Int64)
}

/// A word of the log store about a ``CheckpointRequest``.
public enum CheckpointAnswer: Hashable, Sendable {
    case list([StoredCheckpoint], LogExtent)
    case stored(number: Int, of: String)
    case finished(String)
    /// Pieces in their order, the first of them number `from`, which may be before the one that was asked for. None = there are none
    /// from there on. At most 8 MiB.
    case pieces([[UInt8]], of: String, from: Int)
    /// `nil` = the log store's server that was asked does not have it.
    case message([UInt8]?, at: Int64)
}
