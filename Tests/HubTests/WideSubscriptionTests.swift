import FanOut
import Journal
import Surfaces
import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// A subscription to many keys is owed a walk over the table, and not each of them: what it is told is the same.
struct WideSubscriptionTests {
    private static var smallSteps: HubConfiguration {
        var configuration = HubConfiguration()
        (configuration.limits.keysFilledAtOnce, configuration.limits.keysPerLook) = (2, 3)
        return configuration
    }

    private static let kinds = [HubHarness.coffee, HubHarness.porchLight()]

    private func house(_ count: Int, _ configuration: HubConfiguration = smallSteps) throws -> HubHarness {
        let house = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let shop = house.connect()
        for number in 0..<count { house.post("EVT coffee-order/\(number) type=start", from: shop) }
        house.turn()
        _ = house.lines(of: shop)
        return house
    }

    /// One write, as a socket that takes no more than that would see it.
    private func write(to client: HubHarness.Client, of house: HubHarness) -> [String] {
        var bytes: [UInt8] = []
        _ = house.hub.appendOutput(for: client.id, at: house.now, to: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func verbs(_ lines: [String]) -> [String] {
        lines.map { String($0.prefix { $0 != " " }) }
    }

    @Test func `its snapshot comes in steps, each key once, and LIVE behind them`() throws {
        let house = try house(10)
        let screen = house.connect()
        house.post("SUB *", from: screen)
        house.commit()
        var lines = write(to: screen, of: house)
        #expect(verbs(lines) == ["OK", "SNAP", "SNAP", "SNAP"])
        for _ in 0..<5 { lines += write(to: screen, of: house) }
        #expect(verbs(lines) == ["OK"] + Array(repeating: "SNAP", count: 10) + ["LIVE"])
        #expect(Set(lines.compactMap { HubHarness.attribute("key", of: $0) }).count == 10)
    }

    private func projections(of house: HubHarness) -> Int {
        var count = 0
        house.hub.subscriptions.forEach { if $0.needsProjection { count += 1 } }
        return count
    }

    @Test
    func
        `a thousand changes of a trait in one batch concern its subscriptions once, and none if they end as they began`()
        throws
    {
        let house = try house(3)
        let screen = house.connect()
        for _ in 0..<50 { house.send("SUB * view=watch", from: screen) }
        for lines in [1_000, 999] {
            for line in 0..<lines { house.post("TRAIT locked=\(line % 2 == 0 ? "yes" : "no")", from: screen) }
            _ = house.hub.decide(at: house.now)
            // No line costs in proportion to the subscriptions.
            #expect(projections(of: house) == 0)
            house.hub.committed(at: house.now)
            #expect(projections(of: house) == (lines % 2 == 0 ? 0 : 50))
            house.turn()
            #expect(house.lines(of: screen).count { $0 == "OK" } == lines)
        }
    }

    @Test("A tile whose widget changes ahead of the walk is told once", arguments: [true, false])
    func widgetOfTile(isResume: Bool) throws {
        let house = try HubHarness(kinds: TileTests.kinds, configuration: Self.smallSteps)
        let phone = house.connect()
        for number in 1...8 { TileTests.add(house, "@a/t\(number)", shop: "S\(number)", by: phone) }
        let first = house.connect()
        house.send("HELLO caps=widgets", from: first)
        let cursor = try house.cursor(of: "SUB * view=phone", from: first)
        house.disconnect(first)
        for number in 1...8 { AggregateTests.begin(house, "\(number)", shop: "S\(number)", phone) }
        let screen = house.connect()
        house.send("HELLO caps=widgets", from: screen)
        _ = house.lines(of: screen)
        house.post("SUB * view=phone" + (isResume ? " from=\(cursor)" : ""), from: screen)
        house.commit()
        var lines = write(to: screen, of: house)
        AggregateTests.begin(house, "more", shop: "S8", phone)
        lines += house.lines(of: screen)
        #expect(lines.contains { $0.hasPrefix("LIVE") })
        let rows = lines.filter { HubHarness.attribute("key", of: $0) == "@a/t8" }
        #expect(rows.count == 1 && rows[0].contains("2|"), "\(rows)")
    }

    @Test
    func
        `a key that changes ahead of the walk comes in the snapshot, with its milestone, and one behind it after LIVE`()
        throws
    {
        let house = try house(6)
        let (screen, shop) = (house.connect(), house.connect())
        for event in ["confirm", "brew"] { house.send("EVT coffee-order/5 type=\(event)", from: shop) }
        house.post("SUB *", from: screen)
        house.commit()
        _ = write(to: screen, of: house)
        house.post("EVT coffee-order/0 type=confirm", from: shop)
        house.post("EVT coffee-order/4 type=confirm", from: shop)
        house.post("EVT coffee-order/5 type=ready", from: shop)
        house.post("EVT coffee-order/new type=start", from: shop)
        house.commit()
        var lines: [String] = []
        for _ in 0..<6 { lines += write(to: screen, of: house) }
        let live = try #require(verbs(lines).firstIndex(of: "LIVE"))
        func places(_ key: String) -> [Int] {
            lines.indices.filter { HubHarness.attribute("key", of: lines[$0]) == "coffee-order/\(key)" }
        }
        #expect(verbs(places("0").map { lines[$0] }) == ["UPD"] && places("0")[0] > live)
        #expect(verbs(places("new").map { lines[$0] }) == ["UPD"] && places("new")[0] > live)
        #expect(verbs(places("4").map { lines[$0] }) == ["SNAP"] && lines[places("4")[0]].contains("queued"))
        #expect(
            verbs(places("5").map { lines[$0] }) == ["MILE", "SNAP"] && lines[places("5")[1]].contains("\"ready\""))
    }

    /// The same inputs to a hub that walks and to one that queues: readers that were broken off, resumed and locked end on
    /// the same rows.
    @Test("A walk tells what a queue tells", arguments: Lane.some(1...12 as ClosedRange<UInt64>, atEveryChange: 4))
    func same(seed: UInt64) throws {
        let views = ["", " view=watch", " view=phone", " view=carplay for=alice", " for=alice"]
        for view in views {
            var stories: [Story] = []
            for configuration in [Self.smallSteps, HubConfiguration()] {
                stories.append(try Story(kinds: Self.kinds, configuration, subscription: "SUB *\(view)", seed: seed))
            }
            #expect(stories[0].rows == stories[1].rows, "SUB *\(view)")
            #expect(!stories[0].rows.isEmpty)
        }
    }

    @Test func `what it is owed does not grow with the keys`() throws {
        func bytes(_ keyCount: Int) throws -> Int64 {
            let house = try house(keyCount, HubConfiguration())
            let (screen, asker) = (house.connect(), house.connect())
            house.hub.becameBlocked(screen.id, at: house.now)
            for _ in 0..<256 { house.post("SUB *", from: screen) }
            house.turn()
            return try #require(try HubHarness.tail(house.send("STATS", from: asker).last)["sessionBytes"]?.integer)
        }
        let (few, many) = (try bytes(1_500), try bytes(3_000))
        #expect(abs(many - few) < 4_096)
        #expect(many < 256 * 1_024)
    }

    @Test func `a flip of a trait costs its turn as much as the subscriptions, and not as the keys`() throws {
        let house = try house(40)
        let screen = house.connect()
        house.send("SUB * view=watch", from: screen)
        house.post("TRAIT locked=yes", from: screen)
        house.commit()
        var dirtyCount = 0
        house.hub.subscriptions.forEach { dirtyCount += $0.waitingCount }
        #expect(dirtyCount == 0)
    }

    @Test func `what a reader was owed that is gone is given up in parts`() throws {
        let house = try house(40)
        let (screen, shop) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.hub.becameBlocked(screen.id, at: house.now)
        for number in 0..<5_000 { house.post("EVT coffee-order/x\(number) type=start", from: shop) }
        house.turn()
        house.hub.disconnected(screen.id)
        var isRetired = (house.hub.subscriptions.hasRetired, house.hub.hasWork(at: house.now))
        #expect(isRetired == (true, true))
        house.commit()
        isRetired.0 = house.hub.subscriptions.hasRetired
        #expect(isRetired.0)
        house.turn()
        isRetired.0 = house.hub.subscriptions.hasRetired
        #expect(!isRetired.0)
    }

    @Test func `a key that is forgotten ahead of the walk of a resume is told as deleted`() throws {
        let house = try house(8)
        let (reader, shop) = (house.connect(), house.connect())
        let cursor = try #require(
            house.send("SUB *", from: reader).last.flatMap { HubHarness.attribute("cur", of: $0) })
        house.disconnect(reader)
        for number in 0..<8 { house.post("EVT coffee-order/\(number) type=confirm", from: shop) }
        house.post(#"EVT coffee-order/7 type=end {"dismissal-date":0}"#, from: shop)
        house.turn()
        let again = house.connect()
        house.post("SUB * from=\(cursor)", from: again)
        house.commit()
        var lines = write(to: again, of: house)
        #expect(!lines.contains { HubHarness.attribute("key", of: $0) == "coffee-order/7" })
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try house.hub.adopt(settings)
        house.time = house.time + .seconds(2)
        house.commit()
        #expect(house.records.contains { $0.entity == "coffee-order/7" && $0.sequence == house.records.last?.sequence })
        for _ in 0..<10 { lines += write(to: again, of: house) }
        #expect(lines.count { $0.hasPrefix("DEL ") && HubHarness.attribute("key", of: $0) == "coffee-order/7" } == 1)
        #expect(lines.contains { $0.hasPrefix("LIVE ") })
    }

    @Test func `64 milestones wait in the queue and ahead of a walk together`() {
        let (passed, ahead) = (EntityIndex(1), EntityIndex(7))
        let backlog = Backlog()
        backlog.scan = TableScan(.snapshot, end: 10)
        backlog.scan?.position = 5
        backlog.queue.mark(passed, commit: 1)
        backlog.scan?.ahead.markSnapshot(ahead, firstCommit: 1)
        for rev in 1...300 as ClosedRange<Int64> {
            backlog.announce(
                .milestone(rev: rev, state: "s\(rev)", at: .distantPast), before: rev.isMultiple(of: 3) ? passed : ahead
            )
            let (queued, waiting) = (
                backlog.queue.waitingAnnouncements(isMilestone: true),
                backlog.scan?.ahead.waitingAnnouncements(isMilestone: true)
            )
            #expect(queued.count + (waiting?.count ?? 0) == min(Int(rev), 64))
            // The oldest are dropped, wherever they wait.
            #expect(min(queued.oldestCommit ?? .max, waiting?.oldestCommit ?? .max) == max(1, rev - 63))
        }
    }

    @Test func `ids are counted as they come and go`() {
        var ids = EventIDs()
        let entry = EventIDs.Entry(digest: 0, rev: 0)
        func insert(_ eid: String, _ source: String, at time: Int64) -> Int {
            ids.insert(
                entry, source: source, eid: eid, hash: HashIndex.hash(of: eid), wall: Timestamp(milliseconds: time))
        }
        for number in 0..<10 { _ = insert("\(number)", "a", at: 0) }
        let source = insert("x", "b", at: 1_000)
        #expect(ids.count == 11)
        ids.removeNewest(of: source)
        #expect(ids.count == 10)
        ids.forget(at: Timestamp(milliseconds: 1_000), ageLimit: .seconds(5), countLimit: 4)
        #expect(ids.count == 4)
        ids.forget(at: Timestamp(milliseconds: 10_000), ageLimit: .seconds(5), countLimit: 4)
        #expect(ids.count == 0)
    }

    @Test func `places of many keys are those of few`() {
        var random = SeededGenerator(seed: 7)
        var (map, plain) = (PlacementMap(), [Int32: Placement]())
        for _ in 0..<20_000 {
            let raw = Int32(random.below(4_000))
            let placement = random.chance(30) ? nil : Placement(.small, order: Int(random.below(400)))
            map[raw] = placement
            plain[raw] = placement
        }
        #expect(map.all == plain && map.count == plain.count)
        for raw in plain.keys { map[raw] = nil }
        #expect(map.isEmpty && map.byteCount == 0)
    }
}

/// A screen that reads in fits and starts, loses its connection, comes back, and is locked, while orders come and go.
private struct Story {
    private(set) var rows: [String: String] = [:]
    private var cursor: String?

