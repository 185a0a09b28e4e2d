import Hub
import Machines
import TelltaleModel
import Testing

/// A person's devices together: dismissals, limits and a full disk.
struct AccountTests: SurfaceSuite {
    let harness: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = harness.connect()
    }

    @Test func `a dismissal removes the activity from all devices of the account, across reconnects and restarts`()
        throws
    {
        let (phone, car, bob) = (try screen("phone"), try screen("carplay"), try screen("watch", "bob"))
        try harness.event("coffee-order/1", "type=start for=alice,bob", from: shop)
        try view(phone, car, bob)
        car.disconnect()
        try phone.say("DISMISS coffee-order/1")
        #expect(phone.deletions == ["coffee-order/1 dismissed"])
        try car.connect()
        #expect(car.deletions == ["coffee-order/1 dismissed"])
        // The order goes on for bob.
        try harness.event("coffee-order/1", "type=confirm", from: shop)
        try view(phone, car, bob)
        #expect(phone.rows.isEmpty && car.rows.isEmpty)
        #expect(bob.rows.count == 1)
        // A device of alice may still ask for the order.
        let client = try #require(phone.client)
        #expect(
            harness.send("GET coffee-order/1 view=full", from: client).first?.contains(#""state":"queued""#) == true)
        let shown = try #require(harness.send("GET coffee-order/1", from: client).first)
        #expect(shown.hasSuffix(#"{"presentation":null,"lifecycle":"active"}"#), "\(shown)")

        try harness.restart(kinds: HubHarness.kindsOfSurfaces)
        for screen in [phone, car, bob] {
            screen.lose()
            try screen.connect()
        }
        #expect(phone.rows.isEmpty && car.rows.isEmpty && bob.rows.count == 1)
        #expect(try screen("watch").rows.isEmpty)
        try bob.say("DISMISS coffee-order/1")
        #expect(bob.rows.isEmpty)
        let again = harness.connect()
        harness.send("HELLO account=alice", from: again)
        #expect(harness.send("GET coffee-order/1", from: again).first?.contains(#""lifecycle":"dismissed""#) == true)
        #expect(harness.send("HISTORY coffee-order/1", from: again).last?.hasPrefix("OK count=") == true)
    }

    @Test func `a person has room for so many activities, and room is freed as they leave`() throws {
        func start(_ key: String, _ account: String = "alice") throws -> String {
            let reply = try harness.event(key, "type=start for=\(account)", from: shop)
            return reply.attributes["code"] ?? reply.attributes["verdict"] ?? ""
        }
        let phone = try screen("phone")
        for number in 1...5 { #expect(try start("coffee-order/\(number)") == "applied") }
        #expect(try start("coffee-order/6") == "limit_activities")
        // Another app and another account have room of their own. An activity without an account is not counted.
        #expect(try start("errand/1") == "applied")
        #expect(try start("coffee-order/6", "bob") == "applied")
        #expect(try harness.event("coffee-order/7", "type=start", from: shop).attributes["verdict"] == "applied")
        #expect(try start("coffee-order/8", "bob,alice") == "limit_activities")
        // An activity that ends or is dismissed frees its room, although it lingers. A restart counts the same.
        try harness.event("coffee-order/1", "type=end", from: shop)
        #expect(try start("coffee-order/8") == "applied")
        #expect(try start("coffee-order/9") == "limit_activities")
        try phone.say("DISMISS coffee-order/2")
        let records = harness.records.count
        #expect(try start("coffee-order/9") == "applied")
        #expect(harness.records.count == records + 1)
        try harness.restart(kinds: HubHarness.kindsOfSurfaces)
        let reply = harness.send("EVT coffee-order/10 type=start for=alice", from: harness.connect()).first
        #expect(reply?.contains("limit_activities") == true)
    }

    @Test func `all apps together have room for twenty`() throws {
        var configuration = HubConfiguration()
        configuration.decisions.activityLimits.perApp = 100
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let shop = harness.connect()
        for number in 1...20 {
            let kind = ["coffee-order", "errand", "taxi"][number % 3]
            #expect(
                try harness.event("\(kind)/\(number)", "type=start for=alice", from: shop).attributes["verdict"]
                    == "applied")
        }
        #expect(
            try harness.event("taxi/21", "type=start for=alice", from: shop).attributes["code"] == "limit_activities")
        harness.advance(by: .hours(8))
        #expect(try harness.event("taxi/21", "type=start for=alice", from: shop).attributes["verdict"] == "applied")
    }

    @Test func `a full disk takes nothing off a person's screens and puts nothing on them`() throws {
        let (phone, car) = (try screen("phone"), try screen("carplay"))
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        try harness.event("errand/1", "type=start for=alice", from: shop)
        try view(phone, car)
        let before = (phone.picture, car.picture)
        harness.isFull = true
        #expect(
            try harness.event("errand/1", #"type=end {"dismissal-date":1}"#, from: shop).attributes["code"]
                == "storage_full")
        try harness.event("taxi/1", "type=start for=alice", from: shop)
        try phone.say("DISMISS coffee-order/1")
        harness.isFull = false
        try view(phone, car)
        #expect((phone.picture, car.picture) == before)
        #expect(try screen("phone").picture == before.0)
        // A key that was another person's is one again.
        harness.time = harness.time + .seconds(2)
        try harness.event("taxi/1", "type=start for=bob", from: shop)
        #expect(try screen("phone").picture == before.0)
        #expect(try screen("phone", "bob").rows.count == 1)
    }

    @Test func `an activity that is opened again needs room again`() throws {
        let harness = try HubHarness(kinds: [Self.repeated])
        let shop = harness.connect()
        for number in 1...5 { harness.send("EVT turn/\(number) type=start for=alice", from: shop) }
        harness.send("EVT turn/1 type=stop", from: shop)
        harness.send("EVT turn/6 type=start for=alice", from: shop)
        #expect(harness.send("EVT turn/1 type=again", from: shop).last?.contains("code=limit_activities") == true)
        #expect(harness.send("GET turn/1", from: shop).last?.contains(#""lifecycle":"ended""#) == true)
        harness.send("EVT turn/6 type=stop", from: shop)
        #expect(harness.send("EVT turn/1 type=again", from: shop).last?.contains("verdict=applied") == true)
    }

    private static let repeated = """
        {"kind":"turn","type":"activity","version":1,"app":"com.example.turn","title":"Turn",
         "machine":{"initial":"on","states":{"on":{"on":{"stop":"off"}},"off":{"type":"final","reopen":{"again":"on"}}}}}
        """
}
