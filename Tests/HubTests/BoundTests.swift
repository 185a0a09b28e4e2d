import TelltaleModel
import Testing

@testable import Hub

/// The memory that clients can claim has a bound, and a client that reaches it is notified.
struct BoundTests {
    private func makeHarness(_ change: (inout Limits) -> Void) throws -> HubHarness {
        var configuration = HubConfiguration()
        change(&configuration.limits)
        return try HubHarness(configuration: configuration)
    }

    // MARK: Milestones and alerts that wait

    @Test func `alerts that wait for a connection have a bound in bytes, and rows name the folded ones`() throws {
        let harness = try makeHarness { $0.announcementBytes = 20_000 }
        let (screen, shop) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        for _ in 0..<8 { harness.send("SUB coffee-order/* view=phone", from: screen) }
        harness.hub.becameBlocked(screen.id, at: harness.now)
        let text = String(repeating: "x", count: 1_000)
        for number in 0..<30 {
            harness.send(
                #"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)},"alert":{"title":"\#(text)"}}"#,
                from: shop)
            let session = try #require(harness.hub.sessions[screen.id])
            #expect(session.announcementByteCount <= 20_000)
        }
        harness.hub.becameWritable(screen.id)
        harness.turn()
        let lines = harness.lines(of: screen)
        #expect(!lines.contains { $0.hasPrefix("ERR") })
        let row = try #require(lines.last { $0.hasPrefix("UPD ") })
        #expect(row.contains("ALERT rev="))
        #expect(harness.hub.sessions[screen.id]?.announcementByteCount == 0)
    }

