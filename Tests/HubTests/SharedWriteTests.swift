import Hub
import TelltaleModel
import TestSupport
import Testing

/// Most subscribers of a key are sent the very same bytes, which are made once.
struct SharedWriteTests {
    @Test func `followers of the same key in the same view get the same line, and no session gets another one's`()
        throws
    {
        let harness = try HubHarness()
        let shop = harness.connect()
        let (first, second, full, late) = (harness.connect(), harness.connect(), harness.connect(), harness.connect())
        for client in [first, second] { _ = harness.send("SUB coffee-order/* view=watch", from: client) }
        _ = harness.send("SUB coffee-order/* view=full", from: full)
        _ = harness.send("SUB porch-light/*", from: late)
        _ = harness.send("SUB coffee-order/* view=watch", from: late)
        for (index, event) in ["start", "confirm", "brew"].enumerated() {
            _ = harness.send("EVT coffee-order/1 type=\(event)", from: shop)
            let row = try #require(harness.lines(of: first).last)
            #expect(harness.lines(of: second).last == row)
            #expect(harness.lines(of: late).last == row.replacing("sub=1", with: "sub=2"))
            let fullRow = try #require(harness.lines(of: full).last)
            #expect(fullRow.contains(#""lifecycle":"active""#) && !fullRow.contains("presentation"), "event \(index)")
        }
    }

