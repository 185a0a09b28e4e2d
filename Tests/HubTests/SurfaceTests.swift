import TelltaleModel
import Testing

/// The rows of one device.
struct SurfaceTests: SurfaceSuite {
    let harness: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = harness.connect()
    }

    @Test func `one app is compact in the menu bar, several are minimal each, and only changed rows are sent`() throws {
        let desktop = try screen("desktop")
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        try view(desktop)
        #expect(desktop.presentation(of: "coffee-order/1") == "compact")
        // A second app begins: the first one's row comes again, with its own rev.
        let rev = desktop.rows["coffee-order/1"]?.rev
        try harness.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        try view(desktop)
        #expect(desktop.presentation(of: "coffee-order/1") == "minimal")
        #expect(desktop.presentation(of: "errand/1") == "minimal")
        #expect(desktop.rows["coffee-order/1"]?.rev == rev)
        #expect([desktop.order(of: "coffee-order/1"), desktop.order(of: "errand/1")] == [1, 2])
        // It outranks the first.
        try harness.event("errand/1", #"type=update {"relevance-score":9}"#, from: shop)
        try view(desktop)
        #expect([desktop.order(of: "coffee-order/1"), desktop.order(of: "errand/1")] == [2, 1])
        // A change that moves no activity brings one row.
        try harness.event("errand/1", #"type=update {"relevance-score":9,"content-state":{"eta":1}}"#, from: shop)
        let lines = try #require(desktop.client.map { harness.lines(of: $0) })
        #expect(lines.count == 1)
        #expect(lines.first?.contains("key=errand/1") == true)
        // It leaves: the first one has the menu bar to itself again.
        try harness.event("errand/1", #"type=end {"dismissal-date":1}"#, from: shop)
        try view(desktop)
        #expect(desktop.deletions == ["errand/1 dismissed"])
        #expect(desktop.presentation(of: "coffee-order/1") == "compact")
    }

    @Test func `the best of one app has the island, and one that is outranked gives it up`() throws {
        let phone = try screen("phone")
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        try harness.event("coffee-order/2", "type=start for=alice", from: shop)
        try view(phone)
        #expect(phone["coffee-order/1"]?["island"]?["presentation"] == "compact")
        #expect(phone["coffee-order/2"]?["island"] == nil)
        try harness.event("coffee-order/2", #"type=update {"relevance-score":100}"#, from: shop)
        try view(phone)
        #expect(phone["coffee-order/1"]?["island"] == nil)
        #expect(phone["coffee-order/2"]?["island"]?["presentation"] == "compact")
        #expect(phone["coffee-order/2"]?["lockScreen"]?["order"] == 1)
        // It ends: at once off the island, and on the Lock Screen as long as it lingers.
        try harness.event("coffee-order/2", "type=end", from: shop)
        try view(phone)
        #expect(phone["coffee-order/2"]?["island"] == nil)
        #expect(phone["coffee-order/2"]?["lifecycle"] == "ended")
        #expect(phone["coffee-order/1"]?["island"]?["presentation"] == "compact")
    }

    @Test func `two apps share the island, and the app in front gives it to the other`() throws {
        let phone = try screen("phone")
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        try harness.event("errand/1", "type=start for=alice", from: shop)
        try view(phone)
        #expect(phone["coffee-order/1"]?["island"]?["attached"] == true)
        #expect(phone["errand/1"]?["island"]?["attached"] == false)
        // They started in the same millisecond. A score counts within an app and does not decide between apps.
        try harness.event("errand/1", #"type=update {"relevance-score":9}"#, from: shop)
        try view(phone)
        #expect(phone["errand/1"]?["island"]?["attached"] == false)
        try phone.set("foreground", to: "com.example.coffee")
        try view(phone)
        #expect(phone["coffee-order/1"]?["island"] == nil)
        #expect(phone["errand/1"]?["island"]?["presentation"] == "compact")
        try phone.set("foreground", to: "none")
        try phone.set("locked", to: "yes")
        try view(phone)
        #expect(phone.rows.values.allSatisfy { $0.body["island"] == nil })
        #expect(phone["errand/1"]?["lockScreen"]?["interactive"] == false)
    }

    @Test func `an ended activity leaves CarPlay at once, and the watch when its linger is over`() throws {
        let (car, watch) = (try screen("carplay"), try screen("watch"))
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        try harness.event("coffee-order/1", "type=end", from: shop)
        try view(car, watch)
        #expect(car.deletions == ["coffee-order/1 hidden"])
        #expect(watch["coffee-order/1"]?["lifecycle"] == "ended")
        harness.advance(by: .minutes(15))
        try view(car, watch)
        #expect(watch.rows.isEmpty)
        #expect(watch.deletions == ["coffee-order/1 dismissed"])
        #expect(car.deletions == ["coffee-order/1 hidden"])
    }

    @Test func `without a small family the compact halves are joined, and the watch says whose they are`() throws {
        let (car, watch) = (try screen("carplay"), try screen("watch"))
        let text = String(repeating: "long ", count: 20)
        try harness.event("errand/1", #"type=start for=alice {"attributes":{"what":"\#(text)"}}"#, from: shop)
        try view(car, watch)
        for screen in [car, watch] {
            #expect(screen.presentation(of: "errand/1") == "compact")
            #expect(screen["errand/1"]?["joined"] == true)
            #expect(screen["errand/1"]?["view"]?["leading"]?["symbol"] == "bag")
            // The text is cut to the surface's limit.
            #expect(screen["errand/1"]?["view"]?["trailing"]?["text"]?.string?.count == 24)
        }
        #expect(watch["errand/1"]?["appName"] == "Errands")
        #expect(car["errand/1"]?["appName"] == nil)
        #expect(car["errand/1"]?["interactive"] == false)
        let lock = try screen("phone")
        #expect(lock["errand/1"]?["lockScreen"]?["view"]?["title"]?.string?.count == 100)
    }

    @Test func `what is private goes and comes with the lock, and only rows that have something private do`() throws {
        try harness.event("taxi/1", #"type=start for=alice {"content-state":{"driver":"Ana"}}"#, from: shop)
        try harness.event("errand/1", "type=start for=alice", from: shop)
        let changes = [
            ("desktop", "locked", "yes", "no"), ("watch", "wrist", "down", "up"), ("watch", "locked", "yes", "no"),
        ]
        for (surface, trait, value, back) in changes {
            for account in ["alice", nil] {
                let device = try screen(surface, account)
                func isShown() -> Bool { device["taxi/1"].map { "\($0)".contains("Ana") } ?? true }
                #expect(isShown() || device.presentation(of: "taxi/1") == "minimal")
                try device.set(trait, to: value)
                #expect(!isShown(), "\(surface) \(trait)")
                let client = try #require(device.client)
                let read = try ServerText(try #require(harness.send("GET taxi/1", from: client).first))
                #expect(read.body.map { "\($0)".contains("Ana") } == false)
                try device.set("show", to: "locked")
                #expect(isShown() || device.presentation(of: "taxi/1") == "minimal")
                try device.set("show", to: "unlocked")
                #expect(!isShown())
                // It resumes as it is.
                let before = device.picture
                device.disconnect()
                try device.connect()
                #expect(device.picture == before)
                try device.set(trait, to: back)
                try view(device)
            }
        }
        let car = try screen("carplay")
        #expect(car["taxi/1"]?["view"]?["text"] == "A taxi" || car["taxi/1"]?["view"]?["title"] != nil)
        #expect(car["taxi/1"]?["redacted"] == ["text"] && car["errand/1"]?["redacted"] == nil)
        try view(car)
    }

    @Test func `what views depend on follows the state, although no activity moves`() throws {
        let watch = try screen("watch")
        try harness.event("taxi/1", #"type=start for=alice {"content-state":{"driver":"Ana"}}"#, from: shop)
        try watch.set("appearance", to: "dark")
        try view(watch)
        #expect(watch["taxi/1"]?["view"]?["tint"] == "white" && watch["taxi/1"]?["private"] == ["text"])
        try watch.set("wrist", to: "down")
        try harness.event("taxi/1", "type=near", from: shop)
        try view(watch)
        #expect(watch["taxi/1"]?["view"]?["tint"] == nil && watch["taxi/1"]?["redacted"] == ["title"])
        #expect(watch["taxi/1"]?["view"]?["title"] == nil && watch["taxi/1"]?["view"]?["text"] == "Ana")
        // In this state the appearance changes nothing, so no row comes.
        try watch.set("appearance", to: "light")
        try view(watch)
        #expect(watch.faults == [])
    }

    @Test func `each trait changes the rows of its surface, and back`() throws {
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
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
                try view(device)
            }
        }
    }

    @Test func `a display says its canvas, and a phone without an island has none`() throws {
        let phone = harness.connect()
        #expect(
            harness.send("HELLO surface=phone account=alice device=iphone-14", from: phone).first?.contains(
                "canvas=390x844") == true)
        harness.send("SUB *", from: phone)
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        #expect(harness.lines(of: phone).allSatisfy { !$0.contains("island") })
        // The same connection turns out to be another device: projected anew.
        let lines = harness.send("HELLO device=iphone-15-pro", from: phone)
        #expect(lines.first?.contains("canvas=393x852") == true)
        #expect(lines.last?.contains(#""island":{"presentation":"compact""#) == true)
    }

    @Test func `the menu bar opens the selected activity, with its link`() throws {
        let desktop = try screen("desktop")
        let client = try #require(desktop.client)
        try harness.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        try harness.event("errand/2", "type=start for=bob", from: shop)
        try harness.event(
            "errand/3", #"type=start for=alice {"start-date":2000000000,"alert":{"title":"x","body":"y"}}"#, from: shop)
        try view(desktop)
        let opened = try ServerText(try #require(harness.send("OPEN errand/1", from: client).first))
        #expect(opened.body?["presentation"] == "lockScreen")
        #expect(opened.body?["view"]?["title"] == "Bread")
        #expect(opened.body?["url"] == "https://example.com/errands/1")
        #expect(opened.body?["interactive"] == true)
        #expect(harness.send("OPEN errand/2", from: client).first?.contains("code=unknown_key") == true)
        #expect(harness.send("OPEN errand/3", from: client).first?.contains("code=bad_action") == true)
    }

    @Test func `an opened activity takes no taps in a car or on a locked device, and a hidden one is not opened`()
        throws
    {
        try harness.event("errand/1", #"type=start for=alice {"attributes":{"what":"Bread"}}"#, from: shop)
        // Stale from its start: shown nowhere (L3).
        try harness.event("errand/2", #"type=start for=alice {"stale-date":1000}"#, from: shop)
        func open(_ key: String, _ screen: TestScreen) throws -> ServerText {
            let client = try #require(screen.client)
            return try ServerText(try #require(harness.send("OPEN \(key)", from: client).first))
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
        try harness.event("errand/1", "type=end", from: shop)
        try view(car)
        #expect(try open("errand/1", car).attributes["code"] == "bad_action")
        #expect(try open("errand/1", try screen("desktop")).body?["lifecycle"] == "ended")
    }

    @Test func `a scheduled activity is shown nowhere before its start, and comes with its alert`() throws {
        let (watch, desktop) = (try screen("watch"), try screen("desktop"))
        let start = harness.time.milliseconds / 1000 + 3600
        try harness.event(
            "errand/1", #"type=start for=alice {"start-date":\#(start),"alert":{"title":"Go","body":"Now"}}"#,
            from: shop)
        try view(watch, desktop)
        #expect(watch.rows.isEmpty && desktop.rows.isEmpty && watch.alerts.isEmpty)
        harness.advance(by: .hours(1))
        try view(watch, desktop)
        #expect(watch.rows.count == 1 && watch.styles == ["alert"] && desktop.styles == ["panel"])
    }
}
