internal import TelltaleModel

/// Parses the placeholders `{{path | filter:"argument" | …}}` of a text.
struct TemplateParser {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func parts() throws(TemplateSyntaxError) -> [Template.Part] {
        var parts: [Template.Part] = []
        var start = 0
        while offset < bytes.count {
            guard isAt("{{") else {
                offset += 1
                continue
            }
            if offset > start { parts.append(.literal(String(decoding: bytes[start..<offset], as: UTF8.self))) }
            parts.append(try value())
            start = offset
        }
        if offset > start { parts.append(.literal(String(decoding: bytes[start..<offset], as: UTF8.self))) }
        return parts
    }

    private mutating func value() throws(TemplateSyntaxError) -> Template.Part {
        let opening = offset
        offset += 2
        skipSpaces()
        let pathStart = offset
        let path = word { Self.isNameByte($0) || $0 == UInt8(ascii: ".") }
        guard !path.isEmpty else { throw failure("a path is expected behind {{") }
        guard !path.split(separator: ".", omittingEmptySubsequences: false).contains("") else {
            throw TemplateSyntaxError(offset: pathStart, reason: "\(path) has an empty name between its dots")
        }
        var filters: [TemplateFilter] = []
        while true {
            skipSpaces()
            guard offset < bytes.count else {
                throw TemplateSyntaxError(offset: opening, reason: "this {{ is never closed by }}")
            }
            if isAt("}}") {
                offset += 2
                return .value(TemplatePath(path), filters)
            }
            guard bytes[offset] == UInt8(ascii: "|") else { throw failure("| or }} is expected") }
            offset += 1
            filters.append(try filter())
        }
    }

    private mutating func filter() throws(TemplateSyntaxError) -> TemplateFilter {
        skipSpaces()
        let name = word(while: Self.isNameByte)
        guard !name.isEmpty else { throw failure("a filter's name is expected behind |") }
        skipSpaces()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: ":") else { return TemplateFilter(name, nil) }
        offset += 1
        skipSpaces()
        return TemplateFilter(name, try argument())
    }

    private mutating func argument() throws(TemplateSyntaxError) -> String {
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") || bytes[offset] == UInt8(ascii: "'") else {
            let bare = word { Self.isNameByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "+") }
            guard !bare.isEmpty else { throw failure("a number or a text in quotes is expected behind :") }
            return bare
        }
        let opening = offset
        let quote = bytes[offset]
        offset += 1
        let text = word { $0 != quote }
        guard offset < bytes.count else {
            throw TemplateSyntaxError(offset: opening, reason: "this quote is never closed")
        }
        offset += 1
        return text
    }

    private mutating func word(while belongs: (UInt8) -> Bool) -> String {
        let start = offset
        while offset < bytes.count, belongs(bytes[offset]) { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func skipSpaces() {
        while offset < bytes.count, bytes[offset] == UInt8(ascii: " ") { offset += 1 }
    }

    private func isAt(_ text: StaticString) -> Bool {
        bytes[offset...].starts(with: text.description.utf8)
    }

    private func failure(_ reason: String) -> TemplateSyntaxError {
        TemplateSyntaxError(offset: offset, reason: reason)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "_-".utf8.contains(byte) }
}
