public import TelltaleModel

/// The lint of one kind file, with the locations of its findings in the text.
public struct KindLint: Sendable {
    public struct Finding: Hashable, Sendable {
        public var severity: Diagnostic.Severity
        /// Like ``TelltaleModel/Diagnostic/path``.
        public var path: String
        /// Counted from 1. Columns count Unicode scalars, as editors do.
        public var line: Int
        public var column: Int
        public var message: String
        public var advice: String
    }

    /// `nil` if a finding is an error.
    public let kind: Kind?
    /// Errors first, then by path; at most ``findingLimit``.
    public let findings: [Finding]
    public let errorCount: Int
    public let warningCount: Int

    public static let findingLimit = 200

    /// Reads a file like the daemon does.
    public init(_ bytes: [UInt8]) {
        let source: JSON
        do throws(JSONError) {
            source = try JSONParser().parse(bytes.span)
        } catch {
            let fault = JSONFault.first(in: bytes)
            kind = nil
            (errorCount, warningCount) = (1, 0)
            findings = [
                Finding(
                    severity: .error, path: fault?.path ?? "", line: fault?.line ?? 1, column: fault?.column ?? 1,
                    message: fault?.message ?? error.description, advice: fault?.advice ?? "mend the file's JSON")
            ]
            return
        }
        let (kind, diagnostics) = Kind.read(source, file: "")
        self.kind = kind
        errorCount = diagnostics.count { $0.severity == .error }
        warningCount = diagnostics.count - errorCount
        let shown = diagnostics.prefix(Self.findingLimit)
        let places = JSONPlaces(of: shown.map(\.path), in: bytes)
        findings = shown.map { diagnostic in
            let (line, column) = places[diagnostic.path]
            return Finding(
                severity: diagnostic.severity, path: diagnostic.path, line: line, column: column,
                message: diagnostic.message, advice: diagnostic.advice)
        }
    }
}
