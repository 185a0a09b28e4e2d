import Hub
import Model
import Testing

/// In which order sessions are written to, and what the shell is told with their bytes.
struct OutputTests {
    @Test func `those who are due more than one write takes are served by turns`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 400
        let house = try House(configuration: configuration)
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

    @Test func `what is asked behind a list that still goes on is no older than the list`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 1_000
        let house = try House(configuration: configuration)
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
        let revs = lines.filter { $0.contains("key=coffee-order/29 ") }.compactMap { House.attribute("rev", of: $0) }
        #expect(revs.count == 3 && Set(revs).count == 1)
        #expect(lines.suffix(2).map { $0.prefix(7) } == ["OK id=g", "OK id=o"])
    }

    @Test("Who asks is whoever asked it, in one batch as in two", arguments: [false, true])
    func introduced(inOneBatch: Bool) throws {
        let house = try House()
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
        let house = try House(configuration: configuration)
        let client = house.connect()
        let lines = (0..<100).map { "PING id=\($0)" }
        house.post(lines.joined(separator: "\n") + "\nEVT coffee-order/1 ty", from: client)
        #expect(house.hub.statistics.requests == 8)
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
        let house = try House()
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
        let house = try House()
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
        let answers = house.lines(of: greedy).compactMap { House.attribute("id", of: $0) }
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

    /// An order, and a screen that is up to date with it.
    private func followed() throws -> (House, shop: House.Client, screen: House.Client) {
        let house = try House()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SUB coffee-order/1 view=full", from: screen)
        return (house, shop, screen)
    }
}
