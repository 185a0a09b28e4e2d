/// The encodings of tokens and identifiers, apart from ``Base64``.
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

    /// - Returns: `nil` for an odd number of digits, or anything but hexadecimal digits of either case.
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

    /// Parses a decimal integer, with a sign if it is negative.
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
