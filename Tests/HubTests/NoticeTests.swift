import FanOut
import TelltaleModel
import Testing

@testable import Hub

/// Subscriptions with `deliver=notice`: W33 of Protocols/Widgets/rules.md.
struct NoticeTests {
    /// An event that changes an order, each time in another way.
    private static func update(_ id: String, _ shelf: Int) -> String {
        #"EVT coffee-order/\#(id) type=update {"content-state":{"shelf":\#(shelf)}}"#
    }

    /// A shop, and a gateway that is told of changes.
    private struct Setup {
        let house: HubHarness
        let shop: HubHarness.Client
        var reader: HubHarness.Client

        init(_ subscription: String = "SUB coffee-order/* deliver=notice", hello: String? = nil) throws {
            house = try HubHarness()
            (shop, reader) = (house.connect(), house.connect())
            if let hello { house.send(hello, from: reader) }
            house.send(subscription, from: reader)
        }

        @discardableResult
        func change(_ ids: String...) -> [String] {
            for id in ids { house.send("EVT coffee-order/\(id) type=start", from: shop) }
            return notices()
        }

        func update(_ id: String, _ shelf: Int) -> [String] {
            house.send(NoticeTests.update(id, shelf), from: shop)
            return notices()
        }

        func notices() -> [String] { Self.notices(in: house.lines(of: reader)) }

        func read(_ request: String) -> [String] { Self.notices(in: house.send(request, from: reader)) }

        /// `rev` and `count` of each.
        static func notices(in lines: [String]) -> [String] {
            lines.filter {
                !$0.hasPrefix("MARK") && !$0.hasPrefix("OK") && !$0.hasPrefix("SNAP sub=0") && !$0.hasPrefix("ERR")
            }.map { line in
                guard line.hasPrefix("CHANGED sub=1 ") else { return line }
                return "\(HubHarness.attribute("count", of: line) ?? "many")"
            }
        }
    }

    @Test("W-V52: one CHANGED for all that changed, and another when the connection has read")
    func once() throws {
        let setup = try Setup()
        // In one batch.
        for id in 1...3 { setup.house.post("EVT coffee-order/\(id) type=start", from: setup.shop) }
        setup.house.turn()
        let told = setup.house.lines(of: setup.reader).filter { $0.hasPrefix("CHANGED") }
        #expect(told.count == 1)
        #expect(told.first?.contains(" rev=") == true && told.first?.contains(" count=3") == true, "\(told)")
        #expect(told.first?.contains("{") == false)
        #expect(setup.change("4") == [] && setup.update("1", 101) == [])
        // A change behind the line is told when its reader has read, unless that was read too.
        #expect(setup.read("LIST coffee-order/*") == [])
        #expect(setup.update("2", 102) == ["1"])
        #expect(setup.update("2", 103) == [])
    }

    @Test func `a key that is read is no news, and the others still are`() throws {
        let setup = try Setup()
        setup.change("1")
        #expect(setup.change("2") == [])
        // The line was of 1 alone.
        #expect(setup.read("GET coffee-order/1") == ["1"])
        #expect(setup.change("3") == [])
        #expect(setup.read("GET coffee-order/9") == [], "it reads nothing that changed")
        #expect(setup.read("GET coffee-order/3") == [], "the line was told, and 2 was in it")
        #expect(setup.change("4") == ["2"])
        #expect(setup.read("LIST flight/*") == [] && setup.change("5") == [])
        #expect(setup.read("LIST") == [] && setup.update("5", 104) == ["1"])
    }

    @Test func `rows, milestones and alerts are not sent, nor what was there before`() throws {
        let house = try HubHarness()
        let (shop, reader) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        let begun = house.send("SUB coffee-order/* view=carplay deliver=notice", from: reader)
        #expect(begun.map { $0.prefix(4) } == ["OK s", "LIVE"], "\(begun)")
        for type in ["confirm", "brew", "ready"] { house.send("EVT coffee-order/1 type=\(type)", from: shop) }
        let lines = house.send("TRAIT dashboard=hidden", from: reader)
        #expect(lines.filter { $0.hasPrefix("CHANGED") }.count == 1)
        #expect(!lines.contains { line in ["UPD", "SNAP", "MILE", "ALER"].contains { line.hasPrefix($0) } })
    }

