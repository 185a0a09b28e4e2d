/// A request on an operator's listener: GET or HEAD of a ``Page``, in HTTP/1.1 or 1.0.
///
/// That is all of HTTP that the listener takes: no body, no second request on a connection, no encoding.
public struct OperatorRequest: Hashable, Sendable {
    public enum Page: String, CaseIterable, Sendable {
        /// The figures of `STATS`, as Prometheus' text or OpenMetrics.
        case metrics = "/metrics"
        /// Whether the process answers.
        case health = "/healthz"
        /// Whether the server serves.
        case readiness = "/readyz"
    }

    public var page: Page
    /// Without the body.
    public var isHead = false
    /// Of `Authorization: Bearer`.
    public var token: String?
    public var format = MetricFamily.Format.text

    /// The longest head, in bytes.
    public static let lengthLimit = 4_096

    public init(page: Page) { self.page = page }

    /// What the bytes received so far are.
    public enum Reading: Hashable, Sendable {
        /// The head has yet to end.
        case incomplete
        case request(OperatorRequest)
        case refused(OperatorResponse)
    }

    /// Reads the head of a request. What follows it is ignored.
    public static func read(_ bytes: [UInt8]) -> Reading {
        guard let end = endOfHead(in: bytes) else {
            guard bytes.count > lengthLimit else { return .incomplete }
            return .refused(OperatorResponse(431, text: "the head is longer than \(lengthLimit) bytes\n"))
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(whereSeparator: \.isNewline)
        let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1."), words[1].hasPrefix("/") else {
            return .refused(OperatorResponse(400, text: "send an HTTP/1.1 request, such as GET /metrics\n"))
        }
        let path = words[1].prefix { $0 != "?" }
        guard let page = Page(rawValue: String(path)) else {
            let pages = Page.allCases.map(\.rawValue).joined(separator: ", ")
            return .refused(OperatorResponse(404, text: "there are \(pages)\n"))
        }
        guard words[0] == "GET" || words[0] == "HEAD" else {
            var response = OperatorResponse(405, text: "\(path) takes GET and HEAD\n")
            response.headers = [("Allow", "GET, HEAD")]
            return .refused(response)
        }
        var request = OperatorRequest(page: page)
        request.isHead = words[0] == "HEAD"
        for line in lines.dropFirst() { request.readHeader(line) }
        return .request(request)
    }

    private static func endOfHead(in bytes: [UInt8]) -> Int? {
        let lineFeed = UInt8(ascii: "\n")
        var start = 0
        for (place, byte) in bytes.enumerated().prefix(lengthLimit) where byte == lineFeed {
            let line = bytes[start..<place]
            if start > 0, line.isEmpty || line.elementsEqual([UInt8(ascii: "\r")]) { return start }
            start = place + 1
        }
        return nil
    }

    private mutating func readHeader(_ line: Substring) {
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        switch line[..<colon].lowercased() {
        case "authorization":
            let words = value.split(separator: " ")
            if words.count == 2, words[0].lowercased() == "bearer" { token = String(words[1]) }
        case "accept": if value.contains("application/openmetrics-text") { format = .openMetrics }
        default: break
        }
    }
}

/// A response on an operator's listener, after which the connection closes.
public struct OperatorResponse: Sendable {
    public var status: Int
    public var contentType: String
    public var headers: [(name: String, value: String)] = []
    public var body: String

    public init(_ status: Int, text body: String, contentType: String = "text/plain; charset=utf-8") {
        (self.status, self.body, self.contentType) = (status, body, contentType)
    }

    /// - Parameter isHead: Leaves out the body, and says its length.
    public func bytes(isHead: Bool = false) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Error")\r\n"
        let all =
            headers + [
                ("Content-Type", contentType), ("Content-Length", String(body.utf8.count)),
                ("Cache-Control", "no-store"),
                ("Connection", "close"),
            ]
        for header in all { text += "\(header.name): \(header.value)\r\n" }
        text += "\r\n"
        if !isHead { text += body }
        return Array(text.utf8)
    }

    private static let reasons = [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
        431: "Request Header Fields Too Large", 503: "Service Unavailable",
    ]
}

extension OperatorResponse: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.bytes() == right.bytes() }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes()) }
}
