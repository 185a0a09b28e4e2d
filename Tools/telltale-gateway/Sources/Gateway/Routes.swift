/// Everything that the public listener serves, by the template of its path.
public enum Route: String, CaseIterable, Hashable, Sendable {
    case event = "/v1/entities/{kind}/{id}/events/{type}"
    case oneLine = "/{kind}/{id}/{type}"
    case cloudEvents = "/v1/events"
    case hook = "/v1/hooks/{hook}"
    case entities = "/v1/entities"
    case entity = "/v1/entities/{kind}/{id}"
    case history = "/v1/entities/{kind}/{id}/history"
    case open = "/v1/entities/{kind}/{id}/open"
    case value = "/v1/entities/{kind}/{id}/value"
    case press = "/v1/entities/{kind}/{id}/press"
    case dismiss = "/v1/entities/{kind}/{id}/dismiss"
    case seen = "/v1/entities/{kind}/{id}/seen"
    case tile = "/v1/entities/{kind}/{id}/tile"
    case gallery = "/v1/gallery"
    case kinds = "/v1/kinds"
    case kind = "/v1/kinds/{kind}"
    case diagram = "/v1/kinds/{kind}/diagram"
    case lint = "/v1/lint"
    case play = "/v1/play"
    case stats = "/v1/stats"
    case stream = "/v1/stream"
    case rows = "/v1/rows"
    case pushTokens = "/v1/apns/tokens"
    case pushes = "/v1/apns/pushes"
    case pushTargets = "/v1/push/targets"
    case pushTarget = "/v1/push/targets/{target}"
    case pushChannels = "/v1/push/channels"
    case sent = "/v1/push/sent"
    case webPushKey = "/v1/push/vapid"
    case session = "/v1/session"
    case openAPI = "/openapi.json"
    case errors = "/errors"
    case deliveries = "/hooks"
    case pushPage = "/pushes"
    case sentPage = "/sent"
    case board = "/"
    case login = "/login"
    case kindsPage = "/kinds"
    case kindPage = "/kinds/{kind}"
    case boardsPage = "/boards"
    case boardOfDevice = "/boards/{board}"
    case playground = "/playground"
    case examples = "/examples"
    case entityPage = "/{kind}/{id}"
    case asset = "/assets/{version}/{file}"

    /// Methods apart from `OPTIONS`, which every path accepts. `HEAD` is allowed wherever `GET` is.
    public var methods: [String] {
        switch self {
        case .event, .oneLine, .cloudEvents, .hook, .press, .dismiss, .seen, .tile, .lint, .play: ["POST"]
        case .entities, .entity, .history, .open, .kinds, .kind, .diagram, .gallery, .stats, .stream, .rows,
            .openAPI, .errors, .deliveries, .pushes, .pushPage, .pushTargets, .sent, .webPushKey, .sentPage, .board,
            .login,
            .kindsPage, .kindPage, .boardsPage, .boardOfDevice, .playground, .examples, .entityPage, .asset:
            ["GET", "HEAD"]
        case .pushTokens: ["GET", "HEAD", "POST"]
        case .pushChannels: ["GET", "HEAD", "POST", "DELETE"]
        case .pushTarget: ["GET", "HEAD", "PUT", "DELETE"]
        case .value: ["PUT"]
        case .session: ["POST", "DELETE"]
        }
    }

    /// For `Allow`.
    public var allowed: String { (methods + ["OPTIONS"]).joined(separator: ", ") }

    /// First segments that no kind of the one-line form may have.
    public static let reservedSegments: Set<String> = [
        "v1", "3", "4", "1", "assets", "errors", "session", "login", "ops", "kinds", "hooks", "pushes", "sent",
        "playground", "boards", "examples",
        "openapi.json", "favicon.ico", "robots.txt",
    ]
}

/// A path that a route serves.
public struct RouteMatch: Hashable, Sendable {
    public var route: Route
    /// The values of the template's names, in their order.
    public var parameters: [String]

    public init(_ route: Route, _ parameters: [String] = []) {
        self.route = route
        self.parameters = parameters
    }

