internal import Journal
internal import TelltaleModel

/// What a checksum covers, in one place: written here, read everywhere.
enum Checksum {
    /// Each record's checksum covers that of the record before it, so none can be taken away, added or moved.
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

    /// The same for the chunks of a snapshot; the first one's link is its snapshot's sequence.
    static func chunk(link: UInt64, number: Int64, body: UnsafeRawBufferPointer) -> UInt64 {
        var hash = StableHash(seed: link)
        hash.combine(UInt64(bitPattern: number))
        unsafe hash.combine(Span(_unsafeBytes: body))
        return hash.finalize()
    }

    static func words(_ words: UInt64...) -> UInt64 {
        var hash = StableHash(seed: UInt64(words.count))
        for word in words { hash.combine(word) }
        return hash.finalize()
    }
}
