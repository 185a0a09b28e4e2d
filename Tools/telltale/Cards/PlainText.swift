internal import TelltaleModel

extension String {
    /// The same for a terminal whose locale has no UTF-8, in as many columns: lines and marks become ASCII, symbols
    /// become stars, and all other characters become question marks.
    public var inASCII: String {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
        var text = ""
        for character in self {
            if character.isASCII {
                text.append(character)
            } else if let mark = Self.marks[character] {
                text.append(mark)
            } else if Symbols.glyphs.contains(character) {
                text += "*" + String(repeating: " ", count: max(0, character.displayWidth - 1))
            } else {
                text += String(repeating: "?", count: character.displayWidth)
            }
        }
        return text
    }

    /// The same for JSON text, which stays equivalent: other characters become escapes.
    public var escapedToASCII: String {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
        var text = ""
        for unit in utf16 {
            if unit < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                text += "\\u" + Hexadecimal.text(of: UInt64(unit), digits: 4)
            }
        }
        return text
    }

    private static let marks: [Character: Character] = [
        "─": "-", "│": "|", "├": "|", "└": "`", "┌": "+", "┐": "+", "┘": "+", "┤": "|", "╭": "+", "╮": "+", "╯": "+",
        "╰": "+",
        "━": "=", "┏": "+", "┓": "+", "┗": "+", "┛": "+", "┃": "|", "▏": ".", "▎": ".", "▍": ".", "▌": "#", "▋": "#",
        "▊": "#", "▉": "#", "▶": ">", "■": "#", "∥": "=", "★": "*", "→": ">", "“": "\"", "”": "\"", "…": "~", "·": "-",
        "•": "*",
        "—": "-",
        "–": "-", "’": "'", "█": "#", "░": ".", "▓": "#", "▒": ":", "●": "*", "○": "o", "✓": "v", "✗": "x", "×": "x",
        "◆": "*", "◉": "*", "◌": "o", "µ": "u", "−": "-", "↗": ">", "↻": "@", "┄": "-", "¦": "|",
    ]
}

/// Whether a locale's characters are UTF-8, by the variables that name it, the strongest first.
///
/// Without any of them the locale counts as UTF-8: a container has none, and its terminal usually has UTF-8.
public func localeHasUTF8(_ environment: (String) -> String?) -> Bool {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        guard let value = environment(name), !value.isEmpty else { continue }
        let text = value.lowercased()
        return text.contains("utf-8") || text.contains("utf8")
    }
    return true
}
