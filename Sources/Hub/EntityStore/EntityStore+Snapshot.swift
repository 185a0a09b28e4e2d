internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

extension EntityStore {
    /// The state after the newest record.
    ///
    /// - Precondition: No batch is in progress: a snapshot contains only what is durable.
    var snapshot: HubSnapshot {
        HubSnapshot(
            sequence: sequence, time: recordClocks.time, wall: recordClocks.wall, resumeFloor: resumeFloor,
            settings: hasSettings ? settings : nil, kinds: kinds, entities: entities.withoutLookup,
            entityCount: entities.count, eventIDs: eventIDs.past, taps: taps, attachments: attachments,
            marks: ageMarks.all)
    }

    /// A decoder for the chunks after those that were loaded.
    var snapshotDecoder: SnapshotDecoder { SnapshotDecoder(kinds: kinds) }

    /// Loads the next part of a snapshot into a store without history.
    mutating func load(_ part: SnapshotPart) throws(RecoveryError) {
        switch part.content {
        case .header(let header): restore(header)
        case .entities(let stored): load(stored)
        case .eventIDs(let stored): restore(stored)
        case .eventIDChunk(let chunk):
            guard restore(chunk) else {
                throw .unreadable(place: "the snapshot", reason: "the event ids of \(chunk.source) have a gap")
            }
        case .taps(let taps): restore(taps)
        }
    }

    private mutating func load(_ stored: [StoredEntity]) {
        for (position, one) in stored.enumerated() {
            let ahead = position + Self.lookahead
            if ahead < stored.count { entities.prefetch(hash: stored[ahead].hash) }
            let entity = intern(one.key, hash: one.hash)
            if let history = one.history { restore(history, of: entity) }
            update(entity) { place in
                place.restore(
                    one.state, kind: one.kind, rev: one.rev, lastRecord: one.lastRecord, dismissedAt: one.dismissedAt)
                switch one.state {
                case .widget, .tile: place.isWidget = true
                case .none, .activity, .toggle, .button: break
                }
            }
            if let (owner, accounts) = one.attachment {
                let attachment = Attachments.Attachment(activity: owner.map { intern($0) }, accounts: accounts)
                setAttachment(attachment, of: entity, undoably: false)
            }
        }
    }

    /// How many entries ahead their memory is prefetched.
    private static let lookahead = 8

    /// Finishes loading a snapshot; the records after it follow.
    mutating func finishLoading() {
        // Sorted separately: a table lookup for each comparison would take several times as long.
        var order: [(rev: Int64, entity: EntityIndex)] = []
        order.reserveCapacity(entities.count)
        for entity in entities.existing { order.append((entities[entity].rev, entity)) }
        order.sort { $0.rev < $1.rev }
        for (_, entity) in order {
            touch(entity)
            list(entity)
            if let activity = activity(at: entity) {
                countActivity(at: entity, by: 1)
                arm(entity, deadline: activity.deadline)
            } else {
                countGroup(at: entity, by: 1)
                noteItem(at: entity, isThere: true)
                notePendingOperation(at: entity)
                arm(entity)
            }
        }
        rebuildAggregates()
    }
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
