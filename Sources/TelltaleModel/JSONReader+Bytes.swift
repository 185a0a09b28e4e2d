// Helpers for JSON readers: bytes and counts.

extension BinaryWriter {
    /// Reserves space for a count that is not known yet.
    ///
    /// - Returns: Its place, for ``fill(count:at:)``.
    mutating func reserveCount() -> Int {
        write(UInt8(0))
        return count - 1
    }

    /// Writes a count where ``reserveCount()`` left room for it.
    mutating func fill(count: Int, at place: Int) {
        // Nearly every count fits the reserved byte.
        if count < 0x80 { return replaceByte(at: place, with: UInt8(count)) }
        let behind = bytes(from: place + 1)
        removeAll(from: place)
        write(UInt64(count))
        write(copying: behind.span)
    }
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}

/// Why `\u` begins no character.
package enum UnicodeEscapeFault: Error {
    /// Its four hexadecimal digits are not there.
    case digits
    /// It is half of a surrogate pair.
    case surrogate
}

extension Span<UInt8> {
    /// The offset of the first byte at or after `start` that ends a run of plain characters in a string: a quote, a
    /// backslash or a control character; `count` if there is none.
    func plainEnd(from start: Int) -> Int {
        var index = start
        while true {
            index = firstEscape(from: index)
            // DEL may stand in JSON.
            guard index < count, self[index] == 0x7F else { return index }
            index += 1
        }
    }

    /// The offset of the first byte that is not part of a UTF-8 text; `nil` if there is none.
    package func firstInvalidUTF8() -> Int? {
        if isASCII { return nil }
        do {
            _ = try UTF8Span(validating: self)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }

    /// The scalar of an escape `\uXXXX`, or of two that are a surrogate pair.
    ///
    /// - Parameter offset: Behind the `\u`; moved behind the escape.
    package func unicodeEscape(at offset: inout Int) throws(UnicodeEscapeFault) -> Unicode.Scalar {
        guard var code = hexadecimal(at: offset) else { throw .digits }
        offset += 4
        if (0xD800..<0xDC00).contains(code), offset + 1 < count, self[offset] == UInt8(ascii: "\\"),
            self[offset + 1] == UInt8(ascii: "u"), let low = hexadecimal(at: offset + 2),
            (0xDC00..<0xE000).contains(low)
        {
            offset += 6
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw .surrogate }
        return scalar
    }

    /// The value of four hexadecimal digits; `nil` if they are none.
    private func hexadecimal(at offset: Int) -> UInt32? {
        guard offset + 4 <= count else { return nil }
        var code: UInt32 = 0
        for index in offset..<offset + 4 {
            guard let value = Hexadecimal.value(of: self[index]) else { return nil }
            code = code << 4 | UInt32(value)
        }
        return code
    }
}
