/// Reads unsigned decimal numbers from bytes, in thousandths.
package struct DigitScanner {
    private let bytes: [UInt8]
    package var offset: Int
    /// Whether the last number had a fraction.
    package private(set) var hasFraction = false

    package init(_ bytes: [UInt8], offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    /// The next number in thousandths, rounded down; `nil` if there is no digit, or beyond Int64.
    package mutating func number() -> Int64? {
        guard let whole = digits(limit: .max), var thousandths = Self.multiplied(whole, 1000) else { return nil }
        hasFraction = false
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: ".") || bytes[offset] == UInt8(ascii: ",") else {
            return thousandths
        }
        offset += 1
        hasFraction = true
        let start = offset
        var weight: Int64 = 100
        while offset < bytes.count, let digit = Self.digit(bytes[offset]) {
            let (sum, overflow) = thousandths.addingReportingOverflow(weight * digit)
            guard !overflow else { return nil }
            thousandths = sum
            weight /= 10
            offset += 1
        }
        return offset > start ? thousandths : nil
    }

    /// A whole number of at most `limit` digits; `nil` if there is none, or beyond Int64.
    package mutating func digits(limit: Int) -> Int64? {
        let start = offset
        var value: Int64 = 0
        while offset < bytes.count, offset - start < limit, let digit = Self.digit(bytes[offset]) {
            guard let shifted = Self.multiplied(value, 10) else { return nil }
            let (sum, overflow) = shifted.addingReportingOverflow(digit)
            guard !overflow else { return nil }
            value = sum
            offset += 1
        }
        return offset > start ? value : nil
    }

    /// A number of exactly two digits.
    mutating func pair() -> Int64? {
        let start = offset
        guard let value = digits(limit: 2), offset == start + 2 else { return nil }
        return value
    }

    /// Whether the next byte is one of `allowed`; it is then read.
    mutating func take(_ allowed: StaticString) -> Bool {
        guard offset < bytes.count, allowed.description.utf8.contains(bytes[offset]) else { return false }
        offset += 1
        return true
    }

    /// `thousandths / 1000 × unit`; `nil` beyond Int64.
    package static func product(_ thousandths: Int64, _ unit: Int64) -> Int64? {
        guard let whole = multiplied(thousandths / 1000, unit), let rest = multiplied(thousandths % 1000, unit) else {
            return nil
        }
        let (sum, overflow) = whole.addingReportingOverflow(rest / 1000)
        return overflow ? nil : sum
    }

    private static func multiplied(_ left: Int64, _ right: Int64) -> Int64? {
        let (product, overflow) = left.multipliedReportingOverflow(by: right)
        return overflow ? nil : product
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int64(byte - UInt8(ascii: "0")) : nil
    }
}
