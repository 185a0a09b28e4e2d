/// A line pushed by the daemon, cut into byte ranges: a stream forwards thousands of them without parsing.
struct PushLine {
    var verb: Range<Int>
    /// The value of each attribute that a stream forwards; empty if it is absent.
    private(set) var sub = 0..<0
    private(set) var key = 0..<0
    private(set) var rev = 0..<0
    private(set) var cursor = 0..<0
    private(set) var skip = 0..<0
    private(set) var why = 0..<0
    private(set) var state = 0..<0
    private(set) var at = 0..<0
    private(set) var now = 0..<0
    private(set) var code = 0..<0
    private(set) var wait = 0..<0
    /// The start of the JSON object at the end of the line; `nil` if there is none.
    private(set) var tail: Int?

    init(_ line: Span<UInt8>) {
        var start = Self.end(ofWordAt: 0, line)
        verb = 0..<start
        while start < line.count {
            start += 1
            guard start < line.count else { return }
            if line[start] == UInt8(ascii: "{") {
                tail = start
                return
            }
            let end = Self.end(ofWordAt: start, line)
            readWord(start..<end, line)
            start = end
        }
    }

    /// Whether a line's verb is this one.
    static func begins(_ line: Span<UInt8>, with verb: StaticString) -> Bool {
        line.extracting(0..<end(ofWordAt: 0, line)).equals(verb)
    }

    private mutating func readWord(_ word: Range<Int>, _ line: Span<UInt8>) {
        var equals = word.lowerBound
        while equals < word.upperBound, line[equals] != UInt8(ascii: "=") { equals += 1 }
        let name = line.extracting(word.lowerBound..<equals)
        let value = min(equals + 1, word.upperBound)..<word.upperBound
        if name.equals("sub") {
            sub = value
        } else if name.equals("key") {
            key = value
        } else if name.equals("rev") {
            rev = value
        } else if name.equals("cur") {
            cursor = value
        } else if name.equals("skip") {
            skip = value
        } else if name.equals("why") {
            why = value
        } else if name.equals("state") {
            state = value
        } else if name.equals("at") {
            at = value
        } else if name.equals("now") {
            now = value
        } else if name.equals("code") {
            code = value
        } else if name.equals("wait") {
            wait = value
        }
    }

    private static func end(ofWordAt start: Int, _ line: Span<UInt8>) -> Int {
        var index = start
        while index < line.count, line[index] != UInt8(ascii: " ") { index += 1 }
        return index
    }
}

extension Span<UInt8> {
    /// A decimal number of 1 to 18 digits.
    func number(_ range: Range<Int>) -> Int64? {
        guard (1...18).contains(range.count) else { return nil }
        var number: Int64 = 0
        for place in range {
            let digit = Int64(self[place]) - 0x30
            guard (0...9).contains(digit) else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return unsafe withUnsafeBufferPointer { bytes in
            unsafe bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ source: Span<UInt8>, _ range: Range<Int>) {
        unsafe source.extracting(range).withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    mutating func append(decimal number: Int) { append(contentsOf: String(number).utf8) }

    /// A JSON text of visible ASCII, quotes included.
    mutating func append(quoted source: Span<UInt8>, _ range: Range<Int>) {
        append(UInt8(ascii: "\""))
        for index in range {
            let byte = source[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append(UInt8(ascii: "\\")) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }
}
