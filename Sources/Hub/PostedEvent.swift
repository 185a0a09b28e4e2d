internal import Machines
internal import Model
internal import Wire

/// An event as it is decided on and recorded. An object, because it goes through many hands and never changes.
final class PostedEvent: Sendable {
    /// As it was sent. Whose it is, where that does not say so, is known when it is decided on.
    let command: EventCommand
    /// What it tells an activity.
    let event: ActivityEvent
    /// What makes two events with one id the same: key, type and tail (protocol.md §3).
    let digest: UInt64
    /// Of the key, and of its own id where it has one: as a ``HashIndex`` wants them.
    let keyHash: UInt64
    let eidHash: UInt64

    /// About what one takes in memory: Swift does not tell the size of an object.
    static let byteCount = 40 + MemoryLayout<EventCommand>.size + MemoryLayout<ActivityEvent>.size

    /// - Throws: `bad_json` for a tail with a member of the wrong type.
    init(_ command: consuming EventCommand) throws(WireError) {
        self.command = command
        do throws(ActivityRejection) {
            event = ActivityEvent(
                type: self.command.type, details: try EventDetails(tail: self.command.tail),
                version: self.command.version, happenedAt: self.command.happenedAt)
        } catch {
            throw WireError(error)
        }
        var hash = StableHash()
        hash.combine(self.command.key.text)
        hash.combine(self.command.type)
        hash.combine(encoded: self.command.tail)
        digest = hash.finalize()
        keyHash = HashIndex.hash(of: self.command.key.text)
        eidHash = self.command.eid.map { HashIndex.hash(of: $0) } ?? 0
    }
}

extension PostedEvent {
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
