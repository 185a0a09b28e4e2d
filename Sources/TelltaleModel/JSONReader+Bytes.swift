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
    func firstInvalidUTF8() -> Int? {
        if isASCII { return nil }
        do {
            _ = try UTF8Span(validating: self)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }
}
