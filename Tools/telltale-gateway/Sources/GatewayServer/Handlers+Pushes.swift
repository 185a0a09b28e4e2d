internal import ApplePush
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    private func endpoint() throws(Problem) -> PushEndpoint {
        guard let endpoint = gateway.pushes else {
            throw Problem("not_found", "this gateway takes no pushes; start it with --apns-listen HOST:PORT")
        }
        return endpoint
    }

    /// A device token posts for any account, and a payload may contain anything, so both are for operators. The daemon
    /// decides: whoever may read its statistics and every kind.
    private func checkOperator(_ caller: Caller) async throws(Problem) {
        guard try await !gateway.link.letsEverybodyIn(asking: caller.token) else { return }
        _ = try await gateway.link.ask(.stats, token: caller.token)
        _ = try await gateway.link.ask(.kinds, token: caller.token)
    }

    func listPushes(_ caller: Caller) async throws(Problem) -> Response {
        .json(PushHistory.json(try await pushRecords(caller)))
    }

    /// The last pushes, the newest first, for an operator.
    func pushRecords(_ caller: Caller) async throws(Problem) -> [PushHistory.Record] {
        let endpoint = try endpoint()
        try await checkOperator(caller)
        return endpoint.history.newestFirst
    }

    /// A start token for `POST`, an update token for `GET`.
    func pushToken(_ caller: Caller) async throws(Problem) -> Response {
        let endpoint = try endpoint()
        if caller.method == "POST" {
            let token = try await startToken(caller, endpoint)
            try await checkOperator(caller)
            return .json(try Self.tokenBody(token, endpoint), status: 201)
        }
        try await checkOperator(caller)
        guard let text = try caller.query["key"], let key = Key(text) else {
            throw Problem("bad_key", "?key= is to be kind/id")
        }
        let token = DeviceToken(
            .update(key), account: try caller.query.word("account") ?? "",
            isFrequent: try caller.query["frequent"] == "yes")
        return .json(try Self.tokenBody(token, endpoint))
    }

    private func startToken(_ caller: Caller, _ endpoint: PushEndpoint) async throws(Problem) -> DeviceToken {
        let bytes = try await caller.body(upTo: 4_096)
        let body = try Self.parsed(bytes)
        guard let app = body["app"]?.string, let kind = body["kind"]?.string else {
            throw Problem("bad_json", "send {\"app\":BUNDLE,\"kind\":KIND,\"account\":ACCOUNT}")
        }
        let account = try Self.account(body["account"])
        let release = body["release"]?.integer ?? 0
        guard (0...255).contains(release) else { throw Problem("bad_json", "release is a number, as 18") }
        let apps = try await endpoint.apps(gateway.link).apps
        guard apps[app]?.kinds.contains(kind) ?? false else {
            throw Problem("unknown_kind", "\(app.prefix(140)) has no kind \(kind.prefix(70))")
        }
        return DeviceToken(
            .start(app: app, kind: kind), account: account, release: UInt8(release),
            isFrequent: body["frequent"]?.bool ?? false)
    }

    /// One account of `for=`; empty for everybody's.
    private static func account(_ value: JSON?) throws(Problem) -> String {
        guard let value, value != "" else { return "" }
        guard let text = value.string, !text.contains(",") else {
            throw Problem("bad_attr", "account is to be one account")
        }
        return try Query.word(text, "account")
    }

    private static func parsed(_ bytes: [UInt8]) throws(Problem) -> JSONObject { try EventRequest.object(bytes.span) }

    private static func tokenBody(_ token: DeviceToken, _ endpoint: PushEndpoint) throws(Problem) -> [UInt8] {
        guard let text = token.text(endpoint.cryptography) else {
            throw Problem("bad_attr", "an app, a kind and an account have at most \(DeviceToken.textLimit) bytes each")
        }
        return JSONWriter.object { $0.member("token", text) }
    }
}