    /// The same of keys and not of a kind: these share the rows of single changes, and the others whole writes.
    @Test func `a follower under another number, or in another view, gets a line of its own`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        let numbers = [0, 0, 1, 1, 2, 3, 4, 5]
        let screens = try numbers.flatMap { before in
            try ["watch", "carplay", "full"].map { view in
                let screen = harness.connect()
                for _ in 0..<before { harness.send("SUB porch-light/1", from: screen) }
                for key in 1...3 { harness.send("SUB coffee-order/\(key) view=\(view)", from: screen) }
                try #require(harness.lines(of: screen).isEmpty)
                return (client: screen, before: before, view: view)
            }
        }
        for event in ["start", "confirm", "brew"] {
            for key in 1...3 { harness.post("EVT coffee-order/\(key) type=\(event)", from: shop) }
            harness.turn()
            var seen: [String: String] = [:]
            for screen in screens {
                let lines = harness.lines(of: screen.client)
                #expect(lines.count == 3, "\(event)")
                for (key, line) in zip(1...3, lines) {
                    let head = "UPD sub=\(screen.before + key) key=coffee-order/\(key) "
                    #expect(line.hasPrefix(head))
                    let rest = String(line.dropFirst(head.count))
                    #expect(seen["\(key) \(screen.view)", default: rest] == rest)
                    seen["\(key) \(screen.view)"] = rest
                }
            }
            #expect(Set(seen.values).count == 9, "\(event)")
        }
    }

    @Test func `each follower of a key gets the number of commits that it lacks`() throws {
        let harness = try HubHarness()
        let (shop, screens) = (harness.connect(), (0..<6).map { _ in harness.connect() })
        for screen in screens { harness.send("SUB coffee-order/1 view=watch", from: screen) }
        harness.send("EVT coffee-order/1 type=start", from: shop)
        for screen in screens { _ = harness.lines(of: screen) }
        for screen in screens[2...] { harness.hub.becameBlocked(screen.id, at: harness.now) }
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        for screen in screens[..<2] { #expect(harness.lines(of: screen).count == 1) }
        for screen in screens[2...] { harness.hub.becameWritable(screen.id) }
        harness.post("EVT coffee-order/1 type=brew", from: shop)
        _ = harness.hub.decide(at: harness.now)
        harness.hub.committed(at: harness.now)
        harness.turn()
        let rows = screens.map { harness.lines(of: $0) }
        #expect(rows.allSatisfy { $0.count == 1 })
        #expect(Set(rows[..<2].joined()).count == 1 && Set(rows[2...].joined()).count == 1)
        #expect(rows[0].first?.contains("skip=") == false && rows[2].first?.contains(" skip=1 why=slow ") == true)
        let conflated = try HubHarness.tail(harness.send("STATS", from: shop).last)["conflated"]
        #expect(conflated == ["slow": 4, "rate": 0, "resume": 0])
    }

    @Test func `a screen in another situation is sent a row of its own`() throws {
        let harness = try HubHarness()
        let (shop, screens) = (harness.connect(), (0..<3).map { _ in harness.connect() })
        harness.send("TRAIT locked=yes", from: screens[1])
        for screen in screens { harness.send("SUB coffee-order/1 view=phone", from: screen) }
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let rows = screens.map { harness.lines(of: $0) }
        #expect(rows[0] == rows[2] && rows[0] != rows[1] && rows.allSatisfy { $0.count == 1 })
    }

    @Test func `a rate holds back the rows of one key too`() throws {
        let harness = try HubHarness()
        let (shop, screens) = (harness.connect(), [harness.connect(), harness.connect()])
        for screen in screens { harness.send("SUB coffee-order/1 view=watch rate=1", from: screen) }
        for event in ["start", "confirm", "brew"] { harness.send("EVT coffee-order/1 type=\(event)", from: shop) }
        for screen in screens { #expect(harness.lines(of: screen).count == 1) }
        harness.advance(by: .seconds(1))
        for screen in screens { #expect(harness.lines(of: screen).map { $0.contains(" skip=1 why=rate ") } == [true]) }
    }

    @Test func `a person's device that follows a key is shown where it stands among the others`() throws {
        let harness = try HubHarness()
        let (shop, watch) = (harness.connect(), harness.connect())
        harness.send("HELLO account=alice surface=watch", from: watch)
        harness.send("SUB coffee-order/1", from: watch)
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        #expect(harness.lines(of: watch).map { $0.contains(#""order":1"#) } == [true])
    }

    @Test func `a follower that was sent a shared row has been sent its cursor`() throws {
        let harness = try HubHarness()
        let (shop, screens) = (harness.connect(), [harness.connect(), harness.connect()])
        for screen in screens { harness.send("SUB coffee-order/* view=watch", from: screen) }
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        for screen in screens { #expect(harness.lines(of: screen).allSatisfy { $0.contains(" cur=") }) }
        harness.advance(by: .seconds(20))
        for screen in screens { #expect(harness.lines(of: screen) == ["MARK now=\(harness.time.milliseconds)"]) }
    }

    /// The subscriptions of a client, and the times at which it is stuck.
    private struct Habit {
        var subscriptions: [String]
        var isStuckAt: Set<Int>

        init(using random: inout SeededGenerator) {
            let keys = (1...5).flatMap { Array(repeating: "coffee-order/\($0)", count: 2) }
            let patterns = ["*", "coffee-order/*"] + keys
            let views = ["full", "watch", "carplay", "desktop"]
            subscriptions = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in
                guard let pattern = patterns.randomElement(using: &random),
                    let view = views.randomElement(using: &random)
                else { return nil }
                return "SUB \(pattern) view=\(view)" + (Int.random(in: 0..<4, using: &random) > 0 ? "" : " rate=1")
            }
            isStuckAt = Set((0..<4).map { _ in Int.random(in: 0..<40, using: &random) })
        }
    }

    /// All that clients of these habits are sent while the same events come in, each for itself.
    private static func received(_ habits: [Habit], seed: UInt64) throws -> [[String]] {
        let harness = try HubHarness()
        let shop = harness.connect()
        let clients = habits.map { _ in harness.connect() }
        var reported = habits.map { _ in [String]() }
        for (client, habit) in zip(clients, habits) {
            for line in habit.subscriptions { harness.post(line, from: client) }
        }
        harness.turn()
        var random = SeededGenerator(seed: seed)
        for round in 0..<40 {
            for (client, habit) in zip(clients, habits) where habit.isStuckAt.contains(round) {
                harness.hub.becameBlocked(client.id, at: harness.now)
            }
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let event =
                    ["start", "confirm", "brew", "ready", "collect", "cancel"].randomElement(using: &random) ?? ""
                harness.post("EVT coffee-order/\(Int.random(in: 1...5, using: &random)) type=\(event)", from: shop)
            }
            harness.advance(by: Milliseconds(300))
            for (index, client) in clients.enumerated() {
                reported[index] += harness.lines(of: client)
                if round % 3 == 0 { harness.hub.becameWritable(client.id) }
            }
        }
        return reported
    }

    @Test("A session with a shared write gets the bytes that it would get alone", arguments: UInt64(1)...24)
    func alone(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var habits = (0..<3).map { _ in Habit(using: &random) }
        for _ in 0..<7 {
            var twin = habits.randomElement(using: &random) ?? habits[0]
            if Bool.random(using: &random) { twin.isStuckAt = [] }
            habits.append(twin)
        }
        let together = try Self.received(habits, seed: seed)
        for (habit, reported) in zip(habits, together) {
            let alone = try Self.received([habit], seed: seed)[0]
            #expect(reported == alone, "\(habit.subscriptions)")
        }
        #expect(together.joined().count { $0.hasPrefix("UPD") } > 10)
    }
}
