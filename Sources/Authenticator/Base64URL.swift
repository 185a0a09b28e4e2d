/// base64url without padding (RFC 4648 §5, RFC 7515 §2), in its one canonical form.
enum Base64URL {
    /// The bytes of `text`; `nil` for padding, another alphabet, a length that no bytes have, and unused bits that are
    /// not 0. Two texts therefore never stand for the same bytes.
    static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in text {
            guard let digit = digit(of: byte) else { return nil }
            bits = bits << 6 | UInt32(digit)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            bits &= (1 << UInt32(bitCount)) - 1
        }
        return bits == 0 ? bytes : nil
    }

    private static func digit(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        case _: nil
        }
    }
}
