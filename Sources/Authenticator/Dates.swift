public import TelltaleModel

/// Dates of RFC 3339, in UTC, to the second: `2027-11-24T00:00:00Z`.
public enum UTCDate {
    /// The date that `text` names; `nil` for anything but `YYYY-MM-DDThh:mm:ssZ` with a day that exists.
    public static func timestamp(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        let form = Array("0000-00-00T00:00:00Z".utf8)
        guard bytes.count == form.count else { return nil }
        for (byte, expected) in zip(bytes, form) {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard expected == UInt8(ascii: "0") ? isDigit : byte == expected else { return nil }
        }
        func number(_ start: Int, _ count: Int) -> Int64 {
            bytes[start..<start + count].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }
        let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
        let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
        let days = daysSinceEpoch(year: year, month: month, day: day)
        guard (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60,
            civil(of: days) == (year, month, day)
        else { return nil }
        return Timestamp(milliseconds: (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
    }

    /// `YYYY-MM-DDThh:mm:ssZ`, rounded down to the second.
    public static func text(_ time: Timestamp) -> String {
        let seconds = (Double(time.milliseconds) / 1_000).rounded(.down)
        let total = Int64(seconds)
        let days = (seconds / 86_400).rounded(.down)
        let rest = total - Int64(days) * 86_400
        let (year, month, day) = civil(of: Int64(days))
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(rest / 3_600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))Z"
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Years begin in March here, so that the leap day is the last.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(of days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}