    @Test func `a subscription that ends takes its alerts out of the count`() throws {
        let harness = try makeHarness { $0.announcementBytes = 20_000 }
        let (screen, shop) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.send("SUB coffee-order/* view=phone", from: screen)
        harness.hub.becameBlocked(screen.id, at: harness.now)
        harness.send(#"EVT coffee-order/1 type=update {"alert":{"title":"a"}}"#, from: shop)
        #expect((harness.hub.sessions[screen.id]?.announcementByteCount ?? 0) > 0)
        harness.send("UNSUB sub=1", from: screen)
        #expect(harness.hub.sessions[screen.id]?.announcementByteCount == 0)
    }

    // MARK: Requests under way

    @Test func `long requests that wait to be decided have a bound in bytes, and all are decided in their order`()
        throws
    {
        let harness = try makeHarness { $0.requestBytesInFlight = 4_000 }
        let shop = harness.connect()
        let text = String(repeating: "x", count: 1_000)
        let lines = (0..<20).map {
            #"EVT coffee-order/\#($0) type=start id=\#($0) {"content-state":{"note":"\#(text)"}}"#
        }
        harness.post(lines.joined(separator: "\n"), from: shop)
        let session = try #require(harness.hub.sessions[shop.id])
        #expect(session.inbox.count == 4)
        holds(!harness.hub.wantsInput(shop.id))
        harness.turn()
        holds(harness.hub.wantsInput(shop.id))
        #expect(harness.lines(of: shop).compactMap { HubHarness.attribute("id", of: $0) } == (0..<20).map(String.init))
    }

    @Test(
        "Answers to a client that takes none have a bound in bytes", arguments: ["KIND coffee-order", "KINDS", "HELP"])
    func answers(request: String) throws {
        let harness = try makeHarness { $0.requestBytesInFlight = 4_000 }
        let reader = harness.connect()
        harness.hub.becameBlocked(reader.id, at: harness.now)
        harness.post((0..<200).map { "\(request) id=\($0)" }.joined(separator: "\n"), from: reader)
        harness.turn()
        let session = try #require(harness.hub.sessions[reader.id])
        #expect(session.outboxByteCount < 16_000)
        holds(!harness.hub.wantsInput(reader.id))
        harness.hub.becameWritable(reader.id)
        harness.turn()
        let answers = harness.lines(of: reader).filter { $0.hasPrefix("OK") }
        #expect(answers.compactMap { HubHarness.attribute("id", of: $0) } == (0..<200).map(String.init))
        holds(harness.hub.wantsInput(reader.id))
    }

    @Test func `a turn writes out few definitions of kinds`() throws {
        let harness = try HubHarness()
        let reader = harness.connect()
        harness.post((0..<1_000).map { "KIND coffee-order id=\($0)" }.joined(separator: "\n"), from: reader)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: reader).count <= 65)
        harness.turn()
        #expect(harness.lines(of: reader).last?.hasPrefix("OK id=999 ") == true)
    }

    @Test func `a view of an account costs what it may show, and its resume what changed beside`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for number in 0..<3_000 { harness.post("EVT coffee-order/\(number) type=start", from: shop) }
        harness.turn()
        let watches = (0..<10).map { harness.connect(as: "a\($0)") }
        for watch in watches { harness.post("SUB * view=watch", from: watch) }
        harness.commit()
        // Nine tenths of the activities are not looked at: all ten fit into a turn.
        holds(harness.hub.subscriptions.count == 10)
        harness.turn()
        var cursors: [String] = []
        for watch in watches {
            let lines = harness.lines(of: watch)
            #expect(lines.count == 66 && lines.last?.hasPrefix("LIVE") == true)
            cursors.append(try #require(lines.last.flatMap { HubHarness.attribute("cur", of: $0) }))
        }
        for watch in watches { harness.send("UNSUB sub=1", from: watch) }
        for number in 0..<1_000 { harness.post("EVT coffee-order/\(number) type=update", from: shop) }
        harness.turn()
        for (watch, cursor) in zip(watches, cursors) {
            harness.post("SUB * view=watch from=\(cursor)", from: watch)
        }
        harness.commit()
        holds(harness.hub.subscriptions.count == 10)
        harness.turn()
        for watch in watches {
            let lines = harness.lines(of: watch)
            #expect(!lines.contains { $0.hasPrefix("RESET") } && lines.last?.hasPrefix("LIVE") == true)
        }
    }

    // MARK: A client that has shut its side

    @Test func `it is written to at once and every five seconds, and not cut for its silence`() throws {
        let harness = try HubHarness()
        let screen = harness.connect()
        harness.send("HELLO hb=100000", from: screen)
        harness.send("SUB *", from: screen)
        harness.hub.inputEnded(screen.id)
        harness.turn()
        #expect(harness.lines(of: screen).map { $0.hasPrefix("MARK ") } == [true])
        harness.advance(by: Milliseconds(4_999))
        #expect(harness.lines(of: screen).isEmpty)
        harness.advance(by: Milliseconds(1))
        #expect(harness.lines(of: screen).map { $0.hasPrefix("MARK ") } == [true])
        for _ in 0..<100 { harness.advance(by: .seconds(5)) }
        #expect(harness.lines(of: screen).count == 100 && !screen.isFinished)
    }

    @Test func `without a subscription it ends with its last reply, and no sign of life comes before it`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        harness.post("PING", from: client)
        harness.hub.inputEnded(client.id)
        harness.turn()
        #expect(harness.lines(of: client) == ["PONG"])
        #expect(client.isFinished)
    }

    @Test func `its lines that wait for a later turn are answered before it ends`() throws {
        let harness = try HubHarness()
        let greedy = (0..<6).map { _ in harness.connect() }
        let client = harness.connect()
        let line = { (length: Int) in "PING {\"a\":\"" + String(repeating: "x", count: length) + "\"}" }
        // More than a turn's share of long lines, before those of the client.
        for other in greedy {
            harness.post(Array(repeating: line(59_000), count: 10).joined(separator: "\n"), from: other)
        }
        harness.post("\(line(300))\n\(line(300))", from: client)
        harness.hub.inputEnded(client.id)
        for _ in 0..<20 { harness.turn() }
        #expect(harness.lines(of: client) == ["PONG", "PONG"])
        #expect(client.isFinished)
    }

    @Test func `the heartbeats that it may ask for have a cap`() throws {
        let harness = try HubHarness()
        let reply = harness.send("HELLO hb=3600000", from: harness.connect()).last
        #expect(reply.flatMap { HubHarness.attribute("hb", of: $0) } == "300000")
    }

    // MARK: Names

    @Test func `sources of event ids have a limit, and known ones go on`() throws {
        let harness = try makeHarness { $0.sources = 2 }
        let shop = harness.connect()
        func post(_ words: String) -> String {
            harness.send("EVT coffee-order/1 type=start \(words)", from: shop).last ?? ""
        }
        for source in ["a", "b"] { #expect(post("src=\(source) eid=1").hasPrefix("OK")) }
        #expect(post("src=c eid=1").hasPrefix("ERR code=limit_sources retry=later"))
        #expect(post("src=c").hasPrefix("OK") && post("src=a eid=2").hasPrefix("OK"))
        // Another limit is no other past.
        _ = try harness.recovered()
    }

    @Test func `accounts have a limit, and those that have activities go on`() throws {
        let harness = try makeHarness { $0.accounts = 2 }
        let shop = harness.connect()
        func start(_ key: Int, _ accounts: String) -> String {
            harness.send("EVT coffee-order/\(key) type=start for=\(accounts)", from: shop).last ?? ""
        }
        #expect(start(1, "ana,bo").hasPrefix("OK"))
        #expect(start(2, "ana,cleo").hasPrefix("ERR code=limit_accounts retry=later"))
        #expect(start(3, "bo").hasPrefix("OK"))
        #expect(harness.send("EVT coffee-order/4 type=start", from: shop).last?.hasPrefix("OK") == true)
    }

    @Test func `a press of another account than there may be starts nothing, and says so`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"{{id}}"},"instances":["a","b","c"]"#
        var configuration = HubConfiguration()
        configuration.limits.accounts = 1
        let harness = try HubHarness(
            kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises)],
            configuration: configuration)
        harness.send("PRESS log-coffee/a", from: harness.connect(as: "ana"))
        #expect(harness.send("GET coffee-order/a", from: harness.connect(as: "ana"))[0].hasPrefix("OK"))
        let bo = harness.connect(as: "bo")
        harness.send("PRESS log-coffee/b", from: bo)
        #expect(harness.send("GET coffee-order/b", from: bo)[0].contains("unknown_key"))
        let button = harness.send("GET log-coffee/b", from: bo)[0]
        #expect(button.contains(#""result":"reverted""#) && button.contains(#""code":"limit_accounts""#), "\(button)")
        // What is there already needs no room of the account: here the state has no use for the event.
        harness.send("EVT coffee-order/c type=start", from: bo)
        harness.send("PRESS log-coffee/c", from: bo)
        #expect(harness.send("GET log-coffee/c", from: bo)[0].contains(#""code":"ignored""#))
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `keys that subscriptions name have a limit, and go with them`() throws {
        let harness = try makeHarness { $0.keys = 2 }
        let screen = harness.connect()
        for number in 1...2 { #expect(harness.send("SUB coffee-order/\(number)", from: screen)[0].hasPrefix("OK")) }
        #expect(harness.send("SUB coffee-order/3", from: screen)[0].hasPrefix("ERR code=limit_keys retry=later"))
        #expect(harness.send("SUB coffee-order/1", from: screen)[0].hasPrefix("OK"))
        harness.send("UNSUB sub=2", from: screen)
        #expect(harness.send("SUB coffee-order/3", from: screen)[0].hasPrefix("OK"))
    }
}