    @Test func `an end is a change, and an answer that it is gone has read it`() throws {
        let house = try WidgetTests.house()
        let (shop, reader) = (house.connect(), house.connect())
        let timeline = WidgetTests.timeline("sales/Hoegi", [0], from: house.time)
        house.send(timeline, from: shop)
        house.send("SUB sales/Hoegi deliver=notice", from: reader)
        house.send("EVT sales/Hoegi type=end", from: shop)
        #expect(Setup.notices(in: house.lines(of: reader)) == ["1"])
        #expect(house.send("GET sales/Hoegi", from: reader).first?.hasPrefix("ERR") == true)
        house.send(timeline, from: shop)
        #expect(Setup.notices(in: house.lines(of: reader)) == ["1"])
    }

    @Test("W33, W34: a follower of a board is told when the widget of a tile changes, and so is one that comes back")
    func boards() throws {
        let house = try TileTests.house()
        let (phone, gateway) = (house.connect(as: "alice"), house.connect(as: "alice"))
        TileTests.add(house, "@alice-car/t1", by: phone)
        let cursor = try house.cursor(of: "SUB @alice-car/* deliver=notice", from: gateway)
        AggregateTests.begin(house, "1", phone)
        #expect(Setup.notices(in: house.lines(of: gateway)) == ["1"])
        TileTests.add(house, "@alice-car/t2", shop: "Central", by: phone)
        #expect(Setup.notices(in: house.lines(of: gateway)) == [])
        let listed = house.send("LIST @alice-car/* view=carplay", from: gateway)
        #expect(listed.count { $0.hasPrefix("SNAP sub=0") } == 2 && Setup.notices(in: listed) == [])
        let back = house.send("SUB @alice-car/* deliver=notice from=\(cursor)", from: house.connect(as: "alice"))
        #expect(back[1].hasPrefix("CHANGED sub=1") && back[1].contains(" count=2"), "\(back)")
    }

    // MARK: Cursors

