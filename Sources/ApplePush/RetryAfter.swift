public import TelltaleModel

/// A `Retry-After` field (RFC 9110, 10.2.3): seconds, or a date.
public enum RetryAfter {
    /// Reads a field. A date may have any of the three forms of HTTP (5.6.7).
    ///
    /// - Returns: Seconds from `now`, 0 for a date in the past; `nil` if the field is neither.
    public static func seconds(_ field: String, at now: Timestamp) -> Int64? {
        let words = field.split { " ,-".contains($0) }
        if words.count == 1, let word = words.first, field.utf8.first != UInt8(ascii: "-"), isNumber(word) {
            // A number that is too large for an integer means long.
            return Int64(word) ?? .max
        }
        guard let date = date(words, at: now) else { return nil }
        return max(0, CivilDate.floorDivide(date - now.milliseconds + 999, 1_000))
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov 6 08:49:37 1994`, in Unix
    /// ms.
    private static func date(_ words: [Substring], at now: Timestamp) -> Int64? {
        let (day, month, year, time): (Substring, Substring, Substring, Substring)
        switch words.count {
        case 6 where words[5] == "GMT": (day, month, year, time) = (words[1], words[2], words[3], words[4])
        case 5: (month, day, time, year) = (words[1], words[2], words[3], words[4])
        default: return nil
        }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let month = months.firstIndex(of: String(month)), clock.count == 3,
            let day = number(day, upTo: 31), let year = fullYear(year, at: now),
            let hour = number(clock[0], upTo: 23), let minute = number(clock[1], upTo: 59),
            // 60 for a leap second.
            let second = number(clock[2], upTo: 60)
        else { return nil }
        let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
        guard CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date else { return nil }
        return (date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// A two-digit year is at most 50 years in the future.
    private static func fullYear(_ text: Substring, at now: Timestamp) -> Int64? {
        guard let year = number(text, upTo: 9_999) else { return nil }
        guard text.utf8.count == 2 else { return text.utf8.count == 4 ? year : nil }
        let present = CivilDate(daysSinceEpoch: CivilDate.floorDivide(now.milliseconds, 86_400_000)).year
        let full = present - present % 100 + year
        return full > present + 50 ? full - 100 : full
    }

    private static func number(_ text: Substring, upTo limit: Int64) -> Int64? {
        guard isNumber(text), let value = Int64(text), value <= limit else { return nil }
        return value
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
