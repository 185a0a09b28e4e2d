internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// An event as it is decided on and recorded. A class, because it is passed on often and never changes.
final class PostedEvent: Sendable {
    /// The command as it was sent. If it names no account, that is determined when the event is decided.
    let command: EventCommand
    /// The event as an activity takes it.
    let event: ActivityEvent
    /// A hash of key, type and tail. Two events with one id are the same if it is equal (line-protocol.md §4).
    let digest: UInt64
    /// The hashes of the key and of the event's id, if it has one, for a ``HashIndex``.
    let keyHash: UInt64
    let eidHash: UInt64
    /// The address of its tail, and the number of bytes there.
    let tailPlace: (address: MemoryAddress, byteCount: Int)
    /// The request's id, and the names that its reply lists as ignored. They are not recorded.
    let requestID: String?
    let ignored: [String]

    /// The approximate memory of one event. Swift does not report the size of an object.
    static let byteCount = 80 + MemoryLayout<EventCommand>.size + MemoryLayout<ActivityEvent>.size

    /// - Throws: `bad_json` for a tail with a member of the wrong type.
    convenience init(_ command: consuming EventCommand) throws(WireError) {
        var unknown: [String] = []
        let details = try Self.details(of: command, unknown: &unknown)
        self.init(command, details, requestID: nil, ignored: [])
    }

    /// - Parameter details: The details from its tail.
    init(
        _ command: consuming EventCommand, _ details: consuming EventDetails, requestID: consuming String?,
        ignored: consuming [String]
    ) {
        event = ActivityEvent(
            type: command.type, details: consume details, version: command.version, happenedAt: command.happenedAt)
        var hash = StableHash()
        hash.combine(command.key.text)
        hash.combine(command.type)
        hash.combine(encoded: command.tail)
        digest = hash.finalize()
        keyHash = HashIndex.hash(of: command.key.text)
        eidHash = command.eid.map { HashIndex.hash(of: $0) } ?? 0
        tailPlace = command.tail.place
        self.requestID = requestID
        self.ignored = ignored
        self.command = command
    }

    /// - Parameter unknown: Receives the unknown names of the tail's members.
    /// - Throws: `bad_json` for a tail with a member of the wrong type.
    static func details(
        of command: borrowing EventCommand, unknown: inout [String]
    ) throws(WireError) -> EventDetails {
        do throws(ActivityRejection) {
            return try EventDetails(tail: command.tail, unknown: &unknown)
        } catch {
            throw WireError(error)
        }
    }
}

extension PostedEvent {
    /// The names that a widget does not know: attributes that the verb does not know, and `members` of the tail.
    ///
    /// Never inlined: nearly every event is for an activity.
    @inline(never)
    func ignoredByWidget(members: [String]) -> [String] {
        // Names of attributes precede those of members, and none of them is a member of a timeline.
        let attributes = ignored.prefix { name in !command.tail.contains { IgnoredNames.text(of: $0.name) == name } }
        var names = IgnoredNames(Array(attributes))
        for name in members { names.append(member: name) }
        return names.names
    }

    func encode(to writer: inout BinaryWriter, source: String) {
        writer.write(command.key.text)
        writer.write(command.type)
        writer.write(Optional(source)) { $0.write($1) }
        writer.write(command.eid) { $0.write($1) }
        writer.write(command.happenedAt) { $0.write($1) }
        writer.write(command.version) { $0.write($1) }
        writer.write(command.accounts) { $0.write($1) }
        writer.write(JSON.object(command.tail))
    }

    /// Reads what ``encode(to:source:)`` wrote.
    convenience init(from reader: inout BinaryReader) throws(BinaryError) {
        var command = EventCommand(key: try reader.readKey(), type: try reader.readString())
        command.source = try reader.readOptional { (reader) throws(BinaryError) in try reader.readString() }
        command.eid = try reader.readOptional { (reader) throws(BinaryError) in try reader.readString() }
        command.happenedAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        command.version = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
        command.accounts = try reader.readArray { (reader) throws(BinaryError) in try reader.readString() }
        guard case .object(let tail) = try reader.readJSON() else { throw reader.failure("a tail that is no object") }
        command.tail = tail
        do throws(WireError) {
            try self.init(command)
        } catch {
            throw reader.failure(error.message)
        }
    }
}
