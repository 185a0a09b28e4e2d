internal import TelltaleModel

/// The paths of a delivery's body that a hook reads, as a tree of their names.
struct DeliveryPaths: Sendable {
    private var children: [String: DeliveryPaths] = [:]
    /// A path ends here: the value is read, whatever it is.
    private(set) var isWhole = false

    mutating func insert(_ names: some Sequence<some StringProtocol>) {
        var names = names.makeIterator()
        insert(&names)
    }

    private mutating func insert<Name: StringProtocol>(_ names: inout some IteratorProtocol<Name>) {
        guard let name = names.next() else {
            isWhole = true
            return
        }
        children[String(name), default: DeliveryPaths()].insert(&names)
    }

    /// The paths to read below a member; `nil` for none.
    func member(_ name: String) -> DeliveryPaths? { isWhole ? self : children[name] }

    /// The paths to read below the elements of an array, by index.
    var elements: [Int: DeliveryPaths] {
        Dictionary(children.compactMap { name, paths in Int(name).map { ($0, paths) } }) { first, _ in first }
    }
}

/// Reads only the parts of a delivery's body that a hook needs, and skips all others without validation, so that a
/// value that no rule reads cannot make a delivery fail.
///
/// Senders are less strict than I-JSON, so values are repaired if their meaning is clear. Half of a surrogate pair
/// becomes U+FFFD, of members with the same name the last one counts, and a number that I-JSON cannot represent exactly
/// (some shops' order numbers exceed 2^53) becomes the text of its digits.
struct DeliveryBody {
    private let bytes: [UInt8]
    private var position = 0

    /// - Returns: The body with the values at `paths`, and with no others.
    /// - Throws: `bad_json`.
    static func read(_ bytes: [UInt8], _ paths: DeliveryPaths) throws(Problem) -> JSON {
        var body = DeliveryBody(bytes: bytes)
        let text = try body.value(paths, depth: 1)
        guard body.peek() == nil else { throw body.fault("no more than one value") }
        return try text.map { (text) throws(Problem) in try EventRequest.json(text.span) } ?? .null
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    // MARK: What is read

    /// - Returns: The value as strict JSON; `nil` if nothing of it is read.
    private mutating func value(_ paths: DeliveryPaths?, depth: Int) throws(Problem) -> [UInt8]? {
        guard let paths else {
            try pass()
            return nil
        }
        guard depth <= JSON.depthLimit else { throw fault("at most \(JSON.depthLimit) levels in what is read") }
        switch peek() {
        case UInt8(ascii: "{"): return try object(paths, depth)
        case UInt8(ascii: "["): return try array(paths, depth)
        case _ where !paths.isWhole:
            try pass()
            return nil
        case UInt8(ascii: "\""): return Self.quoted(try text())
        default: return try literal()
        }
    }

    private mutating func object(_ paths: DeliveryPaths, _ depth: Int) throws(Problem) -> [UInt8] {
        var members: [[UInt8]: [UInt8]] = [:]
        position += 1
        if !ends(UInt8(ascii: "}")) {
            repeat {
                guard peek() == UInt8(ascii: "\"") else { throw fault("a name") }
                let name = try text()
                guard peek() == UInt8(ascii: ":") else { throw fault("a colon") }
                position += 1
                let value = try value(paths.member(name), depth: depth + 1)
                if paths.member(name) != nil { members[Array(name.utf8)] = value }
            } while try continues(until: UInt8(ascii: "}"))
        }
        var text = [UInt8(ascii: "{")]
        for (name, value) in members {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += Self.quoted(String(decoding: name, as: UTF8.self))
            text.append(UInt8(ascii: ":"))
            text += value
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    private mutating func array(_ paths: DeliveryPaths, _ depth: Int) throws(Problem) -> [UInt8] {
        let elements = paths.elements
        let last = elements.keys.max() ?? -1
        var text = [UInt8(ascii: "[")]
        position += 1
        if !ends(UInt8(ascii: "]")) {
            var index = 0
            repeat {
                let value = try value(paths.isWhole ? paths : elements[index], depth: depth + 1)
                // An unread element keeps its place before a read one.
                if paths.isWhole || index <= last {
                    if index > 0 { text.append(UInt8(ascii: ",")) }
                    text += value ?? Array("null".utf8)
                }
                index += 1
            } while try continues(until: UInt8(ascii: "]"))
        }
        text.append(UInt8(ascii: "]"))
        return text
    }

    private mutating func literal() throws(Problem) -> [UInt8] {
        let start = position
        let word = try self.word()
        if ["true", "false", "null"].contains(where: { $0.utf8.elementsEqual(word) }) { return Array(word) }
        guard Self.isNumber(word), let number = Double(String(decoding: word, as: UTF8.self)) else {
            position = start
            throw fault("a value")
        }
        // Integers of 16 digits become texts whether they are exact or not, so that all order numbers of a shop have
        // the same type.
        let isExact =
            number.magnitude <= Double(JSON.integerLimit) && (word.count < 16 || !word.allSatisfy(Self.isSignOrDigit))
        return isExact ? Array(word) : Self.quoted(String(decoding: word, as: UTF8.self))
    }

    private mutating func text() throws(Problem) -> String {
        var utf8: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: utf8, as: UTF8.self)
            case UInt8(ascii: "\\"): utf8 += try escaped().utf8
            default: utf8.append(byte)
            }
        }
        throw fault("the end of a text")
    }

