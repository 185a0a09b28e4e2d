/// Bytes as hexadecimal digits.
public enum Hexadecimal {
    /// Two lower-case digits for each byte.
    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        var buffer = ByteBuffer()
        for byte in bytes { buffer.append(hexadecimal: UInt64(byte), digits: 2) }
        return String(decoding: buffer.array, as: UTF8.self)
    }

    /// The lowest `digits` digits of a number.
    public static func text(of number: UInt64, digits: Int = 16) -> String {
        var buffer = ByteBuffer()
        buffer.append(hexadecimal: number, digits: digits)
        return String(decoding: buffer.array, as: UTF8.self)
    }

    /// - Returns: `nil` for an odd number of digits, or anything but hexadecimal digits of either case.
    public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = value(of: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    /// The value of a digit of either case.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
