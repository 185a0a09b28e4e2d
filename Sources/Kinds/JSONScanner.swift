internal import TelltaleModel

/// A strict JSON parser that produces no values, only the location of a fault and of requested paths.
struct JSONScanner {
    struct Fault: Error {
        var offset: Int
        var message: String
        var advice: String
    }

    private enum Step {
        case member(String)
        case element(Int)
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var steps: [Step] = []
    /// The requested paths with those of the values around them, and their locations.
    private let wanted: Set<String>
    private(set) var offsets: [String: Int] = [:]
    /// For each of ``steps``: its path, if a requested path begins with it.
    private var trail: [String?] = []

    init(_ bytes: [UInt8], lookingFor paths: [String] = []) {
        self.bytes = bytes
        var wanted = Set(paths)
        // Each value is looked up once, however many paths are requested.
        for path in paths {
            for end in path.indices where path[end] == "." || path[end] == "[" { wanted.insert(String(path[..<end])) }
        }
        self.wanted = wanted
    }

    /// The line and the column of an offset, both from 1; columns count Unicode scalars.
    static func place(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
        let before = bytes[..<min(offset, bytes.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (
            before.count { $0 == UInt8(ascii: "\n") } + 1, before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
        )
    }

    private mutating func enter(_ step: Step, at start: Int) {
        steps.append(step)
        guard !wanted.isEmpty else { return }
        let outer = trail.isEmpty ? "" : trail[trail.count - 1]
        let path = outer.map { Self.join($0, step) }.flatMap { wanted.contains($0) ? $0 : nil }
        trail.append(path)
        if let path, offsets[path] == nil { offsets[path] = start }
    }

    private static func join(_ path: String, _ step: Step) -> String {
        switch step {
        case .member(let name): KindReader.join(path, name)
        case .element(let index): "\(path)[\(index)]"
        }
    }

    private mutating func leave() {
        steps.removeLast()
        if !trail.isEmpty { trail.removeLast() }
    }

    var path: String { steps.reduce("", Self.join) }

    mutating func document() throws(Fault) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw fault("the file begins with a byte order mark", "save it as UTF-8 without one")
        }
        if let offset = bytes.span.firstInvalidUTF8() {
            throw Fault(offset: offset, message: "a byte here is not UTF-8", advice: "save the file as UTF-8")
        }
        skipSpace()
        guard offset < bytes.count else { throw fault("the file is empty", "write one object") }
        try value()
        skipSpace()
        guard offset == bytes.count else {
            throw fault("\(found) stands behind the document's end", "take it out, or look for a } too many")
        }
    }

    // Recursion is bounded: `value` throws before the nesting exceeds the limit.
    private mutating func value() throws(Fault) {
        guard offset < bytes.count else { throw fault("the file ends where a value should stand", "finish it") }
        switch bytes[offset] {
        case UInt8(ascii: "{"): try object()
        case UInt8(ascii: "["): try array()
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        case UInt8(ascii: "'"):
            throw fault("a text in single quotes", "JSON's texts stand in double quotes")
        case UInt8(ascii: "/"), UInt8(ascii: "#"):
            throw fault("a comment stands where a value should", "JSON has no comments: take it out")
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","):
            throw fault("\(found) stands where a value should", "add the value, or take out the comma before it")
        default: throw fault("\(found) begins no JSON value", "texts need double quotes")
        }
    }

    private mutating func object() throws(Fault) {
        try checkDepth()
        offset += 1
        var names: Set<[UInt8]> = []
        skipSpace()
        if take("}") { return }
        while true {
            let start = offset
            guard offset < bytes.count else { throw fault("the file ends inside an object", "close it with }") }
            guard bytes[offset] == UInt8(ascii: "\"") else {
                throw bytes[offset] == UInt8(ascii: "}")
                    ? fault("a comma stands before }", "take the comma out")
                    : fault("\(found) stands where a member's name should", "names are texts in double quotes")
            }
            let name = try string()
            enter(.member(String(decoding: name, as: UTF8.self)), at: start)
            guard names.insert(name).inserted else {
                throw Fault(offset: start, message: "this name stands twice in its object", advice: "take one out")
            }
            skipSpace()
            guard take(":") else { throw fault("a : is missing behind the name", "write \"name\": value") }
            skipSpace()
            try value()
            leave()
            skipSpace()
            if take("}") { return }
            guard take(",") else {
                throw offset < bytes.count
                    ? fault("\(found) stands where , or } should", "a comma is missing before it")
                    : fault("the file ends inside an object", "close it with }")
            }
            skipSpace()
        }
    }

