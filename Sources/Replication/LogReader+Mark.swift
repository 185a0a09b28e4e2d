public import TelltaleModel

// The part of a reader that the local journal stores, so that a restarted node continues where it was.
extension LogReader {
    /// Since form 2 a mark says where the local journal begins, since form 3 why its node stopped.
    private static let version: UInt8 = 3

    /// Everything but the parts of an incomplete batch.
    ///
    /// - Precondition: Not ``isInBatch``.
    public var mark: [UInt8] {
        precondition(!isInBatch, "the rest of a batch would be read without its beginning")
        var writer = BinaryWriter()
        writer.write(Self.version)
        writer.write(cluster)
        writer.write(epoch) { $0.write($1) }
        writer.write(position)
        writer.write(digests) { $0.write($1) }
        writer.write(chain.sequence)
        writer.write(chain.link)
        writer.write(chain.time)
        writer.write(leader) { writer, leader in
            writer.write(leader.term)
            writer.write(leader.node)
            writer.write(leader.instance)
            writer.write(leader.address)
        }
        writer.write(hasResigned)
        writer.write(isSealed)
        writer.write(origin) { writer, origin in
            writer.write(origin.sequence)
            writer.write(origin.link)
            writer.write(origin.time)
        }
        writer.write(loss) { $0.write($1) }
        return writer.take()
    }

    /// Reads a ``mark``.
    ///
    /// - Throws: For any other bytes. No input traps.
    public init(mark: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(mark)
        let version = try reader.readByte()
        guard (1...Self.version).contains(version) else { throw reader.failure("a mark of another release") }
        let cluster = try reader.readString()
        let epoch = try reader.readByte() == 0 ? nil : try reader.readUInt64()
        let position = try reader.readInt64()
        let count = try reader.readUInt64()
        guard position >= 0, count <= UInt64(Self.digestCount) else { throw reader.failure("no place of a log") }
        var digests: [UInt64] = []
        for _ in 0..<count { digests.append(try reader.readUInt64()) }
        let chain = RecordChain(
            sequence: try reader.readInt64(), link: try reader.readUInt64(), time: try reader.readTimestamp())
        var leader: Leader?
        if try reader.readByte() != 0 {
            leader = Leader(
                term: try reader.readInt64(), node: try reader.readString(), instance: try reader.readUInt64(),
                address: try reader.readString())
        }
        let (hasResigned, isSealed) = (try reader.readByte() != 0, try reader.readByte() != 0)
        var origin: RecordChain?
        if version > 1, try reader.readByte() != 0 {
            origin = RecordChain(
                sequence: try reader.readInt64(), link: try reader.readUInt64(), time: try reader.readTimestamp())
        }
        var loss: String?
        if version > 2, try reader.readByte() != 0 { loss = try reader.readString() }
        guard chain.sequence >= 0, reader.isAtEnd, (leader?.term ?? 0) <= Self.highestTerm else {
            throw reader.failure("more than a mark")
        }
        self.init(
            cluster: cluster, epoch: epoch, position: position, digests: digests, chain: chain, leader: leader,
            hasResigned: hasResigned, isSealed: isSealed, origin: origin, loss: loss)
    }
}
