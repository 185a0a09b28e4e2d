internal import TelltaleModel

/// The content that a checksum covers, defined in one place for writing and reading.
enum Checksum {
    /// A record's checksum covers that of the record before it, so that a removed, added or moved record is detected.
    static func record(
        link: UInt64, sequence: Int64, time: Int64, previous: Int64, entity: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) -> UInt64 {
        var hash = StableHash(seed: link)
        hash.combine(UInt64(bitPattern: sequence))
        hash.combine(UInt64(bitPattern: time))
        hash.combine(UInt64(bitPattern: previous))
        unsafe hash.combine(Span(_unsafeBytes: entity))
        unsafe hash.combine(Span(_unsafeBytes: body))
        return hash.finalize()
    }

    /// The same for the chunks of a snapshot. The first chunk's link is its snapshot's sequence.
    static func chunk(link: UInt64, number: Int64, body: UnsafeRawBufferPointer) -> UInt64 {
        var hash = StableHash(seed: link)
        hash.combine(UInt64(bitPattern: number))
        unsafe hash.combine(Span(_unsafeBytes: body))
        return hash.finalize()
    }

    /// A block belongs to no snapshot, so that its checksum covers no other.
    static func block(id: Int64, body: UnsafeRawBufferPointer) -> UInt64 {
        unsafe chunk(link: UInt64(bitPattern: id), number: 0, body: body)
    }

    /// The checksum of a chunk whose body is a block.
    static func reference(link: UInt64, number: Int64, block: Int64, checksum: UInt64) -> UInt64 {
        words(link, UInt64(bitPattern: number), UInt64(bitPattern: block), checksum)
    }

    static func words(_ words: UInt64...) -> UInt64 {
        var hash = StableHash(seed: UInt64(words.count))
        for word in words { hash.combine(word) }
        return hash.finalize()
    }
}
