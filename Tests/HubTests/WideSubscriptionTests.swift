import FanOut
import Journal
import Surfaces
import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// A subscription to many keys has a scan of the table pending, and not each of them: what it is reported is the same.
struct WideSubscriptionTests {
    private static var smallSteps: HubConfiguration {
        var configuration = HubConfiguration()
        (configuration.limits.keysFilledAtOnce, configuration.limits.keysPerCheck) = (2, 3)
        return configuration
    }

    private static let kinds = [HubHarness.coffee, HubHarness.porchLight()]

    private func harness(_ count: Int, _ configuration: HubConfiguration = smallSteps) throws -> HubHarness {
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let shop = harness.connect()
        for number in 0..<count { harness.post("EVT coffee-order/\(number) type=start", from: shop) }
        harness.turn()
        _ = harness.lines(of: shop)
        return harness
    }

    /// One write, as a socket that takes no more than that would see it.
    private func write(to client: HubHarness.Client, of harness: HubHarness) -> [String] {
        var bytes: [UInt8] = []
        _ = harness.hub.appendOutput(for: client.id, at: harness.now, to: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func verbs(_ lines: [String]) -> [String] {
        lines.map { String($0.prefix { $0 != " " }) }
    }

    @Test func `its snapshot comes in steps, each key once, and LIVE behind them`() throws {
        let harness = try harness(10)
        let screen = harness.connect()
        harness.post("SUB *", from: screen)
        harness.commit()
        var lines = write(to: screen, of: harness)
        #expect(verbs(lines) == ["OK", "SNAP", "SNAP", "SNAP"])
        for _ in 0..<5 { lines += write(to: screen, of: harness) }
        #expect(verbs(lines) == ["OK"] + Array(repeating: "SNAP", count: 10) + ["LIVE"])
        #expect(Set(lines.compactMap { HubHarness.attribute("key", of: $0) }).count == 10)
    }

    private func projections(of harness: HubHarness) -> Int {
        var count = 0
        harness.hub.subscriptions.forEach { if $0.needsProjection { count += 1 } }
        return count
    }

    @Test
    func
        `a thousand changes of a trait in one batch concern its subscriptions once, and none if they end as they began`()
        throws
    {
        let harness = try harness(3)
        let screen = harness.connect()
        for _ in 0..<50 { harness.send("SUB * view=watch", from: screen) }
        for lines in [1_000, 999] {
            for line in 0..<lines { harness.post("TRAIT locked=\(line % 2 == 0 ? "yes" : "no")", from: screen) }
            _ = harness.hub.decide(at: harness.now)
            // No line costs in proportion to the subscriptions.
            #expect(projections(of: harness) == 0)
            harness.hub.committed(at: harness.now)
            #expect(projections(of: harness) == (lines % 2 == 0 ? 0 : 50))
            harness.turn()
            #expect(harness.lines(of: screen).count { $0 == "OK" } == lines)
        }
    }

    @Test("A tile whose widget changes ahead of the walk is told once", arguments: [true, false])
    func widgetOfTile(isResume: Bool) throws {
        let harness = try HubHarness(kinds: TileTests.kinds, configuration: Self.smallSteps)
        let phone = harness.connect()
        for number in 1...8 { TileTests.add(harness, "@a/t\(number)", shop: "S\(number)", by: phone) }
        let first = harness.connect()
        harness.send("HELLO caps=widgets", from: first)
        let cursor = try harness.cursor(of: "SUB * view=phone", from: first)
        harness.disconnect(first)
        for number in 1...8 { AggregateTests.begin(harness, "\(number)", shop: "S\(number)", phone) }
        let screen = harness.connect()
        harness.send("HELLO caps=widgets", from: screen)
        _ = harness.lines(of: screen)
        harness.post("SUB * view=phone" + (isResume ? " from=\(cursor)" : ""), from: screen)
        harness.commit()
        var lines = write(to: screen, of: harness)
        AggregateTests.begin(harness, "more", shop: "S8", phone)
        lines += harness.lines(of: screen)
        #expect(lines.contains { $0.hasPrefix("LIVE") })
        let rows = lines.filter { HubHarness.attribute("key", of: $0) == "@a/t8" }
        #expect(rows.count == 1 && rows[0].contains("2|"), "\(rows)")
    }

    @Test
    func
        `a key that changes ahead of the scan comes in the snapshot, with its milestone, and one behind it after LIVE`()
        throws
    {
        let harness = try harness(6)
        let (screen, shop) = (harness.connect(), harness.connect())
        for event in ["confirm", "brew"] { harness.send("EVT coffee-order/5 type=\(event)", from: shop) }
        harness.post("SUB *", from: screen)
        harness.commit()
        _ = write(to: screen, of: harness)
        harness.post("EVT coffee-order/0 type=confirm", from: shop)
        harness.post("EVT coffee-order/4 type=confirm", from: shop)
        harness.post("EVT coffee-order/5 type=ready", from: shop)
        harness.post("EVT coffee-order/new type=start", from: shop)
        harness.commit()
        var lines: [String] = []
        for _ in 0..<6 { lines += write(to: screen, of: harness) }
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

    /// The same inputs to a hub that scans and to one that queues: readers that were broken off, resumed and locked end on
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

    @Test func `what is pending for it does not grow with the keys`() throws {
        func bytes(_ keyCount: Int) throws -> Int64 {
            let harness = try harness(keyCount, HubConfiguration())
            let (screen, asker) = (harness.connect(), harness.connect())
            harness.hub.becameBlocked(screen.id, at: harness.now)
            for _ in 0..<256 { harness.post("SUB *", from: screen) }
            harness.turn()
            return try #require(try HubHarness.tail(harness.send("STATS", from: asker).last)["sessionBytes"]?.integer)
        }
        let (few, many) = (try bytes(1_500), try bytes(3_000))
        #expect(abs(many - few) < 4_096)
        #expect(many < 256 * 1_024)
    }

    @Test func `a flip of a trait costs its turn as much as the subscriptions, and not as the keys`() throws {
        let harness = try harness(40)
        let screen = harness.connect()
        harness.send("SUB * view=watch", from: screen)
        harness.post("TRAIT locked=yes", from: screen)
        harness.commit()
        var dirtyCount = 0
        harness.hub.subscriptions.forEach { dirtyCount += $0.waitingCount }
        #expect(dirtyCount == 0)
    }

    @Test func `what was pending for a reader that is gone is given up in parts`() throws {
        let harness = try harness(40)
        let (screen, shop) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        harness.hub.becameBlocked(screen.id, at: harness.now)
        for number in 0..<5_000 { harness.post("EVT coffee-order/x\(number) type=start", from: shop) }
        harness.turn()
        harness.hub.disconnected(screen.id)
        var isRetired = (harness.hub.subscriptions.hasRetired, harness.hub.hasWork(at: harness.now))
        #expect(isRetired == (true, true))
        harness.commit()
        isRetired.0 = harness.hub.subscriptions.hasRetired
        #expect(isRetired.0)
        harness.turn()
        isRetired.0 = harness.hub.subscriptions.hasRetired
        #expect(!isRetired.0)
    }

    @Test func `a key that is forgotten ahead of the scan of a resume is reported as deleted`() throws {
        let harness = try harness(8)
        let (reader, shop) = (harness.connect(), harness.connect())
        let cursor = try #require(
            harness.send("SUB *", from: reader).last.flatMap { HubHarness.attribute("cur", of: $0) })
        harness.disconnect(reader)
        for number in 0..<8 { harness.post("EVT coffee-order/\(number) type=confirm", from: shop) }
        harness.post(#"EVT coffee-order/7 type=end {"dismissal-date":0}"#, from: shop)
        harness.turn()
        let again = harness.connect()
        harness.post("SUB * from=\(cursor)", from: again)
        harness.commit()
        var lines = write(to: again, of: harness)
        #expect(!lines.contains { HubHarness.attribute("key", of: $0) == "coffee-order/7" })
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try harness.hub.adopt(settings)
        harness.time = harness.time + .seconds(2)
        harness.commit()
        #expect(
            harness.records.contains { $0.entity == "coffee-order/7" && $0.sequence == harness.records.last?.sequence })
        for _ in 0..<10 { lines += write(to: again, of: harness) }
        #expect(lines.count { $0.hasPrefix("DEL ") && HubHarness.attribute("key", of: $0) == "coffee-order/7" } == 1)
        #expect(lines.contains { $0.hasPrefix("LIVE ") })
    }

    @Test func `64 milestones wait in the queue and ahead of a scan together`() {
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
        let harness = try HubHarness(kinds: kinds, configuration: configuration)
        let shop = harness.connect()
        harness.send("SERVE porch-light", from: shop)
        for number in 0..<8 { harness.send("REPORT porch-light/\(number) value=off", from: shop) }
        var screen = harness.connect()
        harness.send(subscription, from: screen).forEach { followLine($0) }
        for number in 0..<120 {
            let key = "coffee-order/\(random.below(20))"
            switch random.below(10) {
            case 0..<3: harness.post("EVT \(key) type=start\(random.chance(30) ? " for=alice" : "")", from: shop)
            case 3..<7:
                let event = ["confirm", "brew", "ready", "collect", "cancel", "end"][Int(random.below(6))]
                harness.post("EVT \(key) type=\(event)", from: shop)
            case 7:
                harness.post(
                    "REPORT porch-light/\(random.below(8)) value=\(random.chance(50) ? "on" : "off")", from: shop)
            case 8: harness.post("TRAIT locked=\(random.chance(50) ? "yes" : "no")", from: screen)
            default: harness.post("DISMISS \(key)", from: screen)
            }
            if random.chance(10) { harness.advance(by: .minutes(3)) }
            if random.chance(60) { harness.commit() } else { harness.turn() }
            if random.chance(40) {
                harness.flush()
                harness.lines(of: screen).forEach { followLine($0) }
            }
            if number % 30 == 29 {
                harness.turn()
                harness.lines(of: screen).forEach { followLine($0) }
                harness.disconnect(screen)
                screen = harness.connect()
                for event in ["confirm", "brew"] { harness.send("EVT \(key) type=\(event)", from: shop) }
                let from = cursor.map { " from=\($0)" } ?? ""
                harness.send(subscription + from, from: screen).forEach { followLine($0) }
            }
        }
        harness.send("TRAIT locked=no", from: screen).forEach { followLine($0) }
        harness.turn()
        harness.lines(of: screen).forEach { followLine($0) }
    }

    private mutating func followLine(_ line: String) {
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
