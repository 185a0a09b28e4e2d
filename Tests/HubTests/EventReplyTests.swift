import TelltaleModel
import Testing

/// The reply to an event names what had no effect, and the probable mistake.
struct EventReplyTests {
    @Test(
        "Members of a tail that have no meaning are listed in the reply, and do not stand in the history",
        arguments: [
            (#"{"rider":"Ana"}"#, "rider"), (#"{"content":{"eta":1}}"#, "content"),
            (#"{"state":"ready","rider":1,"content-state":{"eta":1},"alert":{}}"#, "rider,state"),
            (#"{"a b,c":1,"é":2,"":3}"#, "-,a?b?c,??"),
        ])
    func unknownMembers(tail: String, names: String) throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let reply = harness.send("EVT coffee-order/1 type=confirm \(tail)", from: shop)
        #expect(reply.last.flatMap { HubHarness.attribute("ignored", of: $0) } == names)
        let reported = try HubHarness.tail(harness.send("HISTORY coffee-order/1", from: shop).dropLast().last)
        #expect(reported["ignored"]?.array?.compactMap(\.string) == names.split(separator: ",").map(String.init))
        #expect(reported["rider"] == nil && reported["content"] == nil && reported["state"] == "active queued")
        #expect((reported["content-state"] != nil) == tail.contains("content-state"))
    }

    @Test func `attributes that are unknown stand before members, and a name stands once`() throws {
        let harness = try HubHarness()
        let reply = harness.send(
            #"EVT coffee-order/1 type=start colour=red size=2 {"size":1,"content-state":{},"shelf":2}"#,
            from: harness.connect())
        #expect(reply.last.flatMap { HubHarness.attribute("ignored", of: $0) } == "colour,size,shelf")
    }

    @Test func `a thousand unknown members are listed as far as a value has room`() throws {
        let harness = try HubHarness()
        let members = (0..<1000).map { "\"member\($0)\":0" }.joined(separator: ",")
        let reply = harness.send("EVT coffee-order/1 type=start {\(members)}", from: harness.connect())
        let value = try #require(reply.last.flatMap { HubHarness.attribute("ignored", of: $0) })
        #expect(value.hasPrefix("member0,member1,") && value.utf8.count <= 256 && value.utf8.count > 240)
        let long = String(repeating: "x", count: 300)
        let other = harness.send(#"EVT coffee-order/2 type=start {"\#(long)":0}"#, from: harness.connect())
        #expect(other.last.flatMap { HubHarness.attribute("ignored", of: $0) } == String(repeating: "x", count: 64))
    }

    @Test func `an event that no state handles is named, and one that this state does not handle is not`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let typo = harness.send("EVT coffee-order/1 type=comfirm", from: shop)
        #expect(try HubHarness.tail(typo.last) == ["msg": "no state of coffee-order handles comfirm"])
        let early = harness.send("EVT coffee-order/1 type=collect", from: shop)
        #expect(early.last?.contains("verdict=ignored") == true && early.last?.contains("{") == false)
        #expect(harness.send("EVT coffee-order/1 type=confirm", from: shop).last?.contains("{") == false)
    }

    @Test func `a date in seconds is reported, and so is one far ahead`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        let seconds = harness.send("EVT coffee-order/1 type=start at=1763719200", from: shop)
        #expect(try HubHarness.tail(seconds.last)["msg"]?.string?.contains("milliseconds") == true)
        let ahead = harness.send("EVT coffee-order/1 type=confirm at=1763799200000", from: shop)
        #expect(try HubHarness.tail(ahead.last)["msg"]?.string?.contains("8 hours ahead") == true)
        for time in ["1763719200000", "0", "9007199254740991", "1000"] {
            let reply = harness.send("EVT coffee-order/2 type=start at=\(time)", from: shop)
            #expect(reply.last?.contains("seconds") == false)
        }
    }
}
