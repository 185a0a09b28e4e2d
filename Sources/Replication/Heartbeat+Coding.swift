public import TelltaleModel

extension Heartbeat {
    /// The form of a heartbeat that this release writes. A later release appends fields.
    private static let version: UInt8 = 5

    /// More than a machine can have. What another program wrote must not overflow a sum.
    private static let connectionLimit = 1 << 31

    /// The bytes of the heartbeat, for the log store to store.
    public func encoded() -> [UInt8] {
        var writer = BinaryWriter()
        // Without figures it is one of an earlier release.
        writer.write(service == nil ? Self.version - 1 : Self.version)
        writer.write(node)
        writer.write(role.rawValue)
        writer.write(term)
        writer.write(position)
        writer.write(address)
        writer.write(release)
        writer.write(number)
        writer.write(instance)
        // An earlier release knows an observer as a node that does not try to lead now.
        writer.write(isHeldBack || isObserver)
        writer.write(isObserver)
        if let service {
            writer.write(service.connections)
            writer.write(service.isServing)
            writer.write(service.isDraining)
        }
        return writer.take()
    }

    /// Reads what ``encoded()`` wrote, and ignores the fields of a later release.
    ///
    /// - Throws: For any other bytes. No input traps.
    public init(decoding bytes: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(bytes)
        let version = try reader.readByte()
        guard version >= 1 else { throw reader.failure("a beat of another version") }
        let node = try reader.readString()
        guard let role = Replica.Role(rawValue: try reader.readString()) else {
            throw reader.failure("a beat of an unknown role")
        }
        self.init(
            node: node, role: role, term: try reader.readInt64(), position: try reader.readInt64(),
            address: try reader.readString(), release: try reader.readString(), number: try reader.readInt64())
        if version >= 2 { instance = try reader.readUInt64() }
        if version >= 3 { isHeldBack = try reader.readBool() }
        if version >= 4 { isObserver = try reader.readBool() }
        if version >= 5 {
            service = NodeService(
                connections: min(max(0, try reader.readInt()), Self.connectionLimit), isServing: try reader.readBool(),
                isDraining: try reader.readBool())
        }
    }
}
