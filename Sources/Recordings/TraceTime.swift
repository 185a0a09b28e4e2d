public import TelltaleModel

extension Timestamp {
    /// A date as ISO 8601 writes it: `2018-06-12T20:07:44`, with a fraction and a zone or without; a space may stand
    /// for the `T`. Without a zone it is taken as UTC: only differences matter to a replay.
    ///
    /// `nil` for anything else, the 30th of February included.
    public init?(iso8601 text: String) {
        var reader = DigitReader(Array(text.utf8))
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), reader.skip("T") || reader.skip(" "), let hour = reader.number(2),
            reader.skip(":"), let minute = reader.number(2), reader.skip(":"), let second = reader.number(2),
            (1...12).contains(month), (1...Self.dayCount(month: month, year: year)).contains(day), hour < 24,
            minute < 60, second < 61
        else { return nil }
        var milliseconds: Int64 = 0
        if reader.skip(".") {
            guard let fraction = reader.fraction() else { return nil }
            milliseconds = fraction
        }
        guard let zone = reader.zone(), reader.isAtEnd else { return nil }
        let minutes = (Self.dayNumber(year: year, month: month, day: day) * 24 + hour) * 60 + minute - zone
        self.init(milliseconds: (minutes * 60 + second) * 1000 + milliseconds)
    }

    private static func dayCount(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 of the Gregorian calendar. Years begin in March here, so that a leap day is the last.
    private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

private struct DigitReader {
    let bytes: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ text: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: text) else { return false }
        position += 1
        return true
    }

    /// A number of exactly `count` digits.
    mutating func number(_ count: Int) -> Int64? {
        guard position + count <= bytes.count else { return nil }
        var number: Int64 = 0
        for byte in bytes[position..<position + count] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        position += count
        return number
    }

    /// The digits behind the point in milliseconds. Finer digits are dropped.
    mutating func fraction() -> Int64? {
        var milliseconds: Int64 = 0
        var scale: Int64 = 100
        let start = position
        while let digit = number(1) {
            milliseconds += digit * scale
            scale /= 10
        }
        return position > start ? milliseconds : nil
    }

    /// Minutes ahead of UTC: `Z`, `+hh:mm`, or nothing.
    mutating func zone() -> Int64? {
        if isAtEnd || skip("Z") { return 0 }
        let isBehind = skip("-")
        guard isBehind || skip("+"), let hours = number(2), hours < 24 else { return nil }
        _ = skip(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return (isBehind ? -1 : 1) * (hours * 60 + minutes)
    }
}
