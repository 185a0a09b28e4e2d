import TelltaleModel
import Testing

@testable import Hub

/// A batch looks at few boards because of a widget that comes and goes for everybody; each board is right before its turn, and
/// behind it.
struct VisitWalkTests {
    private static let boardCount = 9
    private static let share = 2
    private let house: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        var configuration = HubConfiguration()
        configuration.limits.boardsPerBatch = Self.share
        house = try HubHarness(kinds: VisitTests.kinds, configuration: configuration)
        shop = house.connect()
        for number in 0..<Self.boardCount {
            house.send("TILE @b\(number)/t0 do=add widget=sales/s0 family=accessoryRectangular", from: shop)
        }
    }

    private func watches() throws -> [BoardDevice] {
        try (0..<Self.boardCount).map { try BoardDevice.watch(house, as: nil, pattern: "@b\($0)/*") }
    }

    /// Posts an event about an order that matters now, and decides it alone.
    private func post(_ type: String, _ id: String = "a", for accounts: String = "", n: Int = 1) {
        let second = house.time.milliseconds / 1_000
        let content = #"{"from":\#(second - 60),"to":\#(second + 600),"n":\#(n)}"#
        let words = accounts.isEmpty ? "" : " for=\(accounts)"
        house.post(#"EVT coffee-order/\#(id) type=\#(type)\#(words) {"content-state":\#(content)}"#, from: shop)
        house.commit()
    }

    private var isUnderWay: Bool { house.hub.subscriptions.presence.walk.isUnderWay }

    /// How many boards have been looked at since the newest record.
    private var lookedAtCount: Int {
        let (sequence, numbers) = (house.hub.store.sequence, house.hub.subscriptions.presence.boardNumbers)
        return numbers.count { house.hub.subscriptions.presence.sequence(onBoard: $0) == sequence }
    }

    @Test("A batch looks at no more boards than its share, and all of them are told in the end")
    func share() throws {
        let watches = try watches()
        for (type, isThere) in [("start", true), ("update", true), ("end", false)] {
            post(type, n: type.count)
            #expect(lookedAtCount == Self.share)
            var batchCount = 1
            while house.hub.hasWork(at: house.now) {
                house.commit()
                batchCount += 1
                #expect(lookedAtCount <= Self.share * batchCount)
            }
            #expect(lookedAtCount == Self.boardCount && batchCount <= Self.boardCount / Self.share + 2)
            house.flush()
            for watch in watches {
                #expect(try watch.read().contains { $0.hasSuffix(VisitTests.id("hint/a")) }, "\(type)")
                let row = watch.rows[VisitTests.id("hint/a")]
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
        house.commit()
        post("end", "a")
        house.turn()
        for watch in watches {
            var told: [String] = []
            told += try watch.read()
            #expect(watch.rows[VisitTests.id("hint/b")] != nil && watch.rows[VisitTests.id("hint/a")] == nil)
            #expect(told.count { $0 == VisitTests.id("hint/b") } == 1)
        }
        holds(!house.hub.hasWork(at: house.now) && lookedAtCount == Self.boardCount)
    }

    @Test("Whoever reads or follows a board that waits is sent what is there now; once followed, it waits no more")
    func outOfTurn() throws {
        let watches = try watches()
        post("start")
        let last = Self.boardCount - 1
        house.post("SUB @b\(last)/* view=watch", from: shop)
        house.post("LIST @b\(last - 1)/* view=watch", from: shop)
        house.post("GET @b\(last - 2)/\(VisitTests.id("hint/a")) view=watch", from: shop)
        house.commit()
        house.flush()
        let lines = house.lines(of: shop)
        for number in [last, last - 1, last - 2] {
            #expect(lines.contains { $0.contains("key=@b\(number)/\(VisitTests.id("hint/a")) ") }, "\(number)")
        }
        #expect(try watches[last].read().contains(VisitTests.id("hint/a")))
        // Reads change nothing.
        #expect(try watches[last - 1].read() == [] && watches[last - 2].read() == [])
        house.turn()
        for watch in watches[(last - 2)..<last] { #expect(try watch.read().contains(VisitTests.id("hint/a"))) }
    }

    @Test("A cursor that is told while boards wait lacks nothing of them", arguments: [false, true])
    func cursors(restarts: Bool) throws {
        post("start", "a")
        house.turn()
        let watches = try watches()
        let before = house.hub.store.sequence
        post("end", "a")
        post("start", "b")
        // Rows and signs of life bring cursors to watches whose boards wait.
        house.post("TILE @b8/t0 do=pin pos=1", from: shop)
        house.commit()
        house.flush()
        house.time = house.time + .seconds(30)
        house.hub.sessionDeadlineReached(at: house.now)
        house.flush()
        var waitingCount = 0
        for (number, watch) in watches.enumerated() {
            try watch.read()
            if watch.rows[VisitTests.id("hint/b")] == nil { waitingCount += 1 }
            house.hub.disconnected(watch.client.id)
            if number == 7 { #expect(watch.cursor.flatMap { Int64($0.split(separator: ":")[1]) } == before) }
        }
        #expect(waitingCount > 3)
        if restarts { try house.restart(kinds: VisitTests.kinds) }
        for (number, watch) in watches.enumerated() {
            let later = try BoardDevice.watch(house, as: nil, "from=\(watch.cursor ?? "-")", pattern: "@b\(number)/*")
            var held = watch.rows.filter { row in !later.deletions.contains { $0.contains("/\(row.key) ") } }
            held.merge(later.rows) { $1 }
            let fresh = try BoardDevice.watch(house, as: nil, pattern: "@b\(number)/*")
            #expect(held.keys.sorted() == fresh.rows.keys.sorted(), "\(number)")
        }
    }

    @Test("An order of one account looks at the boards of that account alone")
    func accounts() throws {
        _ = try watches()
        let phone = house.connect(as: "alice")
        house.send("TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        let own = try BoardDevice.watch(house)
        post("start", "mine", for: "alice")
        #expect(!isUnderWay && lookedAtCount == 1)
        house.flush()
        #expect(try own.read().contains(VisitTests.id("hint/mine")))
        // It is everybody's no more: the boards that held it wait for their turn.
        post("start", "a")
        house.turn()
        let others = try watches()
        house.send("EVT coffee-order/a type=end", from: shop)
        house.advance(by: .minutes(16))
        post("start", "a", for: "alice")
        house.turn()
        try own.read()
        #expect(own.rows[VisitTests.id("hint/a")] != nil)
        for watch in others {
            try watch.read()
            #expect(watch.rows[VisitTests.id("hint/a")] == nil)
        }
    }

    @Test("Behind a full disk boards are looked at without spinning")
    func fullDisk() throws {
        let watches = try watches()
        post("start")
        house.isFull = true
        house.send("EVT coffee-order/b type=start", from: shop)
        // The pause behind what was refused holds for this too.
        holds(!house.hub.hasWork(at: house.now) && isUnderWay)
        for _ in 0..<4 {
            house.advance(by: .seconds(2))
            house.send("EVT coffee-order/b type=start", from: shop)
        }
        #expect(!isUnderWay)
        for watch in watches { #expect(try watch.read().contains(VisitTests.id("hint/a"))) }
    }

    @Test("A device that follows the key of one that is to come is told when it comes")
    func keyAlone() throws {
        let id = VisitTests.id("hint/a")
        let watch = try BoardDevice.watch(house, as: nil, pattern: "@b3/\(id)")
        post("start")
        house.turn()
        #expect(try watch.read() == [id])
        post("end")
        house.turn()
        #expect(try watch.read() == ["-" + id])
    }
}
