internal import DequeModule
internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

/// Everything that is true after one record, at a moment between two commits.
///
/// It is a copy that later commits do not touch, and may be encoded on any thread.
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
    /// In no order: what depends on one is for whoever encodes it.
    let eventIDs: [EventIDs.Past]
    let taps: TapLedger
    let marks: Deque<AgeMark>

    static let formVersion: UInt8 = 3
    /// Chunks are about this long, in bytes: a batch waits for the chunk before it.
    private static let chunkByteCount = 512 * 1024

    enum Tag: UInt8 {
        case header = 1
        case entities, eventIDs, taps
    }

    /// Gives the encoded form piece by piece, in the order in which ``Hub/load(_:)`` takes it.
    public func forEachChunk<Failure: Error>(_ body: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
        try body(header())
        var writer = begin(.entities)
        for entity in entities.existing {
            encode(entity, to: &writer)
            if writer.count >= Self.chunkByteCount {
                try body(writer.bytes)
                writer = begin(.entities)
            }
        }
        try body(writer.bytes)
        writer = begin(.eventIDs)
        for past in eventIDs.inOrder {
            try past.log.forEach { (item) throws(Failure) in
                writer.write(past.source)
                writer.write(item.eid)
                writer.write(item.entry.digest)
                writer.write(item.entry.rev)
                writer.write(item.wall)
                guard writer.count >= Self.chunkByteCount else { return }
                try body(writer.bytes)
                writer = begin(.eventIDs)
            }
        }
        try body(writer.bytes)
        writer = begin(.taps)
        taps.encode(to: &writer)
        try body(writer.bytes)
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
        writer.write(Array(marks)) { writer, mark in
            writer.write(mark.sequence)
            writer.write(mark.wall)
        }
        writer.write(entityCount)
        writer.write(eventIDs.inOrder) { writer, past in
            writer.write(past.source)
            writer.write(past.log.count)
        }
        return writer.bytes
    }

    /// A hash of all of it that does not depend on the order in which keys were met: a recovery from the first record
    /// gives the same as one from a later snapshot.
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
            writer.write(UInt8(2))
            toggle.encode(to: &writer)
        case .button(let button):
            writer.write(UInt8(3))
            button.encode(to: &writer)
        }
    }
}

extension [EventIDs.Past] {
    /// The same for the same ids, in whatever order their sources came.
    fileprivate var inOrder: [EventIDs.Past] { sorted { $0.source.precedesInBytes($1.source) } }
}

/// How far the journal was at some moment: what is older than the retention can be found by it.
struct AgeMark: Hashable, Sendable {
    var sequence: Int64
    var wall: Timestamp
}

extension Hub {
    /// The state as it is durable now.
    ///
    /// - Precondition: No batch is being committed.
    public func snapshot() -> HubSnapshot {
        precondition(batch == nil, "what is not durable must not get into a snapshot")
        return HubSnapshot(
            sequence: durableSequence, time: time, wall: wall, resumeFloor: resumeFloor,
            settings: hasSettings ? settings : nil, kinds: kinds, entities: entities.withoutLookup,
            entityCount: entities.count, eventIDs: eventIDs.past, taps: taps, marks: ageMarks)
    }

    /// A hash of everything that a recovery rebuilds: the same journal gives the same one, in every process.
    ///
    /// - Precondition: No batch is being committed.
    public var stateHash: UInt64 { snapshot().stateHash }

    /// Takes the next chunk of a snapshot, into a hub without a past.
    public mutating func load(_ chunk: [UInt8]) throws(RecoveryError) {
        do throws(BinaryError) {
            var reader = BinaryReader(chunk)
            switch HubSnapshot.Tag(rawValue: try reader.readByte()) {
            case .header: try loadHeader(&reader)
            case .entities: while !reader.isAtEnd { try loadEntity(&reader) }
            case .eventIDs: while !reader.isAtEnd { try loadEventID(&reader) }
            case .taps: taps = try TapLedger(from: &reader)
            case nil: throw reader.failure("unknown part")
            }
            guard reader.isAtEnd else { throw reader.failure("more than a part") }
        } catch {
            throw .unreadable(place: "the snapshot", reason: error.description)
        }
    }

