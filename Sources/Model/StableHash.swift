/// A 64-bit hash that is the same on every machine, in every process and in every release.
///
/// Journals and cursors hold its results, so its definition must never change. It guards against accidents, not
/// against somebody who searches for collisions.
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

    /// Length first, so that `"ab" + "c"` and `"a" + "bc"` differ; then eight bytes at a time, little-endian.
    public mutating func combine(_ bytes: Span<UInt8>) {
        let count = bytes.count
        combine(UInt64(count))
        var offset = 0
        while offset <= count - 8 {
            combine(bytes.word(at: offset))
            offset += 8
        }
        guard offset < count else { return }
        var word: UInt64 = 0
        var shift: UInt64 = 0
        while offset < count {
            word |= UInt64(bytes[offset]) << shift
            shift += 8
            offset += 1
        }
        combine(word)
    }

    public mutating func combine(_ text: String) {
        combine(text.utf8.span)
    }

    /// Equal values give equal hashes, however they were written.
    public mutating func combine(json: JSON) {
        switch json {
        case .null: combine(0)
        case .bool(let bool): combine(bool ? 2 : 1)
        case .integer(let integer):
            combine(3)
            combine(UInt64(bitPattern: integer))
        case .number(let number):
            combine(4)
            combine(number.bitPattern)
        case .string(let string):
            combine(5)
            combine(string)
        case .array(let elements):
            combine(6)
            combine(UInt64(elements.count))
            for element in elements { combine(json: element) }
        case .object(let object):
            combine(7)
            combine(UInt64(object.count))
            for member in object {
                combine(member.name)
                combine(json: member.value)
            }
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
