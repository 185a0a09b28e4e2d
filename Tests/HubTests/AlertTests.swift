import Hub
import TelltaleModel
import Testing

/// Alerts: drawn once on each device, as its surface draws them, and never folded.
struct AlertTests: SurfaceSuite {
    let harness: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = harness.connect()
    }

    @Test func `an alert is drawn as each surface draws it, once, and before its row`() throws {
        try harness.event("taxi/1", "type=start for=alice", from: shop)
        let screens = try ["phone", "pad", "watch", "carplay", "desktop", "standby", "vision"].map { try screen($0) }
        let hidden = TestScreen("carplay", account: "alice", in: harness)
        hidden.traits["dashboard"] = "hidden"
        let focused = TestScreen("carplay", account: "alice", in: harness)
        focused.traits = ["dashboard": "hidden", "focus": "on"]
        let front = TestScreen("phone", account: "alice", in: harness)
        front.traits["foreground"] = "com.example.taxi"
        for screen in [hidden, focused, front] { try screen.connect() }
        harness.post("EVT taxi/1 type=near", from: shop)
        harness.turn()
        let phone = try #require(screens[0].client)
        let lines = harness.lines(of: phone)
        #expect(lines.map { $0.prefix { $0 != " " } } == ["ALERT", "UPD"])
        #expect(lines.first?.contains(#"{"title":"Near","body":"Go down","style":"expanded"}"#) == true)
        for screen in screens + [hidden, focused, front] { try view(screen) }
        #expect(screens.map { $0.styles.joined() } == ["", "banner", "alert", "", "panel", "", ""])
        #expect(hidden.styles == ["notification"] && focused.styles == [] && front.styles == [])
        // Where there is no ALERT, the row draws the eye.
        #expect(screens[1]["taxi/1"]?["banner"]?["presentation"] == "lockScreen")
        #expect(screens[3]["taxi/1"]?["highlighted"] == true)
        #expect(screens[5]["taxi/1"]?["banner"]?["fullScreen"] == true)
    }

    @Test func `the island expands for the activity that alerts, whichever of its app stands there`() throws {
        let phone = try screen("phone")
        for key in ["taxi/1", "taxi/2"] { try harness.event(key, "type=start for=alice", from: shop) }
        try view(phone)
        try harness.event("taxi/2", "type=near", from: shop)
        try view(phone)
        #expect(phone.styles == ["expanded"])
        #expect(phone["taxi/2"]?["expanded"]?["presentation"] == "expanded")
        // The best activity of the app keeps the island, and its row does not come again.
        #expect(phone["taxi/2"]?["island"] == nil)
        #expect(phone["taxi/1"]?["island"]?["presentation"] == "compact")
        // The alert's views are over with the row: they come neither after a reconnect nor in a reply.
        try phone.set("locked", to: "yes")
        try phone.set("locked", to: "no")
        #expect(phone["taxi/2"].map { TestScreen.atRest($0) } == phone["taxi/2"])
        #expect(phone.alerts.count == 1)
        let client = try #require(phone.client)
        let asked = try ServerText(try #require(harness.send("GET taxi/2", from: client).first))
        #expect(asked.body?["lockScreen"] != nil && asked.body?["expanded"] == nil)
    }

    @Test("An alert is drawn only with the views of its row", arguments: ["phone", "pad"])
    func alertWithItsRow(surface: String) throws {
        let device = try screen(surface)
        for key in ["taxi/1", "taxi/2"] { try harness.event(key, "type=start for=alice", from: shop) }
        try device.set("locked", to: "yes")
        try harness.event("taxi/2", "type=near", from: shop)
        try view(device)
        #expect(device["taxi/2"]?["expanded"] == nil && device["taxi/2"]?["banner"] == nil)
        try device.set("locked", to: "no")
        try harness.event("taxi/2", #"type=end {"alert":{"title":"Gone","body":""}}"#, from: shop)
        try view(device)
        // On a pad an ended activity is a banner. The island has no view of it, so only the alert's sound is left.
        #expect(device.styles == (surface == "pad" ? ["banner", "banner"] : ["expanded", "expanded"]))
        #expect((device["taxi/2"]?["banner"] != nil) == (surface == "pad"))
        #expect(device["taxi/2"]?["lifecycle"] == "ended")
    }

    @Test func `a device that comes back is not sent an alert again`() throws {
        let screens = try ["pad", "carplay", "standby", "watch"].map { try screen($0) }
        try harness.event("taxi/1", "type=start for=alice", from: shop)
        try harness.event("taxi/1", "type=near", from: shop)
        for screen in screens {
            try view(screen)
            screen.disconnect()
            try screen.connect()
            try screen.set("locked", to: "yes")
            try screen.set("locked", to: "no")
            screen.disconnect()
            try screen.connect(fresh: true)
            #expect(screen["taxi/1"].map { TestScreen.atRest($0) } == screen["taxi/1"])
            try view(screen)
        }
        #expect(screens.map(\.alerts.count) == [1, 0, 0, 1])
    }

    @Test func `an alert that was seen on one device does not alert the account's other devices`() throws {
        let (phone, watch, pad) = (try screen("phone"), try screen("watch"), try screen("pad"))
        let bob = try screen("watch", "bob")
        try harness.event("taxi/1", "type=start for=alice,bob", from: shop)
        try view(watch, pad, bob, phone)
        for screen in [watch, pad, bob] { harness.hub.becameBlocked(try #require(screen.client).id, at: harness.now) }
        try harness.event("taxi/1", "type=near", from: shop)
        try view(phone)
        #expect(phone.styles == ["expanded"])
        try phone.say("SEEN taxi/1 rev=\(try #require(phone.rows["taxi/1"]?.rev))")
        for screen in [watch, pad, bob] { harness.hub.becameWritable(try #require(screen.client).id) }
        harness.turn()
        try view(watch, pad, bob)
        #expect(watch.alerts.isEmpty && pad.alerts.isEmpty && bob.styles == ["alert"])
        #expect(pad["taxi/1"]?["banner"] == nil)
        #expect(watch.rows["taxi/1"]?.rev == phone.rows["taxi/1"]?.rev)
        // The next alert is another one.
        try harness.event("taxi/1", "type=arrive", from: shop)
        try view(watch, pad, bob, phone)
        #expect([phone, watch, pad, bob].map(\.alerts.count) == [2, 1, 1, 2])
    }

    @Test func `alerts are not folded, however many updates a slow device misses`() throws {
        let watch = try screen("watch")
        try harness.event("taxi/1", "type=start for=alice", from: shop)
        try harness.event("taxi/1", "type=near", from: shop)
        try view(watch)
        harness.hub.becameBlocked(try #require(watch.client).id, at: harness.now)
        for number in 1...5 {
            try harness.event("taxi/1", #"type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            try harness.event("taxi/1", "type=near", from: shop)
        }
        harness.hub.becameWritable(try #require(watch.client).id)
        harness.turn()
        try view(watch)
        #expect(watch.alerts.count == 6)
    }

    @Test func `the app in front draws no alert of its own, on a device without an account too`() throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let shop = harness.connect()
        let (front, other) = (
            TestScreen("phone", account: nil, in: harness), TestScreen("phone", account: nil, in: harness)
        )
        front.traits["foreground"] = "com.example.taxi"
        for screen in [front, other] { try screen.connect() }
        try harness.event("taxi/1", "type=start", from: shop)
        try harness.event("taxi/1", "type=near", from: shop)
        for screen in [front, other] { try screen.view() }
        #expect(front.styles == [])
        #expect(other.styles == ["expanded"])
    }

    @Test func `E11: a private alert that waited is sent as the device is when it is sent`() throws {
        let taxi = HubHarness.taxi.replacing(
            #""alert":{"title":"Near","body":"Go down"}"#,
            with: #""alert":{"title":"Near","body":"Go down","private":["body"],"summary":"It comes"}"#)
        let harness = try HubHarness(kinds: [taxi])
        let (shop, watch) = (harness.connect(), harness.connect())
        harness.send("HELLO surface=watch", from: watch)
        harness.send("SUB * rate=1", from: watch)
        harness.send("EVT taxi/1 type=start", from: shop)
        harness.advance(by: .seconds(2))
        func alerts() throws -> [JSON] {
            try harness.lines(of: watch).filter { $0.hasPrefix("ALERT ") }.map { try HubHarness.tail($0) }
        }
        _ = harness.lines(of: watch)
        harness.send("EVT taxi/1 type=near", from: shop)
        #expect(try alerts().map { $0["body"] } == ["Go down"])
        // The next one is held back by the rate, and the watch locks meanwhile.
        harness.send("EVT taxi/1 type=near", from: shop)
        #expect(try alerts().isEmpty)
        harness.send("TRAIT locked=yes", from: watch)
        harness.advance(by: .seconds(2))
        let alert = try #require(try alerts().first)
        #expect(alert["title"] == "Taxi" && alert["body"] == "It comes" && alert["style"] == "alert")
    }
}
