internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleModel

/// The last pushes, for people: why would a phone show nothing? A document without a script.
enum PushPage {
    static let contentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

    /// - Parameter records: The newest first.
    static func html(_ records: [PushHistory.Record]) -> String {
        let rows = records.map(row).joined()
        let none = records.isEmpty ? "<p>No push has come yet.</p>" : ""
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Telltale: pushes</title><style>\(style)</style></head>
            <body><h1>Pushes</h1>\(none)
            \(rows)</body></html>

            """
    }

    private static let style = """
        :root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
        body { max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem }
        section { border-top: 1px solid #8886; padding: .7rem 0 }
        h2 { font-size: 1rem; margin: 0; display: flex; gap: .6rem; flex-wrap: wrap; align-items: baseline }
        h2 time { font-weight: 400; opacity: .75; margin-left: auto }
        .good { color: light-dark(#176639, #5fd08f) } .bad { color: light-dark(#b3261e, #ff8f86) }
        .note { margin: .3rem 0 0 } code, pre { font: 13px/1.4 ui-monospace, monospace }
        pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere } summary { cursor: pointer; opacity: .75 }
        """

    private static func row(_ record: PushHistory.Record) -> String {
        let answer = record.reason.map { "\(record.status) \($0)" } ?? String(record.status)
        let head = [
            "<span class=\"\(record.status < 300 ? "good" : "bad")\">\(escaped(answer))</span>",
            record.verdict.map { "<span>\(escaped($0))</span>" } ?? "",
            record.key.map { "<a href=\"/\(escaped($0))\">\(escaped($0))</a>" } ?? "",
            record.type.map { "<span>\(escaped($0))</span>" } ?? "", "<time>\(RFC3339.format(record.at))</time>",
        ].filter { !$0.isEmpty }
        let notes = record.notes.map { "<p class=\"note\">\(escaped($0))</p>" }.joined()
        let fields = record.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        return """
            <section data-testid="push"><h2>\(head.joined(separator: " "))</h2>\(notes)
            <details><summary>Request</summary><pre>\(escaped("\(record.method) \(record.path)\n\(fields)"))

            \(escaped(String(decoding: record.payload, as: UTF8.self)))</pre></details></section>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

extension GatewayResponder {
    func pushPage(_ caller: Caller) async throws(Problem) -> Response {
        let records = try await pushRecords(caller)
        var response = Response.text(PushPage.html(records), type: "text/html; charset=utf-8")
        response.headers[.contentSecurityPolicy] = PushPage.contentSecurityPolicy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }
}
