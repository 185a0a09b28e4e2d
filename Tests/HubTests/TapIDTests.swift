import TelltaleModel
import Testing

@testable import Hub

/// The ids of taps: one acts once for a sender, and for how long it is remembered.
struct TapIDTests {
    @Test func `an id of a tap acts once for an account, on whichever of its devices`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, phone, watch, other) = (harness.connect(), harness.connect(), harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("HELLO account=alice", from: phone)
        harness.send("HELLO account=alice", from: watch)
        // A client whose name equals the account's is another sender.
        harness.send("HELLO client=alice", from: other)
        let first = harness.send("SET porch-light/front value=on eid=t", from: phone)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        let again = harness.send("SET porch-light/front value=on eid=t if=1", from: watch)
        #expect(again.first?.hasPrefix("OK op=\(operation) verdict=duplicate phase=pending") == true)
        #expect(harness.send("STATS", from: watch).contains { $0.contains(#""duplicate":1"#) })
        #expect(
            harness.send("SET porch-light/front value=off eid=t", from: watch).first?.contains("dup_mismatch") == true)
        #expect(harness.send("SET porch-light/front value=off eid=t", from: other).first?.contains("verdict=") == false)
        // A refused tap does not use its id up.
        #expect(
            harness.send("SET porch-light/front value=on eid=u if=1", from: phone).first?.contains("stale_rev") == true)
        #expect(harness.send("SET porch-light/front value=on eid=u", from: phone).first?.hasPrefix("OK op=") == true)
    }

    @Test func `an id of a tap acts once for a client, on whichever of its connections`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let lamp = harness.connect()
        harness.serveLight(from: lamp)
        let answers = ["remote/1", "remote/1", "remote/2"].map { name in
            let client = harness.connect()
            harness.send("HELLO client=\(name)", from: client)
            return harness.send("SET porch-light/front value=on eid=t", from: client).first ?? ""
        }
        #expect(answers.map { HubHarness.attribute("verdict", of: $0) } == [nil, "duplicate", nil])
    }

    @Test func `an id of a tap is forgotten by the real clock, however fast the kinds' clock runs`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let client = harness.connect()
        harness.serveLight(from: client)
        let start = harness.now
        func send(_ line: String, timeAfter: Milliseconds, wallAfter: Milliseconds) {
            harness.post(line, from: client)
            let now = HubTime(
                time: start.time + timeAfter, wall: start.wall + wallAfter, monotonic: start.monotonic)
            _ = harness.hub.decide(at: now)
            harness.hub.committed(at: now)
        }
        send("SET porch-light/front value=on eid=t", timeAfter: .days(30), wallAfter: .zero)
        let known = harness.hub.store.tapCount
        #expect(known == 1)
        send("REPORT porch-light/front value=off", timeAfter: .days(40), wallAfter: .days(8))
        let left = harness.hub.store.tapCount
        #expect(left == 0)
    }

    @Test func `the id of a nameless connection means nothing to one of the same number after a restart`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        var (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        #expect(harness.send("SET porch-light/front value=on eid=1", from: screen).first?.contains("op=") == true)
        try harness.restart()
        (lamp, screen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamp)
        let reply = harness.send("SET porch-light/front value=on eid=1", from: screen)
        #expect(reply.first?.contains("verdict=duplicate") == false)
        #expect(harness.operation(askedOf: lamp) != nil)
    }
}
