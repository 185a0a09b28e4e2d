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
    let attachments: Attachments
    let marks: [AgeMark]

    static let formVersion: UInt8 = 3
    /// Chunks are about this long, in bytes: a batch waits for the chunk before it.
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
        /// How many ids each source has, so that there is room for them.
        var eventIDCounts: [(name: String, count: Int)]
    }

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
        writer.write(marks) { writer, mark in
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
            encodeAttachment(of: entity, plain: 2, attached: 4, to: &writer)
            toggle.encode(to: &writer)
        case .button(let button):
            encodeAttachment(of: entity, plain: 3, attached: 5, to: &writer)
            button.encode(to: &writer)
        case .widget(let widget):
            writer.write(UInt8(6))
            widget.encode(to: &writer)
        }
    }
}

extension HubSnapshot {
    /// Writes the tag of a control, and behind it what it belongs to, where it belongs to something.
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
    /// The same for the same ids, in whatever order their sources came.
    fileprivate var inOrder: [EventIDs.Past] { sorted { $0.source.precedesInBytes($1.source) } }
}
