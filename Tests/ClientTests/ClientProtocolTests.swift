import TelltaleClient
import TelltaleModel
import TelltaleWire
import Testing

struct ClientProtocolTests {
    @Test("A whole conversation is the same, however its bytes were cut", arguments: 1...120)
    func cut(pieceLength: Int) throws {
        var script = Script(pieceLength: pieceLength)
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.client.request(.list(.all, view: nil))
        script.client.post(try event("a/b", "start"))
        _ = script.sent()
        script.server(
            "OK id=2 sub=1 view=full", #"SNAP sub=1 key=a/b rev=7 {"state":"naïve ☕️"}"#,
            "MARK now=7", "LIVE sub=1 cur=00000000000000aa:7:b0e4", #"SNAP sub=0 key=a/b rev=7 {"x":1}"#,
            "FUTURE verb=1 {}", "OK id=3 count=1", "MILE sub=1 key=a/b rev=8 state=ready at=5",
            #"ALERT sub=1 key=a/b rev=8 {"title":"T"}"#,
            #"UPD sub=1 key=a/b rev=8 skip=3 why=slow new=1 cur=00000000000000aa:8:b0e4 {"state":"y"}"#,
            "OK id=4 verdict=applied rev=8 state=y", "DEL sub=1 key=a/b rev=9 why=dismissed")
        #expect(
            script.received == [
                "ready 00000000000000aa", #"snap a/b 7 {"state":"naïve ☕️"}"#, "live", "item SNAP a/b", "reply OK ",
                "mile a/b 8 ready 5", #"alert a/b 8 {"title":"T"}"#, #"upd a/b 8 {"state":"y"} skip 3"#,
                "reply OK applied", "del a/b 9 dismissed",
            ])
        #expect(!script.client.wantsClose)
    }

    @Test func `nothing but HELLO is sent before it is answered`() throws {
        var script = Script {
            $0.surface = .carplay
            $0.account = "alice"
            $0.traits = [Attribute(name: "locked", value: "yes")]
        }
        #expect(script.client.wantsConnection)
        script.client.request(.ping)
        script.client.request(.serve(kind: "porch-light"))
        _ = script.client.subscribe(try subscribe("a/*"))
        script.client.connected(at: script.now)
        #expect(script.sent() == [])
        script.server(Script.greeting)
        #expect(script.sent() == ["HELLO client=test/1 surface=carplay account=alice id=3"])
        #expect(script.sent() == [])
        script.server("OK id=3 conn=c1")
        let traits = [Attribute(name: "wrist", value: "down")]
        script.client.request(.traits(traits))
        #expect(
            script.sent() == [
                "TRAIT locked=yes id=4", "SUB a/* id=5", "PING id=1", "SERVE porch-light id=2", "TRAIT wrist=down id=6",
            ])
        script.server("OK id=4", "OK id=5 sub=1", "PONG id=1", "OK id=2", "OK id=6")
        script.dropAndWait()
        #expect(
            script.introduce() == ["TRAIT locked=yes wrist=down id=8", "SERVE porch-light id=9", "SUB a/* id=10"])
    }

    @Test func `rows are kept by key, and deletions forget them`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=9", #"SNAP sub=9 key=b/1 rev=1 {"n":1}"#, #"SNAP sub=9 key=a/1 rev=2 {"n":2}"#,
            "LIVE sub=9 cur=x", #"UPD sub=9 key=b/1 rev=3 {"n":3}"#, "DEL sub=9 key=a/1 rev=4 why=hidden",
            #"UPD sub=8 key=c/1 rev=5 {}"#)
        #expect(script.client.rows(of: subscription).map(\.rev) == [3])
        #expect(script.client.row(of: try key("b/1"), in: subscription)?.body["n"] == 3)
        #expect(script.client.row(of: try key("a/1"), in: subscription) == nil)
    }

    @Test func `the window bounds the unanswered requests`() throws {
        var script = Script { $0.windowCount = 2 }
        for number in 1...5 { script.client.post(try event("a/\(number)", "start")) }
        #expect(script.introduce().count == 2)
        #expect(script.sent() == [])
        script.server("OK id=1 verdict=applied")
        #expect(script.sent().count == 1)
        #expect(script.client.pendingRequestCount == 4)
    }

    @Test func `a reply out of its order is a violation, and ends the connection`() {
        var script = Script()
        script.client.request(.ping)
        script.client.request(.kinds)
        script.introduce()
        script.server("OK id=2 count=0", "PONG id=1")
        #expect(script.received.last == "violation: a reply out of order: id=2 where id=1 was due")
        #expect(script.client.wantsClose)
    }

    @Test(
        "What no server of ours says is a violation",
        arguments: [
            "OK id=77", "UPD sub=1 key=ab rev=1 {}", "UPD sub=1 key=a/b {}", "UPD sub=1 key=a/b rev=x {}",
            "SNAP sub=1 key=a/b rev=1 {", "\u{1}", "HIST key=a/b", "DO op=1", "DEL sub=1 rev=1",
        ])
    func violation(line: String) throws {
        var script = Script()
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", line)
        #expect(try script.received.last.unwrapped.hasPrefix("violation: "))
        #expect(script.client.wantsClose)
    }

    @Test(
        "What cannot be talked to is refused for good",
        arguments: [
            ("TELLTALE 2 epoch=1 hb=1", "the daemon speaks version 2 of the protocol, this client 1"),
            ("SSH-2 OpenSSH", "this is no telltale daemon: the server's bytes are no lines of the protocol"),
            ("HTTP nonsense", "this is no telltale daemon: it does not greet"),
        ])
    func refused(_ example: (greeting: String, reason: String)) throws {
        var script = Script()
        script.client.connected(at: script.now)
        script.server(example.greeting)
        #expect(try script.received.first.unwrapped.contains(example.reason))
        #expect(script.client.wantsClose)
        script.drop()
        #expect(script.client.isOver)
    }

    @Test func `a refused HELLO ends the client, and its waiting requests are lost`() {
        var script = Script()
        script.client.request(.ping)
        script.client.connected(at: script.now)
        script.server(Script.greeting, #"ERR id=2 code=auth_required retry=auth {"msg":"who are you?"}"#)
        script.drop()
        #expect(script.received == ["refused: who are you?", "disconnected for good", "lost"])
        #expect(script.client.isOver)
    }

    @Test func `a comment is nothing, but in the answer to HELP`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.client.connected(at: script.now)
        script.server("# hello", Script.greeting, "# well met")
        #expect(script.sent() == ["HELLO client=test/1 id=1"])
        script.server("OK id=1 conn=c1", "# there you are")
        #expect(script.sent() == ["SUB * id=2"])
        script.server("# wait", "OK id=2 sub=1", "SNAP sub=1 key=a/b rev=1 {}", "# half", "LIVE sub=1 cur=x", "# whole")
        script.client.request(.list(.all, view: nil))
        script.client.request(.help(verb: nil))
        #expect(script.sent() == ["LIST * id=3", "HELP id=4"])
        script.server("# of no list", "OK id=3 count=0", "# PING", "# LIST", "OK id=4", "# good night")
        #expect(
            script.received == [
                "ready 00000000000000aa", "snap a/b 1 {}", "live", "reply OK ", "item # PING", "item # LIST",
                "reply OK ",
            ])
        #expect(!script.client.wantsClose)
        #expect(script.client.rows(of: subscription).count == 1)
    }

    @Test func `a provider is asked to act`() {
        var script = Script()
        script.introduce()
        script.server(
            "DO op=o1 key=light/x action=set value=on deadline=9", "DO op=o2 key=coffee/y action=press deadline=9")
        #expect(script.received.suffix(2) == ["do o1 light/x on", "do o2 coffee/y press"])
    }

    @Test func `unsubscribing says so, and rows on their way are dropped`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "SNAP sub=1 key=a/b rev=1 {}")
        script.client.unsubscribe(subscription)
        #expect(script.sent() == ["UNSUB sub=1 id=3"])
        let received = script.received
        script.server("UPD sub=1 key=a/b rev=2 {}", "OK id=3")
        #expect(script.received == received)
        #expect(script.client.rows(of: subscription).isEmpty)
    }
}
