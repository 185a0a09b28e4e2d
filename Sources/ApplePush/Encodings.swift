internal import TelltaleModel

/// The encodings of tokens and identifiers, apart from ``Base64`` and ``Hexadecimal``.
enum Encodings {
    /// Parses a decimal integer, with a sign if it is negative.
    static func integer(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= 19, text.utf8.first != UInt8(ascii: "+") else { return nil }
        return Int64(text)
    }

    /// Whether it is a UUID in its canonical form: lower-case digits in groups of 8, 4, 4, 4 and 12.
    static func isUUID(_ text: some StringProtocol) -> Bool {
        let digits = Array(text.utf8)
        guard digits.count == 36 else { return false }
        for (index, digit) in digits.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard digit == UInt8(ascii: "-") else { return false }
            } else {
                guard Hexadecimal.value(of: digit) != nil, !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit)
                else {
                    return false
                }
            }
        }
        return true
    }
}
