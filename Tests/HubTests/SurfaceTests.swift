import Hub
import Machines
import Surfaces
import TelltaleModel
import Testing

/// The rows of a person's devices, through the hub.
struct SurfaceTests {
    private let house: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = house.connect()
    }

    private func screen(_ surface: String, _ account: String? = "alice") throws -> Screen {
        try Screen(surface, account: account, in: house).connect()
    }

    private func look(_ screens: Screen...) throws {
        for screen in screens {
            try screen.look()
            #expect(screen.faults == [])
        }
    }

    @Test func `a cursor of other settings of the surfaces does not resume`() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.carPlayFallback = .lockScreen
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        func resumes(_ view: String) throws -> Bool {
            let live = house.send("SUB * view=\(view)", from: house.connect()).last
            let cursor = try #require(live.flatMap { HubHarness.attribute("cur", of: $0) })
            // Read back with the default settings.
            try house.restart(kinds: HubHarness.kindsOfSurfaces)
            return !house.send("SUB * view=\(view) from=\(cursor)", from: house.connect()).contains {
                $0.hasPrefix("RESET")
            }
        }
        #expect(try !resumes("carplay"))
        #expect(try resumes("carplay"))
    }

    @Test("A cursor resumes its own selection alone", arguments: ["view=watch", "placement=menuBar", "for=alice"])
    func selection(term: String) throws {
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = house.connect()
        let (plain, other) = ("SUB errand/* view=full", "SUB errand/* \(term)")
        let cursor = try house.cursor(of: plain, from: client)
        #expect(!house.send("\(plain) from=\(cursor)", from: client).contains { $0.hasPrefix("RESET ") })
        for line in [other, "SUB errand/1 view=full", "SUB * view=full"] {
            let told = house.send("\(line) from=\(cursor)", from: client)
            #expect(told.contains { $0.hasPrefix("RESET ") && $0.hasSuffix(" why=selection") }, "\(line)")
        }
    }

    @Test func `a cursor of one surface does not resume another`() throws {
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = house.connect()
        let cursor = try house.cursor(of: "SUB * view=watch", from: client)
        let told = house.send("SUB * view=carplay from=\(cursor)", from: client)
        #expect(told.contains { $0.hasPrefix("RESET ") && $0.hasSuffix(" why=selection") })
    }

    @Test func `rows of another release do not stay on a screen`() throws {
        var configuration = HubConfiguration()
        configuration.serverVersion = "0.0.9"
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let cursors = try ["watch", "full"].map {
            try house.cursor(of: "SUB * view=\($0)", from: house.connect())
        }
        try house.restart(kinds: HubHarness.kindsOfSurfaces)
        let resets = zip(["watch", "full"], cursors).map { view, cursor in
            house.send("SUB * view=\(view) from=\(cursor)", from: house.connect()).contains { $0.hasPrefix("RESET ") }
        }
        #expect(resets == [true, false])
    }

    @Test func `the whole state resumes whatever the settings of the surfaces`() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.carPlayFallback = .lockScreen
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let live = house.send("SUB * view=full", from: house.connect()).last
        let cursor = try #require(live.flatMap { HubHarness.attribute("cur", of: $0) })
        try house.restart(kinds: HubHarness.kindsOfSurfaces)
        #expect(
            house.send("SUB * view=full from=\(cursor)", from: house.connect()).allSatisfy { !$0.hasPrefix("RESET") })
    }

    // MARK: Who is shown where

    @Test func `one app is compact in the menu bar, several are minimal each, and only changed rows are sent`() throws {
        let desktop = try screen("desktop")
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        try look(desktop)
        #expect(desktop.presentation(of: "coffee-order/1") == "compact")
        // A second app begins: the first one's row comes again, with its own rev.
        let rev = desktop.rows["coffee-order/1"]?.rev
        try house.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        try look(desktop)
        #expect(desktop.presentation(of: "coffee-order/1") == "minimal")
        #expect(desktop.presentation(of: "errand/1") == "minimal")
        #expect(desktop.rows["coffee-order/1"]?.rev == rev)
        #expect([desktop.order(of: "coffee-order/1"), desktop.order(of: "errand/1")] == [1, 2])
        // It outranks the first.
        try house.event("errand/1", #"type=update {"relevance-score":9}"#, from: shop)
        try look(desktop)
        #expect([desktop.order(of: "coffee-order/1"), desktop.order(of: "errand/1")] == [2, 1])
        // A change that moves no activity brings one row.
        try house.event("errand/1", #"type=update {"relevance-score":9,"content-state":{"eta":1}}"#, from: shop)
        let lines = try #require(desktop.client.map { house.lines(of: $0) })
        #expect(lines.count == 1)
        #expect(lines.first?.contains("key=errand/1") == true)
        // It leaves: the first one has the menu bar to itself again.
        try house.event("errand/1", #"type=end {"dismissal-date":1}"#, from: shop)
        try look(desktop)
        #expect(desktop.deletions == ["errand/1 dismissed"])
        #expect(desktop.presentation(of: "coffee-order/1") == "compact")
    }

    @Test func `the best of one app has the island, and one that is outranked gives it up`() throws {
        let phone = try screen("phone")
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        try house.event("coffee-order/2", "type=start for=alice", from: shop)
        try look(phone)
        #expect(phone["coffee-order/1"]?["island"]?["presentation"] == "compact")
        #expect(phone["coffee-order/2"]?["island"] == nil)
        try house.event("coffee-order/2", #"type=update {"relevance-score":100}"#, from: shop)
        try look(phone)
        #expect(phone["coffee-order/1"]?["island"] == nil)
        #expect(phone["coffee-order/2"]?["island"]?["presentation"] == "compact")
        #expect(phone["coffee-order/2"]?["lockScreen"]?["order"] == 1)
        // It ends: at once off the island, and on the Lock Screen as long as it lingers.
        try house.event("coffee-order/2", "type=end", from: shop)
        try look(phone)
        #expect(phone["coffee-order/2"]?["island"] == nil)
        #expect(phone["coffee-order/2"]?["lifecycle"] == "ended")
        #expect(phone["coffee-order/1"]?["island"]?["presentation"] == "compact")
    }

    @Test func `two apps share the island, and the app in front gives it to the other`() throws {
        let phone = try screen("phone")
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        try house.event("errand/1", "type=start for=alice", from: shop)
        try look(phone)
        #expect(phone["coffee-order/1"]?["island"]?["attached"] == true)
        #expect(phone["errand/1"]?["island"]?["attached"] == false)
        try phone.set("foreground", to: "com.example.coffee")
        try look(phone)
        #expect(phone["coffee-order/1"]?["island"] == nil)
        #expect(phone["errand/1"]?["island"]?["presentation"] == "compact")
        try phone.set("foreground", to: "none")
        try phone.set("locked", to: "yes")
        try look(phone)
        #expect(phone.rows.values.allSatisfy { $0.body["island"] == nil })
        #expect(phone["errand/1"]?["lockScreen"]?["interactive"] == false)
    }

    @Test func `an ended activity leaves CarPlay at once, and the watch when its linger is over`() throws {
        let (car, watch) = (try screen("carplay"), try screen("watch"))
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        try house.event("coffee-order/1", "type=end", from: shop)
        try look(car, watch)
        #expect(car.deletions == ["coffee-order/1 hidden"])
        #expect(watch["coffee-order/1"]?["lifecycle"] == "ended")
        house.advance(by: .minutes(15))
        try look(car, watch)
        #expect(watch.rows.isEmpty)
        #expect(watch.deletions == ["coffee-order/1 dismissed"])
        #expect(car.deletions == ["coffee-order/1 hidden"])
    }

    @Test func `without a small family the compact halves are joined, and the watch says whose they are`() throws {
        let (car, watch) = (try screen("carplay"), try screen("watch"))
        let text = String(repeating: "long ", count: 20)
        try house.event("errand/1", #"type=start for=alice {"attributes":{"what":"\#(text)"}}"#, from: shop)
        try look(car, watch)
        for screen in [car, watch] {
            #expect(screen.presentation(of: "errand/1") == "compact")
            #expect(screen["errand/1"]?["joined"] == true)
            #expect(screen["errand/1"]?["view"]?["leading"]?["symbol"] == "bag")
            // Cut to what the surface holds.
            #expect(screen["errand/1"]?["view"]?["trailing"]?["text"]?.string?.count == 24)
        }
        #expect(watch["errand/1"]?["appName"] == "Errands")
        #expect(car["errand/1"]?["appName"] == nil)
        #expect(car["errand/1"]?["interactive"] == false)
        let lock = try screen("phone")
        #expect(lock["errand/1"]?["lockScreen"]?["view"]?["title"]?.string?.count == 100)
    }

    @Test func `each trait changes what its surface shows, and back`() throws {
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        let changes: [(surface: String, trait: String, value: String, back: String)] = [
            ("carplay", "dashboard", "hidden", "visible"), ("phone", "foreground", "com.example.coffee", "none"),
            ("watch", "foreground", "com.example.maps", "none"), ("phone", "locked", "yes", "no"),
            ("watch", "wrist", "down", "up"), ("standby", "light", "low", "normal"),
            ("standby", "luminance", "reduced", "normal"), ("standby", "standby", "tapped", "on"),
        ]
        for change in changes {
            for account in ["alice", nil] {
                let device = try screen(change.surface, account)
                let before = device.picture
                try device.set(change.trait, to: change.value)
                #expect(device.picture != before, "\(change)")
                try device.set(change.trait, to: change.back)
                #expect(device.picture == before, "\(change)")
                try look(device)
            }
        }
    }

    @Test func `a display says its canvas, and a phone without an island has none`() throws {
        let phone = house.connect()
        #expect(
            house.send("HELLO surface=phone account=alice device=iphone-14", from: phone).first?.contains(
                "canvas=390x844") == true)
        house.send("SUB *", from: phone)
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        #expect(house.lines(of: phone).allSatisfy { !$0.contains("island") })
        // The same connection turns out to be another device: projected anew.
        let lines = house.send("HELLO device=iphone-15-pro", from: phone)
        #expect(lines.first?.contains("canvas=393x852") == true)
        #expect(lines.last?.contains(#""island":{"presentation":"compact""#) == true)
    }

    @Test func `the menu bar opens what is selected, with its link`() throws {
        let desktop = try screen("desktop")
        let client = try #require(desktop.client)
        try house.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        try house.event("errand/2", "type=start for=bob", from: shop)
        try house.event(
            "errand/3", #"type=start for=alice {"start-date":2000000000,"alert":{"title":"x","body":"y"}}"#, from: shop)
        try look(desktop)
        let opened = try ServerText(try #require(house.send("OPEN errand/1", from: client).first))
        #expect(opened.body?["presentation"] == "lockScreen")
        #expect(opened.body?["view"]?["title"] == "Bread")
        #expect(opened.body?["url"] == "https://example.com/errands/1")
        #expect(opened.body?["interactive"] == true)
        #expect(house.send("OPEN errand/2", from: client).first?.contains("code=unknown_key") == true)
        #expect(house.send("OPEN errand/3", from: client).first?.contains("code=bad_action") == true)
    }

    @Test func `what is opened takes no taps in a car or on a locked device, and what no screen shows is not opened`()
        throws
    {
        try house.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        // Stale from its start: shown nowhere (L3).
        try house.event("errand/2", #"type=start for=alice {"stale-date":1000}"#, from: shop)
        func open(_ key: String, _ screen: Screen) throws -> ServerText {
            let client = try #require(screen.client)
            return try ServerText(try #require(house.send("OPEN \(key)", from: client).first))
        }
        for surface in ["phone", "pad", "watch", "desktop", "standby"] {
            let device = try screen(surface)
            #expect(try open("errand/1", device).body?["interactive"] == true, "\(surface)")
            try device.set("locked", to: "yes")
            #expect(try open("errand/1", device).body?["interactive"] == false, "\(surface)")
            #expect(try open("errand/1", device).body?["presentation"] == "lockScreen", "\(surface)")
            #expect(try open("errand/2", device).attributes["code"] == "bad_action", "\(surface)")
        }
        let car = try screen("carplay")
        #expect(try open("errand/1", car).body?["interactive"] == false)
        #expect(try open("errand/1", try screen("vision")).attributes["code"] == "bad_action")
        try house.event("errand/1", "type=end", from: shop)
        try look(car)
        #expect(try open("errand/1", car).attributes["code"] == "bad_action")
        #expect(try open("errand/1", try screen("desktop")).body?["lifecycle"] == "ended")
    }

    @Test func `a scheduled activity is shown nowhere before its start, and comes with its alert`() throws {
        let (watch, desktop) = (try screen("watch"), try screen("desktop"))
        let start = house.time.milliseconds / 1000 + 3600
        try house.event(
            "errand/1", #"type=start for=alice {"start-date":\#(start),"alert":{"title":"Go","body":"Now"}}"#,
            from: shop)
        try look(watch, desktop)
        #expect(watch.rows.isEmpty && desktop.rows.isEmpty && watch.alerts.isEmpty)
        house.advance(by: .hours(1))
        try look(watch, desktop)
        #expect(watch.rows.count == 1 && watch.styles == ["alert"] && desktop.styles == ["panel"])
    }

    // MARK: A person's devices

    @Test func `what a person dismissed stays away from all their devices, across reconnects and restarts`() throws {
        let (phone, car, bob) = (try screen("phone"), try screen("carplay"), try screen("watch", "bob"))
        try house.event("coffee-order/1", "type=start for=alice,bob", from: shop)
        try look(phone, car, bob)
        car.disconnect()
        try phone.say("DISMISS coffee-order/1")
        #expect(phone.deletions == ["coffee-order/1 dismissed"])
        try car.connect()
        #expect(car.deletions == ["coffee-order/1 dismissed"])
        // The order goes on, for whom it concerns.
        try house.event("coffee-order/1", "type=confirm", from: shop)
        try look(phone, car, bob)
        #expect(phone.rows.isEmpty && car.rows.isEmpty)
        #expect(bob.rows.count == 1)
        // She may still ask what became of it.
        let client = try #require(phone.client)
        #expect(house.send("GET coffee-order/1 view=full", from: client).first?.contains(#""state":"queued""#) == true)
        let shown = try #require(house.send("GET coffee-order/1", from: client).first)
        #expect(shown.hasSuffix(#"{"presentation":null,"lifecycle":"active"}"#), "\(shown)")

        try house.restart(kinds: HubHarness.kindsOfSurfaces)
        for screen in [phone, car, bob] {
            screen.lose()
            try screen.connect()
        }
        #expect(phone.rows.isEmpty && car.rows.isEmpty && bob.rows.count == 1)
        #expect(try screen("watch").rows.isEmpty)
        try bob.say("DISMISS coffee-order/1")
        #expect(bob.rows.isEmpty)
        let again = house.connect()
        house.send("HELLO account=alice", from: again)
        #expect(house.send("GET coffee-order/1", from: again).first?.contains(#""lifecycle":"dismissed""#) == true)
        #expect(house.send("HISTORY coffee-order/1", from: again).last?.hasPrefix("OK count=") == true)
    }

    @Test func `a person has room for so many activities, and room is freed as they leave`() throws {
        func start(_ key: String, _ account: String = "alice") throws -> String {
            let reply = try house.event(key, "type=start for=\(account)", from: shop)
            return reply.attributes["code"] ?? reply.attributes["verdict"] ?? ""
        }
        let phone = try screen("phone")
        for number in 1...5 { #expect(try start("coffee-order/\(number)") == "applied") }
        #expect(try start("coffee-order/6") == "limit_activities")
        // Another app and another person have room of their own, and what is for nobody in particular is not counted.
        #expect(try start("errand/1") == "applied")
        #expect(try start("coffee-order/6", "bob") == "applied")
        #expect(try house.event("coffee-order/7", "type=start", from: shop).attributes["verdict"] == "applied")
        #expect(try start("coffee-order/8", "bob,alice") == "limit_activities")
        // Ending one frees its room, although it lingers; so does dismissing one; a restart counts the same.
        try house.event("coffee-order/1", "type=end", from: shop)
        #expect(try start("coffee-order/8") == "applied")
        #expect(try start("coffee-order/9") == "limit_activities")
        try phone.say("DISMISS coffee-order/2")
        let records = house.records.count
        #expect(try start("coffee-order/9") == "applied")
        #expect(house.records.count == records + 1)
        try house.restart(kinds: HubHarness.kindsOfSurfaces)
        let reply = house.send("EVT coffee-order/10 type=start for=alice", from: house.connect()).first
        #expect(reply?.contains("limit_activities") == true)
    }

    @Test func `all apps together have room for twenty`() throws {
        var configuration = HubConfiguration()
        configuration.decisions.activityLimits.perApp = 100
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let shop = house.connect()
        for number in 1...20 {
            let kind = ["coffee-order", "errand", "taxi"][number % 3]
            #expect(
                try house.event("\(kind)/\(number)", "type=start for=alice", from: shop).attributes["verdict"]
                    == "applied")
        }
        #expect(
            try house.event("taxi/21", "type=start for=alice", from: shop).attributes["code"] == "limit_activities")
        house.advance(by: .hours(8))
        #expect(try house.event("taxi/21", "type=start for=alice", from: shop).attributes["verdict"] == "applied")
    }

    @Test func `a full disk takes nothing off a person's screens and puts nothing on them`() throws {
        let (phone, car) = (try screen("phone"), try screen("carplay"))
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        try house.event("errand/1", "type=start for=alice", from: shop)
        try look(phone, car)
        let before = (phone.picture, car.picture)
        house.isFull = true
        #expect(
            try house.event("errand/1", #"type=end {"dismissal-date":1}"#, from: shop).attributes["code"]
                == "storage_full")
        try house.event("taxi/1", "type=start for=alice", from: shop)
        try phone.say("DISMISS coffee-order/1")
        house.isFull = false
        try look(phone, car)
        #expect((phone.picture, car.picture) == before)
        #expect(try screen("phone").picture == before.0)
        // A key that was another person's is one again.
        house.time = house.time + .seconds(2)
        try house.event("taxi/1", "type=start for=bob", from: shop)
        #expect(try screen("phone").picture == before.0)
        #expect(try screen("phone", "bob").rows.count == 1)
    }

    // MARK: Alerts

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
        // The best of the app keeps the island, and its row does not come again.
        #expect(phone["taxi/2"]?["island"] == nil)
        #expect(phone["taxi/1"]?["island"]?["presentation"] == "compact")
        // Its moment is over with the row: not again after a reconnect, nor to who asks.
        try phone.set("locked", to: "yes")
        try phone.set("locked", to: "no")
        #expect(phone["taxi/2"].map { Screen.atRest($0) } == phone["taxi/2"])
        #expect(phone.alerts.count == 1)
        let client = try #require(phone.client)
        let asked = try ServerText(try #require(house.send("GET taxi/2", from: client).first))
        #expect(asked.body?["lockScreen"] != nil && asked.body?["expanded"] == nil)
    }

    @Test("An alert is drawn with what its row has", arguments: ["phone", "pad"])
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
        // On a pad what has ended is a banner, and the island has nothing of it: there it is the sound and the light.
        #expect(device.styles == (surface == "pad" ? ["banner", "banner"] : ["expanded", "expanded"]))
        #expect((device["taxi/2"]?["banner"] != nil) == (surface == "pad"))
        #expect(device["taxi/2"]?["lifecycle"] == "ended")
    }

    @Test func `a device that comes back is not alerted again of what it has been told`() throws {
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

    @Test func `what a person has seen on one device does not call them on another`() throws {
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

    // MARK: Coming back

    @Test("A device that was away in another situation has what it should", arguments: ["alice", nil])
    func situatedResume(account: String?) throws {
        for number in 1...3 { try house.event("coffee-order/\(number)", "type=start for=alice", from: shop) }
        let car = try screen("carplay", account)
        #expect(car.rows.count == 3)
        try car.set("dashboard", to: "hidden")
        #expect(car.rows.isEmpty)
        car.disconnect()
        car.traits = [:]
        try car.connect()
        #expect(car.rows.count == 3)
        // Gone and back without anything having happened, in the usual situation, costs nothing more.
        let other = try screen("carplay", nil)
        other.disconnect()
        let client = house.connect()
        let cursor = try #require(other.cursor)
        house.send("HELLO surface=carplay", from: client)
        #expect(house.send("SUB * from=\(cursor)", from: client).map { $0.prefix { $0 != " " } } == ["OK", "LIVE"])
        // Back in another situation than before.
        other.traits = ["dashboard": "hidden"]
        try other.connect()
        #expect(other.rows.isEmpty)
    }
}
