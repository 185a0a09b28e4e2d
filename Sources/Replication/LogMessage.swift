public import Journal
public import TelltaleModel

/// One message of the replicated log: a batch of the leader, which counts as a whole or not at all, or a change of
/// leadership.
public struct LogMessage: Hashable, Sendable {
    /// The content of a message.
    public enum Body: Hashable, Sendable {
        /// Records that follow record ``LogMessage/sequence`` without a gap; at least one.
        case batch([JournalRecord])
        /// One of `count` pieces of the records of a batch that is too long for one message. `number` counts from 1.
        /// `count` is at most ``MessageLimits/partCount``.
        case part(number: Int, count: Int, bytes: [UInt8])
        /// A node begins to lead. Under the term that it has already, it proves that it still does.
        case term(address: String, release: String)
        /// The leader leads no more, and its last batch is stored.
        case resign
        /// The same, naming the node that should lead next. A hint: the next term record decides.
        case handOver(to: String)
        /// The end of this log: the history continues elsewhere.
        case seal
    }

    /// The name of the cluster. A message of another cluster is ignored.
    public var cluster: String
    /// The lineage of the history.
    public var epoch: UInt64
    /// Counts the leaders, from 1.
    public var term: Int64
    /// The name of the node that wrote it.
    public var node: String
    /// A number that is unique to the process that wrote it: a restarted node must not mistake a message of its
    /// predecessor for its own.
    public var instance: UInt64
    /// The record that it follows, and the checksum of that record; 0 for none.
    public var sequence: Int64
    public var link: UInt64
    public var body: Body

    public init(
        cluster: String, epoch: UInt64, term: Int64, node: String, instance: UInt64, sequence: Int64, link: UInt64,
        body: Body
    ) {
        self.cluster = cluster
        self.epoch = epoch
        self.term = term
        self.node = node
        self.instance = instance
        self.sequence = sequence
        self.link = link
        self.body = body
    }

    /// The form of a message that this release writes and reads.
    static let version: UInt8 = 1
}

