extension Cursor: CustomStringConvertible {
    private static let epochLength = 16
    private static let selectionLength = 4

    /// `EPOCH:SEQ:SELECTION`: 16 lower-case hexadecimal digits, a decimal number, 4 hexadecimal digits.
    ///
    /// `nil` for anything else: a cursor is to be sent back as it came (protocol.md §4).
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8.span
        self.init(bytes, 0..<bytes.count)
    }

    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        let firstColon = range.lowerBound + Self.epochLength
        let lastColon = range.upperBound - Self.selectionLength - 1
        guard firstColon + 1 < lastColon, bytes[firstColon] == UInt8(ascii: ":"), bytes[lastColon] == UInt8(ascii: ":"),
            let epoch = bytes.hexadecimal(range.lowerBound..<firstColon),
            let sequence = bytes.decimal(firstColon + 1..<lastColon),
            let selection = bytes.hexadecimal(lastColon + 1..<range.upperBound)
        else { return nil }
        self.init(epoch: epoch, sequence: sequence, selection: UInt16(truncatingIfNeeded: selection))
    }

    public var description: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(hexadecimal: epoch, digits: Self.epochLength)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(decimal: sequence)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(hexadecimal: UInt64(selection), digits: Self.selectionLength)
    }
}

extension Span<UInt8> {
    /// Lower-case digits alone, at most 16 of them.
    fileprivate func hexadecimal(_ range: Range<Int>) -> UInt64? {
        var value: UInt64 = 0
        for index in range {
            guard let digit = self[index].hexValue else { return nil }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}

extension [UInt8] {
    mutating func append(decimal value: Int64) {
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "-"))
        var start = 20
        var rest = value.magnitude
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        // 19 digits at most, so there is room for the sign, which is what the array was filled with.
        if value < 0 { start -= 1 }
        append(addingCapacity: 20 - start) { free in
            for index in start..<20 { free.append(digits[index]) }
        }
    }

    mutating func append(hexadecimal value: UInt64, digits: Int) {
        for digit in stride(from: digits - 1, through: 0, by: -1) {
            let nibble = UInt8(truncatingIfNeeded: value >> UInt64(4 * digit)) & 0xF
            append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }
}
