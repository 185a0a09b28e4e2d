import ApplePush
import TelltaleModel
import TestSupport
import Testing

struct PushRegistrationTests {
    private static let subscription: JSON = [
        "endpoint": "https://push.example.com:8443/a?b=c",
        "keys": [
            "p256dh": "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "auth": "AAAAAAAAAAAAAAAAAAAAAA",
        ],
    ]
    private static let good: [JSON] = [
        ["account": "alice", "kind": "coffee-order", "token": "aa01"],
        ["account": "alice", "kind": "coffee-order", "token": "aa01", "channel": "Y2hhbm5lbA==", "frequent": true],
        ["key": "coffee-order/7", "token": "aa01"], ["key": "coffee-order/7", "channel": "Y2hhbm5lbA=="],
        ["type": "widgets", "kind": "sales", "token": "aa01"], ["type": "controls", "kind": "sales", "token": "aa01"],
        ["type": "webpush", "kind": "coffee-order", "subscription": subscription],
        ["type": "webpush", "key": "coffee-order/7", "subscription": subscription],
    ]

    @Test func `a registration is read as it is written`() throws {
        for json in Self.good {
            let registration = try PushRegistration(id: "a", try #require(json.object))
            #expect(registration.json.object?["token"] == json["token"])
            #expect(try PushRegistration(id: "a", try #require(registration.json.object)) == registration)
            let reported = "\(registration.publicJSON(Fixture.cryptography))"
            #expect(!reported.contains("aa01") && !reported.contains("/a?b=c"), "\(reported)")
        }
    }

    @Test func `the host and the path of an endpoint are distinguished`() throws {
        let web = try WebSubscription(try #require(Self.subscription.object))
        #expect((web.host, web.port) == ("push.example.com", 8_443))
        #expect((web.path, web.origin) == ("/a?b=c", "https://push.example.com:8443"))
        #expect(web.isOf(hosts: ["*.example.com"]) && web.isOf(hosts: ["push.example.com"]))
        #expect(!web.isOf(hosts: ["example.com", "*.push.example.com", "ush.example.com", "*.ample.com"]))
    }

    @Test func `whatever a caller sends, nothing traps`() {
        var values: [JSON] = [.null, true, 7, -1.5, "", "x", "kind/id", "aa", [], ["keys": 7], Self.subscription]
        for length in [64, 65, 511, 513, 2_000] { values.append(.string(String(repeating: "a", count: length))) }
        let endpoints = [
            "https://", "https://:", "https://a:", "https://a:99999", "https://a@b/", "https://[::1]/", "https:///x",
        ]
        values += endpoints.map { Self.subscription.merging(["endpoint": .string($0)]) }
        var random = SeededGenerator(seed: 39)
        for _ in 0..<20_000 {
            var object = Self.good[Int(random.below(UInt64(Self.good.count)))].object ?? JSONObject()
            for _ in 0...random.below(2) {
                let names = ["type", "account", "kind", "key", "token", "channel", "frequent", "subscription", "other"]
                object[names[Int(random.below(UInt64(names.count)))]] = values[Int(random.below(UInt64(values.count)))]
            }
            guard let registration = try? PushRegistration(id: "a", object) else { continue }
            #expect((try? PushRegistration(id: "a", registration.json.object ?? JSONObject())) == registration)
        }
    }

    @Test func `a browser is notified of a text that changed, and of nothing that was there before`() throws {
        var ledger = PushState(forms: [:], Fixture.cryptography)
        let watch = PushState.Watch(account: "", kind: "coffee-order")
        var now = PushTargetTableTests.start
        func register(_ id: String) throws {
            let registration = try PushRegistration(
                id: id,
                try #require(
                    (["type": "webpush", "kind": "coffee-order", "subscription": Self.subscription] as JSON).object))
            #expect(ledger.register(registration, at: now) == .created)
        }
        func row(_ id: String, _ rev: Int64, _ text: String) throws {
            let key = try #require(Key("coffee-order/\(id)"))
            let row: JSON = ["lifecycle": "active", "content": ["rev": .integer(rev)], "startedAt": 1]
            let surface: JSON = ["lockScreen": ["view": ["title": "Coffee", "subtitle": .string(text)]]]
            ledger.receive(row: row.object ?? JSONObject(), of: key, rev: rev, in: watch)
            ledger.receive(surface: surface.object ?? JSONObject(), of: key, rev: rev, in: watch)
        }
        func reported() -> [String] {
            let sendings = ledger.takeTurn(at: now).sendings
            now = now + .seconds(1)
            for sending in sendings { ledger.receive(.accepted, to: sending.lane, sending.attempt.number, at: now) }
            return sendings.map { sending in
                let payload = try? JSONParser.parse(String(decoding: sending.push.body, as: UTF8.self))
                return "\(sending.lane.registration) \(payload?["body"]?.string ?? "-")"
            }
        }
        try register("a")
        try row("1", 1, "placed")
        #expect(reported() == [])
        ledger.takeLive(watch)
        #expect(reported() == [])
        try row("1", 2, "placed")
        #expect(reported() == [])
        try row("1", 3, "ready")
        try row("2", 4, "placed")
        #expect(reported() == ["a ready", "a placed"])
        try register("b")
        #expect(reported() == [])
        try row("2", 5, "ready")
        #expect(reported() == ["a ready", "b ready"])
        ledger.takeDeletion(of: try #require(Key("coffee-order/1")), rev: 6, in: watch, at: now)
        let kept = ledger.takeTurn(at: now).lanes
        #expect(kept.filter { $0.id.key?.text == "coffee-order/1" && $0.bytes == nil }.count == 2)
    }
}
