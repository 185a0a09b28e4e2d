public import TelltaleModel

extension Toggle {
    public func encode(to writer: inout BinaryWriter) {
        writer.write(confirmed, Self.write)
        writer.write(isAssumed)
        writer.write(flight) { writer, flight in
            Self.write(&writer, flight.operation)
            writer.write(flight.startedAt)
            writer.write(flight.deadline)
            writer.write(flight.provider) { $0.write($1) }
        }
        writer.write(queued, Self.write)
        writer.write(held, Self.write)
        writer.write(settlesAt) { $0.write($1) }
        writer.write(provider) { $0.write($1) }
        writer.write(wasServed)
        writer.write(last) { $0.write($1) }
        writer.write(ended) { $0.write($1) }
        writer.write(endsAnew)
    }

    public init(from reader: inout BinaryReader) throws(BinaryError) {
        self.init()
        confirmed = try reader.readOptional(Self.readObservation)
        isAssumed = try reader.readBool()
        flight = try reader.readOptional { (reader) throws(BinaryError) in
            Flight(
                operation: try Self.readOperation(&reader), startedAt: try reader.readTimestamp(),
                deadline: try reader.readTimestamp(), provider: try reader.readOptionalConnection())
        }
        queued = try reader.readOptional(Self.readOperation)
        held = try reader.readOptional(Self.readObservation)
        settlesAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        provider = try reader.readOptionalConnection()
        wasServed = try reader.readBool()
        last = try reader.readOptional { (reader) throws(BinaryError) in try reader.readOperationEnd() }
        ended = try reader.readArray { (reader) throws(BinaryError) in try reader.readOperationEnd() }
        endsAnew = try reader.readBool()
    }

    private static func write(_ writer: inout BinaryWriter, _ observation: Observation) {
        writer.write(observation.value)
        writer.write(observation.at)
    }

    private static func write(_ writer: inout BinaryWriter, _ operation: Operation) {
        writer.write(operation.id.number)
        writer.write(operation.wanted)
        writer.write(operation.tappers) { $0.write($1) }
    }

    private static func readObservation(_ reader: inout BinaryReader) throws(BinaryError) -> Observation {
        Observation(value: try reader.readBool(), at: try reader.readTimestamp())
    }

    private static func readOperation(_ reader: inout BinaryReader) throws(BinaryError) -> Operation {
        Operation(
            id: try reader.readOperationID(), wanted: try reader.readBool(),
            tappers: try reader.readArray { (reader) throws(BinaryError) in try reader.readInt64() })
    }
}
