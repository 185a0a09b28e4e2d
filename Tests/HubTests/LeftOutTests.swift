import FanOut
import Machines
import Surfaces
import TelltaleModel
import Testing

@testable import Hub

/// A view of an account shows so many activities at most: what it leaves out, and what that costs.
struct LeftOutTests {
    private func makeHarness(limit: Int = 64, filled: Int = 1_024) throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.limits.activitiesPerView = limit
        configuration.limits.keysFilledAtOnce = filled
        return try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
    }

    /// Starts so many errands of everybody, the first ones with the best scores.
    private func begin(_ count: Int, in harness: HubHarness) -> HubHarness.Client {
        let shop = harness.connect()
        for number in 0..<count {
            harness.post(
                "EVT errand/\(number) type=start {\"relevance-score\":\(1_000_000 - number)}", from: shop)
            if number % 500 == 499 { harness.turn() }
        }
        harness.turn()
        _ = harness.lines(of: shop)
        return shop
    }

    private func statistic(_ name: String, _ harness: HubHarness) throws -> Int64? {
        try HubHarness.tail(harness.send("STATS", from: harness.connect()).last)[name]?.integer
    }

    @Test func `what is left out has no row until it rises, and STATS counts it`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(4, in: harness)
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        #expect(watch.rows.keys.sorted() == ["errand/0", "errand/1"])
        #expect(try statistic("leftOut", harness) == 2)
        let (own, all) = (harness.connect(), try TestScreen("watch", account: nil, in: harness).connect())
        #expect(all.rows.count == 4 && own.id != watch.client?.id)
        // Behind the last place nothing is reported.
        for words in ["type=update", "type=update {\"relevance-score\":5,\"alert\":{\"title\":\"t\",\"body\":\"b\"}}"] {
            try harness.event("errand/3", words, from: shop)
            #expect(harness.lines(of: try #require(watch.client)) == [])
        }
        try harness.event("errand/3", "type=update {\"relevance-score\":2000000}", from: shop)
        try watch.view()
        #expect(watch.rows.keys.sorted() == ["errand/0", "errand/3"] && watch.order(of: "errand/3") == 1)
        #expect(watch.deletions == ["errand/1 hidden"])
        // The place of one that the person dismisses goes to the next.
        try watch.say("DISMISS errand/0")
        #expect(watch.rows.keys.sorted() == ["errand/1", "errand/3"] && watch.faults == [])
        #expect(try statistic("leftOut", harness) == 1)
        try harness.event("errand/1", "type=end {\"dismissal-date\":1}", from: shop)
        try watch.view()
        #expect(watch.rows.keys.sorted() == ["errand/2", "errand/3"])
        #expect(try statistic("leftOut", harness) == nil)
    }

    @Test func `an account that dismissed the first ones is notified of those that took their places`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(12, in: harness)
        let phone = try TestScreen("phone", account: "alice", in: harness).connect()
        let other = try TestScreen("phone", account: "bob", in: harness).connect()
        for number in 0..<6 { try phone.say("DISMISS errand/\(number)") }
        #expect(phone.rows.keys.sorted() == ["errand/6", "errand/7"])
        try other.view()
        #expect(other.rows.keys.sorted() == ["errand/0", "errand/1"])
        let before = try #require(phone.rows["errand/7"]?.rev)
        try harness.event(
            "errand/7", "type=update {\"relevance-score\":999993,\"content-state\":{\"eta\":1}}", from: shop)
        try phone.view()
        #expect(try #require(phone.rows["errand/7"]?.rev) > before)
        #expect(harness.lines(of: try #require(other.client)) == [])
        try harness.event("errand/11", "type=update {\"relevance-score\":999993.5}", from: shop)
        try phone.view()
        #expect(phone.rows.keys.sorted() == ["errand/11", "errand/6"])
    }

    @Test func `an activity of the account's own takes its place among those of everybody`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(3, in: harness)
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        let other = try TestScreen("watch", account: "bob", in: harness).connect()
        try harness.event("errand/mine", "type=start for=alice {\"relevance-score\":2000000}", from: shop)
        try watch.view()
        try other.view()
        #expect(watch.rows.keys.sorted() == ["errand/0", "errand/mine"])
        #expect(other.rows.keys.sorted() == ["errand/0", "errand/1"])
    }

    @Test func `each kind has room of its own, and a desktop shows the apps of all of them`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(5, in: harness)
        try harness.event("taxi/1", "type=start", from: shop)
        let desktop = try TestScreen("desktop", account: "alice", in: harness).connect()
        #expect(desktop.rows.keys.sorted() == ["errand/0", "taxi/1"])
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        #expect(watch.rows.keys.sorted() == ["errand/0", "errand/1"])
    }

    @Test func `ties go by the key, whatever came first`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = harness.connect()
        for name in ["c", "b", "a"] { harness.post("EVT errand/\(name) type=start", from: shop) }
        harness.turn()
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        #expect(watch.order(of: "errand/a") == 1 && watch.order(of: "errand/b") == 2 && watch.rows.count == 2)
    }

    @Test func `a resume says what left the view; after too many changes the view is sent anew`() throws {
        let harness = try makeHarness(limit: 2, filled: 4)
        let shop = begin(12, in: harness)
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        watch.disconnect()
        try harness.event("errand/11", "type=update {\"relevance-score\":2000000}", from: shop)
        try harness.event("errand/10", "type=update {\"relevance-score\":3000000}", from: shop)
        let device = harness.connect(as: "alice")
        let resumed = harness.send("SUB * view=watch from=\(try #require(watch.cursor))", from: device)
        #expect(!resumed.contains { $0.hasPrefix("RESET") })
        #expect(resumed.count { $0.hasPrefix("DEL") && $0.hasSuffix("why=hidden") } == 2)
        try watch.connect()
        #expect(watch.rows.keys.sorted() == ["errand/10", "errand/11"] && watch.faults == [])
        watch.disconnect()
        for number in 4..<9 {
            try harness.event("errand/\(number)", "type=update {\"relevance-score\":\(4_000_000 + number)}", from: shop)
        }
        let lines = harness.send(
            "SUB * view=watch from=\(try #require(watch.cursor))", from: harness.connect(as: "alice"))
        #expect(lines.contains("RESET sub=1 why=expired"))
        #expect(lines.count { $0.hasPrefix("SNAP") } == 2)
        try watch.connect()
        #expect(watch.rows.keys.sorted() == ["errand/7", "errand/8"])
    }

    @Test func `while a row that left the view waits, cursors stay below the commit that it left with`() throws {
        let harness = try makeHarness(limit: 2, filled: 4)
        let shop = begin(12, in: harness)
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        try harness.event("errand/11", "type=update {\"relevance-score\":2000000}", from: shop)
        let lines = harness.lines(of: try #require(watch.client))
        #expect(lines.count == 3 && lines.last?.hasPrefix("DEL sub=1 key=errand/1 ") == true, "\(lines)")
        // One that reads no further than the first row comes back with the cursor of before, and is notified of both.
        #expect(lines.first.flatMap { HubHarness.attribute("cur", of: $0) } == nil)
        let cursor = try #require(watch.cursor)
        let resumed = harness.send("SUB * view=watch from=\(cursor)", from: harness.connect(as: "alice"))
        #expect(resumed.contains { $0.hasPrefix("DEL sub=1 key=errand/1 ") }, "\(resumed)")
        let whole = try #require(lines.last.flatMap { HubHarness.attribute("cur", of: $0) })
        let later = harness.send("SUB * view=watch from=\(whole)", from: harness.connect(as: "alice"))
        #expect(!later.contains { $0.hasPrefix("DEL") || $0.hasPrefix("RESET") }, "\(later)")
    }

    @Test func `under a rate, too, the cursor moves when the deletion of what left has been sent`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(3, in: harness)
        let watch = harness.connect(as: "alice")
        harness.send("SUB * view=watch rate=1", from: watch)
        var reported: [Int64] = []
        // The best one changes twice a second, so a row of it always waits. Every other time the second place changes hands.
        for round in 0..<12 {
            let score = round % 4 < 2 ? 999_998 : 1_500_000
            if round % 2 == 0 {
                try harness.event("errand/2", "type=update {\"relevance-score\":\(score)}", from: shop)
            }
            try harness.event("errand/0", "type=update {\"relevance-score\":2000000}", from: shop)
            harness.time = harness.time + Milliseconds(500)
            harness.turn()
            for line in harness.lines(of: watch) {
                guard let cursor = HubHarness.attribute("cur", of: line) else { continue }
                reported.append(try #require(Int64(cursor.split(separator: ":")[1])))
            }
        }
        #expect(reported == reported.sorted() && Set(reported).count > 4, "\(reported)")
    }

    @Test func `an app that is left out takes no place on the island`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(2, in: harness)
        let phone = try TestScreen("phone", account: "alice", in: harness).connect()
        try harness.event("taxi/1", "type=start {\"alert\":{\"title\":\"t\",\"body\":\"b\"}}", from: shop)
        harness.time = harness.time + Milliseconds(1_000)
        try harness.event("errand/0", "type=update {\"alert\":{\"title\":\"t\",\"body\":\"b\"}}", from: shop)
        try phone.view()
        #expect(phone.rows.keys.sorted() == ["errand/0", "errand/1"])
        // The first of two apps would be attached, and the second detached.
        #expect(phone["errand/1"]?["island"]?["presentation"] == "compact", "\(phone["errand/1"] ?? .null)")
    }

    @Test func `an activity that ends and starts anew for somebody else within one batch changes hands`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = harness.connect()
        let alice = try TestScreen("watch", account: "alice", in: harness).connect()
        let bob = try TestScreen("watch", account: "bob", in: harness).connect()
        try harness.event("errand/1", "type=start for=alice", from: shop)
        harness.post("EVT errand/1 type=end {\"dismissal-date\":1}", from: shop)
        harness.post("EVT errand/1 type=start for=bob", from: shop)
        harness.turn()
        try alice.view()
        try bob.view()
        #expect(alice.rows.keys.sorted() == [] && bob.rows.keys.sorted() == ["errand/1"])
    }

    @Test func `after each event an activity is recorded as it stands, whatever the event changed`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(1, in: harness)
        let entity = try #require(Key("errand/0").flatMap { harness.hub.store.index(of: $0) })
        let alert = "{\"alert\":{\"title\":\"t\",\"body\":\"b\"}}"
        let events = [
            "type=update {\"content-state\":{\"a\":1}}", "type=update {\"relevance-score\":2}",
            "type=update {\"stale-date\":1800000000}", "type=update \(alert)", "type=update \(alert)",
            "type=update {}", "type=end {\"dismissal-date\":1900000000}",
            "type=start {\"relevance-score\":3}", "type=update {\"relevance-score\":3}", "type=end {}",
        ]
        for event in events {
            for pause in [0, 1_000, 60_000] as [Int64] {
                if pause == 0 { try harness.event("errand/0", event, from: shop) }
                harness.time = harness.time + Milliseconds(pause)
                harness.turn()
                guard let activity = harness.hub.store.activity(at: entity), activity.lifecycle != .dismissed else {
                    continue
                }
                #expect(harness.hub.store.touch(entity, within: 1)?.isReordered == false, "\(event) \(pause)")
            }
        }
    }

    @Test func `places are kept for what a device says of its situation, and not for each text`() throws {
        let harness = try makeHarness(limit: 2)
        let shop = begin(3, in: harness)
        let phone = try TestScreen("phone", account: "alice", in: harness).connect()
        let before = phone.rows["errand/0"]?.body
        for number in 0..<20 {
            try phone.set("foreground", to: "com.example.app-\(number)")
            try phone.set("tint", to: "tint-\(number)")
            try phone.set("focus", to: number % 2 == 0 ? "on" : "off")
        }
        // No app in front, and one without activities.
        #expect(harness.hub.renderer.placedCount == 2 && phone.rows["errand/0"]?.body == before)
        try phone.set("foreground", to: "com.example.errands")
        #expect(harness.hub.renderer.placedCount == 3 && phone["errand/0"]?["island"] == nil)
        let watch = try TestScreen("watch", account: "alice", in: harness).connect()
        #expect(watch.rows.count == 2)
        try watch.set("foreground", to: "com.example.app-1")
        #expect(watch.rows.count == 0)
        try harness.event("errand/0", "type=update {\"relevance-score\":1}", from: shop)
        try phone.view()
        #expect(phone.order(of: "errand/2") != nil || phone.rows["errand/2"] != nil)
    }

    @Test func `however many situations there are, so many placements are kept`() throws {
        let harness = try makeHarness(limit: 2)
        _ = begin(1, in: harness)
        let terms = SubscriptionTerms(
            view: .surface(.phone), account: "alice", accountDigest: nil, placement: nil, rateInterval: nil)
        var lineups = Lineups()
        for app in 0..<3_000 as Range<Int32> {
            let found = lineups.lineup(for: terms, kind: nil, harness.hub.store)
            let placed = lineups.placements(
                of: found, in: Lineups.Scene(.phone, Traits(), foreground: app), limit: 2
            ) { $0.map { _ in Placement(.lockScreen, order: 1) } }
            #expect(placed.placements.count == 1)
            if lineups.placedCount > Lineups.limit { Issue.record("\(lineups.placedCount)") }
        }
    }

    @Test func `the digest of an account is that of its subscription, and is not computed for each row`() throws {
        var configuration = HubConfiguration()
        configuration.decisions.activities.markLimit = 1
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        _ = begin(1, in: harness)
        for account in ["abel", "bert", "carl"] { harness.send("DISMISS errand/0", from: harness.connect(as: account)) }
        let entity = try #require(Key("errand/0").flatMap { harness.hub.store.index(of: $0) })
        func terms(_ account: String, digest: UInt64) -> SubscriptionTerms {
            SubscriptionTerms(
                view: .surface(.watch), account: account, accountDigest: digest, placement: nil, rateInterval: nil)
        }
        let (abel, fred) = (Activity.digest(of: "abel"), Activity.digest(of: "fred"))
        let activity = harness.hub.store.activity(at: entity)
        for (account, digest, isVisible) in [("fred", fred, true), ("abel", abel, false), ("fred", abel, false)] {
            let terms = terms(account, digest: digest)
            let change = Change(entity: entity, commit: 1, activity: activity)
            #expect(change.isVisible(to: terms) == isVisible && change.reaches(to: terms) == isVisible)
            #expect(harness.hub.store.isVisible(entity, to: account, digest: digest) == isVisible)
            #expect(harness.hub.store.lineup(for: account, digest: digest, kind: nil).entities.isEmpty != isVisible)
        }
        var registry = SubscriptionRegistry()
        let own = registry.terms(view: .full, account: "abel", placement: nil, rateInterval: nil)
        #expect(own.accountDigest == abel)
    }

    /// B1, B2: what one subscription of an account holds and does, whatever there is of everybody's.
    @Test func `subscriptions of accounts hold little, and a change behind the first ones makes no session ready`()
        throws
    {
        let harness = try makeHarness()
        let shop = begin(3_000, in: harness)
        let reader = harness.connect()
        for number in 0..<256 {
            harness.post("SUB * view=watch for=z\(number)", from: reader)
            if number % 16 == 15 { harness.commit() }
        }
        for _ in 0..<8 { harness.commit() }
        #expect(harness.hub.subscriptions.count == 256)
        // Nothing has been read. Each waits for the rows that it shows.
        var (waiting, byteCount) = (0, 0)
        harness.hub.subscriptions.forEach { subscription in
            waiting += subscription.waitingCount
            guard let backlog = subscription.backlog else { return }
            byteCount += backlog.queue.byteCount + backlog.shown.byteCount + 32 * backlog.placements.count
        }
        #expect(waiting == 256 * 64)
        #expect(byteCount < 256 * 8_192, "\(byteCount)")
        // A turn's share is counted by these as well.
        let last = harness.hub.store.lineup(for: "z0", kind: nil)
        #expect(last.lookedAtCount == 64 && last.entities.count == 64)
        harness.turn()
        #expect(harness.lines(of: reader).count { $0.hasPrefix("SNAP") } == 256 * 64)
        let version = harness.hub.store.competitionVersion
        harness.post("EVT errand/2999 type=update {\"relevance-score\":7}", from: shop)
        harness.commit()
        #expect(!harness.readySessions().contains(reader.id))
        #expect(harness.hub.store.competitionVersion == version, "a class of screens is computed again")
        harness.post("EVT errand/63 type=update", from: shop)
        harness.commit()
        #expect(harness.readySessions().contains(reader.id))
    }
}

extension HubHarness {
    fileprivate func readySessions() -> [SessionID] {
        var ready: [SessionID] = []
        while let id = hub.nextReady() { ready.append(id) }
        return ready
    }
}
