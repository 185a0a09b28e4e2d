internal import TelltaleModel

/// The first fault of a JSON text, with its location.
///
/// The parser reports faults for programs. After it has refused a text, this reports the line, the column and advice for the
/// author.
package struct JSONFault: Hashable {
    /// Line and column are counted from 1; columns in Unicode scalars, as editors count them.
    package var line: Int
    package var column: Int
    /// The path of the value that was being read.
    package var path: String
    package var message: String
    package var advice: String

    private init(_ offset: Int, _ path: String, _ text: (message: String, advice: String), in bytes: [UInt8]) {
        (line, column) = JSONPlaces.place(of: offset, in: bytes)
        (self.path, message, advice) = (path, text.message, text.advice)
    }

    /// The first fault of `bytes`; `nil` if there is none. A name that stands twice and a number that is not exact are no
    /// faults of JSON, and are looked for in a text that has none.
    package static func first(in bytes: [UInt8]) -> JSONFault? {
        if let (offset, mistake, path) = JSONMistake.first(in: bytes.span) {
            return JSONFault(offset, path, words(for: mistake, at: offset, in: bytes), in: bytes)
        }
        guard let (offset, path, number) = JSONPlaces(of: [], in: bytes).fault else { return nil }
        let text =
            number.map { ("\($0) is outside ±(2^53-1)", "write it as a text") }
            ?? ("this name stands twice in its object", "take one out")
        return JSONFault(offset, path, text, in: bytes)
    }

    private static func words(
        for mistake: JSONMistake, at offset: Int, in bytes: [UInt8]
    ) -> (message: String, advice: String) {
        let byte = offset < bytes.count ? bytes[offset] : nil
        let found =
            byte.map { (0x21...0x7E).contains($0) ? String(UnicodeScalar($0)) : "a character" } ?? "the end of the file"
        switch mistake {
        case .encoding: return ("a byte here is not UTF-8", "save the file as UTF-8")
        case .end: return ("\(found) follows the end of the document", "take it out, or look for a } too many")
        case .noValue where bytes.allSatisfy(JSONPlaces.isBlank): return ("the file is empty", "write one object")
        case .noValue: return ("the file ends where a value should stand", "finish it")
        case .value: return words(forValue: found, at: offset, in: bytes)
        case .word:
            return ("a word that JSON does not have", "write true, false, null, or a text in double quotes")
        case .name where byte == nil: return ("the file ends inside an object", "close it with }")
        case .name where byte == UInt8(ascii: "}"): return ("a comma stands before }", "take the comma out")
        case .name:
            return ("\(found) stands where a member's name should", "names are texts in double quotes")
        case .colon: return ("a : is missing after the name", "write \"name\": value")
        case .depth: return ("nested deeper than \(JSON.depthLimit)", "make it flatter")
        case .unclosed(let bracket):
            let kind = bracket == UInt8(ascii: "}") ? "object" : "array"
            return ("the file ends inside an \(kind)", "close it with \(UnicodeScalar(bracket))")
        case .comma(let bracket):
            return ("\(found) stands where , or \(UnicodeScalar(bracket)) should", "a comma is missing before it")
        case .openText: return ("this text is never closed", "close it with \"")
        case .control:
            return (
                byte == UInt8(ascii: "\n") ? "the line ends inside a text" : "a control character inside a text",
                "close the text with \", or write \\n, \\t or \\u00XX"
            )
        case .cutEscape: return ("the file ends inside a text", "close it with \"")
        case .escape: return ("an escape that JSON does not have", "write \\\\ for a backslash")
        case .hexDigits: return ("\\u needs four hex digits", "write \\u00e9 for é, or é itself")
        case .surrogate: return ("half of a surrogate pair", "write both halves, or the character itself")
        case .leadingZero: return ("a number begins with 0", "take the leading zero out")
        case .digit: return ("a digit is missing in a number", "write for example 0.5")
        case .hugeNumber: return ("this is too large for a number", "write it as a text")
        }
    }

    /// What begins no value.
    private static func words(
        forValue found: String, at offset: Int, in bytes: [UInt8]
    ) -> (message: String, advice: String) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return ("the file begins with a byte order mark", "save it as UTF-8 without one")
        }
        switch found {
        case "'": return ("a text in single quotes", "write it in double quotes")
        case "/", "#":
            return ("a comment stands where a value should", "JSON has no comments: take it out")
        case "]" where bytes[..<offset].last(where: { !JSONPlaces.isBlank($0) }) == UInt8(ascii: ","):
            return ("a comma stands before ]", "take the comma out")
        case "}", "]", ",":
            return ("\(found) stands where a value should", "add the value, or take out the comma before it")
        case _: return ("\(found) begins no JSON value", "texts need double quotes")
        }
    }
}

