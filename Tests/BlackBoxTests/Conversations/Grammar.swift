import Foundation
import Testing

/// A grammar in ABNF (RFC 5234 with the case-sensitive strings of RFC 7405), and whether a text is of it.
///
/// A matcher of its own, so that the published grammar is checked without anything installed: it follows all
/// alternatives at once, and remembers where each rule ended.
struct Grammar: Sendable, CustomTestStringConvertible {
    indirect enum Node: Sendable {
        case alternatives([Node])
        case sequence([Node])
        case repetition(ClosedRange<Int>, Node)
        case rule(String)
        case text([UInt32], isCaseSensitive: Bool)
        case range(ClosedRange<UInt32>)
    }

    struct SyntaxError: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var rules: [String: Node] = [
        "alpha": .alternatives([.range(0x41...0x5A), .range(0x61...0x7A)]), "digit": .range(0x30...0x39),
        "sp": .range(0x20...0x20), "dquote": .range(0x22...0x22),
    ]

    /// Short: a failed expectation prints it.
    var testDescription: String { "grammar of \(rules.count) rules" }

    init(_ text: String) throws {
        var definition = ""
        var definitions: [String] = []
        for line in text.split(separator: "\n") {
            var line = Substring(Self.withoutComment(String(line)))
            while line.last == " " { line.removeLast() }
            if line.isEmpty { continue }
            if line.first != " " {
                definitions.append(definition)
                definition = ""
            }
            definition += line + " "
        }
        for definition in (definitions + [definition]).filter({ !$0.isEmpty }) {
            guard let equals = definition.firstIndex(of: "=") else {
                throw SyntaxError(description: "no = in \(definition)")
            }
            let name = definition[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            var parser = Parser(text: Array(definition[definition.index(after: equals)...]))
            guard rules[name] == nil else { throw SyntaxError(description: "\(name) is defined twice") }
            rules[name] = try parser.alternatives()
            guard parser.isAtEnd else { throw SyntaxError(description: "\(name) has a rest") }
        }
        for (name, rule) in rules { try check(rule, in: name) }
    }

    func matches(_ rule: String, _ text: String) -> Bool {
        var matcher = Matcher(rules: rules, text: text.unicodeScalars.map(\.value))
        return matcher.ends(.rule(rule), from: 0).contains(matcher.text.count)
    }

    private static func withoutComment(_ line: String) -> String {
        var isQuoted = false
        for index in line.indices {
            if line[index] == "\"" { isQuoted.toggle() }
            if line[index] == ";", !isQuoted { return String(line[..<index]) }
        }
        return line
    }

    private func check(_ node: Node, in name: String) throws {
        switch node {
        case .alternatives(let nodes), .sequence(let nodes): for node in nodes { try check(node, in: name) }
        case .repetition(_, let node): try check(node, in: name)
        case .rule(let rule):
            if rules[rule] == nil { throw SyntaxError(description: "\(name) uses \(rule), which is not defined") }
        case .text, .range: break
        }
    }
}

extension Grammar {
    private struct Parser {
        let text: [Character]
        var position = 0

        init(text: [Character]) {
            self.text = text
        }

        var isAtEnd: Bool { !text[position...].contains { $0 != " " } }

        private mutating func peek() -> Character? {
            while position < text.count, text[position] == " " { position += 1 }
            return position < text.count ? text[position] : nil
        }

        mutating func alternatives() throws -> Node {
            var nodes = [try sequence()]
            while peek() == "/" {
                position += 1
                nodes.append(try sequence())
            }
            return .alternatives(nodes)
        }

        private mutating func sequence() throws -> Node {
            var nodes: [Node] = []
            while let next = peek(), next != "/", next != ")", next != "]" { nodes.append(try repetition()) }
            return .sequence(nodes)
        }

        private mutating func repetition() throws -> Node {
            _ = peek()
            let least = number()
            guard position < text.count, text[position] == "*" else {
                guard let least else { return try element() }
                return .repetition(least...least, try element())
            }
            position += 1
            let most = number()
            return .repetition((least ?? 0)...(most ?? .max), try element())
        }

