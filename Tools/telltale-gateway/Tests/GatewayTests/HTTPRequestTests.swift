import Gateway
import TelltaleModel
import TelltaleWire
import Testing

/// Paths, queries and header fields.
struct HTTPRequestTests {
    @Test(arguments: [
        ("/v1/entities/coffee-order/7/events/start" as Substring, Route.event, ["coffee-order", "7", "start"]),
        ("/coffee-order/7/start", .oneLine, ["coffee-order", "7", "start"]),
        ("/v1/events", .cloudEvents, []), ("/v1/hooks/shopify", .hook, ["shopify"]), ("/v1/entities", .entities, []),
        ("/v1/entities/a/b", .entity, ["a", "b"]), ("/v1/entities/a/b/history", .history, ["a", "b"]),
        ("/v1/entities/a/%62%7E/open", .open, ["a", "b~"]), ("/v1/entities/a/b/value", .value, ["a", "b"]),
        ("/v1/entities/a/b/press", .press, ["a", "b"]), ("/v1/entities/a/b/dismiss", .dismiss, ["a", "b"]),
        ("/v1/entities/a/b/seen", .seen, ["a", "b"]), ("/v1/entities/@a/b/tile", .tile, ["@a", "b"]),
        ("/v1/gallery", .gallery, []), ("/boards", .boardsPage, []), ("/boards/%40a", .boardOfDevice, ["@a"]),
        ("/v1/kinds", .kinds, []), ("/v1/kinds/a", .kind, ["a"]),
        ("/v1/stats", .stats, []), ("/v1/stream", .stream, []), ("/v1/rows", .rows, []),
        ("/v1/session", .session, []),
        ("/openapi.json", .openAPI, []), ("/errors", .errors, []), ("/hooks", .deliveries, []),
        ("/", .board, []), ("/login", .login, []), ("/kinds", .kindsPage, []), ("/kinds/a", .kindPage, ["a"]),
        ("/a/%62", .entityPage, ["a", "b"]), ("/assets/0123456789ab/dom.js", .asset, ["0123456789ab", "dom.js"]),
    ])
    func `each route is found by its path`(path: Substring, route: Route, parameters: [String]) throws {
        #expect(try RouteMatch.find(path) == RouteMatch(route, parameters))
    }

    @Test func `every route has a path that finds it`() throws {
        for route in Route.allCases {
            let path = route.rawValue.replacing(/\{\w+\}/, with: "x")
            #expect(try RouteMatch.find(path[...])?.route == route)
        }
    }

