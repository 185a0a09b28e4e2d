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

    /// A shop, and a gateway that is notified of changes.
    private struct Setup {
        let harness: HubHarness
        let shop: HubHarness.Client
        var reader: HubHarness.Client

        init(_ subscription: String = "SUB coffee-order/* deliver=notice", hello: String? = nil) throws {
            harness = try HubHarness()
            (shop, reader) = (harness.connect(), harness.connect())
            if let hello { harness.send(hello, from: reader) }
            harness.send(subscription, from: reader)
        }

        @discardableResult
        func change(_ ids: String...) -> [String] {
            for id in ids { harness.send("EVT coffee-order/\(id) type=start", from: shop) }
            return notices()
        }

        func update(_ id: String, _ shelf: Int) -> [String] {
            harness.send(NoticeTests.update(id, shelf), from: shop)
            return notices()
        }

        func notices() -> [String] { Self.notices(in: harness.lines(of: reader)) }

        func read(_ request: String) -> [String] { Self.notices(in: harness.send(request, from: reader)) }

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
        for id in 1...3 { setup.harness.post("EVT coffee-order/\(id) type=start", from: setup.shop) }
        setup.harness.turn()
        let reported = setup.harness.lines(of: setup.reader).filter { $0.hasPrefix("CHANGED") }
        #expect(reported.count == 1)
        #expect(
            reported.first?.contains(" rev=") == true && reported.first?.contains(" count=3") == true, "\(reported)")
        #expect(reported.first?.contains("{") == false)
        #expect(setup.change("4") == [] && setup.update("1", 101) == [])
        // A change behind the line is notified when its reader has read, unless that was read too.
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
        let harness = try HubHarness()
        let (shop, reader) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let begun = harness.send("SUB coffee-order/* view=carplay deliver=notice", from: reader)
        #expect(begun.map { $0.prefix(4) } == ["OK s", "LIVE"], "\(begun)")
        for type in ["confirm", "brew", "ready"] { harness.send("EVT coffee-order/1 type=\(type)", from: shop) }
        let lines = harness.send("TRAIT dashboard=hidden", from: reader)
        #expect(lines.filter { $0.hasPrefix("CHANGED") }.count == 1)
        #expect(!lines.contains { line in ["UPD", "SNAP", "MILE", "ALER"].contains { line.hasPrefix($0) } })
    }

    @Test func `an end is a change, and an answer that it is gone has read it`() throws {
        let harness = try WidgetTests.harness()
        let (shop, reader) = (harness.connect(), harness.connect())
        let timeline = WidgetTests.timeline("sales/Hoegi", [0], from: harness.time)
        harness.send(timeline, from: shop)
        harness.send("SUB sales/Hoegi deliver=notice", from: reader)
        harness.send("EVT sales/Hoegi type=end", from: shop)
        #expect(Setup.notices(in: harness.lines(of: reader)) == ["1"])
        #expect(harness.send("GET sales/Hoegi", from: reader).first?.hasPrefix("ERR") == true)
        harness.send(timeline, from: shop)
        #expect(Setup.notices(in: harness.lines(of: reader)) == ["1"])
    }

    @Test("W33, W34: a follower of a board is told when the widget of a tile changes, and so is one that comes back")
    func boards() throws {
        let harness = try TileTests.harness()
        let (phone, gateway) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        TileTests.add(harness, "@alice-car/t1", by: phone)
        let cursor = try harness.cursor(of: "SUB @alice-car/* deliver=notice", from: gateway)
        AggregateTests.begin(harness, "1", phone)
        #expect(Setup.notices(in: harness.lines(of: gateway)) == ["1"])
        TileTests.add(harness, "@alice-car/t2", shop: "Central", by: phone)
        #expect(Setup.notices(in: harness.lines(of: gateway)) == [])
        let listed = harness.send("LIST @alice-car/* view=carplay", from: gateway)
        #expect(listed.count { $0.hasPrefix("SNAP sub=0") } == 2 && Setup.notices(in: listed) == [])
        let back = harness.send("SUB @alice-car/* deliver=notice from=\(cursor)", from: harness.connect(as: "alice"))
        #expect(back[1].hasPrefix("CHANGED sub=1") && back[1].contains(" count=2"), "\(back)")
    }

    // MARK: Cursors

    @Test func `a cursor stays below what was not read, and a resume reports that again`() throws {
        var setup = try Setup()
        let reader = setup.harness.connect()
        let cursor = try setup.harness.cursor(of: "SUB coffee-order/* deliver=notice", from: reader)
        setup.change("1", "2")
        setup.harness.disconnect(reader)
        setup.reader = setup.harness.connect()
        let back = setup.harness.send("SUB coffee-order/* deliver=notice from=\(cursor)", from: setup.reader)
        #expect(back.map { $0.split(separator: " ")[0] } == ["OK", "CHANGED", "LIVE"], "\(back)")
        #expect(back[1].contains(" count=2"))
        #expect(HubHarness.attribute("cur", of: back[2]) == cursor)
        let listed = setup.harness.send("LIST coffee-order/*", from: setup.reader)
        #expect(!listed.contains { $0.hasPrefix("CHANGED") })
        // Behind the read the cursor advances, with the next sign of life.
        setup.harness.advance(by: .seconds(21))
        let mark = try #require(
            setup.harness.lines(of: setup.reader).last { $0.hasPrefix("MARK") && $0.contains("sub=1") })
        let read = try #require(HubHarness.attribute("cur", of: mark))
        let third = setup.harness.connect()
        let again = setup.harness.send("SUB coffee-order/* deliver=notice from=\(read)", from: third)
        #expect(again.map { $0.split(separator: " ")[0] } == ["OK", "LIVE"], "\(again)")
    }

    @Test func `a cursor of rows is another selection, and RESET has one read anew`() throws {
        let setup = try Setup()
        let rows = setup.harness.connect()
        let cursor = try setup.harness.cursor(of: "SUB coffee-order/*", from: rows)
        setup.change("1")
        let reset = setup.harness.send(
            "SUB coffee-order/* deliver=notice from=\(cursor)", from: setup.harness.connect())
        #expect(reset.map { $0.split(separator: " ")[0] } == ["OK", "RESET", "LIVE"], "\(reset)")
        #expect(reset[1].contains("why=selection"))
    }

    @Test func `where more changed than is looked at, the line does not count`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 4
        let harness = try HubHarness(configuration: configuration)
        let (shop, reader) = (harness.connect(), harness.connect())
        let cursor = try harness.cursor(of: "SUB coffee-order/* deliver=notice", from: reader)
        for id in 1...5 { harness.send("EVT coffee-order/\(id) type=start", from: shop) }
        let again = harness.connect()
        let back = harness.send("SUB coffee-order/* deliver=notice from=\(cursor)", from: again)
        #expect(back[1].hasPrefix("CHANGED sub=1 rev=") && !back[1].contains("count="), "\(back)")
        #expect(Setup.notices(in: harness.send("LIST coffee-order/*", from: again)) == [])
        harness.send(Self.update("1", 1), from: shop)
        #expect(Setup.notices(in: harness.lines(of: again)) == ["1"])
    }

    @Test func `a LIST that is under way has not read what changes behind it`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysPerCheck = 2
        let harness = try HubHarness(configuration: configuration)
        let (shop, reader) = (harness.connect(), harness.connect())
        for id in 1...6 { harness.send("EVT coffee-order/\(id) type=start", from: shop) }
        harness.send("SUB coffee-order/* deliver=notice", from: reader)
        harness.send(Self.update("1", 2), from: shop)
        #expect(Setup.notices(in: harness.lines(of: reader)) == ["1"])
        harness.post("LIST coffee-order/*", from: reader)
        harness.commit()
        var piece: [UInt8] = []
        _ = harness.hub.output(for: reader.id, at: harness.now, to: &piece)
        #expect(piece.count { $0 == UInt8(ascii: "\n") } == 2)
        harness.send(Self.update("1", 3), from: shop)
        let lines = harness.lines(of: reader)
        #expect(
            lines.map { $0.split(separator: " ")[0] } == ["SNAP", "SNAP", "SNAP", "SNAP", "OK", "CHANGED"], "\(lines)")
        #expect(Setup.notices(in: lines) == ["1"])
    }

    // MARK: People and bounds

    @Test func `what is another account's is not reported, and its connection reads for itself alone`() throws {
        let setup = try Setup(hello: "HELLO account=bob")
        setup.harness.send("EVT coffee-order/1 type=start for=alice", from: setup.shop)
        #expect(setup.notices() == [])
        setup.harness.send("EVT coffee-order/2 type=start for=bob", from: setup.shop)
        #expect(setup.notices() == ["1"])
        let refused = setup.harness.send("SUB coffee-order/* for=alice deliver=notice", from: setup.reader)
        #expect(refused.first?.contains("code=bad_attr") == true, "\(refused)")
        setup.harness.send("DISMISS coffee-order/2", from: setup.reader)
        #expect(setup.read("LIST coffee-order/*") == [])
    }

    @Test func `its memory is bounded, and it holds no key when it is gone`() throws {
        let setup = try Setup()
        let count = PendingNotice.keyLimit + 5
        for id in 1...count { setup.harness.post("EVT coffee-order/\(id) type=start", from: setup.shop) }
        setup.harness.turn()
        let lines = setup.harness.lines(of: setup.reader).filter { $0.hasPrefix("CHANGED") }
        #expect(lines.count == 1)
        let index = try #require(setup.harness.hub.sessions[setup.reader.id]?.subscriptions.first)
        #expect(setup.harness.hub.subscriptions[index]?.backlog?.notice?.keys.count == PendingNotice.keyLimit)
        #expect(setup.read("LIST coffee-order/*") == [])
        #expect(setup.harness.hub.subscriptions[index]?.backlog?.notice?.oldest == nil)
        setup.harness.send(Self.update("1", 4), from: setup.shop)
        setup.harness.send("UNSUB sub=1", from: setup.reader)
        #expect(setup.harness.hub.subscriptions.count == 0)
    }

    // MARK: Budgets

    /// A device whose screen is off, and its notices of counters.
    private func device(_ configuration: HubConfiguration = HubConfiguration()) throws -> BudgetTests.Setup {
        try BudgetTests.Setup(configuration, subscription: "SUB counter/* view=phone deliver=notice")
    }

    private func noticeCount(_ setup: BudgetTests.Setup) -> Int {
        setup.harness.lines(of: setup.device).count { $0.hasPrefix("CHANGED") }
    }

    /// The next content of a counter; what the device is reported by then, and whether it has read since.
    private func change(_ setup: BudgetTests.Setup, _ key: String, _ number: Int, reads: Bool = true) -> Int {
        setup.harness.send(WidgetTests.timeline(key, [0], from: setup.harness.time, first: number), from: setup.shop)
        let count = noticeCount(setup)
        setup.harness.advance(by: .seconds(1))
        if reads { setup.harness.send("LIST counter/* view=phone", from: setup.device) }
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
        setup.harness.advance(by: .seconds(1_790))
        #expect(noticeCount(setup) == 0)
        setup.harness.advance(by: .seconds(1))
        #expect(noticeCount(setup) == 1)
        #expect(try setup.figures()?["held"] == 1)
    }

    @Test func `a held notice that was read meanwhile does not leave`() throws {
        let setup = try spent()
        #expect(change(setup, "counter/1", 8) == 0)
        setup.harness.advance(by: .seconds(3_600))
        #expect(noticeCount(setup) == 0)
    }

    @Test func `the screen lets a held notice go`() throws {
        let setup = try spent()
        #expect(change(setup, "counter/1", 8, reads: false) == 0)
        let lines = setup.harness.send("TRAIT screen=on", from: setup.device)
        #expect(lines.contains { $0.hasPrefix("CHANGED") })
        #expect(try setup.figures()?["paid"] == 8)
    }

    @Test func `activities have no budget`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee])
        let (shop, device) = (harness.connect(), harness.connect())
        for line in ["HELLO unit=watch-1", "TRAIT screen=off", "SUB coffee-order/* deliver=notice"] {
            harness.send(line, from: device)
        }
        for number in 0..<20 {
            harness.send("EVT coffee-order/\(number) type=start", from: shop)
            #expect(harness.lines(of: device).contains { $0.hasPrefix("CHANGED") })
            harness.send("LIST coffee-order/*", from: device)
        }
    }
}

extension NoticeTests {
    @Test("Words that are about rows are refused beside deliver=notice, and so is any other delivery")
    func words() throws {
        let harness = try HubHarness()
        let reader = harness.connect()
        for words in [
            "deliver=notice rate=5", "deliver=notice family=systemSmall", "deliver=notice ahead=1", "deliver=push",
        ] {
            let reply = harness.send("SUB coffee-order/* \(words)", from: reader)
            #expect(reply.first?.contains("code=bad_attr") == true, "\(words): \(reply)")
        }
        #expect(harness.send("SUB coffee-order/* deliver=rows", from: reader).first?.hasPrefix("OK sub=1") == true)
    }

    @Test func `keys that were read, or are given up, come in the order of their indices`() {
        let indices = (0..<500).map { EntityIndex($0) }
        for isRead in [true, false] {
            let notice = PendingNotice()
            for index in indices.reversed() { _ = notice.mark(index, first: 1, last: 1, hasBudget: false) }
            let keys = isRead ? notice.read(through: 1, isEverything: true) { _ in true } : notice.removeAll()
            #expect(keys == indices)
        }
    }
}