    private mutating func escaped() throws(Problem) -> Character {
        guard position < bytes.count else { throw fault("the end of a text") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw fault("an escape of JSON")
        }
        guard let unit = codeUnit(at: position) else { throw fault("four hexadecimal digits") }
        position += 4
        if UTF16.isLeadSurrogate(unit), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u"), let trail = codeUnit(at: position + 2),
            UTF16.isTrailSurrogate(trail)
        {
            position += 6
            return String(decoding: [unit, trail], as: UTF16.self).first ?? "\u{FFFD}"
        }
        return Unicode.Scalar(unit).map { Character($0) } ?? "\u{FFFD}"
    }

    private func codeUnit(at start: Int) -> UInt16? {
        guard start + 4 <= bytes.count else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[start..<start + 4] {
            guard let digit = Hexadecimal.value(of: byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    // MARK: What is not read

    /// Skips a value, and only finds its end.
    private mutating func pass() throws(Problem) {
        var depth = 0
        repeat {
            switch peek() {
            case UInt8(ascii: "\""): try passText()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw fault("a value") }
                if [UInt8(ascii: "}"), UInt8(ascii: "]")].contains(bytes[position]) { depth -= 1 }
                position += 1
            default: _ = try word()
            }
        } while depth > 0
    }

    private mutating func passText() throws(Problem) {
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return }
        }
        position = bytes.count
        throw fault("the end of a text")
    }

    // MARK: Parts

    /// The next byte that is not a blank; `nil` at the end.
    private mutating func peek() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return byte }
            position += 1
        }
        return nil
    }

    /// A number, or `true`, `false`, `null`. Only its end is found.
    private mutating func word() throws(Problem) -> ArraySlice<UInt8> {
        _ = peek()
        let start = position
        while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
        guard position > start else { throw fault("a value") }
        return bytes[start..<position]
    }

    private mutating func ends(_ closing: UInt8) -> Bool {
        guard peek() == closing else { return false }
        position += 1
        return true
    }

    private mutating func continues(until closing: UInt8) throws(Problem) -> Bool {
        if ends(closing) { return false }
        guard peek() == UInt8(ascii: ",") else { throw fault("a comma or the end") }
        position += 1
        return true
    }

    private func fault(_ expected: String) -> Problem {
        Problem("bad_json", "the body: expected \(expected) at byte \(position)")
    }

    private static func quoted(_ text: String) -> [UInt8] { JSON.string(text).text }

    /// By the grammar of RFC 8259.
    private static func isNumber(_ word: ArraySlice<UInt8>) -> Bool {
        var rest = word.first == UInt8(ascii: "-") ? word.dropFirst() : word
        func digits() -> Int {
            let count = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(count)
            return count
        }
        let isZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole == 1 || whole > 1 && !isZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits() > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isSignOrDigit(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || isDigit(byte) }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: ".")
    }
}
