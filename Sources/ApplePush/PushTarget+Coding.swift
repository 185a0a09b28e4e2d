public import TelltaleModel

// The stored form of a target, which a performer writes before it acts.
extension PushTarget {
    private static let version: UInt8 = 1
    /// The largest count, rev and time in seconds that is accepted, so that no sum of the machine overflows.
    private static let limit: Int64 = 1 << 53

    /// The whole value; ``init(encoded:)`` reads it.
    public var encoded: [UInt8] {
        var writer = BinaryWriter()
        write(to: &writer)
        return writer.take()
    }

    /// - Throws: For bytes that ``encoded`` cannot produce. No input traps.
    public init(encoded bytes: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(bytes)
        self = try PushTarget(from: &reader)
        guard reader.isAtEnd else { throw reader.failure("goes on behind its end") }
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(Self.version)
        writer.write(role.rawValue)
        switch phase {
        case .absent: writer.write(UInt8(0))
        case .valid: writer.write(UInt8(1))
        case .backingOff(let until):
            writer.write(UInt8(2))
            writer.write(until)
        case .dead: writer.write(UInt8(3))
        }
        writer.write(token) { $0.write($1) }
        writer.write(registered)
        writer.write(wanted) { $1.write(to: &$0) }
        writer.write(settled)
        writer.write(alerted)
        writer.write(isAlertLate)
        writer.write(attempts)
        writer.write(failures)
        writer.write(timestamp)
        budget.write(to: &writer)
        writer.write(underWay) { $1.write(to: &$0) }
    }

    init(from reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == Self.version else { throw reader.failure("a version that is not known") }
        role = try Self.role(&reader)
        switch try reader.readByte() {
        case 0: phase = .absent
        case 1: phase = .valid
        case 2: phase = .backingOff(until: try reader.readTimestamp())
        case 3: phase = .dead
        default: throw reader.failure("no such phase")
        }
        token = try reader.readOptional { reader throws(BinaryError) in try reader.readString() }
        registered = try reader.readTimestamp()
        wanted = try reader.readOptional { reader throws(BinaryError) in try PushedState(from: &reader) }
        settled = try Self.count(&reader)
        alerted = try Self.count(&reader)
        isAlertLate = try reader.readBool()
        attempts = try Self.count(&reader)
        failures = Int(try Self.count(&reader))
        timestamp = try Self.count(&reader)
        budget = try PushBudget(from: &reader)
        underWay = try reader.readOptional { reader throws(BinaryError) in try Attempt(from: &reader) }
        guard token != nil || (phase == .absent || phase == .dead) && underWay == nil else {
            throw reader.failure("no token")
        }
    }

    fileprivate static func role(_ reader: inout BinaryReader) throws(BinaryError) -> Role {
        guard let role = Role(rawValue: try reader.readByte()) else { throw reader.failure("no such role") }
        return role
    }

    fileprivate static func count(_ reader: inout BinaryReader) throws(BinaryError) -> Int64 {
        let value = try reader.readInt64()
        guard (0...limit).contains(value) else { throw reader.failure("a number out of its range") }
        return value
    }
}

extension PushedState {
    fileprivate func write(to writer: inout BinaryWriter) {
        writer.write(rev)
        writer.write(isEnd)
        writer.write(alert)
    }

    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        rev = try PushTarget.count(&reader)
        isEnd = try reader.readBool()
        alert = try PushTarget.count(&reader)
    }
}

extension PushTarget.Attempt {
    fileprivate func write(to writer: inout BinaryWriter) {
        writer.write(number)
        writer.write(token)
        state.write(to: &writer)
        writer.write(role.rawValue)
        writer.write(alerts)
        writer.write(priority)
        writer.write(isThrottled)
        writer.write(timestamp)
        writer.write(alertedBefore)
    }

    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        number = try PushTarget.count(&reader)
        token = try reader.readString()
        state = try PushedState(from: &reader)
        role = try PushTarget.role(&reader)
        alerts = try reader.readBool()
        priority = try reader.readInt()
        guard priority == 5 || priority == 10 else { throw reader.failure("no such priority") }
        isThrottled = try reader.readBool()
        timestamp = try PushTarget.count(&reader)
        alertedBefore = try PushTarget.count(&reader)
    }
}
