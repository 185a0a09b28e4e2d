internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The complete state after one record, between two commits.
///
/// It is a copy that later commits do not affect, and may be encoded on any thread.
public struct HubSnapshot: Sendable {
    /// The last record that it contains.
    public let sequence: Int64
    let time: Timestamp
    let wall: Timestamp
    let resumeFloor: Int64
    let settings: DecisionSettings?
    let kinds: KindTable
    let entities: EntityTable
    let entityCount: Int
    /// In no order; an encoder that needs one sorts them.
    let eventIDs: [EventIDs.Past]
    let taps: TapLedger
    let attachments: Attachments
    let marks: [AgeMark]

    /// Since form 4 a snapshot has ``Tag/eventIDChunk``, and each source stores the number of its oldest id.
    static let formVersion: UInt8 = 4
    static let oldestFormVersion: UInt8 = 3
    /// The tag of a tile or a stack; follows those of widgets.
    static let boardTag: UInt8 = 10
    /// The approximate length of a chunk in bytes; a batch waits for the chunk before it.
    private static let chunkByteCount = 512 * 1024

    /// The first chunk.
    struct Header: Sendable {
        var sequence: Int64
        var time: Timestamp
        var wall: Timestamp
        var resumeFloor: Int64
        var settings: DecisionSettings?
        var kinds: KindTable
        var marks: [AgeMark]
        var entityCount: Int
        /// The number of ids of each source, to reserve room for them, and the number of its oldest.
        var sources: [(name: String, count: Int, firstNumber: Int)]
    }

    enum Tag: UInt8 {
        case header = 1
        case entities, eventIDs, taps
        /// A full chunk of one source's ids. It is the same in later snapshots.
        case eventIDChunk
    }

    /// Calls `body` with the encoded form, chunk by chunk, in the order in which ``Hub/load(_:)`` takes it.
    public func forEachChunk<Failure: Error>(_ body: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
        try forEachPiece { (piece) throws(Failure) in
            switch piece {
            case .chunk(let bytes): try body(bytes)
            case .blocks(let blocks): for block in blocks { try body(block.bytes) }
            }
        }
    }

    /// A part of the encoded form.
    public enum Piece: Sendable {
        case chunk([UInt8])
        /// Chunks that earlier snapshots may already contain, together about as long as one chunk.
        case blocks([SnapshotBlock])
    }

    /// Like ``forEachChunk(_:)``, but chunks that later snapshots share are passed as blocks.
    public func forEachPiece<Failure: Error>(_ body: (Piece) throws(Failure) -> Void) throws(Failure) {
        try body(.chunk(header()))
        var writer = begin(.entities)
        for entity in entities.existing {
            encode(entity, to: &writer)
            if writer.count >= Self.chunkByteCount {
                try body(.chunk(writer.bytes))
                writer = begin(.entities)
            }
        }
        try body(.chunk(writer.bytes))
        let sources = eventIDs.inOrder.map { (name: $0.source, chunks: $0.log.allChunks) }
        var blocks: [SnapshotBlock] = []
        for (source, chunks) in sources {
            for chunk in chunks where chunk.isFull {
                blocks.append(block(of: chunk, source: source))
                guard blocks.count == Self.blockCount else { continue }
                try body(.blocks(blocks))
                blocks = []
            }
        }
        if !blocks.isEmpty { try body(.blocks(blocks)) }
        writer = begin(.eventIDs)
        for (source, chunks) in sources {
            for chunk in chunks where !chunk.isFull {
                for item in chunk.items[chunk.skipped...] {
                    writer.write(source)
                    writer.write(item.eid)
                    writer.write(item.entry.digest)
                    writer.write(item.entry.rev)
                    writer.write(item.wall)
                    guard writer.count >= Self.chunkByteCount else { continue }
                    try body(.chunk(writer.bytes))
                    writer = begin(.eventIDs)
                }
            }
        }
        try body(.chunk(writer.bytes))
        writer = begin(.taps)
        taps.encode(to: &writer)
        try body(.chunk(writer.bytes))
    }

    /// How many blocks of about 30 KB are passed at once.
    private static let blockCount = 16

    /// - Precondition: The chunk is full, so it no longer changes.
    private func block(of chunk: IDLog.Chunk, source: String) -> SnapshotBlock {
        var writer = begin(.eventIDChunk)
        writer.write(source)
        writer.write(chunk.firstNumber)
        writer.write(UInt64(chunk.items.count))
        var last = IDLog.Item(eid: "", wall: Timestamp(milliseconds: 0), entry: .init(digest: 0, rev: 0))
        for item in chunk.items {
            writer.write(item.eid)
            writer.write(item.entry.digest)
            // Both differ little from those of the previous item.
            writer.write(item.entry.rev &- last.entry.rev)
            writer.write(item.wall.milliseconds &- last.wall.milliseconds)
            last = item
        }
        // A source that lost all its ids starts numbering again, days later.
        let first = chunk.items[0]
        let name = "\(chunk.firstNumber) \(first.wall.milliseconds) \(first.entry.rev) \(source)"
        return SnapshotBlock(name: name, bytes: writer.bytes)
    }

    private func begin(_ tag: Tag) -> BinaryWriter {
        var writer = BinaryWriter()
        writer.write(tag.rawValue)
        return writer
    }

