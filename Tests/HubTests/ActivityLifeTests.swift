import TelltaleModel
import Testing

@testable import Hub

/// The life of an activity as its subscribers and its history see it, from the first event to the pruning.
struct ActivityLifeTests {
    @Test func `an order goes from its event to every row`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        #expect(house.send("HELLO id=h client=pos", from: shop).first?.hasPrefix("OK id=h conn=c1 hb=20000") == true)
        let subscribed = house.send("SUB coffee-order/* view=carplay id=s", from: screen)
        #expect(subscribed.count == 2)
        #expect(subscribed.first == "OK id=s sub=1 view=carplay")
        #expect(subscribed.last?.hasPrefix("LIVE sub=1 cur=6f3a91c2d0e4b577:") == true)

        let started = house.send(
            #"EVT coffee-order/1 type=start eid=e1 {"attributes":{"item":"Flat white"}}"#, from: shop)
        #expect(started.first?.hasPrefix("OK verdict=applied rev=") == true)
        #expect(started.first?.hasSuffix(" state=placed") == true)
        let row = try #require(house.lines(of: screen).first)
        #expect(row.hasPrefix("UPD sub=1 key=coffee-order/1 rev="))
        #expect(row.contains(#""presentation":"small""#))
    }

    @Test func `activities go stale, end and leave by themselves`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        _ = house.lines(of: screen)
        house.advance(by: .minutes(4))
        #expect(house.lines(of: screen).last?.contains(#""lifecycle":"stale""#) == true)
        house.advance(by: .minutes(1))
        #expect(house.lines(of: screen).last?.contains(#""state":"unattended""#) == true)
        house.advance(by: .hours(8))
        #expect(house.lines(of: screen).last?.contains(#""lifecycle":"ended""#) == true)
        house.advance(by: .minutes(15))
        #expect(house.lines(of: screen).last?.hasPrefix("DEL sub=1 key=coffee-order/1") == true)
        #expect(house.send("GET coffee-order/1", from: screen).first?.contains(#""lifecycle":"dismissed""#) == true)
        house.advance(by: .days(8))
        #expect(house.send("GET coffee-order/1", from: screen).contains { $0.contains("code=unknown_key") })
    }

    @Test func `a milestone that a timer reaches is told at the timer's time`() throws {
        let kind = HubHarness.coffee.replacing(#""unattended":{"#, with: #""unattended":{"milestone":true,"#)
        let house = try HubHarness(kinds: [kind])
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        let due = house.time.milliseconds + 5 * 60_000
        house.advance(by: .minutes(7))
        let told = house.lines(of: screen).first { $0.hasPrefix("MILE ") }
        #expect(told?.hasSuffix(" state=unattended at=\(due)") == true)
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
        let house = try HubHarness(kinds: [circle, HubHarness.coffee])
        let client = house.connect()
        for number in 0..<8 { house.send("EVT blinker/\(number) type=start", from: client) }
        house.send("EVT coffee-order/1 type=start", from: client)
        house.time = house.time + .minutes(6)
        house.post("PING", from: client)
        house.post("EVT coffee-order/1 type=confirm", from: client)
        house.commit()
        house.flush()
        let answers = house.lines(of: client)
        #expect(answers.first == "PONG")
        // The order was unattended after five minutes, whatever else was due before that.
        let answer = try #require(answers.last)
        #expect(answer.hasPrefix("OK verdict=ignored ") && answer.hasSuffix(" state=unattended"), "\(answers)")
    }

    @Test func `a person dismisses a card on all of their devices, and others keep it`() throws {
        let house = try HubHarness()
        let (shop, phone, watch, other) = (house.connect(), house.connect(), house.connect(), house.connect())
        house.send("HELLO account=alice surface=phone", from: phone)
        house.send("HELLO account=alice surface=watch", from: watch)
        house.send("HELLO account=bob surface=watch", from: other)
        for client in [phone, watch, other] { house.send("SUB *", from: client) }
        house.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        for client in [phone, watch, other] { #expect(house.lines(of: client).count == 1) }
        #expect(house.send("DISMISS coffee-order/1", from: phone).contains { $0.hasPrefix("OK") })
        #expect(house.lines(of: watch).last?.contains("why=dismissed") == true)
        #expect(house.lines(of: other).allSatisfy { !$0.hasPrefix("DEL") })
        #expect(house.send("DISMISS coffee-order/1", from: shop).first?.contains("code=forbidden") == true)
    }

    @Test func `history tells every event with its verdict`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start at=\(house.time.milliseconds - 5_000)", from: shop)
        house.send("EVT coffee-order/1 type=collect", from: shop)
        let lines = house.send("HISTORY coffee-order/1 id=h", from: shop)
        #expect(lines.count == 3)
        #expect(lines.first?.contains("type=start verdict=applied") == true)
        #expect(lines.first?.contains("at=\(house.time.milliseconds - 5_000)") == true)
        #expect(lines[1].contains("type=collect verdict=ignored"))
        #expect(lines.last == "OK id=h count=2")
    }

    @Test func `a shorter retention applies to activities that were dismissed before`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":0}"#, from: shop)
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try house.hub.adopt(settings)
        house.turn()
        house.advance(by: .seconds(2))
        #expect(house.send("GET coffee-order/1", from: shop).last?.contains("unknown_key") == true)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }
}
