import TelltaleModel
import TestSupport
import Testing

@testable import Hub

struct RateTests {
    @Test("At most so many lines a second for each key", arguments: [1, 3, 7, 600, 1_000, 5_000])
    func lines(rate: Int) throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let screen = harness.connect()
        var times: [Int64] = []
        let snapshot = harness.send("SUB coffee-order/1 rate=\(rate)", from: screen)
        #expect(snapshot.contains { $0.hasPrefix("SNAP ") })
        times.append(harness.time.milliseconds)
        for number in 1...2_500 {
            harness.time = harness.time + Milliseconds(1)
            harness.send(#"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            for line in harness.lines(of: screen) where line.hasPrefix("UPD ") {
                times.append(harness.time.milliseconds)
            }
        }
        for (index, time) in times.enumerated() {
            #expect(times[index...].prefix { $0 < time + 1_000 }.count <= rate)
        }
        #expect(times.count >= min(rate, 700) * 2)
    }

    @Test("Each of many keys that are held back comes when it may, and none is lost", arguments: 0..<4)
    func manyKeys(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        let keys = 40
        for key in 1...keys { harness.send("EVT coffee-order/\(key) type=start", from: shop) }
        harness.send("SUB coffee-order/* view=full rate=2", from: screen)
        var (wanted, shown) = ([String: Int64](), [String: Int64]())
        var (lastTimes, cursor) = ([String: Int64](), "")
        func read() {
            for line in harness.lines(of: screen) where line.hasPrefix("UPD ") {
                guard let key = HubHarness.attribute("key", of: line) else { continue }
                cursor = HubHarness.attribute("cur", of: line) ?? cursor
                shown[key] = (try? HubHarness.tail(line))?["content"]?["n"]?.integer
                #expect(harness.time.milliseconds - lastTimes[key, default: 0] >= 500)
                lastTimes[key] = harness.time.milliseconds
            }
        }
        for number in 1...800 as ClosedRange<Int64> {
            harness.time = harness.time + Milliseconds(Int64(random.below(6)))
            let key = "coffee-order/\(1 + random.below(UInt64(keys)))"
            if number == 300 { harness.hub.becameBlocked(screen.id, at: harness.now) }
            if number == 500 { harness.hub.becameWritable(screen.id) }
            harness.send(#"EVT \#(key) type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            wanted[key] = number
            read()
            if 300..<500 ~= number { #expect(harness.lines(of: screen).isEmpty) }
        }
        // From here on only the deadlines that the hub asked for pass.
        let end = harness.time + Milliseconds(600)
        while let next = harness.hub.nextSessionDeadline, next.milliseconds <= end.milliseconds {
            harness.time = Timestamp(milliseconds: next.milliseconds)
            harness.turn()
            read()
        }
        #expect(shown == wanted)
        #expect(cursor.contains(":\(harness.records.count):"))
    }

    @Test func `of several keys that a rate holds back each comes when its own second is over`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB coffee-order/* rate=1", from: screen)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.advance(by: Milliseconds(500))
        harness.send("EVT coffee-order/2 type=start", from: shop)
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        harness.send("EVT coffee-order/2 type=confirm", from: shop)
        _ = harness.lines(of: screen)
        harness.advance(by: Milliseconds(500))
        #expect(harness.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/1"])
        let next = harness.hub.nextSessionDeadline
        #expect(next == harness.now.monotonic + Milliseconds(500))
        harness.advance(by: Milliseconds(500))
        #expect(harness.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/2"])
    }

    @Test func `rates leave no more moments at which to look at a session than about one for each`() throws {
        let harness = try HubHarness.withHeartbeat(20_000)
        let shop = harness.connect()
        for key in 1...3 { harness.send("EVT coffee-order/\(key) type=start", from: shop) }
        var screens = (1...10).map { _ in harness.connect() }
        for (number, screen) in screens.enumerated() {
            harness.send("HELLO client=nc hb=3600000", from: screen)
            harness.send("SUB coffee-order/* view=full rate=\(5 + number)", from: screen)
        }
        for number in 1...1_000 {
            let key = "coffee-order/\(1 + number % 3)"
            harness.send(#"EVT \#(key) type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            harness.advance(by: Milliseconds(Int64(20 + number % 17)))
            if number == 500 { for _ in 0..<5 { harness.disconnect(screens.removeFirst()) } }
            try #require(harness.hub.sessions.deadlineEntryCount <= 2 * 11 + 65)
        }
        harness.advance(by: Milliseconds(1_000))
        for screen in screens { #expect(harness.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        // No heartbeat was lost with the removed deadlines.
        harness.advance(by: Milliseconds(300_000))
        for screen in screens { #expect(harness.lines(of: screen).first?.hasPrefix("MARK ") == true) }
    }
}
