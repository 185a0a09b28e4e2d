internal import TelltaleModel

/// How far one registration has received one activity, as stored.
struct PushLane: Sendable {
    var machine: PushTarget
    /// Identifies the activity: a key may be used for another one later.
    var instance: Int64 = 0
    var alert: OutgoingPush.Alert?
    /// Whether it was informed of the restart of the process.
    private(set) var isAwake = true

    /// Attempts are numbered from the time, so that an answer to an earlier lane is not taken for one to this lane.
    init(_ role: PushTarget.Role, _ registration: PushRegistration, at now: Timestamp) {
        machine = PushTarget(role, isFrequent: registration.isFrequent, at: now)
        machine.attempts = max(0, now.milliseconds)
    }

    mutating func wake(at now: Timestamp) {
        guard !isAwake else { return }
        isAwake = true
        machine.absorb(.restarted, at: now)
    }

    // MARK: Coding

    private static let version: UInt8 = 1

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.version)
        writer.write(instance)
        writer.write(alert) { writer, alert in
            writer.write(alert.title)
            writer.write(alert.body)
            writer.write(alert.sound) { $0.write($1) }
        }
        machine.write(to: &writer)
        return writer.take()
    }

    /// It sleeps until its rows have arrived.
    init(encoded bytes: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(bytes)
        guard try reader.readByte() == Self.version else { throw reader.failure("a version that is not known") }
        instance = try reader.readInt64()
        alert = try reader.readOptional { reader throws(BinaryError) in
            let title = try reader.readString()
            let body = try reader.readString()
            return OutgoingPush.Alert(
                title: title, body: body,
                sound: try reader.readOptional { reader throws(BinaryError) in try reader.readString() })
        }
        machine = try PushTarget(from: &reader)
        guard reader.isAtEnd else { throw reader.failure("goes on behind its end") }
        isAwake = false
    }
}
