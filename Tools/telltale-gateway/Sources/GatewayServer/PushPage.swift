internal import Gateway
internal import Hummingbird
internal import TelltaleModel

/// The last pushes to the endpoint for Apple's pushes, for people who ask why a phone shows nothing.
enum PushPage {
    /// - Parameter records: The newest first.
    static func html(_ records: [PushHistory.Record], tabs: [PushDocument.Tab]) -> String {
        let body = records.isEmpty ? "<p>No push has come yet.</p>\n" : records.map(row).joined()
        return PushDocument.html(title: "Pushes received", path: "/pushes", tabs: tabs, body: body)
    }

    private static func row(_ record: PushHistory.Record) -> String {
        let answer = record.reason.map { "\(record.status) \($0)" } ?? String(record.status)
        let head = [
            "<span class=\"\(record.status < 300 ? "good" : "bad")\">\(escaped(answer))</span>",
            record.verdict.map { "<span>\(escaped($0))</span>" } ?? "",
            record.key.map { "<a href=\"/\(escaped($0))\">\(escaped($0))</a>" } ?? "",
            record.type.map { "<span>\(escaped($0))</span>" } ?? "", "<time>\(record.at.internetDate)</time>",
        ].filter { !$0.isEmpty }
        let notes = record.notes.map { "<p class=\"note\">\(escaped($0))</p>" }.joined()
        let fields = record.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        return """
            <section data-testid="push"><h2>\(head.joined(separator: " "))</h2>\(notes)
            <details><summary>Request</summary><pre>\(escaped("\(record.method) \(record.path)\n\(fields)"))

            \(escaped(String(decoding: record.payload, as: UTF8.self)))</pre></details></section>

            """
    }

    private static func escaped(_ text: String) -> String { PushDocument.escaped(text) }
}

extension GatewayResponder {
    func pushPage(_ caller: Caller) async throws(Problem) -> Response {
        PushDocument.response(PushPage.html(try await pushRecords(caller), tabs: pushTabs))
    }
}
