public import Testing

/// `#expect` for checks that run millions of times: its message is made only when it is needed.
public func expect(
    _ condition: Bool, _ message: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record(Comment(rawValue: message()), sourceLocation: sourceLocation) }
}
