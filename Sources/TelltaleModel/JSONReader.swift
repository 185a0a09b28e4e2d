/// Reads a JSON text in one pass, without a dependency: from UTF-8 to the journal's own encoding.
///
/// Takes exactly what RFC 8259 allows, restricted by I-JSON and ``JSON/depthLimit``. A fault that JSON allows and
/// I-JSON forbids is remembered, and reported only if the rest of the text is JSON.
struct JSONReader: ~Copyable {
    /// The text is not JSON, at `offset` bytes from its start.
    private struct Malformed: Error {
        var offset: Int
        var mistake: JSONMistake
    }

    /// A part of the path to the value that is being read.
    private enum Step {
        case element(Int)
        /// The offset of the name in ``form``.
        case member(Int)
    }

    private var offset = 0
    private var depth = 0
    private var steps: [Step] = []
    private var form: BinaryWriter
    private let nameLimit: Int
    private var nameCount = 0
    /// The first fault by I-JSON. ``form`` is unusable from then on.
    private var fault: JSONError?

    /// - Parameter nameLimit: See ``JSONParser/parse(_:nameLimit:)``.
    init(writingInto form: consuming BinaryWriter, nameLimit: Int) {
        self.form = form
        self.nameLimit = nameLimit
    }

    /// Reads the whole text.
    mutating func result(of text: Span<UInt8>) -> Result<Void, JSONError> {
        do {
            try read(text)
        } catch {
            return .failure(.malformed("byte \(error.offset + 1) of the JSON text \(error.mistake)"))
        }
        return fault.map { .failure($0) } ?? .success(())
    }

    private mutating func read(_ text: Span<UInt8>) throws(Malformed) {
        if let broken = text.firstInvalidUTF8() { throw Malformed(offset: broken, mistake: .encoding) }
        skipBlanks(text)
        try readValue(text)
        skipBlanks(text)
        guard offset == text.count else { throw malformed(.end) }
    }

    /// Reads the whole text for its first mistake.
    fileprivate mutating func mistake(in text: Span<UInt8>) -> (offset: Int, mistake: JSONMistake, path: String)? {
        do {
            try read(text)
            return nil
        } catch {
            switch error.mistake {
            // The last step is that of the value before.
            case .name, .comma, .unclosed: steps.removeLast()
            default: break
            }
            return (error.offset, error.mistake, path)
        }
    }

    /// The encoded value.
    consuming func takeForm() -> BinaryWriter { form }

