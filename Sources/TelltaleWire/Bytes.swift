internal import TelltaleModel

// The character classes of the protocol, over bytes: a `String` would treat `\r\n` as one character and compare by
// canonical equivalence.

extension UInt8 {
    /// `0x20...0x7E`: the bytes of a line that need no further check.
    var isPrintableASCII: Bool { self &- 0x20 < 0x5F }
    /// `0x21...0x7E`: the bytes of a value.
    var isVisibleASCII: Bool { self &- 0x21 < 0x5E }
    var isLetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }
    var isLowercaseLetter: Bool { self &- UInt8(ascii: "a") < 26 }
    var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

    var isEventNameByte: Bool {
        isLetter || isDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: ".") || self == UInt8(ascii: ":")
            || self == UInt8(ascii: "-")
    }

    /// The value of a lower-case hexadecimal digit.
    var hexValue: UInt8? {
        if isDigit { return self - UInt8(ascii: "0") }
        return self &- UInt8(ascii: "a") < 6 ? self - UInt8(ascii: "a") + 10 : nil
    }
}

extension Span<UInt8> {
    /// The text in `range`. Malformed UTF-8 is replaced, never a trap.
    func text(_ range: Range<Int>) -> String {
        let piece = extracting(range)
        if let text = String(ascii: piece) { return text }
        if let text = try? UTF8Span(validating: piece) { return String(copying: text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(piece.count)
        for index in piece.indices { bytes.append(piece[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The offset after the last byte that is not a blank.
    var endWithoutBlanks: Int {
        var end = count
        while end > 0, self[end - 1] == UInt8(ascii: " ") { end -= 1 }
        return end
    }

    func allSatisfy(_ range: Range<Int>, _ isMember: (UInt8) -> Bool) -> Bool {
        for index in range where !isMember(self[index]) { return false }
        return true
    }

    /// A whole number: ASCII digits alone, no sign, within an Int64. Leading zeros are accepted.
    func decimal(_ range: Range<Int>) -> Int64? {
        guard !range.isEmpty else { return nil }
        var value: Int64 = 0
        for index in range {
            guard self[index].isDigit else { return nil }
            let (product, productOverflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = product.addingReportingOverflow(Int64(self[index] - UInt8(ascii: "0")))
            guard !productOverflow, !sumOverflow else { return nil }
            value = sum
        }
        return value
    }

    /// Up to 16 ASCII bytes as one number, so that names are compared in one or two instructions.
    ///
    /// - Parameter uppercase: Whether to read letters as upper case. The bytes must then be letters.
    func packed(_ range: Range<Int>, uppercase: Bool = false) -> PackedName? {
        guard range.count <= WireLimits.attributeNameLength else { return nil }
        let mask: UInt8 = uppercase ? 0xDF : 0xFF
        var value: UInt128 = 0
        for index in range { value = value << 8 | UInt128(self[index] & mask) }
        return PackedName(value: value)
    }

    /// The end of the first word if it is a valid verb: 2 to 12 letters, then a space or the end of the line.
    func verbEnd() -> Int? {
        var end = 0
        while end < count, self[end].isLetter {
            guard end < WireLimits.verbLength.upperBound else { return nil }
            end += 1
        }
        guard WireLimits.verbLength.contains(end), end == count || self[end] == UInt8(ascii: " ") else { return nil }
        return end
    }
}

/// A short ASCII name as a number.
struct PackedName: Hashable, Sendable {
    let value: UInt128

    init(value: UInt128) {
        self.value = value
    }

    /// - Precondition: `name` has at most 16 bytes.
    init(_ name: String) {
        precondition(name.utf8.count <= WireLimits.attributeNameLength, "no packed name is that long")
        value = name.utf8.reduce(0) { $0 << 8 | UInt128($1) }
    }
}
