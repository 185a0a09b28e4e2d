extension String {
    /// Columns that a terminal takes for it.
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// Without characters that would move the cursor, change the colours or turn the direction of writing.
    public var harmless: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars { text.append(scalar.isHarmful ? " " : scalar) }
        return String(text)
    }

    /// The same for JSON text, which stays what it is: they are written as escapes.
    public var harmlessJSON: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isHarmful {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isHarmful: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        case _: false
        }
    }
}

extension Character {
    /// By Unicode's East Asian Width and emoji presentation (UAX #11), as terminals follow it.
    var displayWidth: Int {
        guard let first = unicodeScalars.first else { return 0 }
        switch first.value {
        case 0x300...0x36F, 0x200B...0x200D, 0x20D0...0x20FF, 0xFE00...0xFE0F: return 0
        case 0x20..<0x1100: return 1
        case _: break
        }
        if unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
        if first.properties.isEmojiPresentation { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F200...0x1F251, 0x20000...0x3FFFD:
            return 2
        case _: return 1
        }
    }
}
