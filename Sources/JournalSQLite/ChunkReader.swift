internal import Journal

/// Reads the chunks of snapshots, and the blocks that stand for some of them.
struct ChunkReader {
    struct Chunk {
        var bytes: [UInt8]
        /// The stored checksum.
        var checksum: UInt64
        /// Whether the chunk, and its block if it has one, match their checksums.
        var isWhole: Bool
    }

    private let chunks: SQLiteStatement
    private let blocks: SQLiteStatement?

    init(_ connection: SQLiteConnection) throws(JournalError) {
        chunks = try connection.prepare("SELECT body, checksum FROM chunk WHERE id = ?1")
        let hasBlocks = try JournalSchema.hasBlocks(connection)
        blocks = hasBlocks ? try connection.prepare("SELECT body, checksum FROM block WHERE id = ?1") : nil
    }

    /// - Parameters:
    ///   - number: The chunk's number in its snapshot.
    ///   - link: The checksum of the chunk before it.
    /// - Returns: `nil` for a chunk that is missing, or whose block is.
    func chunk(_ number: Int64, ofSnapshot snapshot: Int64, link: UInt64) throws(JournalError) -> Chunk? {
        chunks.bind(snapshot * JournalSchema.chunkLimit + number, 1)
        defer { chunks.reset() }
        guard try chunks.step() else { return nil }
        let stored = chunks.word(1)
        guard chunks.isInteger(0) else {
            let (bytes, checksum) = unsafe chunks.withBytes(0) { bytes in
                unsafe (Array(bytes), Checksum.chunk(link: link, number: number, body: bytes))
            }
            return Chunk(bytes: bytes, checksum: stored, isWhole: checksum == stored)
        }
        let id = chunks.integer(0)
        guard let blocks else { return nil }
        blocks.bind(id, 1)
        defer { blocks.reset() }
        guard try blocks.step() else { return nil }
        let (bytes, checksum) = unsafe blocks.withBytes(0) { bytes in
            unsafe (Array(bytes), Checksum.block(id: id, body: bytes))
        }
        let isWhole =
            checksum == blocks.word(1)
            && stored == Checksum.reference(link: link, number: number, block: id, checksum: checksum)
        return Chunk(bytes: bytes, checksum: stored, isWhole: isWhole)
    }
}