        private mutating func number() -> Int? {
            var digits = ""
            while position < text.count, text[position].isASCII, text[position].isNumber {
                digits.append(text[position])
                position += 1
            }
            return Int(digits)
        }

        private mutating func element() throws -> Node {
            switch peek() {
            case "(", "[":
                let isOptional = text[position] == "["
                position += 1
                let node = try alternatives()
                guard let close = peek(), close == (isOptional ? "]" : ")") else {
                    throw SyntaxError(description: "a bracket is not closed")
                }
                position += 1
                return isOptional ? .repetition(0...1, node) : node
            case "\"": return .text(quoted(), isCaseSensitive: false)
            case "%":
                position += 1
                if text[position] == "s" {
                    position += 1
                    return .text(quoted(), isCaseSensitive: true)
                }
                return try range()
            case let next? where next.isLetter:
                var name = ""
                while position < text.count, text[position].isLetter || text[position].isNumber || text[position] == "-"
                {
                    name.append(text[position])
                    position += 1
                }
                return .rule(name.lowercased())
            case let other: throw SyntaxError(description: "unexpected \(other.map { "\($0)" } ?? "end")")
            }
        }

        private mutating func quoted() -> [UInt32] {
            position += 1
            var scalars: [UInt32] = []
            while position < text.count, text[position] != "\"" {
                scalars += text[position].unicodeScalars.map(\.value)
                position += 1
            }
            position += 1
            return scalars
        }

        private mutating func range() throws -> Node {
            func hexadecimal() throws -> UInt32 {
                var digits = ""
                while position < text.count, text[position].isHexDigit {
                    digits.append(text[position])
                    position += 1
                }
                guard let value = UInt32(digits, radix: 16) else { throw SyntaxError(description: "no number") }
                return value
            }
            guard text[position] == "x" else { throw SyntaxError(description: "only %x and %s are read") }
            position += 1
            let low = try hexadecimal()
            guard position < text.count, text[position] == "-" else { return .range(low...low) }
            position += 1
            return .range(low...(try hexadecimal()))
        }
    }

    private struct Matcher {
        struct Place: Hashable {
            let rule: String
            let position: Int
        }

        let rules: [String: Node]
        let text: [UInt32]
        private var known: [Place: Set<Int>] = [:]

        init(rules: [String: Node], text: [UInt32]) {
            self.rules = rules
            self.text = text
        }

        mutating func ends(_ node: Node, from start: Int) -> Set<Int> {
            switch node {
            case .alternatives(let nodes):
                var all: Set<Int> = []
                for node in nodes { all.formUnion(ends(node, from: start)) }
                return all
            case .sequence(let nodes):
                var current: Set<Int> = [start]
                for node in nodes {
                    var next: Set<Int> = []
                    for position in current { next.formUnion(ends(node, from: position)) }
                    current = next
                    if current.isEmpty { break }
                }
                return current
            case .repetition(let counts, let node):
                var reached: Set<Int> = counts.lowerBound == 0 ? [start] : []
                var current: Set<Int> = [start]
                var count = 0
                while count < counts.upperBound, !current.isEmpty {
                    var next: Set<Int> = []
                    for position in current { next.formUnion(ends(node, from: position)) }
                    count += 1
                    next.subtract(count > counts.lowerBound ? reached : [])
                    if count >= counts.lowerBound { reached.formUnion(next) }
                    current = next
                }
                return reached
            case .rule(let name):
                let place = Place(rule: name, position: start)
                if let known = known[place] { return known }
                let result = rules[name].map { ends($0, from: start) } ?? []
                known[place] = result
                return result
            case .text(let scalars, let isCaseSensitive):
                guard start + scalars.count <= text.count else { return [] }
                for (offset, scalar) in scalars.enumerated() {
                    let found = text[start + offset]
                    guard found == scalar || (!isCaseSensitive && Self.folded(found) == Self.folded(scalar)) else {
                        return []
                    }
                }
                return [start + scalars.count]
            case .range(let range):
                return start < text.count && range.contains(text[start]) ? [start + 1] : []
            }
        }

        private static func folded(_ scalar: UInt32) -> UInt32 {
            (0x41...0x5A).contains(scalar) ? scalar + 0x20 : scalar
        }
    }
}
