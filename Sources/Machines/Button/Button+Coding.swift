public import TelltaleModel

extension Button {
    public func encode(to writer: inout BinaryWriter) {
        encodeFlight(to: &writer)
        writer.write(coolingUntil) { $0.write($1) }
        writer.write(provider) { $0.write($1) }
        writer.write(last) { $0.write($1) }
    }

    public init(from reader: inout BinaryReader) throws(BinaryError) {
        self.init()
        flight = try Self.flight(from: &reader)
        coolingUntil = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        provider = try reader.readOptionalConnection()
        last = try reader.readOptional { (reader) throws(BinaryError) in try reader.readOperationEnd() }
    }

    /// 0 = none; 1 = one without an account, as in earlier releases; 2 = one followed by an account.
    private func encodeFlight(to writer: inout BinaryWriter) {
        guard let flight else { return writer.write(UInt8(0)) }
        writer.write(UInt8(flight.account == nil ? 1 : 2))
        writer.write(flight.operation.number)
        writer.write(flight.deadline)
        writer.write(flight.provider) { $0.write($1) }
        if let account = flight.account { writer.write(account) }
    }

    private static func flight(from reader: inout BinaryReader) throws(BinaryError) -> Flight? {
        let form = try reader.readByte()
        guard form > 0 else { return nil }
        guard form <= 2 else { throw reader.failure("not a press") }
        return Flight(
            operation: try reader.readOperationID(), deadline: try reader.readTimestamp(),
            provider: try reader.readOptionalConnection(), account: form == 2 ? try reader.readString() : nil)
    }
}
