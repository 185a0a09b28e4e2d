extension String {
    /// The text without leading and trailing whitespace.
    package var trimmed: String {
        let text = drop(while: \.isWhitespace)
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(text[...last])
    }

    /// The text with blanks behind it, in `width` characters at least.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
