internal import TelltaleModel

extension Cursor: CustomStringConvertible {
    private static let epochLength = 16
    private static let selectionLength = 4

    /// `EPOCH:SEQ:SELECTION`: 16 lower-case hexadecimal digits, a decimal number without zeros in front, 4
    /// hexadecimal digits.
    ///
    /// `nil` for anything else: a cursor is to be sent back as it came (line-protocol.md §7).
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
            bytes[firstColon + 1] != UInt8(ascii: "0") || lastColon == firstColon + 2,
            let selection = bytes.hexadecimal(lastColon + 1..<range.upperBound)
        else { return nil }
        self.init(epoch: epoch, sequence: sequence, selection: UInt16(truncatingIfNeeded: selection))
    }

    public var description: String {
        var buffer = ByteBuffer()
        append(to: &buffer)
        return String(decoding: buffer.array, as: UTF8.self)
    }

    func append(to buffer: inout ByteBuffer) {
        buffer.append(hexadecimal: epoch, digits: Self.epochLength)
        buffer.append(UInt8(ascii: ":"))
        buffer.append(decimal: sequence)
        buffer.append(UInt8(ascii: ":"))
        buffer.append(hexadecimal: UInt64(selection), digits: Self.selectionLength)
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