    // Recursion is bounded by `JSON.depthLimit`.
    private mutating func readValue(_ text: Span<UInt8>) throws(Malformed) {
        guard offset < text.count else { throw malformed(.noValue) }
        switch text[offset] {
        case UInt8(ascii: "\""):
            form.write(JSONTag.string)
            _ = try readString(text)
        case UInt8(ascii: "{"): try readObject(text)
        case UInt8(ascii: "["): try readArray(text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        case UInt8(ascii: "t"): try readWord("true", JSONTag.true, text)
        case UInt8(ascii: "f"): try readWord("false", JSONTag.false, text)
        case UInt8(ascii: "n"): try readWord("null", JSONTag.null, text)
        default: throw malformed(.value)
        }
    }

    private mutating func readWord(_ word: StaticString, _ tag: UInt8, _ text: Span<UInt8>) throws(Malformed) {
        let end = offset + word.utf8CodeUnitCount
        guard end <= text.count, text.extracting(offset..<end).hasSameBytes(as: word) else {
            throw malformed(.word)
        }
        form.write(tag)
        offset = end
    }

    // MARK: Arrays and objects

    private mutating func readArray(_ text: Span<UInt8>) throws(Malformed) {
        try begin()
        form.write(JSONTag.array)
        let start = form.reserveCount()
        var count = 0
        if !end(with: UInt8(ascii: "]"), text) {
            steps.append(.element(0))
            repeat {
                steps[steps.count - 1] = .element(count)
                try readValue(text)
                count += 1
            } while try hasMore(before: UInt8(ascii: "]"), text)
            steps.removeLast()
        }
        depth -= 1
        form.fill(count: count, at: start)
    }

    private mutating func readObject(_ text: Span<UInt8>) throws(Malformed) {
        try begin()
        form.write(JSONTag.object)
        let start = form.reserveCount()
        var count = 0
        // Whether the names are in order, as in most objects, which then need no sorting. Neighbours are compared in the text, where
        // neither has an escape.
        var isInOrder = true
        var last: Range<Int>?
        if !end(with: UInt8(ascii: "}"), text) {
            steps.append(.member(0))
            repeat {
                guard offset < text.count, text[offset] == UInt8(ascii: "\"") else {
                    throw malformed(.name)
                }
                let place = form.count
                let name = try readName(text)
                steps[steps.count - 1] = .member(place)
                nameCount += 1
                // After a fault nothing is sorted.
                if nameCount > nameLimit { fault = .tooManyNames(limit: nameLimit) }
                if isInOrder, count > 0 {
                    if let last, let name {
                        isInOrder = text.extracting(last).precedes(text.extracting(name))
                    } else {
                        isInOrder = false
                    }
                }
                last = name
                skipBlanks(text)
                guard offset < text.count, text[offset] == UInt8(ascii: ":") else {
                    throw malformed(.colon)
                }
                offset += 1
                skipBlanks(text)
                try readValue(text)
                count += 1
            } while try hasMore(before: UInt8(ascii: "}"), text)
            steps.removeLast()
        }
        depth -= 1
        // After a fault the encoding is incomplete.
        guard fault == nil else { return }
        if !isInOrder, !form.sortMembers(count, from: start + 1) {
            fault = .duplicateName(path: path)
            return
        }
        form.fill(count: count, at: start)
    }

    private mutating func begin() throws(Malformed) {
        guard depth < JSON.depthLimit else { throw malformed(.depth) }
        depth += 1
        offset += 1
    }

    /// Passes the bracket of an empty array or object.
    private mutating func end(with bracket: UInt8, _ text: Span<UInt8>) -> Bool {
        skipBlanks(text)
        guard offset < text.count, text[offset] == bracket else { return false }
        offset += 1
        return true
    }

    /// Passes the comma after an element, or the closing bracket.
    private mutating func hasMore(before bracket: UInt8, _ text: Span<UInt8>) throws(Malformed) -> Bool {
        skipBlanks(text)
        guard offset < text.count else {
            throw malformed(.unclosed(by: bracket))
        }
        let byte = text[offset]
        guard byte == bracket || byte == UInt8(ascii: ",") else {
            throw malformed(.comma(or: bracket))
        }
        offset += 1
        guard byte == UInt8(ascii: ",") else { return false }
        skipBlanks(text)
        return true
    }

    private mutating func skipBlanks(_ text: Span<UInt8>) {
        while offset < text.count {
            switch text[offset] {
            case 0x20, 0x0A, 0x0D, 0x09: offset += 1
            default: return
            }
        }
    }

    // MARK: Strings

    /// Reads a string with its quotes, and writes it.
    ///
    /// - Returns: Its range in the text; `nil` if it has an escape.
    private mutating func readString(_ text: Span<UInt8>) throws(Malformed) -> Range<Int>? {
        let opening = offset
        let start = offset + 1
        let end = text.plainEnd(from: start)
        guard end < text.count else { throw Malformed(offset: opening, mistake: .openText) }
        if text[end] == UInt8(ascii: "\"") {
            form.write(counted: text.extracting(start..<end))
            offset = end + 1
            return start..<end
        }
        var unescaped = ByteBuffer()
        offset = start
        while true {
            let end = text.plainEnd(from: offset)
            unescaped.append(copying: text.extracting(offset..<end))
            offset = end
            guard end < text.count else { throw Malformed(offset: opening, mistake: .openText) }
            switch text[end] {
            case UInt8(ascii: "\""):
                offset = end + 1
                form.write(counted: unescaped.array.span)
                return nil
            case UInt8(ascii: "\\"): try readEscape(text, to: &unescaped)
            default: throw malformed(.control)
            }
        }
    }

    /// Reads the name of a member.
    ///
    /// - Returns: As ``readString(_:)``.
    private mutating func readName(_ text: Span<UInt8>) throws(Malformed) -> Range<Int>? {
        do {
            return try readString(text)
        } catch {
            // It names nothing.
            steps.removeLast()
            throw error
        }
    }

    private mutating func readEscape(_ text: Span<UInt8>, to unescaped: inout ByteBuffer) throws(Malformed) {
        let start = offset
        guard offset + 1 < text.count else { throw malformed(.cutEscape) }
        let byte = text[offset + 1]
        offset += 2
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            do throws(UnicodeEscapeFault) {
                for byte in try text.unicodeEscape(at: &offset).utf8 { unescaped.append(byte) }
            } catch {
                throw Malformed(offset: start, mistake: error == .digits ? .hexDigits : .surrogate)
            }
        default: throw Malformed(offset: start, mistake: .escape)
        }
    }

