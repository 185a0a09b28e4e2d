internal import Kinds
internal import TelltaleModel

/// `POST /v1/lint`: the faults of a kind file, with their places and remedies.
public enum LintReport {
    /// The longest file, in bytes.
    public static let byteLimit = 64_000

    /// `{"kind":…,"errors":n,"warnings":n,"findings":[…]}`; `kind` is null where there are errors. Any bytes have a report.
    ///
    /// - Parameter hasDiagram: Whether the report contains the machine's picture as `diagram`; `null` if there is none.
    public static func make(of file: [UInt8], hasDiagram: Bool) -> [UInt8] {
        let lint = KindLint(file)
        return JSONWriter.object { writer in
            writer.name("kind")
            if let kind = lint.kind { write(kind, to: &writer) } else { writer.null() }
            writer.member("errors", lint.errorCount)
            writer.member("warnings", lint.warningCount)
            write(lint.findings, to: &writer)
            if hasDiagram {
                let svg = lint.kind.flatMap { try? KindDiagram.svg(of: $0) }
                writer.member("diagram", svg.map(JSON.string) ?? .null)
            }
        }
    }

    static func write(_ kind: Kind, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", kind.name)
        writer.member("type", kind.typeName)
        writer.member("version", kind.version)
        writer.member("app", kind.app)
        writer.member("title", kind.title)
        writer.endObject()
    }

    private static func write(_ findings: [KindLint.Finding], to writer: inout JSONWriter) {
        writer.objects("findings", of: findings) { finding, writer in
            writer.member("severity", finding.severity.rawValue)
            writer.member("path", finding.path)
            writer.member("line", finding.line)
            writer.member("column", finding.column)
            writer.member("message", finding.message)
            writer.member("advice", finding.advice)
        }
    }
}