    private func header() -> [UInt8] {
        var writer = begin(.header)
        writer.write(Self.formVersion)
        writer.write(sequence)
        writer.write(time)
        writer.write(wall)
        writer.write(resumeFloor)
        writer.write(settings) { $0.write($1.json) }
        writer.write(kinds.versions) { $0.write($1.source) }
        writer.write(kinds.inForceIndices) { $0.write($1) }
        writer.write(marks) { writer, mark in
            writer.write(mark.sequence)
            writer.write(mark.wall)
        }
        writer.write(entityCount)
        writer.write(eventIDs.inOrder) { writer, past in
            writer.write(past.source)
            writer.write(past.log.count)
            writer.write(past.log.firstNumber)
        }
        return writer.bytes
    }

    /// A hash of the state that does not depend on the order in which keys came: a recovery from the first record gives the same
    /// as one from a later snapshot.
    var stateHash: UInt64 {
        var hash = StableHash()
        hash.combine(UInt64(bitPattern: sequence))
        hash.combine(UInt64(bitPattern: time.milliseconds))
        hash.combine(UInt64(bitPattern: wall.milliseconds))
        for kind in kinds.inForce { hash.combine(json: kind.source) }
        let keys = entities.existing.compactMap { index in entities[index].key.map { (key: $0, index: index) } }
        for (_, index) in keys.sorted(by: { $0.key < $1.key }) {
            var writer = BinaryWriter()
            encode(index, to: &writer)
            hash.combine(writer.bytes.span)
        }
        for past in eventIDs.inOrder {
            past.log.forEach { item in
                hash.combine(past.source)
                hash.combine(item.eid)
                hash.combine(item.entry.digest)
                hash.combine(UInt64(bitPattern: item.entry.rev))
                hash.combine(UInt64(bitPattern: item.wall.milliseconds))
            }
        }
        var writer = BinaryWriter()
        taps.encode(to: &writer)
        hash.combine(writer.bytes.span)
        return hash.finalize()
    }

    private func encode(_ entity: EntityIndex, to writer: inout BinaryWriter) {
        guard let key = entities[entity].key else { return }
        writer.write(key.text)
        writer.write(entities[entity].kind)
        writer.write(entities[entity].rev)
        writer.write(entities[entity].lastRecord)
        (entities.audienceHistories[entity] ?? AudienceHistory()).encode(to: &writer)
        writer.write(entities[entity].dismissedAt) { $0.write($1) }
        switch entities[entity].state {
        case .none: writer.write(UInt8(0))
        case .activity(let activity):
            writer.write(UInt8(1))
            activity.value.encode(to: &writer)
        case .toggle(let toggle):
            encodeAttachment(of: entity, plain: 2, attached: 4, to: &writer)
            toggle.encode(to: &writer)
        case .button(let button):
            encodeAttachment(of: entity, plain: 3, attached: 5, to: &writer)
            button.encode(to: &writer)
        case .widget(let widget):
            writer.write(widget.form.rawValue)
            widget.encode(to: &writer)
        case .tile(let item):
            writer.write(Self.boardTag)
            item.encode(to: &writer)
        }
    }
}

extension HubSnapshot {
    /// Writes the tag of a control, followed by its attachment if there is one.
    fileprivate func encodeAttachment(
        of control: EntityIndex, plain: UInt8, attached: UInt8, to writer: inout BinaryWriter
    ) {
        guard let attachment = attachments[control] else { return writer.write(plain) }
        writer.write(attached)
        writer.write(attachment.activity.flatMap { entities[$0].key?.text }) { $0.write($1) }
        writer.write(attachment.accounts) { $0.write($1) }
    }
}

extension [EventIDs.Past] {
    /// Equal for the same ids, in whatever order their sources came.
    fileprivate var inOrder: [EventIDs.Past] { sorted { $0.source.precedesInBytes($1.source) } }
}

extension HubSnapshot.Header {
    init(from reader: inout BinaryReader) throws(BinaryError) {
        let version = try reader.readByte()
        guard (HubSnapshot.oldestFormVersion...HubSnapshot.formVersion).contains(version) else {
            throw reader.failure("it is of another version")
        }
        sequence = try reader.readInt64()
        time = try reader.readTimestamp()
        wall = try reader.readTimestamp()
        resumeFloor = try reader.readInt64()
        let json = try reader.readOptional { (reader) throws(BinaryError) in try reader.readJSON() }
        do throws(UnknownRules) {
            settings = if let json { try DecisionSettings(json) } else { nil }
        } catch {
            throw reader.failure(error.description)
        }
        let definitions = try reader.readArray { (reader) throws(BinaryError) in try reader.readJSON() }
        var versions: [Kind] = []
        for source in definitions {
            guard let kind = Kind.read(journaled: source) else {
                throw reader.failure("a kind in it cannot be read any more")
            }
            versions.append(kind)
        }
        let inForce = try reader.readArray { (reader) throws(BinaryError) in try reader.readInt() }
        guard inForce.allSatisfy({ versions.indices.contains($0) }) else { throw reader.failure("a kind is missing") }
        kinds = KindTable(versions: versions, inForce: inForce)
        marks = try reader.readArray { (reader) throws(BinaryError) in
            AgeMark(sequence: try reader.readInt64(), wall: try reader.readTimestamp())
        }
        entityCount = try reader.readInt()
        sources = try reader.readArray { (reader) throws(BinaryError) in
            (
                name: try reader.readString(), count: try reader.readInt(),
                firstNumber: version < 4 ? 0 : try reader.readIDNumber()
            )
        }
    }
}
