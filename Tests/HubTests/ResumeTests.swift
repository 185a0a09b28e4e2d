import Testing

@testable import Hub

/// A subscriber that was blocked or away is sent the newest rows, deletions, or a reset with its reason.
struct ResumeTests {
    @Test func `a blocked reader gets the newest state with the number that was folded`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        let screen = house.connect()
        house.send("SUB *", from: screen)
        house.hub.becameBlocked(screen.id, at: house.now)
        for event in ["confirm", "brew", "ready"] { house.send("EVT coffee-order/1 type=\(event)", from: shop) }
        #expect(house.lines(of: screen).isEmpty)
        house.hub.becameWritable(screen.id)
        house.turn()
        let lines = house.lines(of: screen)
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("MILE sub=1 key=coffee-order/1") == true)
        #expect(lines.first?.contains("state=ready") == true)
        #expect(lines.last?.contains("skip=2 why=slow") == true)
        #expect(lines.last?.contains(#""state":"ready""#) == true)
    }

    @Test func `a resume between folded rows brings the rows that were not sent`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/a type=start", from: shop)
        house.send("EVT coffee-order/b type=start", from: shop)
        house.send("SUB *", from: screen)
        house.hub.becameBlocked(screen.id, at: house.now)
        house.send("EVT coffee-order/a type=confirm", from: shop)
        house.send("EVT coffee-order/b type=confirm", from: shop)
        house.send("EVT coffee-order/a type=brew", from: shop)
        house.hub.becameWritable(screen.id)
        house.turn()
        // A leaves first and tells a cursor; the link breaks before B's row arrives.
        let first = try #require(house.lines(of: screen).first)
        #expect(first.contains("key=coffee-order/a"))
        let cursor = try #require(first.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        house.disconnect(screen)
        let again = house.connect()
        let resumed = house.send("SUB * from=\(cursor)", from: again)
        #expect(resumed.contains { $0.hasPrefix("UPD sub=1 key=coffee-order/b") && $0.contains("why=resume") })
        #expect(resumed.last?.hasPrefix("LIVE sub=1") == true)
    }

    @Test("A resume brings the followed keys that changed, and no others", arguments: ["full", "watch"])
    func resume(view: String) throws {
        let house = try HubHarness()
        let shop = house.connect()
        let patterns = ["coffee-order/a", "coffee-order/b", "coffee-order/c", "coffee-order/*", "*"]
        for key in ["a", "b", "c"] { house.send("EVT coffee-order/\(key) type=start", from: shop) }
        let screen = house.connect()
        let cursors = try patterns.map { pattern in
            let live = try #require(house.send("SUB \(pattern) view=\(view)", from: screen).last)
            return try #require(live.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        }
        house.disconnect(screen)
        house.send("EVT coffee-order/a type=confirm", from: shop)
        house.send(#"EVT coffee-order/b type=end {"dismissal-date":1}"#, from: shop)
        for (pattern, cursor) in zip(patterns, cursors) {
            let lines = house.send("SUB \(pattern) view=\(view) from=\(cursor)", from: house.connect()).dropFirst()
            let rows = lines.dropLast().map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
            let expected: [String] =
                switch pattern {
                case "coffee-order/a": ["UPD sub=1 key=coffee-order/a"]
                case "coffee-order/b": ["DEL sub=1 key=coffee-order/b"]
                case "coffee-order/c": []
                default: ["UPD sub=1 key=coffee-order/a", "DEL sub=1 key=coffee-order/b"]
                }
            #expect(rows == expected, "\(pattern)")
            #expect(lines.last?.hasPrefix("LIVE sub=1") == true)
        }
    }

    @Test(
        "A cursor that is no good is told why, and a snapshot follows",
        arguments: [
            ("0000000000000000:1:%s", "epoch"), ("6f3a91c2d0e4b577:1:ffff", "selection"),
            ("6f3a91c2d0e4b577:999999:%s", "future"),
        ])
    func reset(cursor: String, why: String) throws {
        let house = try HubHarness()
        let screen = house.connect()
        let live = try #require(house.send("SUB *", from: screen).last)
        let selection = try #require(live.split(separator: ":").last)
        let from = cursor.split(separator: ":").map { $0 == "%s" ? selection : $0 }.joined(separator: ":")
        let lines = house.send("SUB * from=\(from)", from: screen)
        #expect(lines.contains("RESET sub=2 why=\(why)"))
        #expect(lines.last?.hasPrefix("LIVE sub=2") == true)
    }

    @Test func `after a resume a screen is told when a row goes that had not changed`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for id in [1, 2] {
            for event in ["start", "confirm", "brew", "ready"] {
                house.send("EVT coffee-order/\(id) type=\(event)", from: shop)
            }
        }
        let cursor = try house.cursor(of: "SUB * view=carplay", from: house.connect())
        let screen = house.connect()
        #expect(house.send("SUB * view=carplay from=\(cursor)", from: screen).last?.hasPrefix("LIVE") == true)
        house.send("EVT coffee-order/1 type=collect", from: shop)
        #expect(house.lines(of: screen).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `after a resume a person's dashboard is told when an order is swiped away`() throws {
        let house = try HubHarness()
        let (shop, phone) = (house.connect(), house.connect(as: "alice"))
        house.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        let cursor = try house.cursor(of: "SUB * for=alice", from: house.connect())
        let screen = house.connect()
        house.send("SUB * for=alice from=\(cursor)", from: screen)
        house.send("DISMISS coffee-order/1", from: phone)
        #expect(house.lines(of: screen).contains { $0.hasPrefix("DEL ") && $0.hasSuffix("why=dismissed") })
    }

    @Test func `a key that was deleted before the snapshot was sent is not reported as deleted`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        for number in 1...2 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        house.hub.becameBlocked(screen.id, at: house.now)
        house.send("SUB * view=full", from: screen)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        house.hub.becameWritable(screen.id)
        house.turn()
        #expect(house.lines(of: screen).compactMap { $0.split(separator: " ").first } == ["OK", "SNAP", "LIVE"])
    }
}
