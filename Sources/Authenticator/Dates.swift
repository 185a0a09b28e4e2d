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
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists, hour < 24, minute < 60, second < 60 else { return nil }
        return Timestamp(milliseconds: (((date.daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
    }

    /// `YYYY-MM-DDThh:mm:ssZ`, rounded down to the second.
    public static func text(_ time: Timestamp) -> String {
        let seconds = CivilDate.floorDivide(time.milliseconds, 1_000)
        let days = CivilDate.floorDivide(seconds, 86_400)
        let rest = seconds - days * 86_400
        let parts = [rest / 3_600, rest / 60 % 60, rest % 60].map { CivilDate.padded($0, 2) }
        return "\(CivilDate(daysSinceEpoch: days))T\(parts.joined(separator: ":"))Z"
    }
}
