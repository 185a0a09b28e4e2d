import Foundation
import TelltaleModel

/// A line of a transcript with placeholders in it.
///
/// `<int>` `<epoch>` `<cursor>` `<selection>` (the end of a cursor) and `<word>` match a value of that name, `<any>`
/// the rest of the line. `<NAME:TYPE>` remembers the match, and `<NAME>` stands for it from then on. In JSON,
/// `"<int>"`, `"<text>"` and `"<any>"` match a value, and `...` in an object allows other members.
struct LinePattern {
    let text: String

    /// Whether `line` matches the pattern. Remembered values are stored in `names`.
    func matches(_ line: String, _ names: inout [String: String]) -> Bool {
        let (head, tail) = Self.split(text)
        let (lineHead, lineTail) = Self.split(line)
        if head.hasSuffix("<any>"), tail == nil {
            return line.hasPrefix(Self.filled(String(head.dropLast(5)), names))
        }
        let words = head.split(separator: " ", omittingEmptySubsequences: false)
        let lineWords = lineHead.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == lineWords.count else { return false }
        for (word, lineWord) in zip(words, lineWords) {
            guard match(String(word), String(lineWord), &names) else { return false }
        }
        switch (tail, lineTail) {
        case (nil, nil): return true
        case (let tail?, let lineTail?):
            guard let pattern = try? JSONParser.parse(Self.readable(tail)), let json = try? JSONParser.parse(lineTail)
            else { return false }
            return match(pattern, json, &names)
        case (nil, _), (_, nil): return false
        }
    }

    /// The text with all remembered values filled in, as a client sends it.
    static func filled(_ text: String, _ names: [String: String]) -> String {
        var result = text
        for (name, value) in names { result = result.replacing("<\(name)>", with: value) }
        return result
    }

    private static func split(_ line: String) -> (head: String, tail: String?) {
        guard let brace = line.range(of: " {") else { return (line, nil) }
        return (String(line[..<brace.lowerBound]), String(line[brace.lowerBound...].dropFirst()))
    }

    /// JSON text, with `...` made a member.
    static func readable(_ tail: String) -> String {
        tail.replacing(",...}", with: #","...":true}"#).replacing("{...}", with: #"{"...":true}"#)
    }

    /// Matches one word: literal text around placeholders, the first of which matches as little as possible.
    private func match(_ pattern: String, _ word: String, _ names: inout [String: String]) -> Bool {
        guard let open = pattern.firstIndex(of: "<"), let close = pattern[open...].firstIndex(of: ">") else {
            return pattern == word
        }
        guard word.hasPrefix(pattern[..<open]) else { return false }
        let rest = word.dropFirst(pattern[..<open].count)
        let patternRest = String(pattern[pattern.index(after: close)...])
        let parts = pattern[pattern.index(after: open)..<close].split(separator: ":", maxSplits: 1).map(String.init)
        let type = parts.last ?? ""
        for end in rest.indices + [rest.endIndex] {
            let value = String(rest[..<end])
            if parts.count == 1, let known = names[type] {
                guard known == value else { continue }
            } else {
                guard Self.isOf(type, value) else { continue }
            }
            var found = names
            if parts.count == 2, let name = parts.first { found[name] = value }
            guard match(patternRest, String(rest[end...]), &found) else { continue }
            names = found
            return true
        }
        return false
    }

    private static func isOf(_ type: String, _ value: String) -> Bool {
        switch type {
        case "int": value.wholeMatch(of: /[0-9]{1,19}/) != nil
        case "epoch": value.wholeMatch(of: /[0-9a-f]{16}/) != nil
        case "cursor": value.wholeMatch(of: /[0-9a-f]{16}:[0-9]{1,19}:[0-9a-f]{4}/) != nil
        case "selection": value.wholeMatch(of: /[0-9a-f]{4}/) != nil
        case "word", "text": !value.isEmpty
        case _: false
        }
    }

    private func match(_ pattern: JSON, _ json: JSON, _ names: inout [String: String]) -> Bool {
        switch (pattern, json) {
        case (.string("<any>"), _): return true
        case (.string("<text>"), .string(let text)): return !text.isEmpty
        case (.string(let text), .string(let value)) where text.hasPrefix("<"):
            return match(text, value, &names)
        case (.string(let text), .integer(let integer)) where text.hasPrefix("<"):
            return match(text, "\(integer)", &names)
        case (.object(let expected), .object(let object)):
            let isOpen = expected["..."] != nil
            for member in expected where member.name != "..." {
                guard let value = object[member.name], match(member.value, value, &names) else { return false }
            }
            return isOpen || object.count == expected.count
        case (.array(let expected), .array(let array)):
            guard expected.count == array.count else { return false }
            for (pattern, element) in zip(expected, array) {
                guard match(pattern, element, &names) else { return false }
            }
            return true
        case _: return pattern == json
        }
    }
}
