public import TelltaleModel

/// The template of `telltale watch --format`: text with `{{path}}` for members of what `--json` prints.
///
/// `\n`, `\t` and `\\` are a new line, a tabulator and a backslash.
public struct RowFormat: Sendable {
    private enum Part: Sendable {
        case text(String)
        case member([String])
    }

    private let parts: [Part]

    /// A template that cannot be read, with the reason.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    public init(_ template: String) throws(Fault) {
        var parts: [Part] = []
        var rest = Substring(template)
        while let open = rest.firstRange(of: "{{") {
            parts.append(.text(Self.unescaped(rest[..<open.lowerBound])))
            let behind = rest[open.upperBound...]
            guard let close = behind.firstRange(of: "}}") else {
                throw Fault(description: "a {{ has no }}: \(rest[open.lowerBound...].prefix(40))")
            }
            let path = String(behind[..<close.lowerBound]).trimmed
            let names = path.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
            guard !names.contains("") else {
                throw Fault(description: "{{\(path)}} is no path such as {{key}} or {{row.content.eta}}")
            }
            parts.append(.member(names))
            rest = behind[close.upperBound...]
        }
        parts.append(.text(Self.unescaped(rest)))
        self.parts = parts
    }

    /// The template with the members of an object. An absent or null member becomes empty; a text is copied with
    /// control characters replaced by blanks; anything else becomes JSON.
    public func filled(with object: JSON) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .text(let literal): text += literal
            case .member(let names):
                var value: JSON? = object
                for name in names { value = value?[name] }
                switch value {
                case nil, .null?: break
                case .string(let string)?: text += string.harmless
                case .some(let other): text += other.description.harmlessJSON
                }
            }
        }
        return text
    }

    private static func unescaped(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                switch character {
                case "n": result.append("\n")
                case "t": result.append("\t")
                case "\\": result.append("\\")
                case _: result += "\\\(character)"
                }
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return isEscaped ? result + "\\" : result
    }
}
