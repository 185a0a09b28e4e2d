import Testing

/// An expectation about a value that cannot be copied, which the macro cannot take apart.
func holds(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: sourceLocation)
}
