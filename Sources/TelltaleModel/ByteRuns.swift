/// Searching and copying of bytes, a word at a time. Every line, row and record passes through here, and all unsafe
/// code for it is in this file.
extension Span<UInt8> {
    /// The eight bytes from `offset` on as a little-endian word.
    ///
    /// - Precondition: At least eight bytes follow `offset`.
    func word(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count - 8, "no whole word there")
        // A byte has no padding, and the word is within bounds.
        let word = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        return UInt64(littleEndian: word)
    }

    /// The offset of the first `byte` at or after `start`, or `count` if there is none.
    ///
    /// - Precondition: `start` is at most `count`.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int {
        precondition(start >= 0 && start <= count, "out of bounds")
        var index = start
        while index <= count - 8 {
            if let place = EightBytes(word(at: index)).firstIndex(of: byte) { return index + place }
            index += 8
        }
        while index < count, self[index] != byte { index += 1 }
        return index
    }

    func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index <= count - 8 {
            guard word(at: index) == other.word(at: index) else { return false }
            index += 8
        }
        while index < count {
            guard self[index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// Whether the bytes equal the UTF-8 of `literal`.
    public func hasSameBytes(as literal: StaticString) -> Bool {
        literal.withUTF8Buffer { unsafe hasSameBytes(as: $0.span) }
    }

    /// Whether the bytes begin with the UTF-8 of `literal`.
    package func begins(with literal: StaticString) -> Bool {
        literal.withUTF8Buffer { prefix in
            unsafe count >= prefix.count && extracting(0..<prefix.count).hasSameBytes(as: prefix.span)
        }
    }

    /// The text in `range` of a value in the journal's encoding.
    func string(in range: Range<Int>) -> String {
        // The writer or the validating reader of the encoding has already checked that these bytes are UTF-8.
        unsafe String(validated: extracting(range))
    }

    /// The offset of the first byte at or after `start` that JSON text must escape, or `count` if there is none.
    func firstEscape(from start: Int) -> Int {
        var index = start
        while index <= count - 8, !EightBytes(word(at: index)).mayNeedEscape { index += 8 }
        while index < count, !JSONWriter.needsEscape(self[index]) { index += 1 }
        return index
    }

    /// Whether every byte is below 0x80.
    var isASCII: Bool {
        var index = 0
        while index <= count - 8 {
            guard word(at: index) & 0x8080_8080_8080_8080 == 0 else { return false }
            index += 8
        }
        while index < count {
            guard self[index] < 0x80 else { return false }
            index += 1
        }
        return true
    }
}

/// A word as eight bytes that are tested at once (after *Bit Twiddling Hacks*, "Determine if a word has a byte less
/// than n").
private struct EightBytes {
    private let word: UInt64

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    init(_ word: UInt64) {
        self.word = word
    }

    /// - Parameter limit: At most 128.
    private func hasByte(below limit: UInt64) -> Bool {
        (word &- Self.ones &* limit) & ~word & Self.highBits != 0
    }

    private func has(_ byte: UInt8) -> Bool {
        EightBytes(word ^ Self.ones &* UInt64(byte)).hasByte(below: 1)
    }

    /// The position of the first `byte`, 0 to 7.
    func firstIndex(of byte: UInt8) -> Int? {
        let others = word ^ Self.ones &* UInt64(byte)
        // Bits above the first match may be set by a carry, so only the lowest is used.
        let places = (others &- Self.ones) & ~others & Self.highBits
        return places == 0 ? nil : places.trailingZeroBitCount / 8
    }

    var mayNeedEscape: Bool {
        hasByte(below: 0x20) || has(UInt8(ascii: "\"")) || has(UInt8(ascii: "\\")) || has(0x7F)
    }
}

extension [UInt8] {
    /// Appends `bytes` in one copy.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

extension String {
    /// Makes a text without validating its bytes.
    ///
    /// - Precondition: The bytes are valid UTF-8; the caller has already checked them.
    @unsafe
    init(validated bytes: Span<UInt8>) {
        self.init(copying: unsafe UTF8Span(unchecked: bytes))
    }

    /// Makes a text of bytes that are all below 0x80; `nil` for any others.
    public init?(ascii bytes: Span<UInt8>) {
        guard bytes.isASCII else { return nil }
        unsafe self.init(validated: bytes)
    }
}