    @Test func `a cursor stays below what was not read, and a resume tells that again`() throws {
        var setup = try Setup()
        let reader = setup.house.connect()
        let cursor = try setup.house.cursor(of: "SUB coffee-order/* deliver=notice", from: reader)
        setup.change("1", "2")
        setup.house.disconnect(reader)
        setup.reader = setup.house.connect()
        let back = setup.house.send("SUB coffee-order/* deliver=notice from=\(cursor)", from: setup.reader)
        #expect(back.map { $0.split(separator: " ")[0] } == ["OK", "CHANGED", "LIVE"], "\(back)")
        #expect(back[1].contains(" count=2"))
        #expect(HubHarness.attribute("cur", of: back[2]) == cursor)
        let listed = setup.house.send("LIST coffee-order/*", from: setup.reader)
        #expect(!listed.contains { $0.hasPrefix("CHANGED") })
        // Behind the read the cursor advances, with the next sign of life.
        setup.house.advance(by: .seconds(21))
        let mark = try #require(
            setup.house.lines(of: setup.reader).last { $0.hasPrefix("MARK") && $0.contains("sub=1") })
        let read = try #require(HubHarness.attribute("cur", of: mark))
        let third = setup.house.connect()
        let again = setup.house.send("SUB coffee-order/* deliver=notice from=\(read)", from: third)
        #expect(again.map { $0.split(separator: " ")[0] } == ["OK", "LIVE"], "\(again)")
    }

    @Test func `a cursor of rows is another selection, and RESET has one read anew`() throws {
        let setup = try Setup()
        let rows = setup.house.connect()
        let cursor = try setup.house.cursor(of: "SUB coffee-order/*", from: rows)
        setup.change("1")
        let reset = setup.house.send("SUB coffee-order/* deliver=notice from=\(cursor)", from: setup.house.connect())
        #expect(reset.map { $0.split(separator: " ")[0] } == ["OK", "RESET", "LIVE"], "\(reset)")
        #expect(reset[1].contains("why=selection"))
    }

    @Test func `where more changed than is looked at, the line does not count`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 4
        let house = try HubHarness(configuration: configuration)
        let (shop, reader) = (house.connect(), house.connect())
        let cursor = try house.cursor(of: "SUB coffee-order/* deliver=notice", from: reader)
        for id in 1...5 { house.send("EVT coffee-order/\(id) type=start", from: shop) }
        let again = house.connect()
        let back = house.send("SUB coffee-order/* deliver=notice from=\(cursor)", from: again)
        #expect(back[1].hasPrefix("CHANGED sub=1 rev=") && !back[1].contains("count="), "\(back)")
        #expect(Setup.notices(in: house.send("LIST coffee-order/*", from: again)) == [])
        house.send(Self.update("1", 1), from: shop)
        #expect(Setup.notices(in: house.lines(of: again)) == ["1"])
    }

    @Test func `a LIST that is under way has not read what changes behind it`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysPerLook = 2
        let house = try HubHarness(configuration: configuration)
        let (shop, reader) = (house.connect(), house.connect())
        for id in 1...6 { house.send("EVT coffee-order/\(id) type=start", from: shop) }
        house.send("SUB coffee-order/* deliver=notice", from: reader)
        house.send(Self.update("1", 2), from: shop)
        #expect(Setup.notices(in: house.lines(of: reader)) == ["1"])
        house.post("LIST coffee-order/*", from: reader)
        house.commit()
        var piece: [UInt8] = []
        _ = house.hub.output(for: reader.id, at: house.now, to: &piece)
        #expect(piece.count { $0 == UInt8(ascii: "\n") } == 2)
        house.send(Self.update("1", 3), from: shop)
        let lines = house.lines(of: reader)
        #expect(
            lines.map { $0.split(separator: " ")[0] } == ["SNAP", "SNAP", "SNAP", "SNAP", "OK", "CHANGED"], "\(lines)")
        #expect(Setup.notices(in: lines) == ["1"])
    }

    // MARK: People and bounds

    @Test func `what is another account's is not told, and its connection reads for itself alone`() throws {
        let setup = try Setup(hello: "HELLO account=bob")
        setup.house.send("EVT coffee-order/1 type=start for=alice", from: setup.shop)
        #expect(setup.notices() == [])
        setup.house.send("EVT coffee-order/2 type=start for=bob", from: setup.shop)
        #expect(setup.notices() == ["1"])
        let refused = setup.house.send("SUB coffee-order/* for=alice deliver=notice", from: setup.reader)
        #expect(refused.first?.contains("code=bad_attr") == true, "\(refused)")
        setup.house.send("DISMISS coffee-order/2", from: setup.reader)
        #expect(setup.read("LIST coffee-order/*") == [])
    }

    @Test func `its memory is bounded, and it holds no key when it is gone`() throws {
        let setup = try Setup()
        let count = NoticeDebt.keyLimit + 5
        for id in 1...count { setup.house.post("EVT coffee-order/\(id) type=start", from: setup.shop) }
        setup.house.turn()
        let lines = setup.house.lines(of: setup.reader).filter { $0.hasPrefix("CHANGED") }
        #expect(lines.count == 1)
        let index = try #require(setup.house.hub.sessions[setup.reader.id]?.subscriptions.first)
        #expect(setup.house.hub.subscriptions[index]?.backlog?.notice?.keys.count == NoticeDebt.keyLimit)
        #expect(setup.read("LIST coffee-order/*") == [])
        #expect(setup.house.hub.subscriptions[index]?.backlog?.notice?.oldest == nil)
        setup.house.send(Self.update("1", 4), from: setup.shop)
        setup.house.send("UNSUB sub=1", from: setup.reader)
        #expect(setup.house.hub.subscriptions.count == 0)
    }

    // MARK: Budgets

    /// A device whose screen is off, and its notices of counters.
    private func device(_ configuration: HubConfiguration = HubConfiguration()) throws -> BudgetTests.Setup {
        try BudgetTests.Setup(configuration, subscription: "SUB counter/* view=phone deliver=notice")
    }

    private func told(_ setup: BudgetTests.Setup) -> Int {
        setup.house.lines(of: setup.device).count { $0.hasPrefix("CHANGED") }
    }

    /// The next content of a counter; what the device is told by then, and whether it has read since.
    private func change(_ setup: BudgetTests.Setup, _ key: String, _ number: Int, reads: Bool = true) -> Int {
        setup.house.send(WidgetTests.timeline(key, [0], from: setup.house.time, first: number), from: setup.shop)
        let count = told(setup)
        setup.house.advance(by: .seconds(1))
        if reads { setup.house.send("LIST counter/* view=phone", from: setup.device) }
        return count
    }

    private func spent() throws -> BudgetTests.Setup {
        let setup = try device()
        for number in 0..<8 { #expect(change(setup, "counter/\(1 + number % 2)", number) == 1, "\(number)") }
        return setup
    }

    @Test("W-V52: a notice of widgets costs a device with its screen off a row, whichever widgets they are")
    func budget() throws {
        let setup = try spent()
        #expect(change(setup, "counter/1", 8, reads: false) == 0)
        #expect(try setup.figures()?["paid"] == 8)
        #expect(try setup.figures()?["held"] == 1)
        // Eight rows are four hours of credit, less the seconds that have passed: the ninth leaves half an hour behind the first.
        setup.house.advance(by: .seconds(1_790))
        #expect(told(setup) == 0)
        setup.house.advance(by: .seconds(1))
        #expect(told(setup) == 1)
        #expect(try setup.figures()?["held"] == 1)
    }

    @Test func `a held notice that was read meanwhile does not leave`() throws {
        let setup = try spent()
        #expect(change(setup, "counter/1", 8) == 0)
        setup.house.advance(by: .seconds(3_600))
        #expect(told(setup) == 0)
    }

    @Test func `the screen lets a held notice go`() throws {
        let setup = try spent()
        #expect(change(setup, "counter/1", 8, reads: false) == 0)
        let lines = setup.house.send("TRAIT screen=on", from: setup.device)
        #expect(lines.contains { $0.hasPrefix("CHANGED") })
        #expect(try setup.figures()?["paid"] == 8)
    }

    @Test func `activities have no budget`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee])
        let (shop, device) = (house.connect(), house.connect())
        for line in ["HELLO unit=watch-1", "TRAIT screen=off", "SUB coffee-order/* deliver=notice"] {
            house.send(line, from: device)
        }
        for number in 0..<20 {
            house.send("EVT coffee-order/\(number) type=start", from: shop)
            #expect(house.lines(of: device).contains { $0.hasPrefix("CHANGED") })
            house.send("LIST coffee-order/*", from: device)
        }
    }
}

extension NoticeTests {
    @Test("Words that are about rows are refused beside deliver=notice, and so is any other delivery")
    func words() throws {
        let house = try HubHarness()
        let reader = house.connect()
        for words in [
            "deliver=notice rate=5", "deliver=notice family=systemSmall", "deliver=notice ahead=1", "deliver=push",
        ] {
            let reply = house.send("SUB coffee-order/* \(words)", from: reader)
            #expect(reply.first?.contains("code=bad_attr") == true, "\(words): \(reply)")
        }
        #expect(house.send("SUB coffee-order/* deliver=rows", from: reader).first?.hasPrefix("OK sub=1") == true)
    }

    @Test func `keys that were read, or are given up, come in the order of their indices`() {
        let indices = (0..<500).map { EntityIndex($0) }
        for isRead in [true, false] {
            let debt = NoticeDebt()
            for index in indices.reversed() { _ = debt.mark(index, first: 1, last: 1, hasBudget: false) }
            let keys = isRead ? debt.read(through: 1, isEverything: true) { _ in true } : debt.removeAll()
            #expect(keys == indices)
        }
    }
}