    /// The whole snapshot has been loaded; the records after it follow.
    public mutating func finishLoading() {
        let existing = entities.existing.sorted { entities[$0].rev < entities[$1].rev }
        for entity in existing {
            changes.touch(entity)
            countActivity(at: entity, by: 1)
            list(entity)
            noteFlight(at: entity)
            arm(entity)
        }
    }

    private mutating func loadHeader(_ reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == HubSnapshot.formVersion else {
            throw reader.failure("it is of another version")
        }
        sequence = try reader.readInt64()
        durableSequence = sequence
        time = try reader.readTimestamp()
        wall = try reader.readTimestamp()
        resumeFloor = try reader.readInt64()
        if let json = try reader.readOptional({ (reader) throws(BinaryError) in try reader.readJSON() }) {
            settings = DecisionSettings(json)
            hasSettings = true
        }
        let sources = try reader.readArray { (reader) throws(BinaryError) in try reader.readJSON() }
        var versions: [Kind] = []
        for source in sources {
            guard let kind = Kind.read(journaled: source) else {
                throw reader.failure("a kind in it cannot be read any more")
            }
            versions.append(kind)
        }
        let inForce = try reader.readArray { (reader) throws(BinaryError) in try reader.readInt() }
        guard inForce.allSatisfy({ versions.indices.contains($0) }) else { throw reader.failure("a kind is missing") }
        kinds = KindTable(versions: versions, inForce: inForce)
        let marks = try reader.readArray { (reader) throws(BinaryError) in
            AgeMark(sequence: try reader.readInt64(), wall: try reader.readTimestamp())
        }
        ageMarks = Deque(marks)
        entities.reserve(try reader.readInt())
        let counts = try reader.readArray { (reader) throws(BinaryError) in
            (name: try reader.readString(), count: try reader.readInt())
        }
        for source in counts { eventIDs.reserve(source.count, source: source.name) }
    }

    private mutating func loadEntity(_ reader: inout BinaryReader) throws(BinaryError) {
        let key = try reader.readKey()
        let kind = try reader.readInt()
        guard kinds.versions.indices.contains(kind) else { throw reader.failure("the kind of \(key) is missing") }
        let entity = entities.intern(key)
        entities[entity].kind = kind
        entities[entity].rev = try reader.readInt64()
        entities[entity].lastRecord = try reader.readInt64()
        entities.audienceHistories[entity] = try AudienceHistory(from: &reader)
        entities[entity].dismissedAt = try reader.readOptional { (reader) throws(BinaryError) in
            try reader.readTimestamp()
        }
        switch (try reader.readByte(), kinds.versions[kind].body) {
        case (1, .activity(let activityKind)):
            entities[entity].state = .activity(
                ActivityBox(try Activity(from: &reader, key: key, kind: activityKind)))
        case (2, .toggle): entities[entity].state = .toggle(try Toggle(from: &reader))
        case (3, .button): entities[entity].state = .button(try Button(from: &reader))
        default: throw reader.failure("\(key) is not of its kind")
        }
    }

    private mutating func loadEventID(_ reader: inout BinaryReader) throws(BinaryError) {
        let (source, eid) = (try reader.readString(), try reader.readString())
        let entry = EventIDs.Entry(digest: try reader.readUInt64(), rev: try reader.readInt64())
        eventIDs.insert(
            entry, source: source, eid: eid, hash: HashIndex.hash(of: eid), wall: try reader.readTimestamp())
    }

    // MARK: What nobody needs any more

    private static let ageMarkInterval = Milliseconds.minutes(10)

    /// Notes how far the journal is, now and then.
    mutating func markAge() {
        if let last = ageMarks.last, wall - last.wall < Self.ageMarkInterval { return }
        ageMarks.append(AgeMark(sequence: sequence, wall: wall))
    }

    /// The chains of keys that were forgotten since this was last asked.
    public mutating func takePrunedChains() -> [Int64] {
        defer { prunedChains = [] }
        return prunedChains
    }

    /// The newest record that is older than the retention: what a snapshot contains may be pruned up to it.
    public mutating func takePrunableSequence() -> Int64 {
        var sequence: Int64 = 0
        while let oldest = ageMarks.first, wall - oldest.wall > settings.retention {
            sequence = oldest.sequence
            ageMarks.removeFirst()
        }
        return sequence
    }
}