    // MARK: Numbers

    private mutating func readNumber(_ text: Span<UInt8>) throws(Malformed) {
        let start = offset
        let isNegative = text[offset] == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        if offset < text.count, text[offset] == UInt8(ascii: "0") {
            offset += 1
            if offset < text.count, text[offset].isDigit { throw malformed(.leadingZero) }
        } else {
            try passDigits(text)
        }
        var isWhole = true
        if offset < text.count, text[offset] == UInt8(ascii: ".") {
            isWhole = false
            offset += 1
            try passDigits(text)
        }
        if offset < text.count, text[offset] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            offset += 1
            if offset < text.count, text[offset] == UInt8(ascii: "+") || text[offset] == UInt8(ascii: "-") {
                offset += 1
            }
            try passDigits(text)
        }
        if isWhole { return write(integer: text.extracting(start..<offset), isNegative: isNegative) }
        guard let number = Double(text.string(in: start..<offset)), number.isFinite else {
            throw Malformed(offset: start, mistake: .hugeNumber)
        }
        form.write(JSON(number))
    }

    private mutating func write(integer digits: Span<UInt8>, isNegative: Bool) {
        var magnitude: UInt64 = 0
        var index = isNegative ? 1 : 0
        // Past the limit the value does not matter any more, so this stops before it could overflow.
        while index < digits.count, magnitude <= UInt64(JSON.integerLimit) {
            magnitude = magnitude * 10 + UInt64(digits[index] - UInt8(ascii: "0"))
            index += 1
        }
        guard magnitude <= UInt64(JSON.integerLimit) else {
            if fault == nil { fault = .integerTooLarge(path: path) }
            return
        }
        let integer = Int64(magnitude)
        form.write(JSON.integer(isNegative ? 0 - integer : integer))
    }

    private mutating func passDigits(_ text: Span<UInt8>) throws(Malformed) {
        let start = offset
        while offset < text.count, text[offset].isDigit { offset += 1 }
        if offset == start { throw malformed(.digit) }
    }

    // MARK: Errors

    private func malformed(_ mistake: JSONMistake) -> Malformed { Malformed(offset: offset, mistake: mistake) }

    /// The path of the value that is being read.
    private var path: String {
        var path = ""
        for step in steps {
            switch step {
            case .element(let index): path += "[\(index)]"
            case .member(let place):
                let bytes = form.bytes(from: place)
                var start = 0
                let name = bytes.span.string(in: bytes.span.passText(at: &start))
                path += path.isEmpty ? name : ".\(name)"
            }
        }
        return path
    }
}

/// Why a text is not JSON, by what should stand where it breaks off.
package enum JSONMistake: CustomStringConvertible {
    case encoding, end, noValue, value, word, name, colon, depth
    case unclosed(by: UInt8)
    case comma(or: UInt8)
    case openText, control, cutEscape, escape, hexDigits, surrogate
    case leadingZero, digit, hugeNumber

    /// What the byte at the place of the mistake is, for a program's author.
    package var description: String {
        switch self {
        case .encoding: "is no UTF-8"
        case .end: "stands behind the end of the value"
        case .noValue: "is where a value should begin, and the text ends before it"
        case .value: "begins no value"
        case .word: "begins no value: true, false, null, or a text in double quotes is"
        case .name: "is where a name in double quotes should stand"
        case .colon: "is where a : should follow the name"
        case .depth: "is nested deeper than \(JSON.depthLimit) levels"
        case .unclosed(let bracket): "is where a \(UnicodeScalar(bracket)) should stand, and the text ends before it"
        case .comma(let bracket): "is where a , or a \(UnicodeScalar(bracket)) should stand"
        case .openText: "begins a text that never ends"
        case .control: "is a control character inside a text"
        case .cutEscape: "begins an escape that is cut off"
        case .escape: "is an escape that JSON does not have"
        case .hexDigits: "is an escape without its four hexadecimal digits"
        case .surrogate: "is half of a surrogate pair"
        case .leadingZero: "stands behind a leading 0"
        case .digit: "is where a digit should stand"
        case .hugeNumber: "is a number that is too large"
        }
    }

    /// The first mistake of a text by RFC 8259, its offset, and the path of the value that was being read; `nil` if there is none.
    package static func first(in text: Span<UInt8>) -> (offset: Int, mistake: JSONMistake, path: String)? {
        var reader = JSONReader(writingInto: BinaryWriter(), nameLimit: .max)
        return reader.mistake(in: text)
    }
}
