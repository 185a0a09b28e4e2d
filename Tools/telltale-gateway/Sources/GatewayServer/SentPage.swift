internal import Gateway
internal import TelltaleModel

/// The pushes that `telltale-push` sent, for people: to whom, when, and with which answer.
enum SentPage {
    /// - Parameters:
    ///   - answer: Of `GET /v1/push/sent`.
    ///   - key: The requested activity; `nil` = all.
    static func html(_ answer: JSONObject, ofKey key: String?, tabs: [PushDocument.Tab]) -> String {
        let records = (answer["sent"]?.array ?? []).compactMap(\.object)
        var body = ""
        if let key {
            body += "<p>Of \(link(key)) alone. <a href=\"/sent\">All pushes</a></p>\n"
        }
        let answers = (answer["answers"]?.object ?? JSONObject()).map { member in
            "<b>\(escaped(member.name))</b> \(member.value.integer ?? 0)"
        }
        if !answers.isEmpty {
            let list = answers.joined(separator: " · ")
            body += "<p data-testid=\"answers\">Answers since telltale-push began: \(list)</p>\n"
        }
        body +=
            records.isEmpty
            ? "<p>No push has left\(key == nil ? "" : " for it") yet.</p>\n" : records.map { row($0, of: key) }.joined()
        return PushDocument.html(title: "Pushes sent", path: "/sent", tabs: tabs, body: body)
    }

    private static func row(_ record: JSONObject, of shown: String?) -> String {
        let status = record["status"]?.integer ?? 0
        let reason = record["reason"]?.string
        let answer = [status > 0 ? String(status) : nil, reason].compactMap(\.self).joined(separator: " ")
        let key = record["key"]?.string
        let time = Timestamp(milliseconds: record["at"]?.integer ?? 0)
        let head = [
            "<span class=\"\((200..<300).contains(status) ? "good" : "bad")\">\(escaped(answer))</span>",
            "<span>\(escaped(record["event"]?.string ?? ""))</span>", key.map(link) ?? "",
            "<span>to \(escaped(record["registration"]?.string ?? ""))</span>", "<time>\(time.internetDate)</time>",
        ].filter { !$0.isEmpty }
        var facts = [
            "priority \(record["priority"]?.integer ?? 0)", record["alert"]?.bool == true ? "alert" : nil,
            "revision \(record["rev"]?.integer ?? 0)", "\(record["bytes"]?.integer ?? 0) bytes",
            "token \(escaped(record["token"]?.string ?? ""))", record["ms"]?.integer.map { "\($0) ms" },
        ].compactMap(\.self)
        if let key, shown == nil {
            facts.append("<a href=\"/sent?key=\(escaped(PercentCoding.encode(key)))\">all of this activity</a>")
        }
        let notes = notes(record, status, reason).map { "<p class=\"note\">\(escaped($0))</p>" }.joined()
        return """
            <section data-testid="push"><h2>\(head.joined(separator: " "))</h2>\(notes)
            <p class="facts">\(facts.joined(separator: " · "))</p></section>

            """
    }

    /// The fate of the push, as `telltale-push` decided it.
    private static func notes(_ record: JSONObject, _ status: Int64, _ reason: String?) -> [String] {
        let isStart = record["event"]?.string == "start"
        var notes: [String] = []
        switch record["class"]?.string {
        case "unregistered", "bad-token":
            notes.append(
                record["removed"]?.bool == true
                    ? "The token is no good. Its registration is removed."
                    : "The answer is about a token of before: the app has handed one in since. The registration stays.")
        case "throttled": notes.append("The newest state is sent after a wait.")
        case "failed":
            if status == 401 || status == 403 {
                notes.append("The service does not accept the sender: its key, its team or its topic is wrong.")
            }
            notes.append("The newest state is sent after a wait.")
        case "unauthorized": notes.append("The sender renews its own token, and sends the newest state again.")
        case "refused":
            notes += refusal(status, reason)
            notes.append(isStart ? "A start is not tried again." : "It is not sent again; the next state is tried.")
        case "unknown":
            notes.append(
                isStart
                    ? "It may have arrived. A start is not sent twice: it would be a second card."
                    : "It may have arrived. The newest state is sent again, without its alert.")
        case "unsent": notes.append("It was not sent. The newest state is sent when the service is there.")
        // Accepted, or reported by another release of telltale-push.
        default: break
        }
        if record["throttled"]?.bool == true {
            notes.append("Priority 10 beyond the budget of the device: it may hold the push back.")
        }
        return notes
    }

    /// Why a push is never accepted.
    private static func refusal(_ status: Int64, _ reason: String?) -> [String] {
        switch (status, reason) {
        case (0, "too large"):
            ["It was not sent: a payload has at most 4,096 bytes. Name fewer members in \"content\" of the app."]
        case (0, _): ["It was not sent: the configuration names no way to its service."]
        case (413, _): ["The service takes no push of this size."]
        default: ["The service refuses this push."]
        }
    }

    /// Keys need no percent-encoding in a path, unless another program made them.
    private static func link(_ key: String) -> String {
        let path = key.split(separator: "/").map { PercentCoding.encode(String($0)) }.joined(separator: "/")
        return "<a href=\"/\(escaped(path))\">\(escaped(key))</a>"
    }

    private static func escaped(_ text: String) -> String { PushDocument.escaped(text) }
}