    /// Finds the route of a path.
    ///
    /// - Parameter path: As in the request, percent-encoded, without the query.
    /// - Returns: `nil` if no route has such a path.
    /// - Throws: `bad_key` for a segment that is not percent-encoded UTF-8, or that contains an encoded slash.
    public static func find(_ path: Substring) throws(Problem) -> RouteMatch? {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        let raw = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard raw.count <= 6 else { return nil }
        guard let first = raw.first, Route.reservedSegments.contains(String(first)) else {
            switch raw.count {
            case 1 where raw[0].isEmpty: return RouteMatch(.board)
            case 2 where !raw.contains(""): return RouteMatch(.entityPage, try decoded(raw))
            case 3: return RouteMatch(.oneLine, try decoded(raw))
            default: return nil
            }
        }
        switch (first, raw.count) {
        case ("openapi.json", 1): return RouteMatch(.openAPI)
        case ("errors", 1): return RouteMatch(.errors)
        case ("hooks", 1): return RouteMatch(.deliveries)
        case ("pushes", 1): return RouteMatch(.pushPage)
        case ("sent", 1): return RouteMatch(.sentPage)
        case ("login", 1): return RouteMatch(.login)
        case ("playground", 1): return RouteMatch(.playground)
        case ("examples", 1): return RouteMatch(.examples)
        case ("kinds", 1): return RouteMatch(.kindsPage)
        case ("kinds", 2): return RouteMatch(.kindPage, try decoded([raw[1]]))
        case ("boards", 1): return RouteMatch(.boardsPage)
        case ("boards", 2): return RouteMatch(.boardOfDevice, try decoded([raw[1]]))
        case ("assets", 3): return RouteMatch(.asset, try decoded([raw[1], raw[2]]))
        case ("v1", 2...): return try version1(raw.dropFirst())
        default: return nil
        }
    }

    private static func version1(_ raw: ArraySlice<Substring>) throws(Problem) -> RouteMatch? {
        let raw = Array(raw)
        switch (raw[0], raw.count) {
        case ("events", 1): return RouteMatch(.cloudEvents)
        case ("hooks", 2): return RouteMatch(.hook, try decoded([raw[1]]))
        case ("kinds", 1): return RouteMatch(.kinds)
        case ("kinds", 2): return RouteMatch(.kind, try decoded([raw[1]]))
        case ("kinds", 3) where raw[2] == "diagram": return RouteMatch(.diagram, try decoded([raw[1]]))
        case ("gallery", 1): return RouteMatch(.gallery)
        case ("stats", 1): return RouteMatch(.stats)
        case ("lint", 1): return RouteMatch(.lint)
        case ("play", 1): return RouteMatch(.play)
        case ("stream", 1): return RouteMatch(.stream)
        case ("rows", 1): return RouteMatch(.rows)
        case ("session", 1): return RouteMatch(.session)
        case ("apns", 2) where raw[1] == "tokens": return RouteMatch(.pushTokens)
        case ("apns", 2) where raw[1] == "pushes": return RouteMatch(.pushes)
        case ("push", 2) where raw[1] == "targets": return RouteMatch(.pushTargets)
        case ("push", 3) where raw[1] == "targets": return RouteMatch(.pushTarget, try decoded([raw[2]]))
        case ("push", 2) where raw[1] == "channels": return RouteMatch(.pushChannels)
        case ("push", 2) where raw[1] == "sent": return RouteMatch(.sent)
        case ("push", 2) where raw[1] == "vapid": return RouteMatch(.webPushKey)
        case ("entities", 1): return RouteMatch(.entities)
        case ("entities", 3): return RouteMatch(.entity, try decoded([raw[1], raw[2]]))
        case ("entities", 5) where raw[3] == "events":
            return RouteMatch(.event, try decoded([raw[1], raw[2], raw[4]]))
        case ("entities", 4):
            let routes: [Substring: Route] = [
                "history": .history, "open": .open, "value": .value, "press": .press, "dismiss": .dismiss,
                "seen": .seen, "tile": .tile,
            ]
            guard let route = routes[raw[3]] else { return nil }
            return RouteMatch(route, try decoded([raw[1], raw[2]]))
        default: return nil
        }
    }

    private static func decoded(_ segments: [Substring]) throws(Problem) -> [String] {
        var result: [String] = []
        for segment in segments {
            guard let text = PercentCoding.decode(segment), !text.utf8.contains(UInt8(ascii: "/")) else {
                throw Problem("bad_key", "\(segment) is no segment of a path: percent-encoded UTF-8 without a slash")
            }
            result.append(text)
        }
        return result
    }
}
