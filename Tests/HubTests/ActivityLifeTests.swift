import TelltaleModel
import Testing

@testable import Hub

/// The life of an activity as its subscribers and its history see it, from the first event to the pruning.
struct ActivityLifeTests {
    @Test func `an order goes from its event to every row`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        #expect(harness.send("HELLO id=h client=pos", from: shop).first?.hasPrefix("OK id=h conn=c1 hb=20000") == true)
        let subscribed = harness.send("SUB coffee-order/* view=carplay id=s", from: screen)
        #expect(subscribed.count == 2)
        #expect(subscribed.first == "OK id=s sub=1 view=carplay")
        #expect(subscribed.last?.hasPrefix("LIVE sub=1 cur=6f3a91c2d0e4b577:") == true)

        let started = harness.send(
            #"EVT coffee-order/1 type=start eid=e1 {"attributes":{"item":"Flat white"}}"#, from: shop)
        #expect(started.first?.hasPrefix("OK verdict=applied rev=") == true)
        #expect(started.first?.hasSuffix(" state=placed") == true)
        let row = try #require(harness.lines(of: screen).first)
        #expect(row.hasPrefix("UPD sub=1 key=coffee-order/1 rev="))
        #expect(row.contains(#""presentation":"small""#))
    }

    @Test func `activities go stale, end and leave by themselves`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        _ = harness.lines(of: screen)
        harness.advance(by: .minutes(4))
        #expect(harness.lines(of: screen).last?.contains(#""lifecycle":"stale""#) == true)
        harness.advance(by: .minutes(1))
        #expect(harness.lines(of: screen).last?.contains(#""state":"unattended""#) == true)
        harness.advance(by: .hours(8))
        #expect(harness.lines(of: screen).last?.contains(#""lifecycle":"ended""#) == true)
        harness.advance(by: .minutes(15))
        #expect(harness.lines(of: screen).last?.hasPrefix("DEL sub=1 key=coffee-order/1") == true)
        #expect(harness.send("GET coffee-order/1", from: screen).first?.contains(#""lifecycle":"dismissed""#) == true)
        harness.advance(by: .days(8))
        #expect(harness.send("GET coffee-order/1", from: screen).contains { $0.contains("code=unknown_key") })
    }

    @Test func `a milestone that a timer reaches is reported at the timer's time`() throws {
        let kind = HubHarness.coffee.replacing(#""unattended":{"#, with: #""unattended":{"milestone":true,"#)
        let harness = try HubHarness(kinds: [kind])
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let due = harness.time.milliseconds + 5 * 60_000
        harness.advance(by: .minutes(7))
        let reported = harness.lines(of: screen).first { $0.hasPrefix("MILE ") }
        #expect(reported?.hasSuffix(" state=unattended at=\(due)") == true)
    }

    @Test func `timers that are always due delay no request, and fire before a later event of their key`()
        throws
    {
        let circle = """
            {"kind":"blinker","type":"activity","version":1,"app":"com.example.car","title":"Blinker",
             "machine":{"initial":"on","states":{"on":{"after":{"1ms":"off"}},"off":{"after":{"1ms":"on"},"on":{"stop":"done"}},
               "done":{"type":"final"}}},
             "views":{"compact":{"leading":{"symbol":"car"},"trailing":{"text":"{{state.title}}"}},"minimal":{"symbol":"car"},
               "lockScreen":{"title":"{{state.title}}"},"expanded":{"center":{"title":"{{state.title}}"}}}}
            """
        let harness = try HubHarness(kinds: [circle, HubHarness.coffee])
        let client = harness.connect()
        for number in 0..<8 { harness.send("EVT blinker/\(number) type=start", from: client) }
        harness.send("EVT coffee-order/1 type=start", from: client)
        harness.time = harness.time + .minutes(6)
        harness.post("PING", from: client)
        harness.post("EVT coffee-order/1 type=confirm", from: client)
        harness.commit()
        harness.flush()
        let answers = harness.lines(of: client)
        #expect(answers.first == "PONG")
        // The order was unattended after five minutes, whatever else was due before that.
        let answer = try #require(answers.last)
        #expect(answer.hasPrefix("OK verdict=ignored ") && answer.hasSuffix(" state=unattended"), "\(answers)")
    }

    @Test func `a person dismisses a card on all of their devices, and others keep it`() throws {
        let harness = try HubHarness()
        let (shop, phone, watch, other) = (harness.connect(), harness.connect(), harness.connect(), harness.connect())
        harness.send("HELLO account=alice surface=phone", from: phone)
        harness.send("HELLO account=alice surface=watch", from: watch)
        harness.send("HELLO account=bob surface=watch", from: other)
        for client in [phone, watch, other] { harness.send("SUB *", from: client) }
        harness.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        for client in [phone, watch, other] { #expect(harness.lines(of: client).count == 1) }
        #expect(harness.send("DISMISS coffee-order/1", from: phone).contains { $0.hasPrefix("OK") })
        #expect(harness.lines(of: watch).last?.contains("why=dismissed") == true)
        #expect(harness.lines(of: other).allSatisfy { !$0.hasPrefix("DEL") })
        #expect(harness.send("DISMISS coffee-order/1", from: shop).first?.contains("code=forbidden") == true)
    }

    @Test func `history reports every event with its verdict`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start at=\(harness.time.milliseconds - 5_000)", from: shop)
        harness.send("EVT coffee-order/1 type=collect", from: shop)
        let lines = harness.send("HISTORY coffee-order/1 id=h", from: shop)
        #expect(lines.count == 3)
        #expect(lines.first?.contains("type=start verdict=applied") == true)
        #expect(lines.first?.contains("at=\(harness.time.milliseconds - 5_000)") == true)
        #expect(lines[1].contains("type=collect verdict=ignored"))
        #expect(lines.last == "OK id=h count=2")
    }

    @Test func `a shorter retention applies to activities that were dismissed before`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":0}"#, from: shop)
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try harness.hub.adopt(settings)
        harness.turn()
        harness.advance(by: .seconds(2))
        #expect(harness.send("GET coffee-order/1", from: shop).last?.contains("unknown_key") == true)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }
}
