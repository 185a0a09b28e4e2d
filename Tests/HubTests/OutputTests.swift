import TelltaleModel
import Testing

@testable import Hub

/// In which order sessions are written to, and what the shell is told with their bytes.
struct OutputTests {
    @Test func `those who are due more than one write takes are served by turns`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 400
        let house = try HubHarness(configuration: configuration)
        let shop = house.connect()
        for number in 1...20 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        let screens = [house.connect(), house.connect()]
        for screen in screens { house.post("SUB coffee-order/* view=full", from: screen) }
        _ = house.hub.decide(at: house.now)
        house.hub.committed(at: house.now)

        #expect(house.hub.readySessionCount == 2)
        var dispositions: [SessionID: [Disposition]] = [:]
        var order: [SessionID] = []
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            order.append(id)
            dispositions[id, default: []].append(house.hub.appendOutput(for: id, at: house.now, to: &bytes))
        }
        for screen in screens {
            let told = try #require(dispositions[screen.id])
            #expect(told.count > 5)
            #expect(told.dropLast().allSatisfy { $0 == .hasMore })
            #expect(told.last == .keep)
        }
        #expect(zip(order, order.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func `who comes after one that was never written to is written to, and once`() throws {
        let house = try HubHarness()
        let gone = house.hub.connected(at: house.now)
        house.hub.disconnected(gone)
        let next = house.hub.connected(at: house.now)
        #expect(next.slot == gone.slot)
        #expect(house.hub.nextReady() == next && house.hub.nextReady() == nil)
        house.hub.becameBlocked(next, at: house.now)
        house.hub.becameWritable(next)
        #expect(house.hub.nextReady() == next && house.hub.nextReady() == nil)
    }

    @Test func `what is asked behind a list that still goes on is no older than the list`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 1_000
        let house = try HubHarness(configuration: configuration)
        let (shop, reader) = (house.connect(), house.connect())
        for number in 10..<30 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        house.hub.becameBlocked(reader.id, at: house.now)
        for line in ["LIST *", "GET coffee-order/29 id=g", "OPEN coffee-order/29 id=o"] {
            house.post(line, from: reader)
        }
        house.turn()
        house.send("EVT coffee-order/29 type=confirm", from: shop)
        house.hub.becameWritable(reader.id)
        house.turn()
        let lines = house.lines(of: reader)
        let revs = lines.filter { $0.contains("key=coffee-order/29 ") }.compactMap {
            HubHarness.attribute("rev", of: $0)
        }
        #expect(revs.count == 3 && Set(revs).count == 1)
        #expect(lines.suffix(2).map { $0.prefix(7) } == ["OK id=g", "OK id=o"])
    }

    @Test("Who asks is whoever asked it, in one batch as in two", arguments: [false, true])
    func introduced(inOneBatch: Bool) throws {
        let house = try HubHarness()
        let (shop, client) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        for line in ["SUB coffee-order/* id=1", "HELLO surface=carplay account=bob id=2", "GET coffee-order/1 id=3"] {
            house.post(line, from: client)
            if !inOneBatch { house.turn() }
        }
        house.turn()
        let replies = house.lines(of: client).filter { $0.contains(" id=") }
        #expect(replies[0].contains("view=full"))
        #expect(replies[2].hasPrefix("ERR id=3 code=unknown_key"))
    }

    @Test func `what comes in one piece is taken up to the limit of requests, and the rest in its turn`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 8
        let house = try HubHarness(configuration: configuration)
        let client = house.connect()
        let lines = (0..<100).map { "PING id=\($0)" }
        house.post(lines.joined(separator: "\n") + "\nEVT coffee-order/1 ty", from: client)
        #expect(house.hub.sessions.requestCount == 8)
        let wantsMore = house.hub.wantsInput(client.id)
        #expect(!wantsMore)
        // More than was asked for: it comes behind what waits.
        house.post("pe=start id=e", from: client)
        house.hub.inputEnded(client.id)
        house.turn()
        let answers = house.lines(of: client)
        // The piece was a line of its own, cut in two by `post`: it is a fault in its turn, and no request is lost.
        #expect(answers.prefix(100) == (0..<100).map { "PONG id=\($0)" }[...])
        #expect(answers.count == 102)
        let wantsInput = house.hub.wantsInput(client.id)
        #expect(wantsInput)
    }

    @Test func `who is sent away with much unanswered leaves nothing to decide`() throws {
        let house = try HubHarness()
        let (greedy, other) = (house.connect(), house.connect())
        for number in 0..<300 { house.send("EVT coffee-order/\(number) type=start", from: other) }
        for _ in 0..<40 { house.post("SUB *", from: greedy) }
        house.post("HELLO account=alice", from: greedy)
        house.commit()
        house.hub.drain(wait: 1...2)
        for _ in 0..<50 where house.hub.hasWork(at: house.now) { house.commit() }
        let isBusy = house.hub.hasWork(at: house.now)
        #expect(!isBusy)
    }

    @Test func `who asks to look through everything again and again holds up nobody else`() throws {
        let house = try HubHarness()
        let (greedy, other) = (house.connect(), house.connect())
        for number in 0..<300 { house.send("EVT coffee-order/\(number) type=start", from: other) }
        for number in 1...100 {
            house.post("SUB * id=s\(number)", from: greedy)
            house.post("UNSUB sub=\(number) id=u\(number)", from: greedy)
        }
        house.post("HELLO account=alice id=h", from: greedy)
        house.post("PING", from: other)
        house.commit()
        house.flush()
        #expect(house.lines(of: other) == ["PONG"])
        house.turn()
        let answers = house.lines(of: greedy).compactMap { HubHarness.attribute("id", of: $0) }
        #expect(answers == (1...100).flatMap { ["s\($0)", "u\($0)"] } + ["h"])
    }

    @Test func `a sign of life stands before the rows that leave with it`() throws {
        let (house, shop, screen) = try followed()
        house.time = house.time + Milliseconds(20_000)
        house.post("EVT coffee-order/1 type=confirm", from: shop)
        _ = house.hub.decide(at: house.now)
        house.hub.committed(at: house.now)
        house.hub.sessionDeadlineReached(at: house.now)
        house.flush()
        let verbs = house.lines(of: screen).compactMap { $0.split(separator: " ").first }
        #expect(verbs == ["MARK", "UPD"])
    }

    @Test func `no sign of life comes after a BYE`() throws {
        let (house, _, screen) = try followed()
        house.time = house.time + Milliseconds(20_000)
        house.hub.sessionDeadlineReached(at: house.now)
        house.hub.drain(wait: 100...200)
        house.flush()
        #expect(house.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test func `what a second HELLO does not name stays as it was`() throws {
        let house = try HubHarness()
        let (shop, client) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        house.send("HELLO account=bob surface=watch", from: client)
        house.send("HELLO client=nc hb=1", from: client)
        #expect(house.send("GET coffee-order/1", from: client).last?.contains("code=unknown_key") == true)
        house.send("HELLO account=alice", from: client)
        for line in ["GET coffee-order/1", "LIST *"] {
            #expect(house.send(line, from: client).first?.contains(#""presentation":"small""#) == true)
        }
    }

    @Test("A heartbeat is what can be kept", arguments: [(1, 100), (99, 100), (100, 100), (86_400_000, 300_000)])
    func heartbeat(asked: Int, granted: Int) throws {
        let house = try HubHarness()
        let client = house.connect()
        #expect(house.send("HELLO hb=\(asked)", from: client).last?.contains(" hb=\(granted)") == true)
    }

    @Test func `who only looks is not alerted`() throws {
        let house = try HubHarness()
        let (shop, car) = (house.connect(), house.connect())
        for event in ["start", "confirm", "brew"] { house.send("EVT coffee-order/1 type=\(event)", from: shop) }
        house.send("SUB * view=carplay", from: car)
        house.send("EVT coffee-order/1 type=ready", from: shop)
        #expect(house.lines(of: car).last?.contains(#""highlighted":true"#) == true)
        for line in ["GET coffee-order/1 view=carplay", "LIST * view=carplay", "SUB * view=carplay"] {
            let row = house.send(line, from: car).first { $0.contains("presentation") }
            #expect(row?.contains("highlighted") == false)
        }
    }

    @Test func `a cursor is told when it advanced, and not before the resume is complete`() throws {
        let house = try HubHarness()
        let (shop, first) = (house.connect(), house.connect(as: "alice"))
        for number in 1...3 { house.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        let cursor = try house.cursor(of: "SUB coffee-order/* view=watch", from: first)
        // A row that comes again without a commit brings nothing that could be resumed from.
        let turned = house.send("TRAIT wrist=down", from: first).filter { $0.hasPrefix("UPD ") }
        #expect(turned.count == 3 && turned.allSatisfy { !$0.contains(" cur=") })
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(house.lines(of: first).last?.contains(" cur=") == true)
        house.send("EVT coffee-order/2 type=confirm", from: shop)
        let resumed = house.send("SUB coffee-order/* view=watch from=\(cursor)", from: house.connect(as: "alice"))
        let rows = resumed.filter { $0.hasPrefix("UPD ") }
        #expect(rows.count == 3 && rows.allSatisfy { !$0.contains(" cur=") })
        #expect(resumed.last?.hasPrefix("LIVE ") == true)
    }

    @Test func `a sign of life brings the cursors that others' changes have advanced`() throws {
        let (house, shop, screen) = try followed()
        house.send("EVT coffee-order/2 type=start", from: shop)
        house.advance(by: .seconds(20))
        let told = house.lines(of: screen)
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("MARK now=\(house.time.milliseconds) sub=1 cur=") == true)
        // There is nothing new to say of it.
        house.advance(by: .seconds(20))
        #expect(house.lines(of: screen) == ["MARK now=\(house.time.milliseconds)"])
    }

    @Test func `who has shut its side is sent what it asked for, then nothing more is kept open for it`() throws {
        let (house, shop, screen) = try followed()
        let asking = house.connect()
        house.post("GET coffee-order/1\nHISTORY coffee-order/1", from: asking)
        for client in [asking, screen] { house.hub.inputEnded(client.id) }
        house.commit()
        house.flush()
        // The journal has not been asked yet.
        #expect(!asking.isFinished)
        house.turn()
        #expect(house.lines(of: asking).last == "OK count=1")
        #expect(asking.isFinished)
        #expect(house.lines(of: screen).map { $0.hasPrefix("MARK ") } == [true])
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(house.lines(of: screen).count == 1 && !screen.isFinished)
        // One that says goodbye behind a history waits for that too.
        let leaving = house.connect()
        house.post("HISTORY coffee-order/1\nBYE", from: leaving)
        house.commit()
        house.flush()
        #expect(!leaving.isFinished)
        house.turn()
        #expect(house.lines(of: leaving).last == "OK count=2" && leaving.isFinished)
    }

    @Test func `who is sent away is told so once`() throws {
        let (house, _, screen) = try followed()
        for _ in 0..<2 { house.hub.drain(wait: 100...200) }
        house.flush()
        #expect(house.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test func `a list holds what its pattern names`() throws {
        let house = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = house.connect()
        for key in ["errand/1", "errand/2", "taxi/1"] { house.send("EVT \(key) type=start", from: client) }
        for (pattern, keys) in [
            ("errand/*", ["errand/1", "errand/2"]), ("taxi/1", ["taxi/1"]), ("taxi/2", []),
            ("*", ["errand/1", "errand/2", "taxi/1"]),
        ] {
            let lines = house.send("LIST \(pattern)", from: client)
            #expect(lines.compactMap { HubHarness.attribute("key", of: $0) } == keys)
            #expect(lines.last == "OK count=\(keys.count)")
        }
    }

    @Test func `a list that takes several writes counts all of its rows`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 1_000
        let house = try HubHarness(configuration: configuration)
        let (shop, reader) = (house.connect(), house.connect())
        for number in 1...20 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        house.post("LIST *", from: reader)
        house.commit()
        var (lines, writes, last) = (0, 0, "")
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            _ = house.hub.appendOutput(for: id, at: house.now, to: &bytes)
            #expect(bytes.count < 2_000)
            let text = String(decoding: bytes, as: UTF8.self)
            lines += text.split(separator: "\n").count
            writes += 1
            last = text
        }
        #expect(lines == 21 && writes > 2 && last.hasSuffix("OK count=20\n"))
    }

    @Test func `what others are sent too is not copied, but behind a reply`() throws {
        let house = try HubHarness()
        let (shop, screens) = (house.connect(), (0..<4).map { _ in house.connect() })
        for number in 1...3 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        for screen in screens {
            for number in 1...3 { house.send("SUB coffee-order/\(number)", from: screen) }
            _ = house.lines(of: screen)
        }
        for number in 1...3 { house.post("EVT coffee-order/\(number) type=confirm", from: shop) }
        house.post("GET coffee-order/1 id=g", from: screens[2])
        house.commit()

        var outputs: [SessionID: (bytes: [UInt8], range: Range<Int>)] = [:]
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            let range = house.hub.output(for: id, at: house.now, to: &bytes).sharedRange
            outputs[id] = (bytes, range)
        }
        let shared = house.hub.sharedRows
        let told = try screens.map { try #require(outputs[$0.id]) }
        let rows = String(decoding: told[0].bytes, as: UTF8.self)
        #expect(rows.split(separator: "\n").filter { $0.hasPrefix("UPD ") }.count == 3, "\(rows)")
        #expect(told[0].range.isEmpty, "the first one's are rendered for it")
        for screen in [1, 3] {
            #expect(told[screen].bytes.isEmpty)
            #expect(Array(shared[told[screen].range]) == told[0].bytes)
        }
        #expect(told[2].range.isEmpty)
        let reply = String(decoding: told[2].bytes.dropLast(rows.utf8.count), as: UTF8.self)
        #expect(reply.split(separator: "\n").last?.hasPrefix("OK id=g") == true, "\(reply)")
        #expect(told[2].bytes.suffix(rows.utf8.count) == told[0].bytes[...])
    }

    @Test func `what was gone before the snapshot was sent is not told to be gone`() throws {
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

    @Test func `a clock that is put back takes no time with it`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let shop = house.connect()
        house.send("SERVE porch-light", from: shop)
        house.send("REPORT porch-light/front value=off", from: shop)
        house.send("EVT coffee-order/1 type=start", from: shop)
        let time = house.time
        house.time = time + .hours(-1)
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        let row = try HubHarness.tail(house.send("GET coffee-order/1", from: shop).last)
        #expect(row["updatedAt"] == .integer(time.milliseconds))
        let asked = house.send("SET porch-light/front value=on", from: shop).first { $0.hasPrefix("DO ") }
        #expect(asked.flatMap { HubHarness.attribute("deadline", of: $0) } == "\(time.milliseconds + 30_000)")
        let late = house.hub.connected(at: house.now)
        var bytes: [UInt8] = []
        _ = house.hub.appendOutput(for: late, at: house.now, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self).contains(" now=\(time.milliseconds) "))
    }

    /// An order, and a screen that is up to date with it.
    private func followed() throws -> (HubHarness, shop: HubHarness.Client, screen: HubHarness.Client) {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SUB coffee-order/1 view=full", from: screen)
        return (house, shop, screen)
    }
}
