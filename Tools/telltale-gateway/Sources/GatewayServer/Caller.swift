internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import ListenerLimits
internal import NIOCore
internal import TelltaleModel

/// One request, as the handlers see it.
struct Caller {
    let request: Request
    let context: GatewayContext
    /// Those of its listener.
    let connections: ListenerConnections
    let path: Substring
    let query: Query
    let requestID: String
    /// The secret that the caller brought, by header, cookie or query; `nil` for none.
    var token: String?
    /// Whether it came in a header, which a page of another origin cannot send unasked.
    var hasBearer = false
    /// Whether it came in a cookie, which browsers send for any page.
    var isByCookie = false

    var method: String { request.method.rawValue }

    func field(_ name: HTTPField.Name) -> String? { request.headers[name] }

    /// Reads the whole body. A client that waits for permission (`Expect`) is asked to send it.
    ///
    /// - Parameter taking: Called with each part as it arrives.
    /// - Throws: `media_type` for an encoding, `too_large` beyond `limit` bytes, `busy` if there is no room for all
    ///   callers' bodies, `late_body`, `bad_request`.
    func body(
        upTo limit: Int = EventRequest.bodyByteLimit, taking: (ArraySlice<UInt8>) -> Void = { _ in }
    ) async throws(Problem) -> [UInt8] {
        try checkEncoding()
        let tooLarge = Problem("too_large", "the body is larger than \(limit) bytes; say less")
        if let length = field(.contentLength).flatMap({ Int($0) }), length > limit { throw tooLarge }
        var bytes: [UInt8] = []
        var hold = BodyRoom.Hold(in: connections.bodies(context.channel))
        defer { hold.end() }
        try hold.grow(to: 0)
        if field(.expect)?.lowercased() == "100-continue" { RequestDeadline.askForBody(context.channel) }
        do {
            for try await piece in request.body {
                let start = bytes.count
                guard start + piece.readableBytes <= limit else { throw tooLarge }
                try hold.grow(to: start + piece.readableBytes)
                bytes += piece.readableBytesView
                taking(bytes[start...])
            }
            return bytes
        } catch let problem as Problem {
            throw problem
        } catch is RequestDeadline.Late {
            throw Problem("late_body", "the body does not come in time; send it at once, and whole")
        } catch {
            throw Problem("bad_request", "the body ended before its time")
        }
    }

    /// Refuses an encoded body, which would be misread.
    private func checkEncoding() throws(Problem) {
        let names = request.headers[values: .contentEncoding].joined(separator: ",").lowercased().split(separator: ",")
        guard let name = names.first(where: { !["", "identity"].contains(String($0).trimmed) }) else { return }
        var problem = Problem(
            "media_type", "a body in Content-Encoding \(String(name).trimmed.prefix(40)) is not taken; send it as it is"
        )
        problem.headers = [("Accept-Encoding", "identity")]
        throw problem
    }

    /// The caller's `Idempotency-Key`, or a generated one.
    func eid() throws(Problem) -> (eid: String, isCallers: Bool) {
        let fields = request.headers[values: .idempotencyKey]
        guard fields.count < 2 else { throw Problem("bad_request", "Idempotency-Key stands twice; say it once") }
        if let field = fields.first { return (try IdempotencyKey.parse(field), true) }
        return ("gw-\(UUIDv7.make())", false)
    }

    /// Refuses bodies that cannot be one JSON object.
    func checkEventType() throws(Problem) {
        guard let type = mediaType(field(.contentType)) else { return }
        if type.hasPrefix("multipart/") {
            throw Problem("media_type", "\(type) is not taken here; send one JSON object")
        }
        if type.hasPrefix("application/cloudevents") {
            throw Problem("media_type", "CloudEvents are posted to /v1/events")
        }
    }
}

/// Time-ordered identifiers (RFC 9562 §5.7).
enum UUIDv7 {
    static func make(
        at milliseconds: UInt64 = UInt64(max(0, SystemClock.now.milliseconds)),
        random: (UInt64, UInt64) = (.random(in: .min ... .max), .random(in: .min ... .max))
    ) -> String {
        let high = milliseconds << 16 | 0x7000 | random.0 & 0x0FFF
        let low = random.1 & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Hexadecimal.text(of: high) + Hexadecimal.text(of: low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }
}

extension HTTPField.Name {
    static let expect = HTTPField.Name.known("Expect")
    static let idempotencyKey = HTTPField.Name.known("Idempotency-Key")
    static let idempotentReplayed = HTTPField.Name.known("Idempotent-Replayed")
    static let lastEventID = HTTPField.Name.known("Last-Event-ID")
    static let prefer = HTTPField.Name.known("Prefer")
    static let preferenceApplied = HTTPField.Name.known("Preference-Applied")
    static let requestID = HTTPField.Name.known("X-Request-Id")
    static let accelBuffering = HTTPField.Name.known("X-Accel-Buffering")
    static let contentTypeOptions = HTTPField.Name.known("X-Content-Type-Options")
    static let webHookOrigin = HTTPField.Name.known("WebHook-Request-Origin")
    static let webHookAllowedOrigin = HTTPField.Name.known("WebHook-Allowed-Origin")
    static let webHookAllowedRate = HTTPField.Name.known("WebHook-Allowed-Rate")
    static let fetchSite = HTTPField.Name.known("Sec-Fetch-Site")
    static let referrerPolicy = HTTPField.Name.known("Referrer-Policy")

    /// - Precondition: `name` is a field's name.
    private static func known(_ name: String) -> HTTPField.Name {
        guard let known = HTTPField.Name(name) else { preconditionFailure("\(name) is no field's name") }
        return known
    }

    /// A field's name from outside; `nil` if it is invalid.
    static func named(_ name: String) -> HTTPField.Name? { HTTPField.Name(name) }
}
