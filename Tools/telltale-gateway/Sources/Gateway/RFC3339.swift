public import TelltaleModel

/// Dates of the Internet (RFC 3339), to and from Unix milliseconds.
public enum RFC3339 {
    /// `2026-11-21T10:30:00.123Z` or with an offset; fractions below a millisecond are cut. `nil` for anything else,
    /// and for dates that do not exist.
    public static func parse(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes, 0..<4), let month = number(bytes, 5..<7), let day = number(bytes, 8..<10),
            let hour = number(bytes, 11..<13), let minute = number(bytes, 14..<16), let second = number(bytes, 17..<19),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists else { return nil }
        var index = 19
        var milliseconds: Int64 = 0
        if bytes[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            var scale: Int64 = 100
            while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
                milliseconds += Int64(bytes[index] - 0x30) * scale
                scale /= 10
                index += 1
            }
            guard index > start else { return nil }
        }
        guard index < bytes.count, let offset = offset(bytes, index) else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Timestamp(milliseconds: seconds * 1_000 + milliseconds)
    }

    /// UTC, with milliseconds.
    public static func format(_ time: Timestamp) -> String {
        let days = CivilDate.floorDivide(time.milliseconds, 86_400_000)
        let rest = time.milliseconds - days * 86_400_000
        let clock = [rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60].map { CivilDate.padded($0, 2) }
        return
            "\(CivilDate(daysSinceEpoch: days))T\(clock.joined(separator: ":")).\(CivilDate.padded(rest % 1_000, 3))Z"
    }

    private static func offset(_ bytes: [UInt8], _ index: Int) -> Int64? {
        if bytes.count == index + 1 { return [UInt8(ascii: "Z"), UInt8(ascii: "z")].contains(bytes[index]) ? 0 : nil }
        guard bytes.count == index + 6, bytes[index + 3] == UInt8(ascii: ":"),
            let hours = number(bytes, index + 1..<index + 3), let minutes = number(bytes, index + 4..<index + 6),
            hours < 24, minutes < 60
        else { return nil }
        switch bytes[index] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return 0 - (hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    private static func number(_ bytes: [UInt8], _ range: Range<Int>) -> Int64? {
        var value: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(bytes[index]) else { return nil }
            value = value * 10 + Int64(bytes[index] - 0x30)
        }
        return value
    }
}
