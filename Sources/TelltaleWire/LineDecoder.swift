internal import TelltaleModel

/// Splits a byte stream into lines (Protocols/Line/line-protocol.md §2).
///
/// Lines end in LF, with an optional CR before it, and hold UTF-8 without control bytes. Empty lines and comments (`#`)
/// are dropped. Memory is bounded by ``lineLengthLimit`` and one piece: only an unfinished line is kept, and its memory
/// is freed with the line, so an idle connection holds none.
public struct LineDecoder: Sendable {
    // The small members come first, to keep the decoder of an idle connection small.

    /// The longest accepted line, in bytes, without its line ending. May be changed between two pieces.
    public var lineLengthLimit: Int
    /// The unfinished line of earlier pieces: validated, without a CR at its end.
    private var begun: [UInt8] = []
    private var failure: Failure?
    /// Whether lines that begin with `#` are delivered, for a client that reads the answer to `HELP`.
    public var deliversComments: Bool
    /// Whether the last byte of the last piece was a CR: half a line ending, or an invalid control byte.
    private var endsInCarriageReturn = false
    private var utf8 = UTF8Check()

    /// Indirect, because every stream has a decoder and hardly any has a failure.
    private indirect enum Failure: Sendable {
        case error(WireError)
    }

    public init(lineLengthLimit: Int = WireLimits.lineLength, deliversComments: Bool = false) {
        self.lineLengthLimit = lineLengthLimit
        self.deliversComments = deliversComments
    }

    /// Whether a line is unfinished. At the end of the stream that line is lost.
    public var hasUnfinishedLine: Bool { !begun.isEmpty || endsInCarriageReturn }

    /// Processes the next piece of the stream and passes each line that it completes to `deliver`.
    ///
    /// Lines have no ending, are never empty, are valid UTF-8 and begin with a verb that is not the first word of
    /// another protocol. They are valid only during the
    /// call.
    ///
    /// - Throws: `bad_line`, `bad_utf8` or `line_too_long`, as soon as the fault is known and after the lines before it
    ///   were delivered. The stream has then lost its framing: later calls throw the same error and deliver nothing.
    public mutating func decode(_ bytes: Span<UInt8>, deliver: (Span<UInt8>) -> Void) throws(WireError) {
        _ = try decodeSome(bytes) { line in
            deliver(line)
            return true
        }
    }

    /// As ``decode(_:deliver:)``, until `deliver` returns `false`.
    ///
    /// - Returns: The number of bytes consumed: all of them, or up to the end of the line at which `deliver` returned
    ///   `false`. The caller passes the remaining bytes again.
    public mutating func decodeSome(
        _ bytes: Span<UInt8>, deliver: (Span<UInt8>) -> Bool
    ) throws(WireError) -> Int {
        if case .error(let error) = failure { throw error }
        do {
            return try scan(bytes, deliver: deliver)
        } catch {
            failure = .error(error)
            begun = []
            throw error
        }
    }

    private mutating func scan(_ bytes: Span<UInt8>, deliver: (Span<UInt8>) -> Bool) throws(WireError) -> Int {
        var lineStart = 0
        var index = 0
        if endsInCarriageReturn, !bytes.isEmpty {
            guard bytes[0] == UInt8.lineFeed else { throw .controlByte(.carriageReturn) }
            endsInCarriageReturn = false
            guard try finish(bytes, 0..<0, deliver: deliver) else { return 1 }
            lineStart = 1
            index = 1
        }
        while index < bytes.count {
            if !utf8.isExpectingMore { index = bytes.skippingPrintableASCII(from: index) }
            let length = begun.count + index - lineStart
            guard length <= lineLengthLimit else { throw .lineTooLong(limit: lineLengthLimit) }
            guard index < bytes.count else { break }
            let byte = bytes[index]
            guard utf8.acceptByte(byte) else { throw .brokenUTF8(at: length) }
            if byte == .lineFeed {
                guard try finish(bytes, lineStart..<index, deliver: deliver) else { return index + 1 }
                lineStart = index + 1
            } else if byte == .carriageReturn {
                guard index + 1 < bytes.count else {
                    endsInCarriageReturn = true
                    begun.append(copying: bytes.extracting(lineStart..<index))
                    return bytes.count
                }
                guard bytes[index + 1] == .lineFeed else { throw .controlByte(byte) }
                guard try finish(bytes, lineStart..<index, deliver: deliver) else { return index + 2 }
                index += 1
                lineStart = index + 1
            } else if byte < 0x20 || byte == 0x7F {
                throw .controlByte(byte)
            }
            index += 1
        }
        guard begun.count + bytes.count - lineStart <= lineLengthLimit else {
            throw .lineTooLong(limit: lineLengthLimit)
        }
        begun.append(copying: bytes.extracting(lineStart..<bytes.count))
        return bytes.count
    }

    private mutating func finish(
        _ bytes: Span<UInt8>, _ range: Range<Int>, deliver: (Span<UInt8>) -> Bool
    ) throws(WireError) -> Bool {
        guard !begun.isEmpty else { return try check(bytes.extracting(range), deliver: deliver) }
        var line: [UInt8] = []
        swap(&line, &begun)
        line.append(copying: bytes.extracting(range))
        return try check(line.span, deliver: deliver)
    }

