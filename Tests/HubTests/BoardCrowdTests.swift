import FanOut
import TelltaleModel
import Testing

@testable import Hub

/// Many requests about boards at once: a batch answers some of them, and none of the others waits for all.
struct BoardCrowdTests {
    private let house: HubHarness
    private let other: HubHarness.Client

    init() throws {
        house = try HubHarness(kinds: VisitTests.kinds)
        other = house.connect()
        for number in 0..<20 {
            house.send("TILE @b\(number)/t0 do=add widget=sales/s0 family=accessoryRectangular", from: other)
            house.send("EVT coffee-order/\(number) type=start {}", from: other)
        }
    }

    /// How many lines of this form a client has after each batch, until nothing is left to do.
    private func counts(of client: HubHarness.Client, _ isWanted: (String) -> Bool) -> [Int] {
        var counts: [Int] = []
        repeat {
            house.commit()
            house.flush()
            counts.append(house.lines(of: client).count(where: isWanted))
        } while house.hub.hasWork(at: house.now) && counts.count < 1_000
        return counts
    }

    @Test(
        "Pipelined reads of boards are spread over batches",
        arguments: ["GET @b%/t0 view=watch", "LIST @b%/* view=watch"])
    func reads(request: String) throws {
        let client = house.connect()
        for number in 0..<1_000 { house.post(request.replacing("%", with: "\(number % 20)"), from: client) }
        house.post("PING id=1", from: other)
        house.commit()
        house.flush()
        #expect(house.lines(of: other) == ["PONG id=1"])
        let first = house.lines(of: client).count { $0.hasPrefix("OK") }
        #expect(first > 100 && first <= 16_384 / 64 + 1)
        let rest = counts(of: client) { $0.hasPrefix("OK") }
        #expect(rest.allSatisfy { $0 <= 2 * (16_384 / 64 + 1) } && first + rest.reduce(0, +) == 1_000)
    }

    @Test func `replies that wait behind a list look at no more keys in one write than a list does`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysPerLook = 130
        let house = try HubHarness(kinds: VisitTests.kinds, configuration: configuration)
        let client = house.connect()
        house.send("TILE @b/t0 do=add widget=sales/s0 family=accessoryRectangular", from: client)
        house.post("LIST sales/*", from: client)
        for number in 0..<10 { house.post("GET @b/t0 view=watch id=\(number)", from: client) }
        for number in 10..<500 { house.post("LIST nothing/* id=\(number)", from: client) }
        house.commit()
        var counts: [Int] = []
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            _ = house.hub.output(for: id, at: house.now, to: &bytes)
            counts.append(String(decoding: bytes, as: UTF8.self).split(separator: "\n").count { $0.hasPrefix("OK") })
        }
        #expect(counts.reduce(0, +) == 501 && counts[0] <= 4 && counts.allSatisfy { $0 <= 130 })
    }

    @Test func `crowds of subscriptions are spread over batches, and each gets its board`() throws {
        let clients = (0..<300).map { _ in house.connect() }
        for (number, client) in clients.enumerated() { house.post("SUB @b\(number % 20)/* view=watch", from: client) }
        house.post("PING id=1", from: other)
        house.commit()
        house.flush()
        #expect(house.lines(of: other) == ["PONG id=1"])
        holds(house.hub.subscriptions.count <= 16_384 / 256 + 1)
        house.turn()
        for client in clients {
            let lines = house.lines(of: client)
            #expect(
                lines.contains { $0.hasPrefix("SNAP") && $0.contains("/t0 ") } && lines.last?.hasPrefix("LIVE") == true)
        }
    }

    @Test("W43: a resume deletes a widget that ends before the scan reaches its place")
    func goneAhead() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 1
        let house = try HubHarness(kinds: VisitTests.kinds, configuration: configuration)
        let phone = house.connect(as: "alice")
        for number in 0..<3 {
            house.send("TILE @wrist/t\(number) do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        }
        let second = house.time.milliseconds / 1_000
        let content = #"{"content-state":{"from":\#(second),"to":\#(second + 600),"n":1}}"#
        for id in ["a", "b"] { house.send("EVT coffee-order/\(id) type=start for=alice \(content)", from: phone) }
        let (other, watch) = (try BoardDevice.watch(house), try BoardDevice.watch(house, as: nil))
        let id = VisitTests.id("hint/b")
        #expect(other.rows[id] != nil && watch.rows[id] != nil)
        let cursor = try #require(watch.cursor)
        house.disconnect(watch.client)
        house.send("EVT coffee-order/a type=start for=alice eid=1 \(content)", from: phone)
        let back = house.connect()
        // The resume and the end are decided before any row is drawn.
        house.post("SUB @wrist/* view=watch from=\(cursor)", from: back)
        house.commit()
        house.post("EVT coffee-order/b type=cancel", from: phone)
        house.commit()
        house.turn()
        let lines = house.lines(of: back)
        #expect(lines.contains { $0.hasPrefix("DEL") && $0.contains("@wrist/\(id)") }, "\(lines)")
        #expect(try other.read().contains("-\(id)"))
    }

    @Test("A board is found without a walk over all keys", arguments: [nil, "alice"])
    func noWalk(account: String?) throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 4
        configuration.limits.keysPerLook = 1
        let house = try HubHarness(kinds: VisitTests.kinds, configuration: configuration)
        let shop = house.connect()
        for number in 0..<50 { house.send("EVT coffee-order/\(number) type=start {}", from: shop) }
        house.send("TILE @b/t0 do=add widget=sales/s0 family=accessoryRectangular", from: shop)
        let client = account.map { house.connect(as: $0) } ?? house.connect()
        house.post("SUB @b/* view=phone", from: client)
        house.commit()
        let selector = house.hub.subscriptions[SubscriptionIndex(0)]?.selector
        let count = selector.map { house.hub.store.candidateCount(for: account, followedBy: $0) }
        let waitingCount = house.hub.subscriptions[SubscriptionIndex(0)]?.waitingCount
        #expect(count == 1 && waitingCount == 1)
    }
}
