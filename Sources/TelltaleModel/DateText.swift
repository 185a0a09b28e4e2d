/// A date that was read from a text, in the proleptic Gregorian calendar, without a calendar library.
public struct DateText {
    /// A date without a zone is UTC.
    public let time: Timestamp
    /// Whether the text has a time of day to the second.
    public let hasSeconds: Bool
    /// Whether the text is a date of the Internet (RFC 3339): to the second, and with `Z` or `±hh:mm`.
    public let isInternetDate: Bool

    /// Reads `2026-11-21`, `2026-11-21T10:30[:00[.250]]`, a space instead of the `T`, and a suffix `Z` or `±hh[:mm]`.
    ///
    /// `nil` for anything else, and for dates that do not exist. Fractions below a millisecond are cut.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        var scanner = DigitScanner(bytes)
        guard let year = scanner.digits(limit: 4), scanner.offset == 4, scanner.take("-"), let month = scanner.pair(),
            scanner.take("-"), let day = scanner.pair()
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists else { return nil }
        var milliseconds = date.daysSinceEpoch * 86_400_000
        guard scanner.offset < bytes.count else {
            (time, hasSeconds, isInternetDate) = (Timestamp(milliseconds: milliseconds), false, false)
            return
        }
        guard scanner.take("Tt "), let hour = scanner.pair(), scanner.take(":"), let minute = scanner.pair(),
            hour <= 23, minute <= 59
        else { return nil }
        milliseconds += (hour * 60 + minute) * 60_000
        hasSeconds = scanner.take(":")
        if hasSeconds {
            let start = scanner.offset
            // Two digits, which a fraction may follow.
            guard scanner.pair() != nil, scanner.digits(limit: 1) == nil else { return nil }
            scanner.offset = start
            guard let thousandths = scanner.number(), thousandths < 61_000 else { return nil }
            milliseconds += thousandths
        }
        let zone = bytes[scanner.offset...]
        guard let offset = zone.isEmpty || zone == [UInt8(ascii: "z")] ? 0 : Self.zoneOffset(zone) else { return nil }
        time = Timestamp(milliseconds: milliseconds - offset * 60_000)
        // Of a zone's forms, `±hh:mm` alone has six bytes.
        isInternetDate = hasSeconds && (zone.count == 1 || zone.count == 6) && !bytes.contains(UInt8(ascii: ","))
    }

    /// Minutes east of UTC: `+02:00`, `-0330`, `+2`, `Z`.
    public static func zoneOffset(_ text: some Collection<UInt8>) -> Int64? {
        let bytes = Array(text)
        if bytes == [UInt8(ascii: "Z")] { return 0 }
        guard let sign = bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        var scanner = DigitScanner(bytes, offset: 1)
        guard let hours = scanner.digits(limit: 2), hours <= 23 else { return nil }
        var minutes: Int64 = 0
        if scanner.offset < bytes.count {
            if bytes[scanner.offset] == UInt8(ascii: ":") { scanner.offset += 1 }
            guard let value = scanner.digits(limit: 2), value <= 59, scanner.offset == bytes.count else { return nil }
            minutes = value
        }
        let offset = hours * 60 + minutes
        return sign == UInt8(ascii: "-") ? -offset : offset
    }
}

extension Timestamp {
    /// A date of the Internet (RFC 3339): `2026-11-21T10:30:00.123Z`, or with an offset.
    public init?(internetDate text: String) {
        guard let date = DateText(text), date.isInternetDate else { return nil }
        self = date.time
    }

    /// As RFC 3339 writes it: UTC, with milliseconds.
    public var internetDate: String {
        let days = CivilDate.floorDivide(milliseconds, 86_400_000)
        let rest = milliseconds - days * 86_400_000
        let clock = [rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60].map { CivilDate.padded($0, 2) }
        return
            "\(CivilDate(daysSinceEpoch: days))T\(clock.joined(separator: ":")).\(CivilDate.padded(rest % 1_000, 3))Z"
    }
}
