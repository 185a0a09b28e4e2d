import TelltaleModel

/// Markup. A text that is interpolated into it is escaped, so that no event's data can become markup.
struct HTML: ExpressibleByStringInterpolation {
    let markup: String

    init(stringLiteral markup: String) { self.markup = markup }
    init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }
    private init(markup: String) { self.markup = markup }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { markup += literal }
        mutating func appendInterpolation(_ html: HTML) { markup += html.markup }
        mutating func appendInterpolation(_ html: HTML?) { markup += html?.markup ?? "" }
        mutating func appendInterpolation(_ text: String) { markup += HTML.escaped(text) }
        mutating func appendInterpolation(_ number: some BinaryInteger) { markup += "\(number)" }
    }

    static func + (first: HTML, second: HTML) -> HTML { HTML(markup: first.markup + second.markup) }
    static func += (first: inout HTML, second: HTML) { first = first + second }

    /// In the text of an element and between quotes of an attribute. Characters that turn the direction of writing, or
    /// control a terminal, are spaces.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.harmlessLines.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case _: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

extension Sequence<HTML> {
    func joined() -> HTML { reduce(into: "") { $0 += $1 } }
}
