/// The width of texts in a sans-serif font, estimated without the font.
///
/// The browser's font is unknown. The widths are those of Helvetica plus a tenth, so that text in a similar font fits the
/// measured width.
enum TextWidth {
    static func of(_ text: String, size: Double) -> Double {
        text.unicodeScalars.reduce(0) { $0 + width($1) } * size * 1.1
    }

    /// The text, or the longest beginning that fits, followed by an ellipsis.
    static func cut(_ text: String, size: Double, to limit: Double) -> String {
        var result = ""
        var total = 0.0
        for character in text {
            let next = character.unicodeScalars.reduce(0) { $0 + width($1) } * size * 1.1
            if total + next > limit {
                while !result.isEmpty, of(result + "…", size: size) > limit { result.removeLast() }
                return result + "…"
            }
            result.append(character)
            total += next
        }
        return result
    }

    private static func width(_ scalar: Unicode.Scalar) -> Double {
        switch scalar {
        case "i", "j", "l", "'", "|": 0.23
        case "f", "t", "I", " ", ".", ",", ":", ";", "!", "/", "[", "]", "(", ")": 0.3
        case "r", "-", "\"", "`", "*": 0.36
        case "m", "M", "W", "@", "%": 0.9
        case "w", "—": 0.76
        case "A"..."Z", "&", "+", "<", ">", "=", "~": 0.7
        case _ where scalar.value < 0x7F: 0.56
        case _ where scalar.value < 0x0300: 0.66
        case _ where scalar.properties.generalCategory == .nonspacingMark: 0
        default: 1.1
        }
    }
}
