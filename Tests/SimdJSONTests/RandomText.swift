import TestSupport

/// JSON texts as other programs might write them.
enum RandomText {
    static func value(to text: inout [UInt8], depth: Int, _ random: inout SeededGenerator) {
        blanks(to: &text, &random)
        switch random.below(depth < 5 ? 9 : 6) {
        case 0: text += Array("null".utf8)
        case 1: text += Array(random.chance(50) ? "true".utf8 : "false".utf8)
        case 2, 3: number(to: &text, &random)
        case 4, 5: string(to: &text, &random)
        case 6:
            text.append(UInt8(ascii: "["))
            let count = random.below(5)
            for index in 0..<count {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                value(to: &text, depth: depth + 1, &random)
            }
            blanks(to: &text, &random)
            text.append(UInt8(ascii: "]"))
        default:
            text.append(UInt8(ascii: "{"))
            let count = random.below(6)
            for index in 0..<count {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                blanks(to: &text, &random)
                name(to: &text, &random)
                blanks(to: &text, &random)
                text.append(UInt8(ascii: ":"))
                value(to: &text, depth: depth + 1, &random)
            }
            blanks(to: &text, &random)
            text.append(UInt8(ascii: "}"))
        }
        blanks(to: &text, &random)
    }

    /// Whether a text of this kind may be none of I-JSON: a name twice, or a number beyond the limits.
    static func mayBeRefused(_ text: [UInt8]) -> Bool {
        text.contains(UInt8(ascii: ":")) || text.contains { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    static func number(to text: inout [UInt8], _ random: inout SeededGenerator) {
        if random.chance(30) { text.append(UInt8(ascii: "-")) }
        let wholes = random.chance(10) ? random.below(25) + 1 : random.below(4) + 1
        if random.chance(15) { text.append(UInt8(ascii: "0")) } else { digits(wholes, first: 1, to: &text, &random) }
        if random.chance(40) {
            text.append(UInt8(ascii: "."))
            digits(random.below(random.chance(10) ? 40 : 6) + 1, first: 0, to: &text, &random)
        }
        if random.chance(30) {
            text.append(random.chance(50) ? UInt8(ascii: "e") : UInt8(ascii: "E"))
            if random.chance(60) { text.append(random.chance(50) ? UInt8(ascii: "+") : UInt8(ascii: "-")) }
            digits(random.below(3) + 1, first: 0, to: &text, &random)
        }
    }

    private static func digits(_ count: UInt64, first: UInt64, to text: inout [UInt8], _ random: inout SeededGenerator)
    {
        for index in 0..<count {
            let lowest = index == 0 ? first : 0
            text.append(UInt8(ascii: "0") + UInt8(lowest + random.below(10 - lowest)))
        }
    }

    /// Few names, so that some stand twice.
    private static func name(to text: inout [UInt8], _ random: inout SeededGenerator) {
        if random.chance(20) { return string(to: &text, &random) }
        text += Array(
            ["\"a\"", "\"b\"", "\"c\"", "\"\\u0061\"", "\"ab\"", "\"\"", "\"title\"", "\"é\"", "\"attributes\""][
                Int(random.below(9))
            ].utf8)
    }

    private static func string(to text: inout [UInt8], _ random: inout SeededGenerator) {
        let pieces = [
            "a", "12345678", "é", "☕", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\uD83D\\uDE00", "\\u0000",
            "\u{7F}",
            "long text without an end ", "\\t", " ", "{", "]", ":", ",",
        ]
        text.append(UInt8(ascii: "\""))
        for _ in 0..<random.below(7) { text += Array(pieces[Int(random.below(UInt64(pieces.count)))].utf8) }
        text.append(UInt8(ascii: "\""))
    }

    private static func blanks(to text: inout [UInt8], _ random: inout SeededGenerator) {
        while random.chance(15) { text.append([0x20, 0x0A, 0x0D, 0x09][Int(random.below(4))]) }
    }
}
