/// The encodings of tokens and identifiers: hexadecimal, base64 and base64url, without a clock or a library.
enum Encodings {
    private static let hexDigits = Array("0123456789abcdef".utf8)

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(hexDigits[Int(byte >> 4)])
            text.append(hexDigits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: `nil` for an odd count of digits, or anything else than hexadecimal digits of either case.
    static func bytes(hex text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = value(ofHex: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private static func value(ofHex digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Base64 of RFC 4648: the standard alphabet with its padding, or the URL's without.
    ///
    /// - Returns: `nil` for other bytes, a wrong length, or bits that are left over.
    static func bytes(base64 text: some StringProtocol, isURL: Bool) -> [UInt8]? {
        var digits = Array(text.utf8)
        if !isURL {
            guard digits.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            guard let value = value(ofBase64: digit, isURL: isURL) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
                bits &= (1 << UInt32(count)) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }

    private static func value(ofBase64 digit: UInt8, isURL: Bool) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: isURL ? "-" : "+"): 62
        case UInt8(ascii: isURL ? "_" : "/"): 63
        default: nil
        }
    }

    private static let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func base64(_ bytes: [UInt8], isURL: Bool) -> String {
        let digits = base64Digits + Array((isURL ? "-_" : "+/").utf8)
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let group = bytes[index..<min(index + 3, bytes.count)]
            var bits: UInt32 = 0
            for offset in 0..<3 {
                bits = bits << 8 | UInt32(offset < group.count ? group[group.startIndex + offset] : 0)
            }
            for digit in 0...group.count { text.append(digits[Int(bits >> UInt32(18 - 6 * digit) & 63)]) }
            if !isURL { for _ in group.count..<3 { text.append(UInt8(ascii: "=")) } }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A whole number in decimal digits, with a sign where it is negative.
    static func integer(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= 19, text.utf8.first != UInt8(ascii: "+") else { return nil }
        return Int64(text)
    }

    /// Whether it is a UUID in its canonical form: lower-case digits in groups of 8, 4, 4, 4 and 12.
    static func isUUID(_ text: some StringProtocol) -> Bool {
        let digits = Array(text.utf8)
        guard digits.count == 36 else { return false }
        for (index, digit) in digits.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard digit == UInt8(ascii: "-") else { return false }
            } else {
                guard value(ofHex: digit) != nil, !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit) else {
                    return false
                }
            }
        }
        return true
    }
}
