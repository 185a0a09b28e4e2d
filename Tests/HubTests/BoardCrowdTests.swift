import FanOut
import TelltaleModel
import Testing

@testable import Hub

/// Many requests about boards at once: a batch answers some of them, and none of the others waits for all.
struct BoardCrowdTests {
    private let harness: HubHarness
    private let other: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: RelevantWidgetTests.kinds)
        other = harness.connect()
        for number in 0..<20 {
            harness.send("TILE @b\(number)/t0 do=add widget=sales/s0 family=accessoryRectangular", from: other)
            harness.send("EVT coffee-order/\(number) type=start {}", from: other)
        }
    }

    /// How many lines of this form a client has after each batch, until nothing is left to do.
    private func counts(of client: HubHarness.Client, _ isWanted: (String) -> Bool) -> [Int] {
        var counts: [Int] = []
        repeat {
            harness.commit()
            harness.flush()
            counts.append(harness.lines(of: client).count(where: isWanted))
        } while harness.hub.hasWork(at: harness.now) && counts.count < 1_000
        return counts
    }

    @Test(
        "Pipelined reads of boards are spread over batches",
        arguments: ["GET @b%/t0 view=watch", "LIST @b%/* view=watch"])
    func reads(request: String) throws {
        let client = harness.connect()
        for number in 0..<1_000 { harness.post(request.replacing("%", with: "\(number % 20)"), from: client) }
        harness.post("PING id=1", from: other)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: other) == ["PONG id=1"])
        let first = harness.lines(of: client).count { $0.hasPrefix("OK") }
        #expect(first > 100 && first <= 16_384 / 64 + 1)
        let rest = counts(of: client) { $0.hasPrefix("OK") }
        #expect(rest.allSatisfy { $0 <= 2 * (16_384 / 64 + 1) } && first + rest.reduce(0, +) == 1_000)
    }

    @Test func `replies that wait behind a list look at no more keys in one write than a list does`() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysPerCheck = 130
        let harness = try HubHarness(kinds: RelevantWidgetTests.kinds, configuration: configuration)
        let client = harness.connect()
        harness.send("TILE @b/t0 do=add widget=sales/s0 family=accessoryRectangular", from: client)
        harness.post("LIST sales/*", from: client)
        for number in 0..<10 { harness.post("GET @b/t0 view=watch id=\(number)", from: client) }
        for number in 10..<500 { harness.post("LIST nothing/* id=\(number)", from: client) }
        harness.commit()
        var counts: [Int] = []
        while let id = harness.hub.nextReady() {
            var bytes: [UInt8] = []
            _ = harness.hub.output(for: id, at: harness.now, to: &bytes)
            counts.append(String(decoding: bytes, as: UTF8.self).split(separator: "\n").count { $0.hasPrefix("OK") })
        }
        #expect(counts.reduce(0, +) == 501 && counts[0] <= 4 && counts.allSatisfy { $0 <= 130 })
    }

    @Test func `crowds of subscriptions are spread over batches, and each gets its board`() throws {
        let clients = (0..<300).map { _ in harness.connect() }
        for (number, client) in clients.enumerated() { harness.post("SUB @b\(number % 20)/* view=watch", from: client) }
        harness.post("PING id=1", from: other)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: other) == ["PONG id=1"])
        holds(harness.hub.subscriptions.count <= 16_384 / 256 + 1)
        harness.turn()
        for client in clients {
            let lines = harness.lines(of: client)
            #expect(
                lines.contains { $0.hasPrefix("SNAP") && $0.contains("/t0 ") } && lines.last?.hasPrefix("LIVE") == true)
        }
    }

    @Test("W43: a resume deletes a widget that ends before the scan reaches its place")
    func goneAhead() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 1
        let harness = try HubHarness(kinds: RelevantWidgetTests.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        for number in 0..<3 {
            harness.send("TILE @wrist/t\(number) do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        }
        let second = harness.time.milliseconds / 1_000
        let content = #"{"content-state":{"from":\#(second),"to":\#(second + 600),"n":1}}"#
        for id in ["a", "b"] { harness.send("EVT coffee-order/\(id) type=start for=alice \(content)", from: phone) }
        let (other, watch) = (try TestBoardDevice.watch(harness), try TestBoardDevice.watch(harness, as: nil))
        let id = RelevantWidgetTests.id("hint/b")
        #expect(other.rows[id] != nil && watch.rows[id] != nil)
        let cursor = try #require(watch.cursor)
        harness.disconnect(watch.client)
        harness.send("EVT coffee-order/a type=start for=alice eid=1 \(content)", from: phone)
        let back = harness.connect()
        // The resume and the end are decided before any row is drawn.
        harness.post("SUB @wrist/* view=watch from=\(cursor)", from: back)
        harness.commit()
        harness.post("EVT coffee-order/b type=cancel", from: phone)
        harness.commit()
        harness.turn()
        let lines = harness.lines(of: back)
        #expect(lines.contains { $0.hasPrefix("DEL") && $0.contains("@wrist/\(id)") }, "\(lines)")
        #expect(try other.read().contains("-\(id)"))
    }

    @Test("A board is found without a walk over all keys", arguments: [nil, "alice"])
    func noScan(account: String?) throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 4
        configuration.limits.keysPerCheck = 1
        let harness = try HubHarness(kinds: RelevantWidgetTests.kinds, configuration: configuration)
        let shop = harness.connect()
        for number in 0..<50 { harness.send("EVT coffee-order/\(number) type=start {}", from: shop) }
        harness.send("TILE @b/t0 do=add widget=sales/s0 family=accessoryRectangular", from: shop)
        let client = account.map { harness.connect(as: $0) } ?? harness.connect()
        harness.post("SUB @b/* view=phone", from: client)
        harness.commit()
        let selector = harness.hub.subscriptions[SubscriptionIndex(0)]?.selector
        let count = selector.map { harness.hub.store.candidateCount(for: account, followedBy: $0) }
        let waitingCount = harness.hub.subscriptions[SubscriptionIndex(0)]?.waitingCount
        #expect(count == 1 && waitingCount == 1)
    }
}
