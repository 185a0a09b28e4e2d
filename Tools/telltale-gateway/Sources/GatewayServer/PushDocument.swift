internal import HTTPTypes
internal import Hummingbird

/// The frame of the pages about pushes, which are documents without a script.
enum PushDocument {
    struct Tab {
        var path: String
        var name: String
    }

    static let contentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

    /// - Parameters:
    ///   - path: Of this page.
    ///   - body: Markup.
    static func html(title: String, path: String, tabs: [Tab], body: String) -> String {
        let links = tabs.map { tab in
            "<a href=\"\(tab.path)\"\(tab.path == path ? " aria-current=\"page\"" : "")>\(escaped(tab.name))</a>"
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Telltale: \(escaped(title.lowercased()))</title><style>\(style)</style></head>
            <body><nav aria-label="Pages">\(links.joined(separator: " "))</nav>
            <main><h1>\(escaped(title))</h1>
            \(body)</main></body></html>

            """
    }

    static func response(_ html: String) -> Response {
        var response = Response.text(html, type: "text/html; charset=utf-8")
        response.headers[.contentSecurityPolicy] = contentSecurityPolicy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    private static let style = """
        :root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
        html { background: light-dark(#fff, #121214); color: light-dark(#1d1d1f, #f2f2f4) }
        body { max-width: 60rem; margin: 1rem auto 1.5rem; padding: 0 1rem } h1 { margin: 1rem 0; font-size: 1.7rem }
        a { color: light-dark(#0066cc, #4aa3ff) }
        nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem } nav a { color: inherit; opacity: .8; text-decoration: none }
        nav a:hover, nav a[aria-current] { opacity: 1 } nav a[aria-current] { font-weight: 600 }
        section { border-top: 1px solid #8886; padding: .7rem 0 }
        h2 { font-size: 1rem; margin: 0; display: flex; gap: 0 .6rem; flex-wrap: wrap; align-items: baseline }
        h2 > *, .facts { overflow-wrap: anywhere; min-width: 0 }
        h2 time { font-weight: 400; opacity: .8; margin-left: auto }
        @media (max-width: 40rem) { h2 time { margin-left: 0 } }
        .good { color: light-dark(#176639, #5fd08f) } .bad { color: light-dark(#b3261e, #ff8f86) }
        .note { margin: .3rem 0 0 } .facts { margin: .3rem 0 0; font-size: 13px; color: light-dark(#515156, #a9a9b0) }
        code, pre { font: 13px/1.4 ui-monospace, monospace }
        pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere } summary { cursor: pointer; opacity: .8 }
        """
}
