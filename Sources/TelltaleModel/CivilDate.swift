/// A day of the proleptic Gregorian calendar, without a calendar library.
public struct CivilDate: Hashable, Sendable, CustomStringConvertible {
    public var year: Int64
    /// 1 to 12.
    public var month: Int64
    /// From 1.
    public var day: Int64

    public init(year: Int64, month: Int64, day: Int64) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Whether the calendar has it.
    public var exists: Bool { (1...12).contains(month) && Self(daysSinceEpoch: daysSinceEpoch) == self }

    // Both conversions count from 1 March, so that the leap day is the last of its year, in eras of 400 years.

    /// The day that is `days` after 1970-01-01.
    public init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01. A day beyond the end of its month continues into the next one.
    public var daysSinceEpoch: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = Self.floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// `YYYY-MM-DD`.
    public var description: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// `value / divisor`, rounded down.
    ///
    /// - Parameter divisor: Above 0.
    public static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// At least `width` digits.
    public static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
