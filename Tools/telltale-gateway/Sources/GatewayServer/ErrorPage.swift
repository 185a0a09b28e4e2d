internal import Gateway

/// The table of errors, for people: each problem's `type` leads to its row.
enum ErrorPage {
    static let html: String = {
        var rows = ""
        for known in Problem.all {
            rows += """
                <tr id="\(known.code)"><td><code>\(known.code)</code></td><td>\(known.status)</td><td>\(known.retry)</td>\
                <td>\(escaped(known.summary))</td></tr>

                """
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Telltale: errors</title></head>
            <body><h1>Errors</h1>
            <table><thead><tr><th>Code</th><th>Status</th><th>Retry</th><th>Meaning</th></tr></thead>
            <tbody>
            \(rows)</tbody></table></body></html>

            """
    }()

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
