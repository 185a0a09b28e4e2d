import TelltaleClient
import TelltaleModel
import TelltaleWire
import Testing

struct ReconnectTests {
    @Test func `a subscription resumes from the last cursor, byte for byte`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", #"SNAP sub=1 key=a/1 rev=1 {"n":1}"#, "LIVE sub=1 cur=E:1:S",
            #"UPD sub=1 key=a/2 rev=2 cur=E:2:S {"n":2}"#, "MARK now=1 sub=1 cur=E:3:S",
            #"UPD sub=1 key=a/2 rev=4 {"n":4}"#)
        script.dropAndWait()
        #expect(script.introduce() == ["SUB * from=E:3:S id=4"])
        script.server(
            "OK id=4 sub=1", #"UPD sub=1 key=a/2 rev=4 why=resume {"n":4}"#, "DEL sub=1 key=a/1 rev=5 why=dismissed",
            "LIVE sub=1 cur=E:5:S")
        #expect(script.client.rows(of: subscription).map(\.rev) == [4])
        #expect(script.received.suffix(3) == [#"upd a/2 4 {"n":4}"#, "del a/1 5 dismissed", "live"])
        #expect(script.client.cursor(of: subscription) == "E:5:S")
    }

    @Test func `after a RESET, rows that are not in the new snapshot are gone at LIVE`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "SNAP sub=1 key=a/1 rev=1 {}", "SNAP sub=1 key=a/2 rev=2 {}",
            "SNAP sub=1 key=a/3 rev=3 {}",
            "LIVE sub=1 cur=E:3:S")
        script.dropAndWait()
        script.introduce()
        script.server("OK id=4 sub=1", "RESET sub=1 why=expired", "SNAP sub=1 key=a/2 rev=2 {}")
        #expect(script.client.rows(of: subscription).count == 3)
        script.server("LIVE sub=1 cur=E:9:S")
        #expect(
            script.received.suffix(5) == [
                "reset expired", "snap a/2 2 {}", "del a/1 1 reset", "del a/3 3 reset", "live",
            ])
        #expect(script.client.rows(of: subscription).map(\.key.text) == ["a/2"])
    }

    @Test func `half a picture has no cursor: a new one is asked for`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "SNAP sub=1 key=a/1 rev=1 cur=E:1:S {}")
        script.dropAndWait()
        #expect(script.introduce() == ["SUB * id=4"])
        script.server("OK id=4 sub=1", "SNAP sub=1 key=a/2 rev=2 {}", "LIVE sub=1 cur=E:2:S")
        #expect(script.client.rows(of: subscription).map(\.key.text) == ["a/2"])
    }

    @Test func `half a picture after a RESET is none either`() throws {
        var script = Script()
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "LIVE sub=1 cur=E:1:S")
        script.dropAndWait()
        script.introduce()
        script.server("OK id=4 sub=1", "RESET sub=1 why=epoch", "SNAP sub=1 key=a/2 rev=2 {}")
        script.dropAndWait()
        #expect(script.introduce() == ["SUB * id=6"])
    }

    @Test func `a cursor that the server cannot read is given up`() throws {
        var script = Script()
        var command = try subscribe("*")
        command.from = Cursor(epoch: 1, sequence: 2, selection: 3)
        _ = script.client.subscribe(command)
        #expect(script.introduce() == ["SUB * from=0000000000000001:2:0003 id=2"])
        script.server(#"ERR id=2 code=bad_cursor retry=no {"msg":"?"}"#)
        #expect(script.sent() == ["SUB * id=3"])
        script.server(#"ERR id=3 code=limit_subs retry=no {"msg":"?"}"#)
        #expect(script.received.last == "sub refused limit_subs")
        script.dropAndWait()
        #expect(script.introduce() == [])
    }

    @Test func `unanswered events are sent again, in order, with the ids they had`() throws {
        var script = Script()
        for number in 1...3 { script.client.post(try event("a/\(number)", "start")) }
        let first = script.introduce()
        #expect(first.map { $0.split(separator: " ")[4] } == ["eid=run-1", "eid=run-2", "eid=run-3"])
        script.server("OK id=1 verdict=applied rev=1")
        script.client.post(try event("a/4", "start"))
        script.dropAndWait()
        let second = script.introduce()
        #expect(second == [String](first[1...]) + ["EVT a/4 type=start id=5 eid=run-4"])
        script.server(
            "OK id=2 verdict=duplicate rev=2", "OK id=3 verdict=applied rev=3", "OK id=5 verdict=applied rev=4")
        #expect(
            script.received.filter { $0.hasPrefix("reply") }
                == ["reply OK applied", "reply OK duplicate", "reply OK applied", "reply OK applied"])
        #expect(script.client.pendingRequestCount == 0)
        script.dropAndWait()
        #expect(script.introduce() == [])
    }

    @Test func `however often the connection goes, no event is forgotten and no id used twice`() throws {
        var script = Script { $0.windowCount = 7 }
        var acknowledged: [String] = []
        var seen: Set<String> = []
        var state: UInt64 = 42
        for number in 1...200 { script.client.post(try event("a/\(number)", "start")) }
        while script.client.pendingRequestCount > 0 {
            var lines = script.introduce()
            while !lines.isEmpty {
                for line in lines {
                    let eid = try line.split(separator: " ").first { $0.hasPrefix("eid=") }.unwrapped
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    // One line in sixteen is taken, and its answer lost with the connection.
                    let isDropped = state >> 60 == 0
                    if seen.insert(String(eid)).inserted { acknowledged.append(String(eid)) }
                    if isDropped { break }
                    script.server("OK id=\(id(of: line)) verdict=applied")
                }
                lines = script.client.pendingRequestCount == 0 || state >> 60 == 0 ? [] : script.sent()
            }
            script.dropAndWait()
        }
        #expect(acknowledged == (1...200).map { "eid=run-\($0)" })
        #expect(script.received.filter { $0.hasPrefix("reply") }.count == 200)
    }

    @Test func `requests that cannot be repeated safely are reported as lost, the rest is sent again`() throws {
        var script = Script()
        script.client.request(.done(op: "o1", value: true))
        script.client.request(.list(.all, view: nil))
        script.client.request(.tap(TapCommand(try key("a/b"), .press)))
        script.introduce()
        script.drop()
        #expect(script.received.suffix(4) == ["lost", "restarted", "restarted", "disconnected, again after 50"])
        script.pass(.seconds(1))
        #expect(script.introduce() == ["LIST * id=2", "PRESS a/b eid=run-1 id=3"])
    }

    @Test func `an event refused by a server that goes down waits for the next one`() throws {
        var script = Script()
        script.client.post(try event("a/1", "start"))
        script.client.post(try event("a/2", "start"))
        let first = script.introduce()
        script.server(
            #"ERR id=1 code=shutting_down retry=later {"msg":"?"}"#,
            #"ERR id=2 code=shutting_down retry=later {"msg":"?"}"#)
        #expect(script.client.pendingRequestCount == 2)
        script.dropAndWait()
        #expect(script.introduce() == first)
    }

    @Test func `without reconnecting, a lost connection ends everything`() throws {
        var script = Script { $0.reconnects = false }
        script.client.post(try event("a/1", "start"))
        script.introduce()
        script.client.request(.ping)
        script.drop()
        #expect(script.received.suffix(3) == ["disconnected for good", "lost", "lost"])
        #expect(script.client.isOver)
        script.client.request(.ping)
        #expect(script.client.takeEvents().map(describe) == ["lost"])
    }

    @Test func `a subscription that is refused for now is asked for again with another connection`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "SNAP sub=1 key=a/1 rev=1 {}", "LIVE sub=1 cur=E:1:S")
        script.dropAndWait()
        script.introduce()
        script.server(#"ERR id=4 code=internal retry=later {"msg":"not now"}"#, "UPD sub=1 key=a/1 rev=2 {}")
        #expect(script.client.wantsClose)
        #expect(script.client.closeReason == "not now")
        #expect(script.received.last == "ready 00000000000000aa", "nothing is over")
        script.dropAndWait()
        #expect(script.introduce() == ["SUB * from=E:1:S id=6"])
        script.server("OK id=6 sub=1", "LIVE sub=1 cur=E:1:S")
        #expect(script.client.rows(of: subscription).map(\.key.text) == ["a/1"])
    }

    @Test func `a HELLO that is refused for now is said again`() {
        var script = Script()
        script.client.request(.ping)
        script.client.connected(at: script.now)
        script.server(Script.greeting, #"ERR id=2 code=shutting_down retry=later {"msg":"going down"}"#)
        #expect(script.client.wantsClose)
        script.drop()
        #expect(script.received == ["disconnected, again after 50"])
        script.pass(Milliseconds(50))
        #expect(script.introduce() == ["PING id=1"])
    }

    @Test func `a service that is refused for now is taken up again, and one that is refused is reported`() {
        var script = Script()
        script.client.request(.serve(kind: "light"))
        script.client.request(.serve(kind: "store"))
        script.introduce()
        script.server("OK id=1", "OK id=2")
        script.dropAndWait()
        #expect(script.introduce() == ["SERVE light id=5", "SERVE store id=6"])
        script.server(#"ERR id=5 code=internal retry=later {"msg":"not now"}"#)
        #expect(script.client.wantsClose)
        script.dropAndWait()
        #expect(script.introduce() == ["SERVE light id=8", "SERVE store id=9"])
        script.server(#"ERR id=8 code=unknown_kind retry=no {"msg":"it was removed"}"#, "OK id=9")
        #expect(script.received.last == "light not served: unknown_kind")
        #expect(!script.client.wantsClose)
        script.dropAndWait()
        #expect(script.introduce() == ["SERVE store id=11"])
    }

    @Test func `a situation that is not taken is reported`() {
        var script = Script { $0.traits = [Attribute(name: "locked", value: "yes")] }
        #expect(script.introduce() == ["TRAIT locked=yes id=2"])
        script.server(#"ERR id=2 code=bad_request retry=no {"msg":"?"}"#)
        #expect(script.received.last == "traits refused: bad_request")
        #expect(!script.client.wantsClose)
    }

    @Test("A client that does not reconnect, or leaves, reports a refusal for now", arguments: [true, false])
    func refusedForNowAndForGood(leaves: Bool) throws {
        var script = Script { $0.reconnects = leaves }
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        if leaves { script.client.leave() }
        script.server(#"ERR id=2 code=internal retry=later {"msg":"not now"}"#)
        #expect(script.received.last == "sub refused internal")
    }

    @Test func `a line longer than the server takes is refused by the client, and the next one is sent`() throws {
        var script = Script()
        var long = try event("a/1", "start")
        long.tail["note"] = .string(String(repeating: "x", count: 500))
        script.client.post(long)
        script.client.post(try event("a/2", "start"))
        let sent = script.introduce(greeting: Script.greeting.replacing("max_line=65536", with: "max_line=400"))
        script.pass(.zero)
        #expect(sent.count == 1 && sent[0].contains("a/2"))
        #expect(script.received.count { $0.contains("too_large") } == 1)
    }
}
