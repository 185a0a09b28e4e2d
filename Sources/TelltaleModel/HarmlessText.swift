// Text from outside, such as a title, a key or the name of a file, must not control a terminal.

extension String {
    /// Without characters that would move the cursor, change the colours or turn the direction of writing.
    package var harmless: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars { text.append(scalar.isHarmful ? " " : scalar) }
        return String(text)
    }

    /// The same for several lines, which stay lines.
    package var harmlessLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).harmless }.joined(separator: "\n")
    }

    /// The same for JSON text, which stays what it is: they are written as escapes.
    package var harmlessJSON: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isHarmful {
                text += "\\u" + Hexadecimal.text(of: UInt64(scalar.value), digits: 4)
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
