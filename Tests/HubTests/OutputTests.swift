import TelltaleModel
import Testing

@testable import Hub

/// The order in which sessions are written to, and the bytes of their replies and rows.
struct OutputTests {
    @Test func `sessions with more output than one write takes are served by turns`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 400
        let harness = try HubHarness(configuration: configuration)
        let shop = harness.connect()
        for number in 1...20 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        let screens = [harness.connect(), harness.connect()]
        for screen in screens { harness.post("SUB coffee-order/* view=full", from: screen) }
        _ = harness.hub.decide(at: harness.now)
        harness.hub.committed(at: harness.now)

        #expect(harness.hub.readySessionCount == 2)
        var dispositions: [SessionID: [Disposition]] = [:]
        var order: [SessionID] = []
        while let id = harness.hub.nextReady() {
            var bytes: [UInt8] = []
            order.append(id)
            dispositions[id, default: []].append(harness.hub.appendOutput(for: id, at: harness.now, to: &bytes))
        }
        for screen in screens {
            let reported = try #require(dispositions[screen.id])
            #expect(reported.count > 5)
            #expect(reported.dropLast().allSatisfy { $0 == .hasMore })
            #expect(reported.last == .keep)
        }
        #expect(zip(order, order.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func `a session in the place of one that was never written to is written to once`() throws {
        let harness = try HubHarness()
        let gone = harness.hub.connected(at: harness.now)
        harness.hub.disconnected(gone)
        let next = harness.hub.connected(at: harness.now)
        #expect(next.slot == gone.slot)
        #expect(harness.hub.nextReady() == next && harness.hub.nextReady() == nil)
        harness.hub.becameBlocked(next, at: harness.now)
        harness.hub.becameWritable(next)
        #expect(harness.hub.nextReady() == next && harness.hub.nextReady() == nil)
    }

    @Test func `a reply behind a list that is still being sent is no older than the list`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 1_000
        let harness = try HubHarness(configuration: configuration)
        let (shop, reader) = (harness.connect(), harness.connect())
        for number in 10..<30 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        harness.hub.becameBlocked(reader.id, at: harness.now)
        for line in ["LIST *", "GET coffee-order/29 id=g", "OPEN coffee-order/29 id=o"] {
            harness.post(line, from: reader)
        }
        harness.turn()
        harness.send("EVT coffee-order/29 type=confirm", from: shop)
        harness.hub.becameWritable(reader.id)
        harness.turn()
        let lines = harness.lines(of: reader)
        let revs = lines.filter { $0.contains("key=coffee-order/29 ") }.compactMap {
            HubHarness.attribute("rev", of: $0)
        }
        #expect(revs.count == 3 && Set(revs).count == 1)
        #expect(lines.suffix(2).map { $0.prefix(7) } == ["OK id=g", "OK id=o"])
    }

    @Test(
        "A request is answered for the account that its session had, in one batch as in two", arguments: [false, true])
    func introduced(inOneBatch: Bool) throws {
        let harness = try HubHarness()
        let (shop, client) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        for line in ["SUB coffee-order/* id=1", "HELLO surface=carplay account=bob id=2", "GET coffee-order/1 id=3"] {
            harness.post(line, from: client)
            if !inOneBatch { harness.turn() }
        }
        harness.turn()
        let replies = harness.lines(of: client).filter { $0.contains(" id=") }
        #expect(replies[0].contains("view=full"))
        #expect(replies[2].hasPrefix("ERR id=3 code=unknown_key"))
    }

    @Test func `requests in one piece are taken up to the limit, and the rest in its turn`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 8
        let harness = try HubHarness(configuration: configuration)
        let client = harness.connect()
        let lines = (0..<100).map { "PING id=\($0)" }
        harness.post(lines.joined(separator: "\n") + "\nEVT coffee-order/1 ty", from: client)
        #expect(harness.hub.sessions.requestCount == 8)
        let wantsMore = harness.hub.wantsInput(client.id)
        #expect(!wantsMore)
        // One piece more than the limit: it comes behind the waiting requests.
        harness.post("pe=start id=e", from: client)
        harness.hub.inputEnded(client.id)
        harness.turn()
        let answers = harness.lines(of: client)
        // The piece was a line of its own, cut in two by `post`: it is a fault in its turn, and no request is lost.
        #expect(answers.prefix(100) == (0..<100).map { "PONG id=\($0)" }[...])
        #expect(answers.count == 102)
        let wantsInput = harness.hub.wantsInput(client.id)
        #expect(wantsInput)
    }

    @Test func `a session that asks for everything again and again delays no other session`() throws {
        let harness = try HubHarness()
        let (greedy, other) = (harness.connect(), harness.connect())
        for number in 0..<300 { harness.send("EVT coffee-order/\(number) type=start", from: other) }
        for number in 1...100 {
            harness.post("SUB * id=s\(number)", from: greedy)
            harness.post("UNSUB sub=\(number) id=u\(number)", from: greedy)
        }
        harness.post("HELLO account=alice id=h", from: greedy)
        harness.post("PING", from: other)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: other) == ["PONG"])
        harness.turn()
        let answers = harness.lines(of: greedy).compactMap { HubHarness.attribute("id", of: $0) }
        #expect(answers == (1...100).flatMap { ["s\($0)", "u\($0)"] } + ["h"])
    }

    @Test func `the parts that a second HELLO does not name stay unchanged`() throws {
        let harness = try HubHarness()
        let (shop, client) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        harness.send("HELLO account=bob surface=watch", from: client)
        harness.send("HELLO client=nc hb=1", from: client)
        #expect(harness.send("GET coffee-order/1", from: client).last?.contains("code=unknown_key") == true)
        harness.send("HELLO account=alice", from: client)
        for line in ["GET coffee-order/1", "LIST *"] {
            #expect(harness.send(line, from: client).first?.contains(#""presentation":"small""#) == true)
        }
    }

    @Test func `a reader without a subscription gets no alert`() throws {
        let harness = try HubHarness()
        let (shop, car) = (harness.connect(), harness.connect())
        for event in ["start", "confirm", "brew"] { harness.send("EVT coffee-order/1 type=\(event)", from: shop) }
        harness.send("SUB * view=carplay", from: car)
        harness.send("EVT coffee-order/1 type=ready", from: shop)
        #expect(harness.lines(of: car).last?.contains(#""highlighted":true"#) == true)
        for line in ["GET coffee-order/1 view=carplay", "LIST * view=carplay", "SUB * view=carplay"] {
            let row = harness.send(line, from: car).first { $0.contains("presentation") }
            #expect(row?.contains("highlighted") == false)
        }
    }

    @Test func `a list has the keys that its pattern names`() throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = harness.connect()
        for key in ["errand/1", "errand/2", "taxi/1"] { harness.send("EVT \(key) type=start", from: client) }
        for (pattern, keys) in [
            ("errand/*", ["errand/1", "errand/2"]), ("taxi/1", ["taxi/1"]), ("taxi/2", []),
            ("*", ["errand/1", "errand/2", "taxi/1"]),
        ] {
            let lines = harness.send("LIST \(pattern)", from: client)
            #expect(lines.compactMap { HubHarness.attribute("key", of: $0) } == keys)
            #expect(lines.last == "OK count=\(keys.count)")
        }
    }

    @Test func `a list that takes several writes counts all of its rows`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 1_000
        let harness = try HubHarness(configuration: configuration)
        let (shop, reader) = (harness.connect(), harness.connect())
        for number in 1...20 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        harness.post("LIST *", from: reader)
        harness.commit()
        var (lines, writes, last) = (0, 0, "")
        while let id = harness.hub.nextReady() {
            var bytes: [UInt8] = []
            _ = harness.hub.appendOutput(for: id, at: harness.now, to: &bytes)
            #expect(bytes.count < 2_000)
            let text = String(decoding: bytes, as: UTF8.self)
            lines += text.split(separator: "\n").count
            writes += 1
            last = text
        }
        #expect(lines == 21 && writes > 2 && last.hasSuffix("OK count=20\n"))
    }

    @Test func `shared rows are not copied, except behind a reply`() throws {
        let harness = try HubHarness()
        let (shop, screens) = (harness.connect(), (0..<4).map { _ in harness.connect() })
        for number in 1...3 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        for screen in screens {
            for number in 1...3 { harness.send("SUB coffee-order/\(number)", from: screen) }
            _ = harness.lines(of: screen)
        }
        for number in 1...3 { harness.post("EVT coffee-order/\(number) type=confirm", from: shop) }
        for screen in screens[1...2] { harness.post("GET coffee-order/1 id=g", from: screen) }
        harness.commit()

        var outputs: [SessionID: (bytes: [UInt8], range: Range<Int>)] = [:]
        while let id = harness.hub.nextReady() {
            var bytes: [UInt8] = []
            let range = harness.hub.output(for: id, at: harness.now, to: &bytes).sharedRange
            outputs[id] = (bytes, range)
        }
        let shared = harness.hub.sharedRows
        let reported = try screens.map { try #require(outputs[$0.id]) }
        // Answers leave first, and the first one's rows are rendered for it.
        #expect(reported[1].range.isEmpty && reported[2].range.isEmpty && reported[1].bytes == reported[2].bytes)
        let rows = Array(shared[reported[0].range])
        let text = String(decoding: rows, as: UTF8.self)
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("UPD ") }.count == 3, "\(text)")
        for screen in [0, 3] {
            #expect(reported[screen].bytes.isEmpty && Array(shared[reported[screen].range]) == rows)
        }
        let reply = String(decoding: reported[1].bytes.dropLast(rows.count), as: UTF8.self)
        #expect(reply.split(separator: "\n").last?.hasPrefix("OK id=g") == true, "\(reply)")
        #expect(reported[1].bytes.suffix(rows.count) == rows[...])
    }

    @Test func `a clock that is put back takes no time with it`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let shop = harness.connect()
        harness.serveLight(from: shop)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let time = harness.time
        harness.time = time + .hours(-1)
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        let row = try HubHarness.tail(harness.send("GET coffee-order/1", from: shop).last)
        #expect(row["updatedAt"] == .integer(time.milliseconds))
        let asked = harness.send("SET porch-light/front value=on", from: shop).first { $0.hasPrefix("DO ") }
        #expect(asked.flatMap { HubHarness.attribute("deadline", of: $0) } == "\(time.milliseconds + 30_000)")
        let late = harness.hub.connected(at: harness.now)
        var bytes: [UInt8] = []
        _ = harness.hub.appendOutput(for: late, at: harness.now, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self).contains(" now=\(time.milliseconds) "))
    }
}
