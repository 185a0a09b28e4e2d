internal import TelltaleModel

/// A filter after a `|`: maps one value to another. A missing value stays missing, except for `default`.
enum TemplateFilter: Hashable, Sendable {
    case upper
    case lower
    /// The first letter in upper case.
    case capitalize
    case trim
    /// At most this many characters, the last one `…` if the text was cut.
    case truncate(Int)
    /// 0.6 → `60%`.
    case percent
    /// Rounded to this many decimals, none by default.
    case round(decimals: Int)
    /// A replacement for a missing or empty value.
    case `default`(String)
    /// `2026-11-21`, `10:30`, or both, in a zone this many minutes east of UTC.
    case date(offset: Int64)
    case time(offset: Int64)
    case dateTime(offset: Int64)
    /// An unknown filter, or one with an invalid argument, which passes its value on.
    case unknown(String)

    /// The list of filters, for an error message.
    static let names =
        "upper, lower, capitalize, trim, truncate:N, percent, round:N, default:\"…\", date, time, datetime"

    init(_ name: String, _ argument: String?) {
        let unknown = TemplateFilter.unknown(argument.map { "\(name):\($0)" } ?? name)
        switch (name, argument) {
        case ("upper", nil): self = .upper
        case ("lower", nil): self = .lower
        case ("capitalize", nil): self = .capitalize
        case ("trim", nil): self = .trim
        case ("truncate", let argument?):
            self = Int(argument).flatMap { (1...4096).contains($0) ? .truncate($0) : nil } ?? unknown
        case ("percent", nil): self = .percent
        case ("round", nil): self = .round(decimals: 0)
        case ("round", let argument?):
            self = Int(argument).flatMap { (0...9).contains($0) ? .round(decimals: $0) : nil } ?? unknown
        case ("default", let argument?): self = .default(argument)
        case ("date", _): self = Self.offset(argument).map { .date(offset: $0) } ?? unknown
        case ("time", _): self = Self.offset(argument).map { .time(offset: $0) } ?? unknown
        case ("datetime", _): self = Self.offset(argument).map { .dateTime(offset: $0) } ?? unknown
        default: self = unknown
        }
    }

    private static func offset(_ argument: String?) -> Int64? {
        guard let argument else { return 0 }
        return DateText.zoneOffset(argument.utf8)
    }

    func applied(to value: JSON?) -> JSON? {
        switch self {
        case .upper: return Self.text(value).map { .string($0.uppercased()) }
        case .lower: return Self.text(value).map { .string($0.lowercased()) }
        case .capitalize: return Self.text(value).map { .string($0.prefix(1).uppercased() + $0.dropFirst()) }
        case .trim: return Self.text(value).map { .string($0.trimmed) }
        case .truncate(let count):
            return Self.text(value).map { .string($0.count > count ? $0.prefix(count - 1) + "…" : $0) }
        case .percent:
            return Self.fixed(value, timesTenTo: 2, decimals: 0).map { .string($0 + "%") } ?? value
        case .round(let decimals):
            return Self.fixed(value, timesTenTo: 0, decimals: decimals).map { .string($0) } ?? value
        case .default(let text):
            return Self.text(value).flatMap { $0.isEmpty ? nil : value } ?? .string(text)
        case .date(let offset): return Self.fields(value, offset) { $0.date }
        case .time(let offset): return Self.fields(value, offset) { $0.time }
        case .dateTime(let offset): return Self.fields(value, offset) { "\($0.date) \($0.time)" }
        case .unknown: return value
        }
    }

    private static func text(_ value: JSON?) -> String? {
        switch value {
        case nil, .null?: nil
        case .some: Template.text(of: value)
        }
    }

    /// A number, or a text that contains one, because sources often send numbers as texts.
    private static func number(_ value: JSON?) -> Double? {
        if let number = value?.double { return number }
        guard let number = value?.string.flatMap({ Double($0) }), number.isFinite else { return nil }
        return number
    }

    private static func fields(
        _ value: JSON?, _ offset: Int64, _ choose: ((date: String, time: String)) -> String
    ) -> JSON? {
        guard let value, let time = DateText.timestamp(value), let fields = DateText.fields(time, offset: offset) else {
            return value
        }
        return .string(choose(fields))
    }

    /// `value` times a power of ten with exactly `decimals` decimals; `nil` if `value` is no number.
    private static func fixed(_ value: JSON?, timesTenTo shift: Int, decimals: Int) -> String? {
        let factor: Int64 = shift == 2 ? 100 : 1
        // A whole number may have more digits than a `Double` keeps.
        if let whole = value?.integer {
            let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
            if !overflow {
                return decimals > 0 ? "\(product)." + String(repeating: "0", count: decimals) : "\(product)"
            }
        }
        let decimal =
            value?.string.flatMap { DecimalText.rounded($0, timesTenTo: shift, decimals: decimals) }
            ?? number(value).flatMap { DecimalText.rounded($0, timesTenTo: shift, decimals: decimals) }
        return decimal ?? number(value).flatMap { fixed($0 * Double(factor), decimals: decimals) }
    }

    /// `number` with exactly `decimals` decimals, for those with more digits than ``DecimalText`` takes. A number too large to be
    /// scaled is printed as it is; `nil` for one that is not finite.
    private static func fixed(_ number: Double, decimals: Int) -> String? {
        guard number.isFinite else { return nil }
        var power = 1.0
        for _ in 0..<decimals { power *= 10 }
        guard let scaled = Int64(exactly: (number * power).rounded()) else { return JSON(number).description }
        var digits = String(scaled.magnitude)
        guard decimals > 0 else { return scaled < 0 ? "-" + digits : digits }
        digits = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
        return (scaled < 0 ? "-" : "") + digits.dropLast(decimals) + "." + digits.suffix(decimals)
    }
}
