import TelltaleClient
import TelltaleModel
import Testing

/// When a client connects again, and when it gives a silent connection up.
struct BackoffTests {
    @Test("The wait grows to its limit, with chance in it", arguments: [0, 1, UInt64.max / 2, .max])
    func backoff(random: UInt64) {
        var script = Script()
        for failures in 0..<12 {
            let whole = min(100 << failures, 10_000)
            script.drop(random: random)
            let wait = script.client.deadline.map { $0 - script.now } ?? .zero
            #expect((Int64(whole / 2)...Int64(whole)).contains(wait.count))
            #expect(!script.client.wantsConnection)
            script.pass(Milliseconds(wait.count - 1))
            #expect(!script.client.wantsConnection)
            script.pass(Milliseconds(1))
            #expect(script.client.wantsConnection)
        }
        script.introduce()
        script.pass(.seconds(1))
        script.drop(random: random)
        #expect((50...100).contains(script.client.deadline.map { ($0 - script.now).count } ?? 0))
    }

    @Test("A server that cuts as soon as it serves is left alone for longer and longer", arguments: [0, 1, 999, 1000])
    func cutAtOnce(served: Int64) {
        var script = Script()
        var waits: [String] = []
        for _ in 0..<5 {
            script.introduce()
            script.pass(Milliseconds(served))
            script.drop()
            waits.append(script.received.last ?? "")
            script.pass(.seconds(10))
        }
        let expected = served < 1000 ? [50, 100, 200, 400, 800] : [50, 50, 50, 50, 50]
        #expect(waits == expected.map { "disconnected, again after \($0)" })
    }

    @Test func `a connection that is not accepted is given up, and tried again`() {
        var script = Script()
        script.client.connecting(at: script.now)
        #expect(!script.client.wantsConnection, "it is on its way")
        script.pass(Milliseconds(9_999))
        #expect(!script.client.wantsClose)
        script.pass(Milliseconds(1))
        #expect(script.client.wantsClose)
        #expect(script.client.closeReason == "the server took no connection within 10000 ms")
        #expect(script.client.deadline == nil, "all that is left to happen is the close")
        script.drop()
        #expect(script.received == ["disconnected, again after 50"])
        script.pass(Milliseconds(50))
        #expect(script.client.wantsConnection)
        script.client.connecting(at: script.now)
        script.pass(.seconds(9))
        script.introduce()
        #expect(script.received.last == "ready 00000000000000aa")
        script.pass(.seconds(2))
        #expect(!script.client.wantsClose, "what it took to connect is over")
    }

    @Test func `different chances give different waits`() {
        let waits = (0..<50).map { Backoff().wait(afterFailures: 20, random: $0 &* 0x9E37_79B9_7F4A_7C15).count }
        #expect(Set(waits).count > 40)
    }

    @Test(
        "A server that goes down says when to come back",
        arguments: [(0, 200), (100, 300), (101, 200)] as [(UInt64, Int64)])
    func bye(_ example: (random: UInt64, wait: Int64)) {
        var script = Script()
        script.introduce()
        script.server("BYE code=drain wait=200-300")
        #expect(script.received.last == "farewell BYE drain")
        script.drop(random: example.random)
        #expect(script.received.last == "disconnected, again after \(example.wait)")
    }

    @Test(
        "A nonsensical wait is not followed", arguments: ["wait=300-200", "wait=-", "wait=x-y", "wait=5", "wait=-5-7"])
    func badWait(attribute: String) {
        var script = Script()
        script.introduce()
        script.server("BYE code=drain \(attribute)")
        script.drop()
        #expect(script.received.last == "disconnected, again after 50")
    }

    @Test func `a server that does not greet, answer or speak is given up`() {
        var script = Script()
        script.client.connected(at: script.now)
        script.pass(Milliseconds(9_999))
        #expect(!script.client.wantsClose)
        script.pass(Milliseconds(1))
        #expect(script.client.wantsClose)
        #expect(script.client.deadline == nil, "all that is left to happen is the close")
        script.dropAndWait()
        script.client.connected(at: script.now)
        #expect(!script.client.wantsClose)
        script.server(Script.greeting)
        script.pass(.seconds(10))
        #expect(script.client.wantsClose)
        script.dropAndWait()
        script.introduce()
        script.pass(.seconds(59))
        script.server("MARK now=1")
        script.pass(.seconds(59))
        #expect(!script.client.wantsClose)
        script.pass(.seconds(1))
        #expect(script.client.wantsClose)
    }

    @Test func `silence is three of the heartbeats that HELLO was granted, and not of the greeting's`() {
        var script = Script { $0.heartbeat = .seconds(120) }
        script.client.connected(at: script.now)
        script.server(Script.greeting)
        script.server("OK id=1 conn=c1 hb=120000")
        for _ in 0..<3 {
            script.pass(.seconds(119))
            #expect(!script.client.wantsClose)
        }
        script.pass(.seconds(3))
        #expect(script.client.wantsClose)
    }

    @Test func `a client that promised heartbeats sends them when it is silent`() {
        var script = Script { $0.heartbeat = .seconds(5) }
        script.introduce()
        script.pass(Milliseconds(4999))
        #expect(script.sent() == [])
        script.pass(Milliseconds(1))
        #expect(script.sent() == ["PING id=2"])
        script.server("PONG id=2")
        #expect(script.received == ["ready 00000000000000aa"])
    }

    @Test func `one heartbeat waits for a socket that takes nothing, and no more behind it`() throws {
        var script = Script { $0.heartbeat = .seconds(5) }
        script.introduce()
        for _ in 0..<4 {
            let deadline = try #require(script.client.deadline)
            #expect(deadline - script.now == .seconds(5), "and it does not ask at once for the next one")
            for _ in 0..<100 { script.pass(Milliseconds(50)) }
            // Heard, so that it is not given up.
            script.server("MARK now=1")
        }
        #expect(script.sent() == ["PING id=2"])
    }
}