/// The locations of values in a text that is JSON by RFC 8259.
struct JSONPlaces {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var steps: [Step] = []
    /// The requested paths with those of the values around them. Each value is looked up once, however many are requested.
    private var wanted: Set<String>
    private var offsets: [String: Int] = ["": 0]
    /// The first name that stands twice, or the first number that is not exact.
    private(set) var fault: (offset: Int, path: String, number: String?)?

    /// - Parameter paths: The requested paths; empty = only the ``fault`` is looked for.
    init(of paths: [String], in bytes: [UInt8]) {
        self.bytes = bytes
        wanted = Set(paths)
        for path in paths {
            for end in path.indices where path[end] == "." || path[end] == "[" { wanted.insert(String(path[..<end])) }
        }
        skipBlanks()
        pass("")
    }

    /// The line and the column of a path, or of the nearest existing value around it.
    subscript(path: String) -> (line: Int, column: Int) {
        var path = path[...]
        while offsets[String(path)] == nil {
            path = path[..<(path.lastIndex { $0 == "." || $0 == "[" } ?? path.startIndex)]
        }
        return Self.place(of: offsets[String(path)] ?? 0, in: bytes)
    }

    /// The line and the column of an offset, both from 1; columns count Unicode scalars.
    static func place(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
        let before = bytes[..<min(offset, bytes.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (
            before.count { $0 == UInt8(ascii: "\n") } + 1, before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
        )
    }

    static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func join(_ path: String, _ step: Step) -> String {
        switch step {
        case .member(let name): KindReader.join(path, name)
        case .element(let index): "\(path)[\(index)]"
        }
    }

    /// Passes a value. The depth of a JSON text is bounded.
    ///
    /// - Parameter path: `nil` = nothing in the value is looked for.
    private mutating func pass(_ path: String?) {
        switch bytes[offset] {
        case UInt8(ascii: "{"): passAll(before: UInt8(ascii: "}"), path)
        case UInt8(ascii: "["): passAll(before: UInt8(ascii: "]"), path)
        case UInt8(ascii: "\""): _ = passText()
        default:
            let start = offset
            while offset < bytes.count, !Self.isBlank(bytes[offset]), !",]}".utf8.contains(bytes[offset]) {
                offset += 1
            }
            guard bytes[start..<offset].allSatisfy("-0123456789".utf8.contains) else { return }
            let number = String(decoding: bytes[start..<offset], as: UTF8.self)
            let isExact = Int64(number).map { $0.magnitude <= UInt64(JSON.integerLimit) } ?? false
            if !isExact { note(start, number) }
        }
    }

    /// Passes an object or an array.
    private mutating func passAll(before bracket: UInt8, _ path: String?) {
        var names: Set<[UInt8]> = []
        var count = 0
        offset += 1
        skipBlanks()
        while bytes[offset] != bracket {
            let start = offset
            if bracket == UInt8(ascii: "}") {
                let name = passText()
                steps.append(.member(name))
                if !names.insert(Array(name.utf8)).inserted { note(start, nil) }
                skipBlanks()
                offset += 1
                skipBlanks()
            } else {
                steps.append(.element(count))
            }
            count += 1
            let inner = path.map { Self.join($0, steps[steps.count - 1]) }.flatMap { wanted.contains($0) ? $0 : nil }
            if let inner, offsets[inner] == nil { offsets[inner] = start }
            pass(inner)
            steps.removeLast()
            skipBlanks()
            if bytes[offset] == UInt8(ascii: ",") { offset += 1 }
            skipBlanks()
        }
        offset += 1
    }

    private mutating func passText() -> String {
        let start = offset
        offset += 1
        while bytes[offset] != UInt8(ascii: "\"") { offset += bytes[offset] == UInt8(ascii: "\\") ? 2 : 1 }
        offset += 1
        let text = try? JSONParser().parse(Array(bytes[start..<offset]).span)
        return text?.string ?? ""
    }

    private mutating func note(_ start: Int, _ number: String?) {
        if fault == nil { fault = (start, steps.reduce("", Self.join), number) }
    }

    private mutating func skipBlanks() { while offset < bytes.count, Self.isBlank(bytes[offset]) { offset += 1 } }
}
