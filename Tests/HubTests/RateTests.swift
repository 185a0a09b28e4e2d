import TelltaleModel
import TestSupport
import Testing

@testable import Hub

struct RateTests {
    @Test("At most so many lines a second for each key", arguments: [1, 3, 7, 600, 1_000, 5_000])
    func lines(rate: Int) throws {
        let (house, shop) = try HubHarness.startedOrder()
        let screen = house.connect()
        var times: [Int64] = []
        let snapshot = house.send("SUB coffee-order/1 rate=\(rate)", from: screen)
        #expect(snapshot.contains { $0.hasPrefix("SNAP ") })
        times.append(house.time.milliseconds)
        for number in 1...2_500 {
            house.time = house.time + Milliseconds(1)
            house.send(#"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            for line in house.lines(of: screen) where line.hasPrefix("UPD ") { times.append(house.time.milliseconds) }
        }
        for (index, time) in times.enumerated() {
            #expect(times[index...].prefix { $0 < time + 1_000 }.count <= rate)
        }
        #expect(times.count >= min(rate, 700) * 2)
    }

    @Test("Each of many keys that are held back comes when it may, and none is lost", arguments: 0..<4)
    func manyKeys(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        let keys = 40
        for key in 1...keys { house.send("EVT coffee-order/\(key) type=start", from: shop) }
        house.send("SUB coffee-order/* view=full rate=2", from: screen)
        var (wanted, shown) = ([String: Int64](), [String: Int64]())
        var (lastTimes, cursor) = ([String: Int64](), "")
        func read() {
            for line in house.lines(of: screen) where line.hasPrefix("UPD ") {
                guard let key = HubHarness.attribute("key", of: line) else { continue }
                cursor = HubHarness.attribute("cur", of: line) ?? cursor
                shown[key] = (try? HubHarness.tail(line))?["content"]?["n"]?.integer
                #expect(house.time.milliseconds - lastTimes[key, default: 0] >= 500)
                lastTimes[key] = house.time.milliseconds
            }
        }
        for number in 1...800 as ClosedRange<Int64> {
            house.time = house.time + Milliseconds(Int64(random.below(6)))
            let key = "coffee-order/\(1 + random.below(UInt64(keys)))"
            if number == 300 { house.hub.becameBlocked(screen.id, at: house.now) }
            if number == 500 { house.hub.becameWritable(screen.id) }
            house.send(#"EVT \#(key) type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            wanted[key] = number
            read()
            if 300..<500 ~= number { #expect(house.lines(of: screen).isEmpty) }
        }
        // From here on only the deadlines that the hub asked for pass.
        let end = house.time + Milliseconds(600)
        while let next = house.hub.nextSessionDeadline, next.milliseconds <= end.milliseconds {
            house.time = Timestamp(milliseconds: next.milliseconds)
            house.turn()
            read()
        }
        #expect(shown == wanted)
        #expect(cursor.contains(":\(house.records.count):"))
    }

    @Test func `of several keys that a rate holds back each comes when its own second is over`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB coffee-order/* rate=1", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.advance(by: Milliseconds(500))
        house.send("EVT coffee-order/2 type=start", from: shop)
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        house.send("EVT coffee-order/2 type=confirm", from: shop)
        _ = house.lines(of: screen)
        house.advance(by: Milliseconds(500))
        #expect(house.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/1"])
        let next = house.hub.nextSessionDeadline
        #expect(next == house.now.monotonic + Milliseconds(500))
        house.advance(by: Milliseconds(500))
        #expect(house.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/2"])
    }

    @Test func `rates leave no more moments at which to look at a session than about one for each`() throws {
        let house = try HubHarness.withHeartbeat(20_000)
        let shop = house.connect()
        for key in 1...3 { house.send("EVT coffee-order/\(key) type=start", from: shop) }
        var screens = (1...10).map { _ in house.connect() }
        for (number, screen) in screens.enumerated() {
            house.send("HELLO client=nc hb=3600000", from: screen)
            house.send("SUB coffee-order/* view=full rate=\(5 + number)", from: screen)
        }
        for number in 1...1_000 {
            let key = "coffee-order/\(1 + number % 3)"
            house.send(#"EVT \#(key) type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            house.advance(by: Milliseconds(Int64(20 + number % 17)))
            if number == 500 { for _ in 0..<5 { house.disconnect(screens.removeFirst()) } }
            try #require(house.hub.sessions.deadlineEntryCount <= 2 * 11 + 65)
        }
        house.advance(by: Milliseconds(1_000))
        for screen in screens { #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        // No heartbeat was lost with the removed deadlines.
        house.advance(by: Milliseconds(300_000))
        for screen in screens { #expect(house.lines(of: screen).first?.hasPrefix("MARK ") == true) }
    }
}
