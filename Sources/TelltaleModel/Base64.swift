/// Base64 of RFC 4648, in its one canonical form.
public enum Base64 {
    public enum Alphabet {
        /// §4, with padding.
        case standard
        /// §5, without padding, as JSON Web Tokens have it (RFC 7515 §2).
        case url
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The bytes of `text`; `nil` for padding that is wrong, another alphabet, a length that no bytes have, and unused bits
    /// that are not 0. Two texts therefore never stand for the same bytes.
    public static func bytes(_ text: some BidirectionalCollection<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
        var digits = text[...]
        if alphabet == .standard {
            guard text.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where digits.last == padding { digits.removeLast() }
        }
        let count = digits.count
        guard count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in digits {
            guard let digit = digit(of: byte, alphabet) else { return nil }
            bits = bits << 6 | UInt32(digit)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            bits &= (1 << UInt32(bitCount)) - 1
        }
        return bits == 0 ? bytes : nil
    }

    public static func text(_ bytes: [UInt8], _ alphabet: Alphabet) -> String {
        let digits = digits + Array((alphabet == .url ? "-_" : "+/").utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? UInt32(group[start + offset]) : 0) }
            for digit in 0...group.count { text.append(digits[Int(bits >> UInt32(18 - 6 * digit) & 63)]) }
            if alphabet == .standard { for _ in group.count..<3 { text.append(padding) } }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(of byte: UInt8, _ alphabet: Alphabet) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case alphabet == .url ? UInt8(ascii: "-") : UInt8(ascii: "+"): 62
        case alphabet == .url ? UInt8(ascii: "_") : UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
