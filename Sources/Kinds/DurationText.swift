public import TelltaleModel

extension Milliseconds {
    /// Parses a duration of a kind file: `500ms`, `30s`, `5m30s`, `2h`, `7d`, or ISO 8601 (`PT5M`, `P1DT2H`, `P2W`).
    ///
    /// `nil` for anything else: a sign, a space, a smaller unit before a larger one, ISO years and months, which have no
    /// fixed length, and a duration beyond Int64 milliseconds.
    public init?(duration text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let count = bytes.first == UInt8(ascii: "P") ? Self.iso(bytes) : Self.short(bytes)
        guard let count else { return nil }
        self.init(count)
    }

    private static let second: Int64 = 1000
    private static let minute: Int64 = 60 * second
    private static let hour: Int64 = 60 * minute
    private static let day: Int64 = 24 * hour

    /// `total` and `number` thousandths of a unit; `nil` beyond Int64.
    private static func sum(_ total: Int64, _ number: Int64, _ unit: Int64) -> Int64? {
        guard let part = DigitScanner.product(number, unit) else { return nil }
        let (sum, overflow) = total.addingReportingOverflow(part)
        return overflow ? nil : sum
    }

    private static func short(_ bytes: [UInt8]) -> Int64? {
        var scanner = DigitScanner(bytes)
        var total: Int64 = 0
        var lastUnit = Int64.max
        repeat {
            guard let number = scanner.number(), !scanner.hasFraction else { return nil }
            let name = bytes[scanner.offset...].prefix { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let unit: Int64
            switch String(decoding: name, as: UTF8.self) {
            case "ms": unit = 1
            case "s": unit = second
            case "m": unit = minute
            case "h": unit = hour
            case "d": unit = day
            default: return nil
            }
            guard unit < lastUnit, let sum = sum(total, number, unit) else { return nil }
            (total, lastUnit) = (sum, unit)
            scanner.offset += name.count
        } while scanner.offset < bytes.count
        return total
    }

    /// `P[nW]` or `P[nD][T[nH][nM][nS]]`; the smallest part may have a fraction (ISO 8601-1 §5.5.2).
    private static func iso(_ bytes: [UInt8]) -> Int64? {
        var scanner = DigitScanner(bytes, offset: 1)
        var total: Int64 = 0
        var isTime = false
        var lastUnit = Int64.max
        var isComplete = false
        while scanner.offset < bytes.count {
            if bytes[scanner.offset] == UInt8(ascii: "T") {
                guard !isTime, lastUnit != 7 * day else { return nil }
                isTime = true
                isComplete = false
                scanner.offset += 1
                continue
            }
            guard !scanner.hasFraction, let number = scanner.number(), scanner.offset < bytes.count else { return nil }
            let unit: Int64
            switch (bytes[scanner.offset], isTime) {
            case (UInt8(ascii: "W"), false) where lastUnit == .max: unit = 7 * day
            case (UInt8(ascii: "D"), false) where lastUnit == .max: unit = day
            case (UInt8(ascii: "H"), true): unit = hour
            case (UInt8(ascii: "M"), true): unit = minute
            case (UInt8(ascii: "S"), true): unit = second
            default: return nil
            }
            guard unit < lastUnit, let sum = sum(total, number, unit) else { return nil }
            (total, lastUnit) = (sum, unit)
            isComplete = true
            scanner.offset += 1
        }
        return isComplete ? total : nil
    }
}
