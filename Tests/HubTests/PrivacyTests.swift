import TelltaleModel
import Testing

@testable import Hub

/// One account's activities are invisible to the others, including the fact that they exist.
struct PrivacyTests {
    @Test("A resume says nothing of other people's activities", arguments: ["full", "phone", "watch"])
    func resume(view: String) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        let cursor = try harness.cursor(of: "SUB * view=\(view)", from: alice)
        harness.disconnect(alice)
        harness.send("EVT errand/bobs type=start for=bob", from: shop)
        harness.send("EVT errand/hers type=start for=alice", from: shop)
        let again = harness.connect(as: "alice")
        let resumed = harness.send("SUB * view=\(view) from=\(cursor)", from: again)
        #expect(!resumed.contains { $0.contains("bobs") })
        #expect(resumed.contains { $0.hasPrefix("UPD ") && $0.contains("key=errand/hers") })
    }

    @Test(
        "A key that is other people's now is told to be gone to whom it was shown, and to nobody else",
        arguments: [false, true])
    func readdressed(restarts: Bool) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        harness.send("EVT errand/1 type=start for=alice", from: shop)
        let dave = harness.connect(as: "dave")
        let cursors = try [alice, dave].map { try harness.cursor(of: "SUB * view=full", from: $0) }
        for client in [alice, dave] { harness.disconnect(client) }
        for next in ["bob", "carol"] {
            harness.send(#"EVT errand/1 type=end {"dismissal-date":0}"#, from: shop)
            harness.send("EVT errand/1 type=start for=\(next)", from: shop)
        }
        if restarts { try harness.restart(kinds: HubHarness.kindsOfSurfaces, fromSnapshot: true) }
        for (account, cursor) in zip(["alice", "dave"], cursors) {
            let again = harness.connect(as: account)
            let resumed = harness.send("SUB * view=full from=\(cursor)", from: again)
            #expect(
                resumed.contains { $0.hasPrefix("DEL ") && $0.contains("key=errand/1 ") } == (account == "alice"))
        }
    }

    @Test func `one batch with the activities of two accounts under one key sends each account its own`() throws {
        let harness = try HubHarness()
        let (shop, alice, bob) = (harness.connect(), harness.connect(as: "alice"), harness.connect(as: "bob"))
        harness.send("SUB * view=carplay", from: alice)
        harness.send("SUB * view=phone", from: bob)
        for number in 1...2 {
            harness.send("EVT coffee-order/\(number) type=start for=alice", from: shop)
            for step in ["confirm", "brew"] { harness.send("EVT coffee-order/\(number) type=\(step)", from: shop) }
        }
        for client in [alice, bob] { _ = harness.lines(of: client) }

        harness.post(#"EVT coffee-order/1 type=ready {"content-state":{"shelf":"HERS"}}"#, from: shop)
        harness.post(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        harness.post("EVT coffee-order/1 type=start for=bob", from: shop)
        harness.turn()
        let (hers, his) = (harness.lines(of: alice), harness.lines(of: bob))
        #expect(!his.contains { $0.contains("HERS") || $0.hasPrefix("MILE") || $0.hasPrefix("ALERT") })
        #expect(his.count == 1 && his[0].hasPrefix("UPD ") && !his[0].contains("skip="))
        #expect(hers.contains { $0.hasPrefix("MILE ") && $0.contains("state=ready") })
        #expect(hers.contains { $0.hasPrefix("DEL ") && $0.contains("key=coffee-order/1 ") })
        // The other one moves up, as a screen that has just come sees it.
        let other = harness.connect(as: "alice")
        let fresh = harness.send("SUB * view=carplay", from: other).first { $0.contains("key=coffee-order/2 ") }
        let moved = hers.last { $0.contains("key=coffee-order/2 ") }
        #expect(try HubHarness.tail(moved) == HubHarness.tail(fresh))
    }

    @Test
    func
        `an activity that is removed at once alerts its accounts, except the one that dismissed it and the key's next owner`()
        throws
    {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let shop = harness.connect()
        let accounts = ["alice", "bob", "carol", "dave"]
        let screens = accounts.map { harness.connect(as: $0) }
        for screen in screens { harness.send("SUB * view=watch", from: screen) }
        harness.send("EVT errand/1 type=start for=alice,bob", from: shop)
        harness.send("DISMISS errand/1", from: screens[1])
        for screen in screens { _ = harness.lines(of: screen) }

        harness.post(#"EVT errand/1 type=end {"dismissal-date":0,"alert":{"title":"Off"}}"#, from: shop)
        harness.post("EVT errand/1 type=start for=carol", from: shop)
        harness.turn()
        let reported = screens.map { harness.lines(of: $0).filter { !$0.hasPrefix("MARK") } }
        #expect(reported[0].map { String($0.prefix(5)) } == ["ALERT", "DEL s"])
        #expect(reported[1] == [])
        #expect(reported[2].map { String($0.prefix(5)) } == ["UPD s"])
        #expect(reported[3] == [])
    }

    @Test func `a key that goes round among many is notified of with bounded memory`() {
        var audiences = AudienceHistory()
        for commit in 1...40 {
            audiences.append(AudienceHistory.Change(commit: Int64(commit), accounts: ["guest-\(commit)"]))
        }
        #expect(audiences.since == 40)
        #expect(audiences.changes.count == 16)
        #expect(audiences.contains("guest-40", after: 39) && !audiences.contains("guest-40", after: 40))
        #expect(!audiences.contains("guest-3", after: 30))
        // Longer ago than is remembered: better once too often than a card that stays.
        #expect(audiences.contains("guest-3", after: 2))
    }

    @Test("A batch that is taken back leaves the audience as it was", arguments: [false, true])
    func takenBack(isFull: Bool) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        harness.send("EVT errand/1 type=start for=alice", from: shop)
        harness.send(#"EVT errand/1 type=end {"dismissal-date":0}"#, from: shop)
        harness.isFull = isFull
        harness.send("EVT errand/1 type=start for=bob", from: shop)
        harness.isFull = false
        let counts = harness.send("HISTORY errand/1", from: alice).last
        #expect(
            counts
                == (isFull
                    ? "OK count=2"
                    : #"ERR code=unknown_key retry=no {"msg":"there is no errand/1; LIST shows what there is"}"#))
    }

    @Test(
        "What is not addressed to an account is unknown to it",
        arguments: ["DISMISS", "SEEN", "GET", "HISTORY", "OPEN"])
    func unknown(verb: String) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        harness.send("EVT errand/1 type=start for=bob", from: shop)
        let rest = verb == "SEEN" ? " rev=1" : ""
        let records = harness.records.count
        let there = harness.send("\(verb) errand/1\(rest)", from: alice)
        let nowhere = harness.send("\(verb) errand/2\(rest)", from: alice)
        #expect(there.first?.contains("code=unknown_key") == true)
        #expect(there.map { $0.replacing("errand/1", with: "errand/2") } == nowhere)
        #expect(harness.records.count == records)
    }

    @Test("A list has only activities that its account may see", arguments: ["full", "watch"])
    func list(view: String) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        for (name, people) in [("bobs", " for=bob"), ("hers", " for=alice"), ("theirs", " for=alice,bob"), ("all", "")]
        {
            harness.send("EVT errand/\(name) type=start\(people)", from: shop)
        }
        harness.send("DISMISS errand/theirs", from: alice)
        let lines = harness.send("LIST errand/* view=\(view)", from: alice)
        #expect(lines.compactMap { HubHarness.attribute("key", of: $0) } == ["errand/hers", "errand/all"])
        #expect(lines.last == "OK count=2")
        #expect(harness.send("LIST * view=\(view)", from: shop).last == "OK count=4")
    }

    @Test func `an alert of a scheduled activity does not count as seen`() throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, phone, watch) = (harness.connect(), harness.connect(), harness.connect())
        for device in [phone, watch] { harness.send("HELLO account=alice surface=phone", from: device) }
        harness.send("EVT errand/1 type=start for=alice", from: shop)
        harness.send("SUB *", from: phone)
        #expect(harness.send("SEEN errand/1 rev=9007199254740991", from: watch).last?.hasPrefix("OK") == true)
        harness.send(#"EVT errand/1 type=update {"alert":{"title":"N","body":"B"}}"#, from: shop)
        #expect(harness.lines(of: phone).contains { $0.hasPrefix("ALERT ") })
    }
}
