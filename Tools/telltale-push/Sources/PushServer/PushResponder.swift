internal import ApplePush
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import ListenerLimits
internal import NIOCore
internal import TelltaleModel

/// The HTTP interface for registrations and metrics.
struct PushResponder: HTTPResponder {
    typealias Context = PushRequestContext

    let desk: PushDispatcher
    /// `nil` = no channel management.
    let channelService: AppleConnection?
    let rights: CallerRights
    /// The host of the listener.
    let host: String
    let cryptography: PushCryptography

    private static let bodyLimit = 8_192
    private static let listLimit = 10_000

    func respond(to request: Request, context: PushRequestContext) async throws -> Response {
        var response: Response
        do throws(Problem) {
            response = try await answer(request)
        } catch {
            response = Self.json(error.body, status: error.status, type: "application/problem+json")
            if error.status == 401 { response.headers[.wwwAuthenticate] = "Bearer" }
            for (name, value) in error.headers {
                if let name = HTTPField.Name(name) { response.headers[name] = value }
            }
        }
        if request.method == .head { response = response.createHeadResponse() }
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private func answer(_ request: Request) async throws(Problem) -> Response {
        let whole = request.head.path ?? ""
        let parts = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = try Query(parts.count > 1 ? parts[1] : nil)
        let path = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(
            String.init)
        let token = try Self.token(request)
        if token == nil { try checkOrigin(request) }
        switch (path.first, path.count) {
        case ("healthz", 1):
            try Self.check(request, ["GET", "HEAD"])
            return Self.json(Array("ok\n".utf8), type: "text/plain; charset=utf-8")
        case ("v1", 3) where path[1] == "push" && path[2] == "vapid":
            try Self.check(request, ["GET", "HEAD"])
            guard let key = desk.webKey else { throw Problem("not_found", "the configuration has no \"web-push\"") }
            return Self.json(Array("{\"key\":\"\(key)\"}".utf8))
        case ("v1", 3) where path[1] == "push" && path[2] == "targets":
            try Self.check(request, ["GET", "HEAD"])
            try await rights.checkOperator(token)
            return Self.json(await list())
        case ("v1", 3) where path[1] == "push" && path[2] == "sent":
            try Self.check(request, ["GET", "HEAD"])
            try await rights.checkOperator(token)
            return Self.json(desk.history.json(ofKey: try query["key"]))
        case ("v1", 3) where path[1] == "push" && path[2] == "channels":
            try Self.check(request, ["GET", "HEAD", "POST", "DELETE"])
            try await rights.checkOperator(token)
            return try await channels(request, query)
        case ("v1", 4) where path[1] == "push" && path[2] == "targets":
            try Self.check(request, ["GET", "HEAD", "PUT", "DELETE"])
            guard let id = PercentCoding.decode(path[3]) else {
                throw Problem("bad_key", "\(path[3].prefix(200)) is no percent-encoded UTF-8")
            }
            return try await target(id, request, token)
        default:
            throw Problem(
                "not_found",
                "there are /v1/push/targets, /v1/push/targets/ID, /v1/push/channels, /v1/push/sent, /v1/push/vapid and /healthz"
            )
        }
    }

    private static func check(_ request: Request, _ methods: [String]) throws(Problem) {
        guard !methods.contains(request.method.rawValue) else { return }
        var problem = Problem("method", "this path takes \(methods.joined(separator: ", "))")
        problem.headers = [("Allow", methods.joined(separator: ", "))]
        throw problem
    }

    private static func token(_ request: Request) throws(Problem) -> String? {
        guard let field = request.headers[.authorization] else { return nil }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Problem("auth_required", "Authorization is to be: Bearer TOKEN")
        }
        return String(words[1])
    }

    /// Refuses web pages, whatever name they use for this machine: a caller without a token must send no `Origin`, and
    /// must name an address, `localhost` or the listener as host.
    private func checkOrigin(_ request: Request) throws(Problem) {
        let name = (request.head.authority ?? "").split(separator: ":", maxSplits: 1).first.map { String($0) } ?? ""
        let isAddress =
            request.head.authority?.hasPrefix("[") == true || (try? SocketAddress(ipAddress: name, port: 0)) != nil
        guard request.headers[.origin] == nil, isAddress || name.isEmpty || name == "localhost" || name == host else {
            throw Problem("forbidden", "pages of browsers do not ask here; a program names localhost or an address")
        }
    }

    // MARK: One registration

    private func target(_ id: String, _ request: Request, _ token: String?) async throws(Problem) -> Response {
        if request.method == .put {
            let bytes = try await Self.body(request)
            let registration: PushRegistration
            let object = try EventRequest.object(bytes.span)
            do throws(PushRegistration.Fault) {
                registration = try PushRegistration(id: id, object)
            } catch {
                throw Problem("bad_json", error.description)
            }
            try await rights.check(registration, token)
            // Nobody may replace another account's registration by its id.
            if let old = await desk.registration(id), old.account != registration.account {
                // The device itself may narrow its registration. It proves itself with the push token, which is never
                // revealed.
                var isOwn = old.account.isEmpty && old.token == registration.token
                if case .channel = old.subject { isOwn = false }
                if !isOwn { try await rights.check(old, token, isStored: true) }
            }
            let outcome = try await desk.register(registration)
            return Self.json(described(registration), status: outcome == .created ? 201 : 200)
        }
        guard let registration = await desk.registration(id) else {
            // A caller without a token must not learn which registrations exist.
            try await rights.checkKnown(token)
            throw Problem(
                "not_found", "there is no registration \(id.prefix(64)); a token that is no good any more is removed")
        }
        try await rights.check(registration, token, isStored: true)
        guard request.method == .delete else { return Self.json(described(registration)) }
        _ = await desk.unregister(id)
        return Response(status: .noContent)
    }

    private func described(_ registration: PushRegistration) -> [UInt8] {
        JSONWriter.object { write(registration, to: &$0) }
    }

    private func write(_ registration: PushRegistration, to writer: inout JSONWriter) {
        writer.member("id", registration.id)
        for member in registration.publicJSON(cryptography).object ?? JSONObject() {
            writer.member(named: member.name, member.value)
        }
    }

    private func list() async -> [UInt8] {
        let registrations = await desk.registrations
        return JSONWriter.object { writer in
            writer.objects("targets", of: registrations.prefix(Self.listLimit)) { write($0, to: &$1) }
            writer.member("count", registrations.count)
        }
    }

    // MARK: HTTP

    static func body(_ request: Request) async throws(Problem) -> [UInt8] {
        do {
            return Array(try await request.body.collect(upTo: bodyLimit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem("too_large", "the body is larger than \(bodyLimit) bytes")
        } catch is RequestDeadline.Late {
            throw Problem("late_body", "the body does not come in time; send it at once, and whole")
        } catch {
            throw Problem("bad_request", "the body ended before its time")
        }
    }

    static func json(_ bytes: [UInt8], status: Int = 200, type: String = "application/json") -> Response {
        var headers = HTTPFields()
        headers[.contentType] = type
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: .pieces(of: ByteBuffer(bytes: bytes)))
    }
}

/// Hummingbird's context of a request, which is not used.
struct PushRequestContext: InitializableFromSource, Sendable {
    init(source: ApplicationRequestContextSource) {}
}
