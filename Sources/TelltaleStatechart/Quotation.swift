package import TelltaleModel

/// The text in quotes for a message, shortened to 80 characters. A file may hold a name of any length.
package func quoted(_ text: some StringProtocol) -> String { "\"\(shortened(text, to: 80))\"" }

/// The text, or its first characters and an ellipsis: at most `limit` Unicode scalars in all.
package func shortened(_ text: some StringProtocol, to limit: Int) -> String {
    // A scalar takes at least one byte.
    guard text.utf8.count > limit, text.unicodeScalars.count > limit else { return String(text) }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit - 1))) + "\u{2026}"
}

extension Diagnostic {
    /// Makes a diagnostic whose parts are shortened, so that a file with very long names cannot make it unbounded.
    package init(
        shortening severity: Severity, file: String = "", path: String, _ message: String, advice: String
    ) {
        self.init(
            severity, file: file, path: shortened(path, to: 256), shortened(message, to: 512),
            advice: shortened(advice, to: 512))
    }
}
