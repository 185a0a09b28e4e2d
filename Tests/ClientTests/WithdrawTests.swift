import TelltaleClient
import TelltaleModel
import TelltaleWire
import Testing

struct WithdrawTests {
    @Test func `what was never sent is not sent any more`() throws {
        var script = Script()
        let id = script.client.post(try event("a/b", "start"))
        let wasSent1 = script.client.withdraw(id)
        #expect(!wasSent1)
        let lines5 = script.introduce()
        #expect(lines5 == [])
        #expect(script.client.pendingRequestCount == 0)
    }

    @Test func `what was sent may have taken effect, and its reply is reported to nobody`() throws {
        var script = Script()
        let first = script.client.request(.list(.all, view: nil))
        script.client.request(.ping)
        let lines6 = script.introduce()
        #expect(lines6 == ["LIST * id=1", "PING id=2"])
        let wasSent2 = script.client.withdraw(first)
        #expect(wasSent2)
        script.server(#"SNAP sub=0 key=a/b rev=7 {}"#, "OK id=1 count=1", "PONG id=2")
        #expect(script.received.filter { $0.hasPrefix("item") || $0.hasPrefix("reply OK") }.isEmpty)
        #expect(script.client.pendingRequestCount == 0 && !script.client.wantsClose)
    }

    @Test func `a connection that is lost does not send it again, nor forgets that it was sent`() throws {
        var script = Script()
        let first = script.client.post(try event("a/b", "start"))
        let second = script.client.post(try event("a/b", "ready"))
        script.introduce()
        let wasSent3 = script.client.withdraw(first)
        #expect(wasSent3)
        script.dropAndWait()
        let wasSent4 = script.client.withdraw(second)
        #expect(wasSent4)
        let lines7 = script.introduce()
        #expect(lines7 == [])
    }

    @Test func `a token is reported to a server that wants one, and to no other`() {
        var script = Script { $0.token = "tt_secret" }
        script.client.connected(at: script.now)
        script.server(Script.greeting)
        let lines8 = script.sent()
        #expect(lines8 == ["HELLO client=test/1 id=1"])
        var strict = Script { $0.token = "tt_secret" }
        strict.client.connected(at: strict.now)
        strict.server(Script.greeting.replacing("auth=none", with: "auth=token"))
        let lines9 = strict.sent()
        #expect(lines9 == ["HELLO client=test/1 id=1 token=tt_secret"])
    }

    @Test func `a token that is no value goes into the tail`() {
        let token = String(repeating: "x", count: 257)
        var script = Script { $0.token = token }
        script.client.connected(at: script.now)
        script.server(Script.greeting.replacing("auth=none", with: "auth=token"))
        let lines10 = script.sent()
        #expect(lines10 == ["HELLO client=test/1 id=1 {\"token\":\"\(token)\"}"])
    }
}
