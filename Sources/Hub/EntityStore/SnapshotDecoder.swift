internal import Kinds
internal import Machines
internal import TelltaleModel

/// One chunk of a snapshot, decoded.
public struct SnapshotPart: Sendable {
    enum Content: Sendable {
        case header(HubSnapshot.Header)
        case entities([StoredEntity])
        case eventIDs([StoredEventID])
        case eventIDChunk(StoredIDChunk)
        case taps(TapLedger)
    }

    let content: Content
}

/// The entity of one key, as stored in a snapshot.
struct StoredEntity: Sendable {
    let key: Key
    /// The hash of the key's text, by ``HashIndex/hash(of:)``.
    let hash: UInt64
    let kind: Int
    let rev: Int64
    let lastRecord: Int64
    let history: AudienceHistory?
    let dismissedAt: Timestamp?
    let state: EntityState
    let attachment: (owner: Key?, accounts: [String])?
}

struct StoredEventID: Sendable {
    let source: String
    let item: IDLog.Item
    /// The hash of the id, by ``HashIndex/hash(of:)``.
    let hash: UInt64
}

/// The ids of a full chunk of one source.
struct StoredIDChunk: Sendable {
    let source: String
    /// The number of the first item.
    let firstNumber: Int
    let items: [IDLog.Item]
    /// The hashes of the ids, by ``HashIndex/hash(of:)``.
    let hashes: [UInt64]
}

/// Decodes the chunks of a snapshot in their order.
///
/// This is half of the work of a start and does not need the hub, so another thread can do it while
/// ``Hub/load(_:)-(SnapshotPart)`` runs.
public struct SnapshotDecoder: Sendable {
    private var kinds: KindTable

    public init() { kinds = KindTable() }

    /// A decoder for the chunks after the first, with these kinds.
    init(kinds: KindTable) { self.kinds = kinds }

    /// - Throws: ``RecoveryError/unreadable(place:reason:)`` for bytes that no release has written.
    public mutating func decode(_ chunk: [UInt8]) throws(RecoveryError) -> SnapshotPart {
        do throws(BinaryError) {
            var reader = BinaryReader(chunk)
            let content: SnapshotPart.Content
            switch HubSnapshot.Tag(rawValue: try reader.readByte()) {
            case .header:
                let header = try HubSnapshot.Header(from: &reader)
                kinds = header.kinds
                content = .header(header)
            case .entities:
                var entities: [StoredEntity] = []
                while !reader.isAtEnd { entities.append(try entity(&reader)) }
                content = .entities(entities)
            case .eventIDs:
                var ids: [StoredEventID] = []
                while !reader.isAtEnd { ids.append(try eventID(&reader)) }
                content = .eventIDs(ids)
            case .eventIDChunk: content = .eventIDChunk(try eventIDChunk(&reader))
            case .taps: content = .taps(try TapLedger(from: &reader))
            case nil: throw reader.failure("unknown part")
            }
            guard reader.isAtEnd else { throw reader.failure("more than a part") }
            return SnapshotPart(content: content)
        } catch {
            throw .unreadable(place: "the snapshot", reason: error.description)
        }
    }

    private func entity(_ reader: inout BinaryReader) throws(BinaryError) -> StoredEntity {
        let key = try reader.readKey()
        let kind = try reader.readInt()
        let (rev, lastRecord) = (try reader.readInt64(), try reader.readInt64())
        let history = try AudienceHistory(from: &reader)
        let dismissedAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        let state: EntityState
        let tag = try reader.readByte()
        // A stack has no kind.
        guard tag == HubSnapshot.boardTag || kinds.versions.indices.contains(kind) else {
            throw reader.failure("the kind of \(key) is missing")
        }
        let attachment = tag == 4 || tag == 5 ? try attachment(&reader) : nil
        switch (attachment == nil ? tag : tag - 2, kind < 0 ? nil : kinds.versions[kind].body) {
        case (HubSnapshot.boardTag, _): state = .tile(try BoardItem(from: &reader))
        case (1, .activity(let activityKind)):
            state = .activity(ActivityBox(try Activity(from: &reader, key: key, kind: activityKind)))
        case (2, .toggle): state = .toggle(try Toggle(from: &reader))
        case (3, .button): state = .button(try Button(from: &reader))
        case (6...9, .widget): state = .widget(try Widget(from: &reader, Widget.Form(rawValue: tag) ?? .plain))
        default: throw reader.failure("\(key) is not of its kind")
        }
        return StoredEntity(
            key: key, hash: HashIndex.hash(of: key.text), kind: kind, rev: rev, lastRecord: lastRecord,
            history: history, dismissedAt: dismissedAt, state: state, attachment: attachment)
    }

    private func attachment(
        _ reader: inout BinaryReader
    ) throws(BinaryError) -> (owner: Key?, accounts: [String]) {
        let owner = try reader.readOptional { (reader) throws(BinaryError) in try reader.readKey() }
        return (owner, try reader.readArray { (reader) throws(BinaryError) in try reader.readString() })
    }

    private func eventID(_ reader: inout BinaryReader) throws(BinaryError) -> StoredEventID {
        let (source, eid) = (try reader.readString(), try reader.readString())
        let entry = EventIDs.Entry(digest: try reader.readUInt64(), rev: try reader.readInt64())
        return StoredEventID(
            source: source, item: .init(eid: eid, wall: try reader.readTimestamp(), entry: entry),
            hash: HashIndex.hash(of: eid))
    }

    private func eventIDChunk(_ reader: inout BinaryReader) throws(BinaryError) -> StoredIDChunk {
        let (source, firstNumber) = (try reader.readString(), try reader.readIDNumber())
        var last = IDLog.Item(eid: "", wall: Timestamp(milliseconds: 0), entry: .init(digest: 0, rev: 0))
        var hashes: [UInt64] = []
        let items = try reader.readArray { (reader) throws(BinaryError) in
            let eid = try reader.readString()
            let digest = try reader.readUInt64()
            let rev = last.entry.rev &+ (try reader.readInt64())
            let wall = Timestamp(milliseconds: last.wall.milliseconds &+ (try reader.readInt64()))
            last = IDLog.Item(eid: eid, wall: wall, entry: EventIDs.Entry(digest: digest, rev: rev))
            hashes.append(HashIndex.hash(of: eid))
            return last
        }
        guard items.count == IDLog.chunkLength else { throw reader.failure("not a whole chunk of event ids") }
        return StoredIDChunk(source: source, firstNumber: firstNumber, items: items, hashes: hashes)
    }
}

extension BinaryReader {
    /// The number of an id within its source.
    mutating func readIDNumber() throws(BinaryError) -> Int {
        let number = try readInt()
        guard (0..<1 << 60).contains(number) else { throw failure("not the number of an event id") }
        return number
    }
}
