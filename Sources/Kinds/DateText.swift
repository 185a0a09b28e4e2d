internal import TelltaleModel

/// Parsing and printing of dates in the proleptic Gregorian calendar, without a calendar library.
enum DateText {
    /// The time that `value` stands for: Unix seconds, Unix milliseconds (if above 10^11, a bound that is far in the
    /// future as seconds and in the past as milliseconds), or an ISO 8601 text. `nil` for any other value.
    static func timestamp(_ value: JSON) -> Timestamp? {
        switch value {
        case .integer(let integer): fromNumber(Double(integer))
        case .number(let number): fromNumber(number)
        case .string(let text):
            if let time = parse(text) {
                time
            } else if text.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
            }),
                let number = Double(text)
            {  // Not `nan`, `inf`, `+5` or `0x1p3`, which Swift takes too.
                fromNumber(number)
            } else {
                nil
            }
        case .null, .bool, .array, .object: nil
        }
    }

    private static func fromNumber(_ number: Double) -> Timestamp? {
        guard number.magnitude > 1e11 else { return Timestamp(seconds: number) }
        return Timestamp(exactMilliseconds: number.rounded())
    }

    /// Parses `2026-11-21`, `2026-11-21T10:30[:00[.250]]`, a space instead of the `T`, and a suffix `Z` or `±hh[:mm]`.
    /// A date without a zone is UTC.
    static func parse(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        var scanner = DigitScanner(bytes)
        func take(_ allowed: StaticString) -> Bool {
            guard scanner.offset < bytes.count else { return false }
            let byte = bytes[scanner.offset]
            guard allowed.description.utf8.contains(byte) else { return false }
            scanner.offset += 1
            return true
        }
        func pair() -> Int64? {
            let start = scanner.offset
            guard let value = scanner.digits(limit: 2), scanner.offset == start + 2 else { return nil }
            return value
        }
        guard let year = scanner.digits(limit: 4), scanner.offset == 4, take("-"), let month = pair(), take("-"),
            let day = pair()
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists else { return nil }
        var milliseconds = date.daysSinceEpoch * 86_400_000
        guard scanner.offset < bytes.count else { return Timestamp(milliseconds: milliseconds) }

        guard take("Tt "), let hour = pair(), take(":"), let minute = pair(), hour <= 23, minute <= 59 else {
            return nil
        }
        milliseconds += (hour * 60 + minute) * 60_000
        if take(":") {
            let start = scanner.offset
            // Two digits, which a fraction may follow.
            guard pair() != nil, scanner.digits(limit: 1) == nil else { return nil }
            scanner.offset = start
            guard let thousandths = scanner.number(), thousandths < 61_000 else { return nil }
            milliseconds += thousandths
        }
        guard scanner.offset < bytes.count, !take("Zz") else {
            return scanner.offset == bytes.count ? Timestamp(milliseconds: milliseconds) : nil
        }
        guard let offset = zoneOffset(bytes[scanner.offset...]) else { return nil }
        return Timestamp(milliseconds: milliseconds - offset * 60_000)
    }

    /// Minutes east of UTC: `+02:00`, `-0330`, `+2`, `Z`.
    static func zoneOffset(_ text: some Collection<UInt8>) -> Int64? {
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

    /// The date and the time of day at a zone `offset` minutes east of UTC; `nil` outside the years 1 to 9999.
    static func fields(_ time: Timestamp, offset: Int64) -> (date: String, time: String)? {
        // Beyond these years, four digits are not enough.
        guard (-62_135_596_800_000...253_402_300_799_999).contains(time.milliseconds) else { return nil }
        let local = time.milliseconds + offset * 60_000
        let day = CivilDate.floorDivide(local, 86_400_000)
        let minutes = (local - day * 86_400_000) / 60_000
        return (
            CivilDate(daysSinceEpoch: day).description,
            "\(CivilDate.padded(minutes / 60, 2)):\(CivilDate.padded(minutes % 60, 2))"
        )
    }
}
