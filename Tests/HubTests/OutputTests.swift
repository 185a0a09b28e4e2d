import TelltaleModel
import Testing

@testable import Hub

/// The order in which sessions are written to, and the bytes of their replies and rows.
struct OutputTests {
    @Test func `sessions with more output than one write takes are served by turns`() throws {
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

    @Test func `a session in the place of one that was never written to is written to once`() throws {
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

    @Test func `a reply behind a list that is still being sent is no older than the list`() throws {
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

    @Test(
        "A request is answered for the account that its session had, in one batch as in two", arguments: [false, true])
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

    @Test func `requests in one piece are taken up to the limit, and the rest in its turn`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 8
        let house = try HubHarness(configuration: configuration)
        let client = house.connect()
        let lines = (0..<100).map { "PING id=\($0)" }
        house.post(lines.joined(separator: "\n") + "\nEVT coffee-order/1 ty", from: client)
        #expect(house.hub.sessions.requestCount == 8)
        let wantsMore = house.hub.wantsInput(client.id)
        #expect(!wantsMore)
        // One piece more than the limit: it comes behind the waiting requests.
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

    @Test func `a session that asks for everything again and again delays no other session`() throws {
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

    @Test func `the parts that a second HELLO does not name stay unchanged`() throws {
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

    @Test func `a reader without a subscription gets no alert`() throws {
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

    @Test func `a list has the keys that its pattern names`() throws {
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

    @Test func `shared rows are not copied, except behind a reply`() throws {
        let house = try HubHarness()
        let (shop, screens) = (house.connect(), (0..<4).map { _ in house.connect() })
        for number in 1...3 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        for screen in screens {
            for number in 1...3 { house.send("SUB coffee-order/\(number)", from: screen) }
            _ = house.lines(of: screen)
        }
        for number in 1...3 { house.post("EVT coffee-order/\(number) type=confirm", from: shop) }
        for screen in screens[1...2] { house.post("GET coffee-order/1 id=g", from: screen) }
        house.commit()

        var outputs: [SessionID: (bytes: [UInt8], range: Range<Int>)] = [:]
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            let range = house.hub.output(for: id, at: house.now, to: &bytes).sharedRange
            outputs[id] = (bytes, range)
        }
        let shared = house.hub.sharedRows
        let told = try screens.map { try #require(outputs[$0.id]) }
        // Answers leave first, and the first one's rows are rendered for it.
        #expect(told[1].range.isEmpty && told[2].range.isEmpty && told[1].bytes == told[2].bytes)
        let rows = Array(shared[told[0].range])
        let text = String(decoding: rows, as: UTF8.self)
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("UPD ") }.count == 3, "\(text)")
        for screen in [0, 3] { #expect(told[screen].bytes.isEmpty && Array(shared[told[screen].range]) == rows) }
        let reply = String(decoding: told[1].bytes.dropLast(rows.count), as: UTF8.self)
        #expect(reply.split(separator: "\n").last?.hasPrefix("OK id=g") == true, "\(reply)")
        #expect(told[1].bytes.suffix(rows.count) == rows[...])
    }

    @Test func `a clock that is put back takes no time with it`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let shop = house.connect()
        house.serveLight(from: shop)
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
}
