internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import TelltaleModel

/// Forwards requests to `telltale-push`, which asks the daemon about the caller's rights.
extension GatewayResponder {
    /// The longest body of a registration, in bytes.
    private static let registrationLimit = 8_192

    private func forwarder() throws(Problem) -> PushProxy {
        guard let forwarder = gateway.forwarder else {
            throw Problem("not_found", "this gateway knows no telltale-push; start it with --push http://HOST:PORT")
        }
        return forwarder
    }

    func forward(_ route: Route, _ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let forwarder = try forwarder()
        let path: String
        switch route {
        case .pushTargets: path = "/v1/push/targets"
        case .pushTarget: path = "/v1/push/targets/\(PercentCoding.encode(values[0]))"
        case .pushChannels:
            var words: [String] = []
            for name in ["kind", "channel"] {
                if let value = try caller.query[name] { words.append("\(name)=\(PercentCoding.encode(value))") }
            }
            path = "/v1/push/channels" + (words.isEmpty ? "" : "?" + words.joined(separator: "&"))
        case .webPushKey: path = "/v1/push/vapid"
        default: return try await answer(try sent(caller), caller, forwarder)
        }
        return try await answer(path, caller, forwarder)
    }

    private func answer(_ path: String, _ caller: Caller, _ forwarder: PushProxy) async throws(Problem) -> Response {
        let method = caller.method == "HEAD" ? "GET" : caller.method
        let body = ["PUT", "POST"].contains(method) ? try await caller.body(upTo: Self.registrationLimit) : []
        let answer = try await forwarder.ask(method, path, token: token(caller), body: body)
        guard answer.status != 204 else { return .empty(204) }
        return .json(
            buffer: ByteBuffer(bytes: answer.body), status: answer.status, type: answer.type, holding: answer.place)
    }

    private func token(_ caller: Caller) -> String? { gateway.link.isOpen ? nil : caller.token }

    private func sent(_ caller: Caller) throws(Problem) -> String {
        guard let key = try caller.query["key"] else { return "/v1/push/sent" }
        return "/v1/push/sent?key=\(PercentCoding.encode(key))"
    }

    func sentPage(_ caller: Caller) async throws(Problem) -> Response {
        let answer = try await forwarder().ask("GET", try sent(caller), token: token(caller))
        guard case .object(let object)? = try? EventRequest.json(answer.body.span) else {
            throw Problem("push_unreachable", "telltale-push answers with no JSON; ask again later")
        }
        return PushDocument.response(SentPage.html(object, ofKey: try caller.query["key"], tabs: pushTabs))
    }

    /// The pages about pushes that this gateway has.
    var pushTabs: [PushDocument.Tab] {
        var tabs = [PushDocument.Tab(path: "/", name: "Activities")]
        if gateway.pushes != nil { tabs.append(.init(path: "/pushes", name: "Pushes received")) }
        if gateway.forwarder != nil { tabs.append(.init(path: "/sent", name: "Pushes sent")) }
        return tabs
    }
}
