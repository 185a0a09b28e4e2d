import TelltaleModel
import Testing

@testable import Hub

/// A batch looks at few boards because of a widget that comes and goes for everybody; each board is right before its turn, and
/// behind it.
struct RelevantWidgetScanTests {
    private static let boardCount = 9
    private static let share = 2
    private let harness: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        var configuration = HubConfiguration()
        configuration.limits.boardsPerBatch = Self.share
        harness = try HubHarness(kinds: RelevantWidgetTests.kinds, configuration: configuration)
        shop = harness.connect()
        for number in 0..<Self.boardCount {
            harness.send("TILE @b\(number)/t0 do=add widget=sales/s0 family=accessoryRectangular", from: shop)
        }
    }

    private func watches() throws -> [TestBoardDevice] {
        try (0..<Self.boardCount).map { try TestBoardDevice.watch(harness, as: nil, pattern: "@b\($0)/*") }
    }

    /// Posts an event about an order that matters now, and decides it alone.
    private func post(_ type: String, _ id: String = "a", for accounts: String = "", n: Int = 1) {
        let second = harness.time.milliseconds / 1_000
        let content = #"{"from":\#(second - 60),"to":\#(second + 600),"n":\#(n)}"#
        let words = accounts.isEmpty ? "" : " for=\(accounts)"
        harness.post(#"EVT coffee-order/\#(id) type=\#(type)\#(words) {"content-state":\#(content)}"#, from: shop)
        harness.commit()
    }

    private var isUnderWay: Bool { harness.hub.subscriptions.presence.scan.isUnderWay }

    /// How many boards have been looked at since the newest record.
    private var lookedAtCount: Int {
        let (sequence, numbers) = (harness.hub.store.sequence, harness.hub.subscriptions.presence.boardNumbers)
        return numbers.count { harness.hub.subscriptions.presence.sequence(onBoard: $0) == sequence }
    }

    @Test("A batch looks at no more boards than its share, and all of them are told in the end")
    func share() throws {
        let watches = try watches()
        for (type, isThere) in [("start", true), ("update", true), ("end", false)] {
            post(type, n: type.count)
            #expect(lookedAtCount == Self.share)
            var batchCount = 1
            while harness.hub.hasWork(at: harness.now) {
                harness.commit()
                batchCount += 1
                #expect(lookedAtCount <= Self.share * batchCount)
            }
            #expect(lookedAtCount == Self.boardCount && batchCount <= Self.boardCount / Self.share + 2)
            harness.flush()
            for watch in watches {
                #expect(try watch.read().contains { $0.hasSuffix(RelevantWidgetTests.id("hint/a")) }, "\(type)")
                let row = watch.rows[RelevantWidgetTests.id("hint/a")]
                #expect((row != nil) == isThere)
                if isThere { #expect(row?["entries"]?.array?.first?["view"]?["title"] == .string("a \(type.count)")) }
            }
        }
    }

    @Test("What comes while boards wait is told to those that had their turn, and to those that had not, once")
    func again() throws {
        let watches = try watches()
        post("start", "a")
        post("start", "b")
        harness.commit()
        post("end", "a")
        harness.turn()
        for watch in watches {
            var reported: [String] = []
            reported += try watch.read()
            #expect(
                watch.rows[RelevantWidgetTests.id("hint/b")] != nil
                    && watch.rows[RelevantWidgetTests.id("hint/a")] == nil)
            #expect(reported.count { $0 == RelevantWidgetTests.id("hint/b") } == 1)
        }
        holds(!harness.hub.hasWork(at: harness.now) && lookedAtCount == Self.boardCount)
    }

    @Test("Whoever reads or follows a board that waits is sent what is there now; once followed, it waits no more")
    func outOfTurn() throws {
        let watches = try watches()
        post("start")
        let last = Self.boardCount - 1
        harness.post("SUB @b\(last)/* view=watch", from: shop)
        harness.post("LIST @b\(last - 1)/* view=watch", from: shop)
        harness.post("GET @b\(last - 2)/\(RelevantWidgetTests.id("hint/a")) view=watch", from: shop)
        harness.commit()
        harness.flush()
        let lines = harness.lines(of: shop)
        for number in [last, last - 1, last - 2] {
            #expect(lines.contains { $0.contains("key=@b\(number)/\(RelevantWidgetTests.id("hint/a")) ") }, "\(number)")
        }
        #expect(try watches[last].read().contains(RelevantWidgetTests.id("hint/a")))
        // Reads change nothing.
        #expect(try watches[last - 1].read() == [] && watches[last - 2].read() == [])
        harness.turn()
        for watch in watches[(last - 2)..<last] { #expect(try watch.read().contains(RelevantWidgetTests.id("hint/a"))) }
    }

    @Test("A cursor that is told while boards wait lacks nothing of them", arguments: [false, true])
    func cursors(restarts: Bool) throws {
        post("start", "a")
        harness.turn()
        let watches = try watches()
        let before = harness.hub.store.sequence
        post("end", "a")
        post("start", "b")
        // Rows and signs of life bring cursors to watches whose boards wait.
        harness.post("TILE @b8/t0 do=pin pos=1", from: shop)
        harness.commit()
        harness.flush()
        harness.time = harness.time + .seconds(30)
        harness.hub.sessionDeadlineReached(at: harness.now)
        harness.flush()
        var waitingCount = 0
        for (number, watch) in watches.enumerated() {
            try watch.read()
            if watch.rows[RelevantWidgetTests.id("hint/b")] == nil { waitingCount += 1 }
            harness.hub.disconnected(watch.client.id)
            if number == 7 { #expect(watch.cursor.flatMap { Int64($0.split(separator: ":")[1]) } == before) }
        }
        #expect(waitingCount > 3)
        if restarts { try harness.restart(kinds: RelevantWidgetTests.kinds) }
        for (number, watch) in watches.enumerated() {
            let later = try TestBoardDevice.watch(
                harness, as: nil, "from=\(watch.cursor ?? "-")", pattern: "@b\(number)/*")
            var held = watch.rows.filter { row in !later.deletions.contains { $0.contains("/\(row.key) ") } }
            held.merge(later.rows) { $1 }
            let fresh = try TestBoardDevice.watch(harness, as: nil, pattern: "@b\(number)/*")
            #expect(held.keys.sorted() == fresh.rows.keys.sorted(), "\(number)")
        }
    }

    @Test("An order of one account looks at the boards of that account alone")
    func accounts() throws {
        _ = try watches()
        let phone = harness.connect(as: "alice")
        harness.send("TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        let own = try TestBoardDevice.watch(harness)
        post("start", "mine", for: "alice")
        #expect(!isUnderWay && lookedAtCount == 1)
        harness.flush()
        #expect(try own.read().contains(RelevantWidgetTests.id("hint/mine")))
        // It is everybody's no more: the boards that held it wait for their turn.
        post("start", "a")
        harness.turn()
        let others = try watches()
        harness.send("EVT coffee-order/a type=end", from: shop)
        harness.advance(by: .minutes(16))
        post("start", "a", for: "alice")
        harness.turn()
        try own.read()
        #expect(own.rows[RelevantWidgetTests.id("hint/a")] != nil)
        for watch in others {
            try watch.read()
            #expect(watch.rows[RelevantWidgetTests.id("hint/a")] == nil)
        }
    }

    @Test("Behind a full disk boards are looked at without spinning")
    func fullDisk() throws {
        let watches = try watches()
        post("start")
        harness.isFull = true
        harness.send("EVT coffee-order/b type=start", from: shop)
        // The pause behind what was refused holds for this too.
        holds(!harness.hub.hasWork(at: harness.now) && isUnderWay)
        for _ in 0..<4 {
            harness.advance(by: .seconds(2))
            harness.send("EVT coffee-order/b type=start", from: shop)
        }
        #expect(!isUnderWay)
        for watch in watches { #expect(try watch.read().contains(RelevantWidgetTests.id("hint/a"))) }
    }

    @Test("A device that follows the key of one that is to come is told when it comes")
    func keyAlone() throws {
        let id = RelevantWidgetTests.id("hint/a")
        let watch = try TestBoardDevice.watch(harness, as: nil, pattern: "@b3/\(id)")
        post("start")
        harness.turn()
        #expect(try watch.read() == [id])
        post("end")
        harness.turn()
        #expect(try watch.read() == ["-" + id])
    }
}
