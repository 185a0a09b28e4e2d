internal import TelltaleModel

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

    /// The same for JSON text: the characters are written as escapes, so the value stays the same.
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
