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
        #expect(script.told.suffix(3) == [#"upd a/2 4 {"n":4}"#, "del a/1 5 dismissed", "live"])
        #expect(script.client.cursor(of: subscription) == "E:5:S")
    }

    @Test func `after a RESET, what is not in the new picture is gone at LIVE`() throws {
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
            script.told.suffix(5) == ["reset expired", "snap a/2 2 {}", "del a/1 1 reset", "del a/3 3 reset", "live"])
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
        #expect(script.told.last == "sub refused limit_subs")
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
            script.told.filter { $0.hasPrefix("reply") }
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
        #expect(script.told.filter { $0.hasPrefix("reply") }.count == 200)
    }

    @Test func `what cannot be repeated safely is told as lost, the rest is asked again`() throws {
        var script = Script()
        script.client.request(.done(op: "o1", value: true))
        script.client.request(.list(.all, view: nil))
        script.client.request(.press(try key("a/b"), eid: nil))
        script.introduce()
        script.drop()
        #expect(script.told.suffix(4) == ["lost", "restarted", "restarted", "disconnected, again after 50"])
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
        #expect(script.told.suffix(3) == ["disconnected for good", "lost", "lost"])
        #expect(script.client.isOver)
        script.client.request(.ping)
        #expect(script.client.takeEvents().map(describe) == ["lost"])
    }

    // MARK: When

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
            waits.append(script.told.last ?? "")
            script.pass(.seconds(10))
        }
        let expected = served < 1000 ? [50, 100, 200, 400, 800] : [50, 50, 50, 50, 50]
        #expect(waits == expected.map { "disconnected, again after \($0)" })
    }

    @Test func `a connection that nobody takes is given up, and tried again`() {
        var script = Script()
        script.client.connecting(at: script.now)
        #expect(!script.client.wantsConnection, "it is on its way")
        script.pass(Milliseconds(9_999))
        #expect(!script.client.wantsClose)
        script.pass(Milliseconds(1))
        #expect(script.client.wantsClose)
        #expect(script.client.closeReason == "nobody took the connection within 10000 ms")
        #expect(script.client.deadline == nil, "all that is left to happen is the close")
        script.drop()
        #expect(script.told == ["disconnected, again after 50"])
        script.pass(Milliseconds(50))
        #expect(script.client.wantsConnection)
        script.client.connecting(at: script.now)
        script.pass(.seconds(9))
        script.introduce()
        #expect(script.told.last == "ready 00000000000000aa")
        script.pass(.seconds(2))
        #expect(!script.client.wantsClose, "what it took to connect is over")
    }

    // MARK: Refused for now

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
        #expect(script.told.last == "ready 00000000000000aa", "nothing is over")
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
        #expect(script.told == ["disconnected, again after 50"])
        script.pass(Milliseconds(50))
        #expect(script.introduce() == ["PING id=1"])
    }

    @Test func `a service that is refused for now is taken up again, and one that is refused is told`() {
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
        #expect(script.told.last == "light not served: unknown_kind")
        #expect(!script.client.wantsClose)
        script.dropAndWait()
        #expect(script.introduce() == ["SERVE store id=11"])
    }

    @Test func `a situation that is not taken is told`() {
        var script = Script { $0.traits = [Attribute(name: "locked", value: "yes")] }
        #expect(script.introduce() == ["TRAIT locked=yes id=2"])
        script.server(#"ERR id=2 code=bad_request retry=no {"msg":"?"}"#)
        #expect(script.told.last == "traits refused: bad_request")
        #expect(!script.client.wantsClose)
    }

    @Test("Who does not reconnect, or leaves, is told what is refused for now", arguments: [true, false])
    func refusedForNowAndForGood(leaves: Bool) throws {
        var script = Script { $0.reconnects = leaves }
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        if leaves { script.client.leave() }
        script.server(#"ERR id=2 code=internal retry=later {"msg":"not now"}"#)
        #expect(script.told.last == "sub refused internal")
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
        #expect(script.told.last == "farewell BYE drain")
        script.drop(random: example.random)
        #expect(script.told.last == "disconnected, again after \(example.wait)")
    }

    @Test(
        "A nonsensical wait is not followed", arguments: ["wait=300-200", "wait=-", "wait=x-y", "wait=5", "wait=-5-7"])
    func badWait(attribute: String) {
        var script = Script()
        script.introduce()
        script.server("BYE code=drain \(attribute)")
        script.drop()
        #expect(script.told.last == "disconnected, again after 50")
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

    @Test func `a client that promised heartbeats sends them when it is silent`() {
        var script = Script { $0.heartbeat = .seconds(5) }
        script.introduce()
        script.pass(Milliseconds(4999))
        #expect(script.sent() == [])
        script.pass(Milliseconds(1))
        #expect(script.sent() == ["PING id=2"])
        script.server("PONG id=2")
        #expect(script.told == ["ready 00000000000000aa"])
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

    // MARK: Promise P3

    @Test func `a rev that goes back is told and not believed`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {"n":5}"#,
            #"UPD sub=1 key=a/b rev=4 {"n":4}"#)
        #expect(script.told.last == "violation: a/b went back from rev 5 to 4")
        #expect(script.client.rows(of: subscription).map(\.rev) == [5])
        script.server("DEL sub=1 key=a/b rev=3 why=hidden")
        #expect(script.told.last == "violation: a/b went back from rev 5 to 3")
        #expect(!script.client.wantsClose)
    }

    @Test func `after a new epoch revs begin anew`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "SNAP sub=1 key=a/b rev=5 {}", "LIVE sub=1 cur=x")
        script.dropAndWait()
        script.introduce(greeting: Script.greeting.replacing("epoch=00000000000000aa", with: "epoch=00000000000000bb"))
        script.server("OK id=4 sub=1", "RESET sub=1 why=epoch", "SNAP sub=1 key=a/b rev=1 {}", "LIVE sub=1 cur=y")
        #expect(!script.told.contains { $0.hasPrefix("violation") })
        #expect(script.client.rows(of: subscription).map(\.rev) == [1])
    }

    @Test("The full view has one body for a rev, a surface's view may have several", arguments: [nil, Surface.watch])
    func twoBodies(surface: Surface?) throws {
        var script = Script { $0.surface = surface }
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {"n":5}"#,
            #"UPD sub=1 key=a/b rev=5 {"n":6}"#)
        #expect(script.told.contains("violation: a/b has two bodies for rev 5") == (surface == nil))
    }

    @Test(
        "On another connection a control's row need not show a wish, and an activity's is the same",
        arguments: [(#""control":"toggle","#, false), ("", true)])
    func wishOfAnOldConnection(member: String, isViolation: Bool) throws {
        var script = Script()
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {\#(member)"shown":true}"#)
        script.dropAndWait()
        script.introduce()
        script.server("OK id=4 sub=1", #"UPD sub=1 key=a/b rev=5 {\#(member)"shown":false}"#, "LIVE sub=1 cur=y")
        #expect(script.told.contains("violation: a/b has two bodies for rev 5") == isViolation)
    }

    @Test func `what is longer than the server takes is refused here, and what stands behind it is sent`() throws {
        var script = Script()
        var long = try event("a/1", "start")
        long.tail["note"] = .string(String(repeating: "x", count: 500))
        script.client.post(long)
        script.client.post(try event("a/2", "start"))
        let sent = script.introduce(greeting: Script.greeting.replacing("max_line=65536", with: "max_line=400"))
        script.pass(.zero)
        #expect(sent.count == 1 && sent[0].contains("a/2"))
        #expect(script.told.count { $0.contains("too_large") } == 1)
    }
}
