package import TelltaleModel

/// What somebody wrote, in quotes, for a message: 80 characters at most, the last of them an ellipsis where some were cut.
/// A file may hold a name of a million.
package func quoted(_ text: some StringProtocol) -> String { "\"\(shortened(text, to: 80))\"" }

/// At most `limit` Unicode scalars, the last of them an ellipsis where some were cut.
package func shortened(_ text: some StringProtocol, to limit: Int) -> String {
    // A scalar is a byte at least.
    guard text.utf8.count > limit, text.unicodeScalars.count > limit else { return String(text) }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit - 1))) + "\u{2026}"
}

extension Diagnostic {
    /// Bounds what a file can make of a diagnostic: nobody reads a path of a million letters.
    package init(
        shortening severity: Severity, file: String = "", path: String, _ message: String, advice: String
    ) {
        self.init(
            severity, file: file, path: shortened(path, to: 256), shortened(message, to: 512),
            advice: shortened(advice, to: 512))
    }
}
