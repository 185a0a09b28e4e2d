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
            (1...12).contains(month), (1...daysOf(month, year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
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
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Timestamp(milliseconds: seconds * 1_000 + milliseconds)
    }

    /// UTC, with milliseconds.
    public static func format(_ time: Timestamp) -> String {
        let (days, rest) = divide(time.milliseconds, 86_400_000)
        let (year, month, day) = date(days)
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(rest / 3_600_000, 2)):"
            + "\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1_000 % 60, 2)).\(pad(rest % 1_000, 3))Z"
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

    private static func daysOf(_ month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Since 1970 of the Gregorian calendar: years begin in March, so that the leap day is the last one.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = divide(year, 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(_ days: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = divide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted + (shifted < 10 ? 3 : -9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func divide(_ number: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let rest = ((number % divisor) + divisor) % divisor
        return ((number - rest) / divisor, rest)
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
