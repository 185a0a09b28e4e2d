/// A condition of definitions.md: paths, literals, comparisons, `and or not`, `in [..]`, `in(STATE)`.
///
/// Total: it always gives true or false. An error while evaluating is false, and is counted.
public struct Guard: Hashable, Sendable {
    /// As it was written.
    public let text: String

    /// Parses `text`.
    ///
    /// - Throws: ``GuardSyntaxError``, which says what was expected, and where.
    public init(_ text: String) throws(GuardSyntaxError) {
        self.text = text
    }
}

public struct GuardSyntaxError: Error, Hashable, Sendable {
    /// Bytes from the start of the text.
    public var offset: Int
    public var expected: String

    public init(offset: Int, expected: String) {
        self.offset = offset
        self.expected = expected
    }
}
