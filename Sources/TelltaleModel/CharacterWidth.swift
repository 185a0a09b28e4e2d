extension Character {
    /// The columns that the character takes in a terminal, 0 to 2, by Unicode's East Asian Width and emoji presentation
    /// (UAX #11).
    public var displayWidth: Int {
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
