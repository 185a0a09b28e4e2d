/// A 64-bit hash that is the same on every machine, in every process and in every release.
///
/// Journals and cursors store its results, so its definition must never change. It detects accidental differences and
/// is not collision-resistant against an attacker.
public struct StableHash: Sendable {
    @usableFromInline var state: UInt64

    public init(seed: UInt64 = 0) {
        state = seed ^ 0x9E37_79B9_7F4A_7C15
    }

    @inlinable
    public mutating func combine(_ word: UInt64) {
        let (high, low) = (state ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        state = (high ^ low) &+ 0xA076_1D64_78BD_642F
    }

    /// Hashes the length first, so that `"ab" + "c"` and `"a" + "bc"` differ; then eight bytes at a time,
    /// little-endian.
    public mutating func combine(_ bytes: Span<UInt8>) {
        let count = bytes.count
        combine(UInt64(count))
        var offset = 0
        while offset <= count - 8 {
            combine(bytes.word(at: offset))
            offset += 8
        }
        guard offset < count else { return }
        // The remainder is one zero-extended word. For eight bytes or more it is cut out of the last full word, without
        // a loop.
        if count >= 8 { return combine(bytes.word(at: count - 8) >> UInt64(8 * (8 - (count - offset)))) }
        var word: UInt64 = 0
        while offset < count {
            word |= UInt64(bytes[offset]) << UInt64(8 * offset)
            offset += 1
        }
        combine(word)
    }

    public mutating func combine(_ text: String) {
        combine(text.utf8.span)
    }

    /// Hashes the journal's encoding of `object`. Equal objects give equal hashes, however they were written.
    public mutating func combine(encoded object: JSONObject) { object.withForm { combine($0) } }

    /// Hashes `json` by its parts. Equal values give equal hashes, however they were written. The result differs from
    /// that of ``combine(encoded:)``.
    public mutating func combine(json: JSON) {
        switch json {
        case .null: combine(UInt64(JSONTag.null))
        case .bool(let bool): combine(UInt64(bool ? JSONTag.true : JSONTag.false))
        case .integer(let integer):
            combine(UInt64(JSONTag.integer))
            combine(UInt64(bitPattern: integer))
        case .number(let number):
            combine(UInt64(JSONTag.number))
            combine(number.bitPattern)
        case .string(let string):
            combine(UInt64(JSONTag.string))
            combine(string)
        case .array(let elements):
            combine(UInt64(JSONTag.array))
            combine(UInt64(elements.count))
            for element in elements { combine(json: element) }
        case .object(let object): object.combine(into: &self)
        }
    }

    public func finalize() -> UInt64 {
        var hash = state
        hash ^= hash >> 32
        hash = hash &* 0xD6E8_FEB8_6659_FD93
        hash ^= hash >> 32
        return hash
    }

    public static func of(_ bytes: Span<UInt8>) -> UInt64 {
        var hash = StableHash()
        hash.combine(bytes)
        return hash.finalize()
    }

    public static func of(_ text: String) -> UInt64 {
        var hash = StableHash()
        hash.combine(text)
        return hash.finalize()
    }
}