    private func check(_ line: Span<UInt8>, deliver: (Span<UInt8>) -> Bool) throws(WireError) -> Bool {
        // Blanks at the end of a line mean nothing, of an empty one too.
        guard line.endWithoutBlanks > 0 else { return true }
        if line[0] == UInt8(ascii: "#") { return deliversComments ? deliver(line) : true }
        guard let verbEnd = line.verbEnd() else { throw .noVerb(line) }
        if let foreign = ForeignProtocol.of(line, verbEnd: verbEnd) {
            throw .foreign(foreign, line, verbEnd: verbEnd)
        }
        return deliver(line)
    }
}

extension UInt8 {
    fileprivate static let lineFeed: UInt8 = 0x0A
    fileprivate static let carriageReturn: UInt8 = 0x0D
}

extension Span<UInt8> {
    /// The first offset at or after `start` that does not hold printable ASCII.
    ///
    /// Whole blocks come first, in a loop without branches, which the compiler vectorises. A comparison instead of the
    /// maximum would prevent that.
    fileprivate func skippingPrintableASCII(from start: Int) -> Int {
        let blockLength = 32
        var index = start
        while count - index >= blockLength {
            let block = extracting(index..<index + blockLength)
            var highest: UInt8 = 0
            for offset in 0..<blockLength { highest = Swift.max(highest, block[offset] &- 0x20) }
            guard highest < 0x5F else { break }
            index += blockLength
        }
        while index < count, self[index].isPrintableASCII { index += 1 }
        return index
    }
}

/// Validates UTF-8 byte by byte, by the table of well-formed sequences (Unicode 16, table 3-7).
struct UTF8Check: Sendable {
    private var missing: UInt8 = 0
    /// The bounds of the next byte of a sequence; narrower than `80...BF` after some first bytes.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// Whether a sequence is incomplete.
    var isExpectingMore: Bool { missing > 0 }

    /// Whether the text is still well-formed after `byte`.
    mutating func acceptByte(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard byte >= lower, byte <= upper else { return false }
            missing -= 1
            lower = 0x80
            upper = 0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            // E0 would be overlong below A0; ED would be a surrogate above 9F.
            if byte == 0xE0 { lower = 0xA0 }
            if byte == 0xED { upper = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            // F0 would be overlong below 90; F4 would be beyond U+10FFFF above 8F.
            if byte == 0xF0 { lower = 0x90 }
            if byte == 0xF4 { upper = 0x8F }
        default: return false
        }
        return true
    }
}

extension WireError {
    static func lineTooLong(limit: Int) -> WireError {
        WireError(.lineTooLong, "a line has more than \(limit) bytes; send shorter ones, the greeting tells the limit")
    }

    fileprivate static func brokenUTF8(at offset: Int) -> WireError {
        WireError(.badUTF8, "byte \(offset + 1) of the line is not UTF-8; encode lines as UTF-8")
    }

    fileprivate static func controlByte(_ byte: UInt8) -> WireError {
        let hex = String(byte, radix: 16, uppercase: true)
        let name = (hex.utf8.count == 1 ? "0x0" : "0x") + hex
        return WireError(
            .badLine, "control byte \(name) in a line; escape it in JSON (\\u00..), and end lines with LF or CRLF")
    }

    static func noVerb(_ line: Span<UInt8>) -> WireError {
        if line.count >= 3, line[0] == 0xEF, line[1] == 0xBB, line[2] == 0xBF {
            return WireError(.badLine, "the line begins with a byte order mark; send UTF-8 without one")
        }
        return WireError(
            .badLine,
            "the line does not begin with a verb of 2 to 12 letters, but with \(line.quoted(0..<line.firstSpace())); "
                + "send VERB, then words, each after one space; HELP lists the verbs")
    }
}

extension Span<UInt8> {
    private var quoteLengthLimit: Int { 40 }

    fileprivate func firstSpace() -> Int {
        var index = 0
        while index < count, self[index] != UInt8(ascii: " ") { index += 1 }
        return index
    }

    /// Where a token begins: an error must not repeat it. `tt_`, 8 of `a-z2-7`, `_`; or `eyJ`, which is `{"` in base64 and
    /// begins a signed token.
    private func tokenStart(in range: Range<Int>) -> Int? {
        var start = range.lowerBound
        while start + 12 <= range.upperBound {
            let isToken =
                self[start] == UInt8(ascii: "t") && self[start + 1] == UInt8(ascii: "t")
                && self[start + 2] == UInt8(ascii: "_") && self[start + 11] == UInt8(ascii: "_")
            let isSigned =
                self[start] == UInt8(ascii: "e") && self[start + 1] == UInt8(ascii: "y")
                && self[start + 2] == UInt8(ascii: "J")
            if isToken || isSigned { return start }
            start += 1
        }
        return nil
    }

    /// The received text in quotes, without a token, and cut to the length that a message can hold.
    func quoted(_ range: Range<Int>) -> String {
        if let secret = tokenStart(in: range) { return "\"\(text(range.lowerBound..<secret))…\"" }
        guard range.count > quoteLengthLimit else { return "\"\(text(range))\"" }
        // A cut inside a character would leave a replacement character.
        var end = range.lowerBound + quoteLengthLimit
        while end > range.lowerBound, self[end] & 0xC0 == 0x80 { end -= 1 }
        return "\"\(text(range.lowerBound..<end))…\""
    }
}
