internal import CoreMetrics
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization
internal import TelltaleModel

/// Answers every request of the public listener.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    let gateway: GatewayState

    func respond(to request: Request, context: GatewayContext) async throws -> Response {
        let start = NIODeadline.now()
        let requestID = Self.requestID(request.headers[.requestID])
        var entry = LogEntry()
        var response: Response
        do throws(Problem) {
            response = try await answer(request, context, requestID, &entry)
        } catch {
            entry.code = error.code
            response = .problem(error)
            if error.status >= 500 {
                gateway.log.debug("refused", metadata: ["code": "\(error.code)", "why": "\(error.title)"])
            }
        }
        if request.method == .head { response = response.createHeadResponse() }
        response.headers[.requestID] = requestID
        response.headers[.contentTypeOptions] = "nosniff"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        allow(request.headers[.origin], &response)
        record(request, response, entry, requestID, since: start)
        return response
    }

    /// The parts of a request's log line that are not in its head or its answer.
    private struct LogEntry {
        var route = "-"
        var code: String?
        var token: String?
    }

    /// The client's own id if it is 1 to 64 visible ASCII bytes, else 16 hexadecimal digits.
    static func requestID(_ field: String?) -> String {
        if let field, (1...64).contains(field.utf8.count), field.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            return field
        }
        return Hexadecimal.text(of: .random(in: .min ... .max))
    }

    private func answer(
        _ request: Request, _ context: GatewayContext, _ requestID: String, _ entry: inout LogEntry
    ) async throws(Problem) -> Response {
        let target = request.head.path ?? ""
        let cut = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = cut.first ?? ""
        let match = try RouteMatch.find(path)
        if let match { entry.route = match.route.rawValue }
        var caller = Caller(
            request: request, context: context, connections: gateway.connections, path: path,
            query: try Query(cut.count > 1 ? cut[1] : nil), requestID: requestID)
        // Only its signature authorizes a delivery, whatever else its sender's HTTP client adds.
        if match?.route != .hook { try authorize(&caller, match?.route) }
        entry.token = caller.token
        do throws(Problem) {
            try gateway.origins.check(
                host: request.head.authority, origin: request.headers[.origin],
                isExempt: caller.hasBearer || match?.route == .hook, isHostChecked: gateway.link.isOpen)
        } catch {
            // With tokens any `Host` is allowed, but it is not known yet whether the daemon requires them.
            guard error.code == "wrong_host", !gateway.link.isKnown else { throw error }
            throw Problem("daemon_unreachable", "no daemon that leads has greeted the gateway yet; ask again later")
        }
        if caller.isByCookie, ![.get, .head, .options].contains(request.method) {
            try gateway.origins.checkCookie(
                fetchSite: caller.field(.fetchSite), host: request.head.authority, origin: request.headers[.origin])
        }
        guard let match else {
            throw Problem("not_found", "there is no \(path.prefix(200)); /openapi.json tells what there is")
        }
        if request.method == .options { return try await preflight(caller, match.route) }
        guard match.route.methods.contains(request.method.rawValue) else {
            var problem = Problem("method", "\(match.route.rawValue) takes \(match.route.allowed)")
            problem.headers = [("Allow", match.route.allowed)]
            throw problem
        }
        return try await handle(match, caller)
    }

    private func handle(_ match: RouteMatch, _ caller: Caller) async throws(Problem) -> Response {
        let values = match.parameters
        switch match.route {
        case .event, .oneLine: return try await postEvent(values, caller)
        case .cloudEvents: return try await postCloudEvents(caller)
        case .hook: return try await deliver(to: values[0], caller)
        case .entities: return try await listEntities(caller)
        case .entity: return try await getEntity(values, caller)
        case .history: return try await getHistory(values, caller)
        case .open: return try await openEntity(values, caller)
        case .value: return try await setValue(values, caller)
        case .press: return try await pressButton(values, caller)
        case .dismiss: return try await dismiss(values, caller)
        case .seen: return try await see(values, caller)
        case .tile: return try await arrangeTile(values, caller)
        case .gallery: return try await getGallery(caller)
        case .kinds: return try await listKinds(caller)
        case .kind: return try await getKind(values[0], caller)
        case .diagram: return try await getDiagram(values[0], caller)
        case .lint: return try await lint(caller)
        case .play: return try await play(caller)
        case .stats: return try await getStats(caller)
        case .stream: return try await openStream(caller)
        case .rows: return try await readRows(caller)
        case .session: return try await session(caller)
        case .openAPI: return .json(buffer: gateway.openAPI)
        case .errors: return .text(ErrorPage.html, type: "text/html; charset=utf-8")
        case .pushTokens: return try await pushToken(caller)
        case .pushes: return try await listPushes(caller)
        case .pushPage: return try await pushPage(caller)
        case .pushTargets, .pushTarget, .pushChannels, .webPushKey, .sent:
            return try await forward(match.route, values, caller)
        case .sentPage: return try await sentPage(caller)
        case .deliveries: return try await listDeliveries(caller)
        case .board, .login, .kindsPage, .kindPage, .boardsPage, .boardOfDevice, .playground:
            return try boardPage(caller)
        case .examples: return try examplesPage(caller)
        case .entityPage: return try boardPage(caller, of: values)
        case .asset: return try boardAsset(values, caller)
        }
    }

    // MARK: Who asks

    private func authorize(_ caller: inout Caller, _ route: Route?) throws(Problem) {
        let fields = caller.request.headers[values: .authorization]
        var tokens: [String] = []
        for field in fields {
            let parts = field.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else {
                if gateway.link.isOpen { continue }
                throw Problem("auth_failed", "Authorization is to be Bearer TOKEN")
            }
            tokens.append(String(parts[1]).trimmed)
            caller.hasBearer = true
        }
        // Answers that caches share do not vary by a cookie.
        if route != .rows, let cookie = gateway.sessions.token(caller.field(.cookie)) {
            tokens.append(cookie)
            caller.isByCookie = true
        }
        if route == .stream, let token = try caller.query["access_token"] { tokens.append(token) }
        guard tokens.count < 2 else {
            throw Problem("bad_request", "the request brings two authorizations; send one")
        }
        caller.token = tokens.first
        guard caller.token.map({ $0.utf8.count <= 8_192 }) ?? true else {
            throw Problem("auth_failed", "the token is longer than 8192 bytes")
        }
    }

    // MARK: Other origins

    private func preflight(_ caller: Caller, _ route: Route) async throws(Problem) -> Response {
        if route == .cloudEvents || route == .hook, let origin = caller.field(.webHookOrigin) {
            return try await handshake(caller, route, origin)
        }
        var response = Response.empty(204, [HTTPField(name: .allow, value: route.allowed)])
        if let origin = caller.field(.origin), gateway.origins.allows(origin: origin) {
            response.headers[.accessControlAllowMethods] = route.allowed
            response.headers[.accessControlAllowHeaders] =
                "Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id"
            response.headers[.accessControlMaxAge] = "600"
        }
        return response
    }

    /// Answers the handshake of a sender of webhooks: it may send, and how many requests a minute.
    ///
    /// The handshake needs no token (HTTP 1.1 Web Hooks for Event Delivery §4). Without one the rate is unknown,
    /// because it belongs to a principal.
    private func handshake(_ caller: Caller, _ route: Route, _ origin: String) async throws(Problem) -> Response {
        var response = Response.empty(
            200,
            [HTTPField(name: .webHookAllowedOrigin, value: origin), HTTPField(name: .allow, value: route.allowed)])
        // A hook's deliveries are posted with the gateway's own token.
        let allowance =
            route == .hook
            ? gateway.link.ownAllowance : try await gateway.link.allowance(of: caller.token)
        if let allowance { response.headers[.webHookAllowedRate] = allowance }
        return response
    }

    private func allow(_ origin: String?, _ response: inout Response) {
        guard !gateway.origins.origins.isEmpty else { return }
        response.headers[.vary] = response.headers[.vary].map { "\($0), Origin" } ?? "Origin"
        guard let origin, gateway.origins.allows(origin: origin) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] =
            "ETag, Idempotent-Replayed, Last-Event-ID, Preference-Applied, Retry-After, X-Request-Id"
    }

    // MARK: Figures

    private func record(
        _ request: Request, _ response: Response, _ entry: LogEntry, _ requestID: String, since start: NIODeadline
    ) {
        let nanoseconds = (NIODeadline.now() - start).nanoseconds
        let status = response.status.code
        let method = Self.methods.contains(request.method.rawValue) ? request.method.rawValue : "other"
        gateway.figures.request(route: entry.route, method: method, status: status, nanoseconds: nanoseconds)
        guard gateway.log.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "route": "\(entry.route)", "method": "\(method)", "status": "\(status)",
            "ms": "\(Double(nanoseconds / 10_000) / 100)",
        ]
        if let code = entry.code { metadata["code"] = "\(code)" }
        if let principal = gateway.link.principal(of: entry.token) { metadata["principal"] = "\(principal)" }
        gateway.log.info("request", metadata: metadata)
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
}

/// Counters of requests, looked up by their labels once.
final class RequestFigures: Sendable {
    private struct ID: Hashable {
        var route: String
        var method: String
        var status: Int
    }

    private struct Known {
        var counters: [ID: Counter] = [:]
        var timers: [String: Metrics.Timer] = [:]
    }

    private let known = Mutex(Known())

    func request(route: String, method: String, status: Int, nanoseconds: Int64) {
        let id = ID(route: route, method: method, status: status)
        let (counter, timer) = known.withLock { known in
            let counter =
                known.counters[id]
                ?? Counter(
                    label: "telltale_gateway_http_requests_total",
                    dimensions: [("route", route), ("method", method), ("code", String(status))])
            known.counters[id] = counter
            let timer =
                known.timers[route]
                ?? Metrics.Timer(
                    label: "telltale_gateway_http_request_duration_seconds", dimensions: [("route", route)])
            known.timers[route] = timer
            return (counter, timer)
        }
        counter.increment()
        timer.recordNanoseconds(nanoseconds)
    }
}

extension String {
    var trimmed: String {
        var text = self[...]
        while text.hasPrefix(" ") { text = text.dropFirst() }
        while text.hasSuffix(" ") { text = text.dropLast() }
        return String(text)
    }
}