    private mutating func array() throws(Fault) {
        try checkDepth()
        offset += 1
        var index = 0
        skipSpace()
        if take("]") { return }
        while true {
            enter(.element(index), at: offset)
            if offset < bytes.count, bytes[offset] == UInt8(ascii: "]") {
                throw fault("a comma stands before ]", "take the comma out")
            }
            try value()
            leave()
            index += 1
            skipSpace()
            if take("]") { return }
            guard take(",") else {
                throw offset < bytes.count
                    ? fault("\(found) stands where , or ] should", "a comma is missing before it")
                    : fault("the file ends inside an array", "close it with ]")
            }
            skipSpace()
        }
    }

    /// Reads a string and returns its unescaped bytes.
    private mutating func string() throws(Fault) -> [UInt8] {
        let opening = offset
        offset += 1
        var text: [UInt8] = []
        while offset < bytes.count {
            let byte = bytes[offset]
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return text
            case 0..<0x20:
                throw fault(
                    byte == UInt8(ascii: "\n") ? "the line ends inside a text" : "a control character inside a text",
                    "close the text with \", or write \\n, \\t or \\u00XX")
            case UInt8(ascii: "\\"): try escape(into: &text)
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw Fault(offset: opening, message: "this text is never closed", advice: "close it with \"")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Fault) {
        let start = offset
        offset += 1
        guard offset < bytes.count else { return }
        let byte = bytes[offset]
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var end = offset
            defer { offset = end }
            do throws(UnicodeEscapeFault) {
                text.append(contentsOf: String(Character(try bytes.span.unicodeEscape(at: &end))).utf8)
            } catch {
                switch error {
                case .digits:
                    throw Fault(
                        offset: start, message: "\\u needs four hex digits", advice: "write \\u00e9 for é, or é itself")
                case .surrogate:
                    throw Fault(
                        offset: start, message: "half of a surrogate pair",
                        advice: "write both halves, or the character itself")
                }
            }
        default:
            throw Fault(
                offset: start, message: "an escape that JSON does not have", advice: "write \\\\ for a backslash")
        }
    }

    private mutating func number() throws(Fault) {
        let start = offset
        _ = take("-")
        if take("0") {
            if offset < bytes.count, Self.isDigit(bytes[offset]) {
                throw fault("a number begins with 0", "take the leading zero out")
            }
        } else {
            try digits()
        }
        var isWhole = true
        if take(".") {
            isWhole = false
            try digits()
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("+") { _ = take("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, Int64(text).map({ $0.magnitude > UInt64(JSON.integerLimit) }) ?? true {
            throw Fault(offset: start, message: "\(text) is outside ±(2^53-1)", advice: "write it as a text")
        }
        if Double(text).map({ !$0.isFinite }) ?? true {
            throw Fault(offset: start, message: "\(text) is too large for a number", advice: "write it as a text")
        }
    }

    private mutating func digits() throws(Fault) {
        let start = offset
        while offset < bytes.count, Self.isDigit(bytes[offset]) { offset += 1 }
        if offset == start { throw fault("a digit is missing in a number", "write for example 0.5") }
    }

    private mutating func word(_ word: String) throws(Fault) {
        guard bytes[offset...].starts(with: word.utf8) else {
            throw fault("a word that JSON does not have", "write true, false, null, or a text in double quotes")
        }
        offset += word.utf8.count
    }

    private func checkDepth() throws(Fault) {
        guard steps.count < JSON.depthLimit else {
            throw fault("nested deeper than \(JSON.depthLimit)", "make it flatter")
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard offset < bytes.count, UInt32(bytes[offset]) == character.value else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return
            }
        }
    }

    /// A description of the current byte, for a message.
    private var found: String {
        guard offset < bytes.count else { return "the end of the file" }
        let byte = bytes[offset]
        return (0x21...0x7E).contains(byte) ? String(Character(Unicode.Scalar(byte))) : "a character"
    }

    private func fault(_ message: String, _ advice: String) -> Fault {
        Fault(offset: offset, message: message, advice: advice)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
