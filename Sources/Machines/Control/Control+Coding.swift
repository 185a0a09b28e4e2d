internal import TelltaleModel

// The encoding of the parts that toggles and buttons share.

extension BinaryWriter {
    mutating func write(_ end: OperationEnd) {
        write(end.operation.number)
        switch end.result {
        case .confirmed: write(UInt8(0))
        case .superseded: write(UInt8(1))
        case .reverted(.failed): write(UInt8(2))
        case .reverted(.timeout): write(UInt8(3))
        case .reverted(.overridden): write(UInt8(4))
        case .reverted(.unavailable): write(UInt8(5))
        }
        write(end.failure) { writer, failure in
            writer.write(failure.code) { $0.write($1) }
            writer.write(failure.message) { $0.write($1) }
        }
    }
}

extension BinaryReader {
    mutating func readOperationID() throws(BinaryError) -> OperationID { OperationID(try readInt64()) }

    mutating func readOperationEnd() throws(BinaryError) -> OperationEnd {
        let operation = try readOperationID()
        let result: OperationResult =
            switch try readByte() {
            case 0: .confirmed
            case 1: .superseded
            case 2: .reverted(.failed)
            case 3: .reverted(.timeout)
            case 4: .reverted(.overridden)
            case 5: .reverted(.unavailable)
            default: throw failure("not a result")
            }
        let failure = try readOptional { (reader) throws(BinaryError) in
            ProviderFailure(
                code: try reader.readOptionalString(), message: try reader.readOptionalString())
        }
        return OperationEnd(operation, result, failure: failure)
    }

    mutating func readOptionalString() throws(BinaryError) -> String? {
        try readOptional { (reader) throws(BinaryError) in try reader.readString() }
    }

    mutating func readOptionalConnection() throws(BinaryError) -> ConnectionNumber? {
        try readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
    }
}