    @Test(arguments: [
        "", "x", "/v1", "/v1/", "/v1/nothing", "/v1/entities/a", "/v1/entities/a/b/c", "/v1/entities/a/b/events",
        "/v1/entities/a/b/events/c/d", "/3/device/x", "/kinds/a/b", "/favicon.ico", "/a", "/a/", "/a/b/c/d", "//",
        "/assets/x",
        "/v1/entities/",
    ])
    func `what is no route is none`(path: Substring) throws { #expect(try RouteMatch.find(path) == nil) }

    @Test(arguments: ["/a%2Fb/c/d", "/a/%2f/d", "/a/%/d", "/a/%zz/d", "/a/%FF/d", "/v1/entities/a/%2F"])
    func `an encoded slash, and what is no text, is no key`(path: Substring) {
        #expect(throws: Problem.self) { try RouteMatch.find(path) }
    }

    @Test func `a query`() throws {
        let query = try Query("a=1&b=x%20y+z&a=2&c&=&d=%C3%B6")
        #expect(query.all("a") == ["1", "2"])
        #expect(try query["b"] == "x y z")
        #expect(try query["c"] == "")
        #expect(try query["d"] == "ö")
        #expect(throws: Problem.self) { try query["a"] }
        #expect(throws: Problem.self) { try Query("a=%F") }
        #expect(try Query("n=9007199254740991").number("n") == 9_007_199_254_740_991)
        for text in ["n=-1", "n=9007199254740992", "n=1e3", "n=", "n=99999999999999999999"] as [Substring] {
            #expect(throws: Problem.self) { try Query(text).number("n") }
        }
    }

    @Test(arguments: [
        ("abc", "abc"), ("\"abc\"", "abc"), ("\"a\\\"b\\\\\"", "a\"b\\"),
    ])
    func `an idempotency key`(field: String, key: String) throws { #expect(try IdempotencyKey.parse(field) == key) }

    @Test(arguments: ["", "\"\"", "\"a", "\"a\"b", "a b", "\"a b\"", "\"\\x\"", "ü"])
    func `what is no idempotency key`(field: String) {
        #expect(throws: Problem.self) { try IdempotencyKey.parse(field) }
    }

    @Test func `entity tags`() throws {
        #expect(try EntityTag.rev(ifMatch: " \"42\" ") == 42)
        for field in ["42", "W/\"42\"", "*", "\"a\"", "\"\"", "\"1\",\"2\""] {
            #expect(throws: Problem.self) { try EntityTag.rev(ifMatch: field) }
        }
        let weak = EntityTag.weak(42, body: [1])
        #expect(weak != EntityTag.weak(42, body: [2]) && weak.hasPrefix("W/\"42-"))
        #expect(EntityTag.matches("\"1\", W/\"42\"", "\"42\"") && EntityTag.matches("*", weak))
        #expect(!EntityTag.matches("\"4\"", "\"42\""))
    }

    @Test func `preferences and accepted types`() throws {
        #expect(try Preference.wait(["respond-async, Wait = \"5\"; foo"]) == 5)
        #expect(try Preference.wait(["handling=lenient"]) == nil)
        #expect(throws: Problem.self) { try Preference.wait(["wait=31"]) }
        let offers = ["application/json", "application/x-ndjson"]
        for (fields, chosen) in [
            ([], "application/json"), (["*/*"], "application/json"), (["application/x-ndjson"], "application/x-ndjson"),
            (["application/*;q=0.5, application/x-ndjson"], "application/x-ndjson"),
            (["application/json;q=0, */*"], "application/x-ndjson"), (["text/html"], nil), (["*/*;q=0"], nil),
        ] as [([String], String?)] {
            #expect(Acceptance.choose(fields, of: offers) == chosen)
        }
    }

    @Test func `every code of the daemon has a status, and a problem its members`() throws {
        for code in ErrorCode.allCases {
            var details = JSONObject()
            details["wait"] = 1_500
            details["status"] = 1
            let problem = Problem(WireError(code, "why", details: details))
            #expect((400...507).contains(problem.status) && problem.retry == code.retry.rawValue)
            let body = try JSONParser.parse(String(decoding: problem.body, as: UTF8.self))
            #expect(body["type"] == .string("/errors#\(code.rawValue)"))
            #expect(body["status"]?.integer == Int64(problem.status))
            #expect(body["wait"] == 1_500)
            #expect(problem.retryAfter(now: Timestamp(milliseconds: 0)) == (code.retry == .later ? 2 : nil))
        }
        #expect(Problem("storage_full", "").status == 507 && Problem("stale_rev", "").status == 412)
        #expect(Problem("unavailable", "").status == 409 && Problem("outcome_unknown", "").status == 504)
        // One that this release does not know is passed on, and its class kept.
        let line = try ServerLine(Array("ERR code=new_one retry=later {\"msg\":\"x\"}".utf8).span, parser: JSONParser())
        #expect((Problem(line).status, Problem(line).code) == (503, "new_one"))
    }

    @Test func `other origins and other names`() {
        let policy = OriginPolicy(hosts: ["Gate.example"], origins: ["https://shop.example"], isTLS: false)
        func isRefused(_ host: String?, _ origin: String? = nil, exempt: Bool = false, checked: Bool = true) -> Bool {
            (try? policy.check(host: host, origin: origin, isExempt: exempt, isHostChecked: checked)) == nil
        }
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7880", "127.1.2.3", "[::1]:7880", "gate.EXAMPLE:1"] {
            #expect(!isRefused(host))
        }
        for host in [nil, "", "evil.example", "127.0.0.1.evil.example", "[::2]", "10.0.0.1", "[::1", "127.1"] {
            #expect(isRefused(host))
        }
        #expect(!isRefused("evil.example", checked: false))
        #expect(!isRefused("localhost:1", "http://localhost:1") && isRefused("localhost:1", "http://localhost:2"))
        #expect(isRefused("localhost:1", "https://localhost:1") && isRefused("localhost", "null"))
        #expect(!isRefused("localhost", "https://shop.example") && !isRefused("localhost", "https://x", exempt: true))
    }

    @Test func `dates`() {
        for (text, milliseconds) in [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T10:30:00.5+02:00", 1_795_249_800_500),
            ("2000-02-29t23:59:59.999999z", 951_868_799_999), ("1969-12-31T23:59:59Z", -1_000),
            ("2021-12-31T19:00:00-05:00", 1_640_995_200_000),
        ] as [(String, Int64)] {
            #expect(Timestamp(internetDate: text) == Timestamp(milliseconds: milliseconds))
        }
        for text in [
            "", "2026", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00Zx",
        ] {
            #expect(Timestamp(internetDate: text) == nil)
        }
        for milliseconds in [0, -1, 951_868_799_999, 1_795_249_800_500, 253_402_300_799_999] as [Int64] {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(internetDate: time.internetDate) == time)
        }
    }
}
