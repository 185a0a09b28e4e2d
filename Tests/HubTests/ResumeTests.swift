import Testing

@testable import Hub

/// A subscriber that was blocked or away is sent the newest rows, deletions, or a reset with its reason.
struct ResumeTests {
    @Test func `a blocked reader gets the newest state with the number that was folded`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let screen = harness.connect()
        harness.send("SUB *", from: screen)
        harness.hub.becameBlocked(screen.id, at: harness.now)
        for event in ["confirm", "brew", "ready"] { harness.send("EVT coffee-order/1 type=\(event)", from: shop) }
        #expect(harness.lines(of: screen).isEmpty)
        harness.hub.becameWritable(screen.id)
        harness.turn()
        let lines = harness.lines(of: screen)
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("MILE sub=1 key=coffee-order/1") == true)
        #expect(lines.first?.contains("state=ready") == true)
        #expect(lines.last?.contains("skip=2 why=slow") == true)
        #expect(lines.last?.contains(#""state":"ready""#) == true)
    }

    @Test func `a resume between folded rows brings the rows that were not sent`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/a type=start", from: shop)
        harness.send("EVT coffee-order/b type=start", from: shop)
        harness.send("SUB *", from: screen)
        harness.hub.becameBlocked(screen.id, at: harness.now)
        harness.send("EVT coffee-order/a type=confirm", from: shop)
        harness.send("EVT coffee-order/b type=confirm", from: shop)
        harness.send("EVT coffee-order/a type=brew", from: shop)
        harness.hub.becameWritable(screen.id)
        harness.turn()
        // A leaves first and reports a cursor; the link breaks before B's row arrives.
        let first = try #require(harness.lines(of: screen).first)
        #expect(first.contains("key=coffee-order/a"))
        let cursor = try #require(first.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        harness.disconnect(screen)
        let again = harness.connect()
        let resumed = harness.send("SUB * from=\(cursor)", from: again)
        #expect(resumed.contains { $0.hasPrefix("UPD sub=1 key=coffee-order/b") && $0.contains("why=resume") })
        #expect(resumed.last?.hasPrefix("LIVE sub=1") == true)
    }

    @Test("A resume brings the followed keys that changed, and no others", arguments: ["full", "watch"])
    func resume(view: String) throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        let patterns = ["coffee-order/a", "coffee-order/b", "coffee-order/c", "coffee-order/*", "*"]
        for key in ["a", "b", "c"] { harness.send("EVT coffee-order/\(key) type=start", from: shop) }
        let screen = harness.connect()
        let cursors = try patterns.map { pattern in
            let live = try #require(harness.send("SUB \(pattern) view=\(view)", from: screen).last)
            return try #require(live.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        }
        harness.disconnect(screen)
        harness.send("EVT coffee-order/a type=confirm", from: shop)
        harness.send(#"EVT coffee-order/b type=end {"dismissal-date":1}"#, from: shop)
        for (pattern, cursor) in zip(patterns, cursors) {
            let lines = harness.send("SUB \(pattern) view=\(view) from=\(cursor)", from: harness.connect()).dropFirst()
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
        let harness = try HubHarness()
        let screen = harness.connect()
        let live = try #require(harness.send("SUB *", from: screen).last)
        let selection = try #require(live.split(separator: ":").last)
        let from = cursor.split(separator: ":").map { $0 == "%s" ? selection : $0 }.joined(separator: ":")
        let lines = harness.send("SUB * from=\(from)", from: screen)
        #expect(lines.contains("RESET sub=2 why=\(why)"))
        #expect(lines.last?.hasPrefix("LIVE sub=2") == true)
    }

    @Test func `after a resume a screen is notified when a row goes that had not changed`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for id in [1, 2] {
            for event in ["start", "confirm", "brew", "ready"] {
                harness.send("EVT coffee-order/\(id) type=\(event)", from: shop)
            }
        }
        let cursor = try harness.cursor(of: "SUB * view=carplay", from: harness.connect())
        let screen = harness.connect()
        #expect(harness.send("SUB * view=carplay from=\(cursor)", from: screen).last?.hasPrefix("LIVE") == true)
        harness.send("EVT coffee-order/1 type=collect", from: shop)
        #expect(harness.lines(of: screen).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `after a resume a person's dashboard is notified when an order is swiped away`() throws {
        let harness = try HubHarness()
        let (shop, phone) = (harness.connect(), harness.connect(as: "alice"))
        harness.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        let cursor = try harness.cursor(of: "SUB * for=alice", from: harness.connect())
        let screen = harness.connect()
        harness.send("SUB * for=alice from=\(cursor)", from: screen)
        harness.send("DISMISS coffee-order/1", from: phone)
        #expect(harness.lines(of: screen).contains { $0.hasPrefix("DEL ") && $0.hasSuffix("why=dismissed") })
    }

    @Test func `a key that was deleted before the snapshot was sent is not reported as deleted`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        for number in 1...2 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        harness.hub.becameBlocked(screen.id, at: harness.now)
        harness.send("SUB * view=full", from: screen)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        harness.hub.becameWritable(screen.id)
        harness.turn()
        #expect(harness.lines(of: screen).compactMap { $0.split(separator: " ").first } == ["OK", "SNAP", "LIVE"])
    }
}
