internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

extension EntityStore {
    /// The state after the newest record.
    ///
    /// - Precondition: No batch is under way: what is not durable must not get into a snapshot.
    var snapshot: HubSnapshot {
        HubSnapshot(
            sequence: sequence, time: time, wall: wall, resumeFloor: resumeFloor,
            settings: hasSettings ? settings : nil, kinds: kinds, entities: entities.withoutLookup,
            entityCount: entities.count, eventIDs: eventIDs.past, taps: taps, attachments: attachments,
            marks: ageMarks.all)
    }

    /// Takes the next chunk of a snapshot, into a store without a past.
    mutating func load(_ chunk: [UInt8]) throws(RecoveryError) {
        do throws(BinaryError) {
            var reader = BinaryReader(chunk)
            switch HubSnapshot.Tag(rawValue: try reader.readByte()) {
            case .header: restore(try HubSnapshot.Header(from: &reader))
            case .entities: while !reader.isAtEnd { try loadEntity(&reader) }
            case .eventIDs: while !reader.isAtEnd { try loadEventID(&reader) }
            case .taps: restore(try TapLedger(from: &reader))
            case nil: throw reader.failure("unknown part")
            }
            guard reader.isAtEnd else { throw reader.failure("more than a part") }
        } catch {
            throw .unreadable(place: "the snapshot", reason: error.description)
        }
    }

    /// The whole snapshot has been loaded; the records after it follow.
    mutating func finishLoading() {
        let existing = entities.existing.sorted { entities[$0].rev < entities[$1].rev }
        for entity in existing {
            touch(entity)
            countActivity(at: entity, by: 1)
            list(entity)
            notePendingOperation(at: entity)
            arm(entity)
        }
    }

    private mutating func loadEntity(_ reader: inout BinaryReader) throws(BinaryError) {
        let key = try reader.readKey()
        let kind = try reader.readInt()
        guard kinds.versions.indices.contains(kind) else { throw reader.failure("the kind of \(key) is missing") }
        let (rev, lastRecord) = (try reader.readInt64(), try reader.readInt64())
        let history = try AudienceHistory(from: &reader)
        let dismissedAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        let state: EntityState
        let tag = try reader.readByte()
        let attachment = tag == 4 || tag == 5 ? try loadAttachment(&reader) : nil
        switch (attachment == nil ? tag : tag - 2, kinds.versions[kind].body) {
        case (1, .activity(let activityKind)):
            state = .activity(ActivityBox(try Activity(from: &reader, key: key, kind: activityKind)))
        case (2, .toggle): state = .toggle(try Toggle(from: &reader))
        case (3, .button): state = .button(try Button(from: &reader))
        case (6, .widget): state = .widget(try Widget(from: &reader))
        default: throw reader.failure("\(key) is not of its kind")
        }
        let entity = intern(key)
        restore(history, of: entity)
        update(entity) { place in
            place.restore(state, kind: kind, rev: rev, lastRecord: lastRecord, dismissedAt: dismissedAt)
            if case .widget = state { place.isWidget = true }
        }
        if let attachment { setAttachment(attachment, of: entity, undoably: false) }
    }

    private mutating func loadAttachment(_ reader: inout BinaryReader) throws(BinaryError) -> Attachments.Attachment {
        let owner = try reader.readOptional { (reader) throws(BinaryError) in try reader.readKey() }
        let accounts = try reader.readArray { (reader) throws(BinaryError) in try reader.readString() }
        return Attachments.Attachment(activity: owner.map { intern($0) }, accounts: accounts)
    }

    private mutating func loadEventID(_ reader: inout BinaryReader) throws(BinaryError) {
        let (source, eid) = (try reader.readString(), try reader.readString())
        let entry = EventIDs.Entry(digest: try reader.readUInt64(), rev: try reader.readInt64())
        restore(entry, source: source, eid: eid, wall: try reader.readTimestamp())
    }
}

extension HubSnapshot.Header {
    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == HubSnapshot.formVersion else {
            throw reader.failure("it is of another version")
        }
        sequence = try reader.readInt64()
        time = try reader.readTimestamp()
        wall = try reader.readTimestamp()
        resumeFloor = try reader.readInt64()
        let json = try reader.readOptional { (reader) throws(BinaryError) in try reader.readJSON() }
        settings = json.map { DecisionSettings($0) }
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
        marks = try reader.readArray { (reader) throws(BinaryError) in
            AgeMark(sequence: try reader.readInt64(), wall: try reader.readTimestamp())
        }
        entityCount = try reader.readInt()
        eventIDCounts = try reader.readArray { (reader) throws(BinaryError) in
            (name: try reader.readString(), count: try reader.readInt())
        }
    }
}
