import Hub
import TelltaleModel
import Testing

/// Alerts: drawn once on each device, as its surface draws them, and never folded.
struct AlertTests: SurfaceSuite {
    let house: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = house.connect()
    }

    @Test func `an alert is drawn as each surface draws it, once, and before its row`() throws {
        try house.event("taxi/1", "type=start for=alice", from: shop)
        let screens = try ["phone", "pad", "watch", "carplay", "desktop", "standby", "vision"].map { try screen($0) }
        let hidden = Screen("carplay", account: "alice", in: house)
        hidden.traits["dashboard"] = "hidden"
        let focused = Screen("carplay", account: "alice", in: house)
        focused.traits = ["dashboard": "hidden", "focus": "on"]
        let front = Screen("phone", account: "alice", in: house)
        front.traits["foreground"] = "com.example.taxi"
        for screen in [hidden, focused, front] { try screen.connect() }
        house.post("EVT taxi/1 type=near", from: shop)
        house.turn()
        let phone = try #require(screens[0].client)
        let lines = house.lines(of: phone)
        #expect(lines.map { $0.prefix { $0 != " " } } == ["ALERT", "UPD"])
        #expect(lines.first?.contains(#"{"title":"Near","body":"Go down","style":"expanded"}"#) == true)
        for screen in screens + [hidden, focused, front] { try look(screen) }
        #expect(screens.map { $0.styles.joined() } == ["", "banner", "alert", "", "panel", "", ""])
        #expect(hidden.styles == ["notification"] && focused.styles == [] && front.styles == [])
        // Where there is no ALERT, the row draws the eye.
        #expect(screens[1]["taxi/1"]?["banner"]?["presentation"] == "lockScreen")
        #expect(screens[3]["taxi/1"]?["highlighted"] == true)
        #expect(screens[5]["taxi/1"]?["banner"]?["fullScreen"] == true)
    }

    @Test func `the island expands for the activity that alerts, whichever of its app stands there`() throws {
        let phone = try screen("phone")
        for key in ["taxi/1", "taxi/2"] { try house.event(key, "type=start for=alice", from: shop) }
        try look(phone)
        try house.event("taxi/2", "type=near", from: shop)
        try look(phone)
        #expect(phone.styles == ["expanded"])
        #expect(phone["taxi/2"]?["expanded"]?["presentation"] == "expanded")
        // The best activity of the app keeps the island, and its row does not come again.
        #expect(phone["taxi/2"]?["island"] == nil)
        #expect(phone["taxi/1"]?["island"]?["presentation"] == "compact")
        // The alert's views are over with the row: they come neither after a reconnect nor in a reply.
        try phone.set("locked", to: "yes")
        try phone.set("locked", to: "no")
        #expect(phone["taxi/2"].map { Screen.atRest($0) } == phone["taxi/2"])
        #expect(phone.alerts.count == 1)
        let client = try #require(phone.client)
        let asked = try ServerText(try #require(house.send("GET taxi/2", from: client).first))
        #expect(asked.body?["lockScreen"] != nil && asked.body?["expanded"] == nil)
    }

    @Test("An alert is drawn only with the views of its row", arguments: ["phone", "pad"])
    func alertWithItsRow(surface: String) throws {
        let device = try screen(surface)
        for key in ["taxi/1", "taxi/2"] { try house.event(key, "type=start for=alice", from: shop) }
        try device.set("locked", to: "yes")
        try house.event("taxi/2", "type=near", from: shop)
        try look(device)
        #expect(device["taxi/2"]?["expanded"] == nil && device["taxi/2"]?["banner"] == nil)
        try device.set("locked", to: "no")
        try house.event("taxi/2", #"type=end {"alert":{"title":"Gone","body":""}}"#, from: shop)
        try look(device)
        // On a pad an ended activity is a banner. The island has no view of it, so only the alert's sound is left.
        #expect(device.styles == (surface == "pad" ? ["banner", "banner"] : ["expanded", "expanded"]))
        #expect((device["taxi/2"]?["banner"] != nil) == (surface == "pad"))
        #expect(device["taxi/2"]?["lifecycle"] == "ended")
    }

    @Test func `a device that comes back is not sent an alert again`() throws {
        let screens = try ["pad", "carplay", "standby", "watch"].map { try screen($0) }
        try house.event("taxi/1", "type=start for=alice", from: shop)
        try house.event("taxi/1", "type=near", from: shop)
        for screen in screens {
            try look(screen)
            screen.disconnect()
            try screen.connect()
            try screen.set("locked", to: "yes")
            try screen.set("locked", to: "no")
            screen.disconnect()
            try screen.connect(fresh: true)
            #expect(screen["taxi/1"].map { Screen.atRest($0) } == screen["taxi/1"])
            try look(screen)
        }
        #expect(screens.map(\.alerts.count) == [1, 0, 0, 1])
    }

    @Test func `an alert that was seen on one device does not alert the account's other devices`() throws {
        let (phone, watch, pad) = (try screen("phone"), try screen("watch"), try screen("pad"))
        let bob = try screen("watch", "bob")
        try house.event("taxi/1", "type=start for=alice,bob", from: shop)
        try look(watch, pad, bob, phone)
        for screen in [watch, pad, bob] { house.hub.becameBlocked(try #require(screen.client).id, at: house.now) }
        try house.event("taxi/1", "type=near", from: shop)
        try look(phone)
        #expect(phone.styles == ["expanded"])
        try phone.say("SEEN taxi/1 rev=\(try #require(phone.rows["taxi/1"]?.rev))")
        for screen in [watch, pad, bob] { house.hub.becameWritable(try #require(screen.client).id) }
        house.turn()
        try look(watch, pad, bob)
        #expect(watch.alerts.isEmpty && pad.alerts.isEmpty && bob.styles == ["alert"])
        #expect(pad["taxi/1"]?["banner"] == nil)
        #expect(watch.rows["taxi/1"]?.rev == phone.rows["taxi/1"]?.rev)
        // The next alert is another one.
        try house.event("taxi/1", "type=arrive", from: shop)
        try look(watch, pad, bob, phone)
        #expect([phone, watch, pad, bob].map(\.alerts.count) == [2, 1, 1, 2])
    }

    @Test func `alerts are not folded, however many updates a slow device misses`() throws {
        let watch = try screen("watch")
        try house.event("taxi/1", "type=start for=alice", from: shop)
        try house.event("taxi/1", "type=near", from: shop)
        try look(watch)
        house.hub.becameBlocked(try #require(watch.client).id, at: house.now)
        for number in 1...5 {
            try house.event("taxi/1", #"type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            try house.event("taxi/1", "type=near", from: shop)
        }
        house.hub.becameWritable(try #require(watch.client).id)
        house.turn()
        try look(watch)
        #expect(watch.alerts.count == 6)
    }

    @Test func `the app in front draws no alert of its own, on a device without an account too`() throws {
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let shop = house.connect()
        let (front, other) = (Screen("phone", account: nil, in: house), Screen("phone", account: nil, in: house))
        front.traits["foreground"] = "com.example.taxi"
        for screen in [front, other] { try screen.connect() }
        try house.event("taxi/1", "type=start", from: shop)
        try house.event("taxi/1", "type=near", from: shop)
        for screen in [front, other] { try screen.look() }
        #expect(front.styles == [])
        #expect(other.styles == ["expanded"])
    }
}
