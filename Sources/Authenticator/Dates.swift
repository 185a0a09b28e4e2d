public import TelltaleModel

/// Dates of RFC 3339, in UTC, to the second: `2027-11-24T00:00:00Z`.
public enum UTCDate {
    /// The date that `text` names; `nil` for anything but `YYYY-MM-DDThh:mm:ssZ` with a day that exists.
    public static func timestamp(_ text: String) -> Timestamp? {
        DateText(text).map(\.time).flatMap { self.text($0) == text ? $0 : nil }
    }

    /// `YYYY-MM-DDThh:mm:ssZ`, rounded down to the second.
    public static func text(_ time: Timestamp) -> String { time.internetDate.dropLast(".000Z".count) + "Z" }
}
