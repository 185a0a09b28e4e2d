extension UInt8 {
    package var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension StringProtocol {
    /// Whether it is 1 to `limit` ASCII letters, digits and characters of `others`.
    package func isName(with others: String, upTo limit: Int = 64) -> Bool {
        (1...limit).contains(utf8.count) && utf8.allSatisfy { $0.isLetterOrDigit || others.utf8.contains($0) }
    }
}