    init(kinds: [String], _ configuration: HubConfiguration, subscription: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let house = try HubHarness(kinds: kinds, configuration: configuration)
        let shop = house.connect()
        house.send("SERVE porch-light", from: shop)
        for number in 0..<8 { house.send("REPORT porch-light/\(number) value=off", from: shop) }
        var screen = house.connect()
        house.send(subscription, from: screen).forEach { take($0) }
        for number in 0..<120 {
            let key = "coffee-order/\(random.below(20))"
            switch random.below(10) {
            case 0..<3: house.post("EVT \(key) type=start\(random.chance(30) ? " for=alice" : "")", from: shop)
            case 3..<7:
                let event = ["confirm", "brew", "ready", "collect", "cancel", "end"][Int(random.below(6))]
                house.post("EVT \(key) type=\(event)", from: shop)
            case 7:
                house.post(
                    "REPORT porch-light/\(random.below(8)) value=\(random.chance(50) ? "on" : "off")", from: shop)
            case 8: house.post("TRAIT locked=\(random.chance(50) ? "yes" : "no")", from: screen)
            default: house.post("DISMISS \(key)", from: screen)
            }
            if random.chance(10) { house.advance(by: .minutes(3)) }
            if random.chance(60) { house.commit() } else { house.turn() }
            if random.chance(40) {
                house.flush()
                house.lines(of: screen).forEach { take($0) }
            }
            if number % 30 == 29 {
                house.turn()
                house.lines(of: screen).forEach { take($0) }
                house.disconnect(screen)
                screen = house.connect()
                for event in ["confirm", "brew"] { house.send("EVT \(key) type=\(event)", from: shop) }
                let from = cursor.map { " from=\($0)" } ?? ""
                house.send(subscription + from, from: screen).forEach { take($0) }
            }
        }
        house.send("TRAIT locked=no", from: screen).forEach { take($0) }
        house.turn()
        house.lines(of: screen).forEach { take($0) }
    }

    private mutating func take(_ line: String) {
        cursor = HubHarness.attribute("cur", of: line) ?? cursor
        guard let key = HubHarness.attribute("key", of: line) else {
            if line.hasPrefix("RESET") { rows = [:] }
            return
        }
        if line.hasPrefix("DEL ") { rows[key] = nil }
        if line.hasPrefix("SNAP ") || line.hasPrefix("UPD "), let tail = line.firstIndex(of: "{") {
            rows[key] = String(line[tail...])
        }
    }
}
