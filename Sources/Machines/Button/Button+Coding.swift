public import TelltaleModel

extension Button {
    public func encode(to writer: inout BinaryWriter) {
        writer.write(flight) { writer, flight in
            writer.write(flight.operation.number)
            writer.write(flight.deadline)
            writer.write(flight.provider) { $0.write($1) }
        }
        writer.write(coolingUntil) { $0.write($1) }
        writer.write(provider) { $0.write($1) }
        writer.write(last) { $0.write($1) }
    }

    public init(from reader: inout BinaryReader) throws(BinaryError) {
        self.init()
        flight = try reader.readOptional { (reader) throws(BinaryError) in
            Flight(
                operation: try reader.readOperationID(), deadline: try reader.readTimestamp(),
                provider: try reader.readOptionalConnection())
        }
        coolingUntil = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        provider = try reader.readOptionalConnection()
        last = try reader.readOptional { (reader) throws(BinaryError) in try reader.readOperationEnd() }
    }
}
