internal import TelltaleModel

extension Cursor: CustomStringConvertible {
    private static let selectionLength = 4

    /// Parses `EPOCH:SEQ:SELECTION`: 16 lower-case hexadecimal digits, a decimal number without leading zeros, 4
    /// hexadecimal digits.
    ///
    /// `nil` for anything else: a client sends a cursor back unchanged (Protocols/Line/line-protocol.md §7).
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8.span
        self.init(bytes, 0..<bytes.count)
    }

    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        let lastColon = range.upperBound - Self.selectionLength - 1
        guard lastColon > range.lowerBound, bytes[lastColon] == UInt8(ascii: ":"),
            let position = HistoryPosition(bytes, range.lowerBound..<lastColon),
            let selection = bytes.hexadecimal(lastColon + 1..<range.upperBound)
        else { return nil }
        self.init(
            epoch: position.epoch, sequence: position.sequence, selection: UInt16(truncatingIfNeeded: selection))
    }

    public var description: String {
        var buffer = ByteBuffer()
        append(to: &buffer)
        return String(decoding: buffer.array, as: UTF8.self)
    }

    func append(to buffer: inout ByteBuffer) {
        position.append(to: &buffer)
        buffer.append(UInt8(ascii: ":"))
        buffer.append(hexadecimal: UInt64(selection), digits: Self.selectionLength)
    }
}

extension HistoryPosition: CustomStringConvertible {
    private static let epochLength = 16

    /// Parses `EPOCH:SEQ`: 16 lower-case hexadecimal digits, and a decimal number without leading zeros. `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8.span
        self.init(bytes, 0..<bytes.count)
    }

    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        let colon = range.lowerBound + Self.epochLength
        guard colon + 1 < range.upperBound, bytes[colon] == UInt8(ascii: ":"),
            let epoch = bytes.hexadecimal(range.lowerBound..<colon),
            let sequence = bytes.decimal(colon + 1..<range.upperBound),
            bytes[colon + 1] != UInt8(ascii: "0") || range.upperBound == colon + 2
        else { return nil }
        self.init(epoch: epoch, sequence: sequence)
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
    }
}

extension Span<UInt8> {
    /// Up to 16 lower-case hexadecimal digits.
    fileprivate func hexadecimal(_ range: Range<Int>) -> UInt64? {
        var value: UInt64 = 0
        for index in range {
            guard let digit = self[index].hexValue else { return nil }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}