extension LogMessage {
    /// The bytes of the message, the checksum of all others last.
    public func encoded() -> [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.version)
        writer.write(cluster)
        writer.write(epoch)
        writer.write(term)
        writer.write(node)
        writer.write(instance)
        writer.write(sequence)
        writer.write(link)
        switch body {
        case .batch(let records):
            writer.write(UInt8(1))
            writer.write(Self.encode(records))
        case .part(let number, let count, let bytes):
            writer.write(UInt8(2))
            writer.write(number)
            writer.write(count)
            writer.write(bytes)
        case .term(let address, let release):
            writer.write(UInt8(3))
            writer.write(address)
            writer.write(release)
        case .resign: writer.write(UInt8(4))
        case .seal: writer.write(UInt8(5))
        case .handOver(let node):
            writer.write(UInt8(6))
            writer.write(node)
        }
        return Self.withChecksum(writer.take())
    }

    /// The content of a message, followed by its checksum.
    static func withChecksum(_ content: [UInt8]) -> [UInt8] {
        var checksum = checksum(content.span)
        var bytes = content
        for _ in 0..<8 {
            bytes.append(UInt8(truncatingIfNeeded: checksum))
            checksum >>= 8
        }
        return bytes
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: For any other bytes. No input traps.
    public init(decoding bytes: [UInt8]) throws(BinaryError) {
        guard bytes.count > 8 else { throw BinaryReader(bytes).failure("ends early") }
        let end = bytes.count - 8
        let reported = bytes.suffix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var reader = BinaryReader(bytes)
        guard reported == Self.checksum(bytes.span.extracting(0..<end)) else {
            throw reader.failure("its checksum is another one")
        }
        guard try reader.readByte() == Self.version else { throw reader.failure("a message of another version") }
        cluster = try reader.readString()
        epoch = try reader.readUInt64()
        term = try reader.readInt64()
        node = try reader.readString()
        instance = try reader.readUInt64()
        sequence = try reader.readInt64()
        link = try reader.readUInt64()
        switch try reader.readByte() {
        case 1:
            let count = try reader.readCount()
            body = .batch(try Self.records(in: &reader, through: reader.offset + count))
        case 2:
            body = .part(number: try reader.readInt(), count: try reader.readInt(), bytes: try reader.readBytes())
        case 3: body = .term(address: try reader.readString(), release: try reader.readString())
        case 4: body = .resign
        case 5: body = .seal
        case 6: body = .handOver(to: try reader.readString())
        default: throw reader.failure("a message of an unknown kind")
        }
        guard reader.offset == end else { throw reader.failure("more than a message, or less") }
    }

    private static func checksum(_ bytes: Span<UInt8>) -> UInt64 {
        var hash = StableHash(seed: 0x4c4f_47)
        hash.combine(bytes)
        return hash.finalize()
    }

    // MARK: Records

    private static func encode(_ records: [JournalRecord]) -> [UInt8] {
        var writer = BinaryWriter()
        for record in records {
            writer.write(record.sequence)
            writer.write(record.time)
            writer.write(record.previous)
            writer.write(record.entity)
            writer.write(record.body)
        }
        return writer.take()
    }

    /// Reads the records of a batch.
    ///
    /// - Throws: For bytes that end within a record, or hold none.
    public static func records(in bytes: [UInt8]) throws(BinaryError) -> [JournalRecord] {
        var reader = BinaryReader(bytes)
        return try records(in: &reader, through: bytes.count)
    }

    private static func records(
        in reader: inout BinaryReader, through end: Int
    ) throws(BinaryError) -> [JournalRecord] {
        var records: [JournalRecord] = []
        while reader.offset < end {
            let (sequence, time) = (try reader.readInt64(), try reader.readTimestamp())
            let (previous, entity) = (try reader.readInt64(), try reader.readString())
            records.append(
                JournalRecord(
                    sequence: sequence, time: time, entity: entity, previous: previous, body: try reader.readBytes()))
        }
        guard reader.offset == end else { throw reader.failure("records that end behind their batch") }
        return records
    }
}

/// The largest batch that one message holds.
public struct MessageLimits: Hashable, Sendable {
    /// In records.
    public var recordCount = 8_192
    /// In bytes of the records, so that a message with its head fits the log store's default of 1 MiB.
    public var byteCount = 917_504
    /// A reader accepts no more parts for one batch, whatever a message says: 224 MiB at the default ``byteCount``.
    public static let partCount = 256
    /// The limit for everything in a message beside its records.
    public static let headByteCount = 1_024
    /// A log store with a lower message limit cannot be used: this leaves 3.75 MiB for a batch in parts.
    public static let leastByteCount = 16_384

    public init() {}

    /// These limits, for a log store whose messages are at most this long.
    func limited(to byteCount: Int) -> MessageLimits {
        var limits = self
        limits.byteCount = min(limits.byteCount, max(1, byteCount - Self.headByteCount))
        return limits
    }
}

extension LogMessage {
    /// The messages of a batch: one, or parts where it is too long for one.
    ///
    /// - Parameters:
    ///   - head: Gives the cluster, the epoch, the term and the node.
    ///   - chain: The history that the records follow.
    public static func messages(
        of records: [JournalRecord], after chain: RecordChain, head: LogMessage, limits: MessageLimits
    ) -> [LogMessage] {
        var message = head
        (message.sequence, message.link) = (chain.sequence, chain.link)
        let bytes = encode(records)
        let limit = max(1, limits.byteCount)
        guard records.count > limits.recordCount || bytes.count > limit else {
            message.body = .batch(records)
            return [message]
        }
        let pieces = stride(from: 0, to: bytes.count, by: limit).map { start in
            Array(bytes[start..<min(bytes.count, start + limit)])
        }
        guard pieces.count > 1 else {
            message.body = .batch(records)
            return [message]
        }
        return pieces.enumerated().map { place, piece in
            message.body = .part(number: place + 1, count: pieces.count, bytes: piece)
            return message
        }
    }
}
