/// Decimal numbers as people write them: 0.285 is 28.5 percent, although the nearest `Double` is a little less.
public enum DecimalText {
    /// `number` times a power of ten with exactly `decimals` decimals, rounded half away from zero.
    ///
    /// - Parameters:
    ///   - number: Its shortest decimal form is rounded, which is the text that it was read from.
    ///   - shift: The power of ten.
    /// - Returns: `nil` where the result has more than 18 digits, or the number is not finite.
    public static func rounded(_ number: Double, timesTenTo shift: Int = 0, decimals: Int) -> String? {
        guard number.isFinite else { return nil }
        return rounded(number.description, timesTenTo: shift, decimals: decimals)
    }

    /// The same of a text: an optional sign, digits with at most one point among them, and an optional exponent.
    ///
    /// - Returns: `nil` for any other text too.
    public static func rounded(_ text: String, timesTenTo shift: Int = 0, decimals: Int) -> String? {
        guard var number = Parts(text.utf8) else { return nil }
        // From here on the digits are those of a whole number of the smallest decimals.
        number.pointIndex += shift + decimals
        guard number.pointIndex <= 18 else {
            // Then only zero has a short result.
            return number.digits.isEmpty ? fixed(0, isNegative: false, decimals) : nil
        }
        var scaled: Int64 = 0
        for position in 0..<max(0, number.pointIndex) {
            scaled = scaled * 10 + (position < number.digits.count ? Int64(number.digits[position]) : 0)
        }
        if number.pointIndex >= 0, number.pointIndex < number.digits.count, number.digits[number.pointIndex] >= 5 {
            scaled += 1
        }
        return fixed(scaled, isNegative: number.isNegative, decimals)
    }

    /// A share in percent, rounded as its decimal text; 0 to 100.
    public static func percent(of share: Double) -> Int? {
        guard share.isFinite else { return nil }
        return rounded(min(max(share, 0), 1), timesTenTo: 2, decimals: 0).flatMap { Int($0) }
    }

    private static func fixed(_ scaled: Int64, isNegative: Bool, _ decimals: Int) -> String {
        let sign = isNegative && scaled > 0 ? "-" : ""
        let digits = String(scaled)
        guard decimals > 0 else { return sign + digits }
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
        return sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }

    /// 0.`digits` times ten to `pointIndex`, without leading zeros.
    private struct Parts {
        var isNegative = false
        var digits: [UInt8] = []
        var pointIndex = 0

        /// Exponents beyond it are left to binary numbers.
        private static let exponentLimit = 400

        init?(_ text: String.UTF8View) {
            var rest = text[...]
            if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
                isNegative = sign == UInt8(ascii: "-")
                rest = rest.dropFirst()
            }
            var (hasDigits, hasPoint) = (false, false)
            while let byte = rest.first, byte != UInt8(ascii: "e"), byte != UInt8(ascii: "E") {
                rest = rest.dropFirst()
                if byte == UInt8(ascii: ".") {
                    guard !hasPoint else { return nil }
                    hasPoint = true
                    continue
                }
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                hasDigits = true
                let digit = byte - UInt8(ascii: "0")
                if digits.isEmpty, digit == 0 {
                    if hasPoint { pointIndex -= 1 }
                    continue
                }
                digits.append(digit)
                if !hasPoint { pointIndex += 1 }
            }
            guard hasDigits else { return nil }
            guard !rest.isEmpty else { return }
            guard let exponent = Int(String(decoding: rest.dropFirst(), as: UTF8.self)),
                (-Self.exponentLimit...Self.exponentLimit).contains(exponent)
            else { return nil }
            pointIndex += exponent
        }
    }
}
