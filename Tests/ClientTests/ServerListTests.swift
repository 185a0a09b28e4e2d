import TelltaleClient
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

struct ServerListTests {
    @Test("Protocols/Clients/servers.table", arguments: try TableFile("Clients/servers.table").rows)
    func row(_ row: TableFile.Row) throws {
        let list = row[1].split(separator: ",").map { Self.address(String($0)) }
        var servers = ServerList(list)
        var step = "nothing"
        for input in row[2].split(separator: ";") {
            let words = input.split(separator: " ").map(String.init)
            let target = words.count == 3 ? words[2] : nil
            switch words[0] {
            case "begin":
                let random = UInt64(try #require(list.firstIndex(of: words[1])) + 7 * list.count)
                servers = ServerList(ServerList.beginning(with: list, random: random))
            case "failed": step = Self.describe(servers.failed())
            case "standby": step = Self.describe(servers.redirected(to: target))
            case "served":
                servers.served()
                servers.stayed()
                step = "nothing"
            case "bye":
                _ = servers.redirected(to: target, isDelayed: true)
                step = "wait"
            default: Issue.record("no input: \(input)")
            }
        }
        #expect(servers.address == Self.address(row[3]), "\(row)")
        #expect(step == row[4], "\(row)")
    }

    @Test("Protocols/Clients/dialing.table", arguments: try TableFile("Clients/dialing.table").rows)
    func dialing(_ row: TableFile.Row) throws {
        var servers = ServerList(row[1].split(separator: ",").map(String.init))
        for input in row[2].split(separator: ";") {
            let words = input.split(separator: " ").map(String.init)
            for _ in 0..<(words.count == 2 ? try #require(Int(words[1])) : 1) {
                switch words[0] {
                case "failed": _ = servers.failed()
                case "standby": _ = servers.redirected(to: words.count == 3 ? words[2] : nil)
                case "served": servers.served()
                default: Issue.record("no input: \(input)")
                }
            }
        }
        let limit = Milliseconds.seconds(try #require(Int64(row[3])))
        #expect(servers.dialSpan(limit: limit) == .seconds(try #require(Int64(row[4]))), "\(row)")
    }

    @Test("Protocols/Clients/staying.table", arguments: try TableFile("Clients/staying.table").rows)
    func staying(_ row: TableFile.Row) throws {
        var script = Script { $0.servers = ["A", "B", "C"] }
        let request = row[1] == "reader" ? Command.event(try event("a/1", "start")) : .serve(kind: "a")
        script.client.connecting(at: script.now)
        if row[2].hasPrefix("TELLTALE") {
            script.client.request(request)
            script.client.connected(at: script.now)
            script.server(row[2])
        } else {
            script.introduce(greeting: Self.standby + " role=standby serves=1")
            script.client.request(request)
            let sent = try #require(script.sent().first)
            script.server(row[2].replacing("ID", with: id(of: sent)))
        }
        if !script.client.wantsClose {
            // The server closes the connection after its BYE.
            guard row[2].hasPrefix("BYE") else {
                return #expect(row[3] == "A" && row[4] == "nothing" && script.client.address == "A", "\(row)")
            }
        }
        script.drop()
        #expect(script.client.address == row[3], "\(row)")
        let steps = ["at once": "0", "pause": "100", "wait": "5"]
        #expect(script.received.last == steps[row[4]].map { "disconnected, again after \($0)" }, "\(row)")
    }

    private static func address(_ text: String) -> String { text.replacing(/^t:/, with: "tls://") }

    private static func describe(_ step: ServerList.Step) -> String {
        switch step {
        case .atOnce: "at once"
        case .behindPause: "pause"
        case .behindBackoff: "back-off"
        }
    }

    @Test func `a client without a list has no address, and comes back as ever`() {
        var servers = ServerList([])
        #expect(servers.address == nil)
        #expect(servers.failed() == .behindBackoff)
        #expect(servers.redirected(to: "x:1") == .behindPause)
        #expect(servers.address == nil)
    }

    // MARK: A client of several servers

    static let standby =
        "TELLTALE 1 epoch=00000000000000aa seq=1 now=1 hb=20000 max_line=65536 auth=token server=0.1.0 node=n2"

    private func script(_ configure: (inout ClientConfiguration) -> Void = { _ in }) -> Script {
        Script {
            $0.servers = ["a:1", "b:1", "c:1"]
            $0.token = "tt_secret"
            configure(&$0)
        }
    }

    @Test func `a machine that is gone costs a client of several servers 2 s, and of one its whole patience`() {
        func given(_ servers: [String]) -> (deadline: Milliseconds, reason: String?) {
            var script = script { $0.servers = servers }
            script.client.connecting(at: script.now)
            let span = (script.client.deadline ?? script.now) - script.now
            script.pass(span)
            return (span, script.client.closeReason)
        }
        #expect(given(["a:1", "b:1"]) == (.seconds(2), "the server took no connection within 2000 ms"))
        #expect(given(["a:1"]) == (.seconds(10), "the server took no connection within 10000 ms"))
    }

    @Test func `a standby hears nothing from a client, and the leader that it names is next, at once`() throws {
        var script = script()
        script.client.post(try event("a/1", "start"))
        script.client.connected(at: script.now)
        script.server(Self.standby + " role=standby leader=c:1")
        #expect(script.sent() == [])
        #expect(script.client.wantsClose && script.client.closeReason == "n2 does not lead, and names c:1")
        script.drop()
        #expect(script.client.wantsConnection && script.client.address == "c:1")
        #expect(script.introduce(greeting: Self.standby + " role=leader term=3").count == 1)
    }

    @Test("Where nobody leads, the dice decide", arguments: [(0, 100), (1900, 2000), (1901, 100)] as [(UInt64, Int64)])
    func nobodyLeads(_ example: (random: UInt64, wait: Int64)) {
        var script = script()
        script.client.connected(at: script.now)
        script.server(Self.standby + " role=standby")
        script.drop(random: example.random)
        #expect(script.received == ["disconnected, again after \(example.wait)"])
        #expect(script.client.address == "b:1")
    }

    @Test func `a role that the client does not know is none that serves`() {
        var script = script()
        script.client.connected(at: script.now)
        script.server(Self.standby + " role=witness")
        #expect(script.client.wantsClose)
    }

    @Test func `a leader that was cut off, with an older term, is left`() {
        var script = script()
        script.introduce(greeting: Self.standby + " role=leader term=7")
        script.dropAndWait()
        script.client.connected(at: script.now)
        script.server(Self.standby + " role=leader term=6")
        #expect(script.client.closeReason == "n2 leads no more: it has term 6, and there is a leader of term 7")
        script.dropAndWait()
        // Another history counts its own.
        let other = Self.standby.replacing("aa seq", with: "bb seq") + " role=leader term=1"
        script.introduce(greeting: other)
        #expect(script.client.isReady)
    }

    @Test func `a lower term counts where it is still the answer a minute later, or behind a server by itself`() {
        var script = script()
        script.introduce(greeting: Self.standby + " role=leader term=7")
        func isLeft() -> Bool {
            script.dropAndWait()
            script.client.connected(at: script.now)
            script.server(Self.standby + " role=leader term=2")
            return script.client.wantsClose
        }
        // Each is 20 s later.
        for _ in 0..<3 { #expect(isLeft()) }
        #expect(!isLeft())
        // It is the newest now.
        script.dropAndWait()
        script.introduce(greeting: Self.standby + " role=leader term=3")
        #expect(script.client.isReady)
        #expect(isLeft())
        // A higher one begins the minute anew.
        script.dropAndWait()
        script.introduce(greeting: Self.standby + " role=leader term=3")
        script.pass(.seconds(61))
        #expect(isLeft())
        // The history has left its log.
        script.dropAndWait()
        script.introduce()
        #expect(!isLeft())
    }

    @Test func `a leader that stands down says where to, and when`() throws {
        var script = script()
        script.introduce()
        script.client.post(try event("a/1", "start"))
        _ = script.sent()
        script.server("BYE code=not_leader wait=5-5 leader=c:1")
        script.drop()
        #expect(script.received.last == "disconnected, again after 5")
        #expect(script.client.address == "c:1")
        script.pass(Milliseconds(5))
        #expect(script.introduce().count == 1, "the event is sent again")
    }

    @Test func `a tool that looks at each node stays at one that refuses what a leader answers`() throws {
        var script = script { $0.nodes = .any }
        script.introduce(greeting: Self.standby + " role=standby leader=c:1")
        script.client.post(try event("a/1", "start"))
        let request = try #require(script.sent().first)
        script.server("ERR id=\(id(of: request)) code=not_leader retry=now {\"msg\":\"n1 leads\",\"leader\":\"c:1\"}")
        #expect(!script.client.wantsClose)
        #expect(script.received.last?.contains("not_leader") == true, "\(script.received)")
    }

    @Test func `a farewell in the place of a greeting is one`() {
        var script = script()
        script.client.connected(at: script.now)
        script.server("BYE code=not_leader wait=5-5 leader=c:1")
        script.drop()
        #expect(script.received == ["farewell BYE not_leader", "disconnected, again after 5"])
        #expect(script.client.address == "c:1")
    }

    @Test func `a request that a deposed leader refuses is asked of the next`() throws {
        var script = script()
        script.client.post(try event("a/1", "start"))
        let first = script.introduce()
        script.server(#"ERR id=1 code=not_leader retry=now {"msg":"n3 leads","leader":"c:1"}"#)
        #expect(script.client.wantsClose)
        script.drop()
        #expect(script.client.address == "c:1" && script.client.wantsConnection)
        #expect(script.introduce() == first)
        #expect(!script.received.contains { $0.hasPrefix("reply") })
    }

    @Test func `a client that does not reconnect asks each server once`() {
        var script = script { $0.reconnects = false }
        for address in ["a:1", "b:1", "c:1"] {
            #expect(script.client.wantsConnection && script.client.address == address)
            script.client.connecting(at: script.now)
            script.drop()
        }
        #expect(script.client.isOver)
        #expect(
            script.received == [
                "disconnected, again after 0", "disconnected, again after 0", "disconnected for good",
            ])
    }

    @Test func `clients of one list begin at each of its addresses`() {
        let list = ["a:1", "b:1", "c:1"]
        let begun = (0..<6).map { ServerList(ServerList.beginning(with: list, random: $0)).address }
        #expect(begun == ["a:1", "b:1", "c:1", "a:1", "b:1", "c:1"])
        #expect(ServerList.beginning(with: list, random: .max).count == 3)
        #expect(ServerList.beginning(with: [String](), random: 5).isEmpty)
    }

    @Test func `a client stays at a node that forwards, whoever leads`() throws {
        var script = script()
        script.client.post(try event("a/1", "start"))
        // The term of a leader that it met before does not concern a node that follows.
        script.introduce(greeting: Self.standby + " role=leader term=7")
        script.dropAndWait()
        #expect(script.introduce(greeting: Self.standby + " role=standby serves=1").count == 1)
        script.dropAndWait()
        script.client.connected(at: script.now)
        script.server(Self.standby + " role=leader term=6")
        #expect(script.client.closeReason == "n2 leads no more: it has term 6, and there is a leader of term 7")
    }

    @Test func `a provider that is refused goes to the leader, and serves at any node that takes it`() throws {
        var script = script()
        let follower = Self.standby + " role=standby leader=c:1 serves=1"
        script.introduce(greeting: follower)
        script.client.request(.serve(kind: "porch-light"))
        let request = try #require(script.sent().first)
        script.server("ERR id=\(id(of: request)) code=not_leader retry=now {\"msg\":\"n1 leads\",\"leader\":\"c:1\"}")
        script.drop()
        #expect(script.client.address == "c:1" && script.client.wantsConnection)
        #expect(script.introduce(greeting: Self.standby + " role=leader term=3") == [request])
        script.server("OK id=\(id(of: request))")
        #expect(script.received.last == "reply OK ")
        script.pass(.seconds(2))
        script.dropAndWait()
        #expect(script.introduce(greeting: follower).contains { $0.hasPrefix("SERVE porch-light") })
    }

    @Test func `nodes that send a client to each other without serving it are left for a while`() throws {
        var script = script()
        // Each answers HELLO, and then refuses.
        for (address, wait) in [("b:1", 0), ("a:1", 100)] {
            script.introduce(greeting: Self.standby + " role=standby serves=1")
            script.server("BYE code=behind to=\(address)")
            script.drop()
            #expect(script.received.last == "disconnected, again after \(wait)")
        }
    }

    // MARK: What a client has seen

    private func hello(of script: inout Script, greeting: String) -> String {
        script.client.connected(at: script.now)
        script.server(greeting)
        return script.sent().first ?? ""
    }

    @Test(
        "A client that comes back says the newest commit that it has seen",
        arguments: [
            (["OK id=ID verdict=applied rev=41903 state=ready"], 41903),
            (["SNAP sub=1 key=a/1 rev=7 {}", "LIVE sub=1 cur=00000000000000aa:5:b0e4"], 7),
            (["SNAP sub=1 key=a/1 rev=5 {}", "LIVE sub=1 cur=00000000000000aa:9:b0e4"], 9),
            (["UPD sub=1 key=a/1 rev=12 {}", "DEL sub=1 key=a/1 rev=11 why=dismissed"], 12),
            (["MARK now=1 sub=1 cur=00000000000000aa:15:b0e4"], 15),
            (["ALERT sub=1 key=a/1 rev=13 {}"], 13), (["CHANGED sub=1 rev=14 count=1"], 14),
        ])
    func newestCommit(_ lines: [String], _ sequence: Int) throws {
        var script = script()
        script.introduce(greeting: Self.standby + " role=leader term=3")
        _ = script.client.subscribe(try subscribe("*"))
        let sub = try #require(script.sent().first)
        script.server("OK id=\(id(of: sub)) sub=1")
        script.client.post(try event("a/1", "start"))
        let request = try #require(script.sent().first)
        for line in lines { script.server(line.replacing("ID", with: id(of: request))) }
        script.dropAndWait()
        let said = hello(of: &script, greeting: Self.standby + " role=standby serves=1")
        #expect(said.contains(" after=00000000000000aa:\(sequence) "), "\(said)")
    }

    @Test func `a commit is said to nodes of its history alone`() throws {
        var script = script()
        let leader = Self.standby + " role=leader term=3"
        #expect(!hello(of: &script, greeting: leader).contains("after="))
        script.server("OK id=1 conn=c1")
        script.client.post(try event("a/1", "start"))
        script.server("OK id=\(id(of: try #require(script.sent().first))) verdict=applied rev=8")
        script.dropAndWait()
        #expect(!hello(of: &script, greeting: Script.greeting).contains("after="), "it is in no cluster")
        script.dropAndWait()
        #expect(hello(of: &script, greeting: leader).contains(" after=00000000000000aa:8 "))
        script.dropAndWait()
        let other = leader.replacing("aa seq", with: "bb seq")
        #expect(!hello(of: &script, greeting: other).contains("after="))
        script.dropAndWait()
        #expect(!hello(of: &script, greeting: leader).contains("after="), "it has not seen this history since")
    }

    @Test func `one that was served is lost with its connection`() {
        var script = script { $0.reconnects = false }
        script.introduce()
        script.drop()
        #expect(script.client.isOver)
    }
}
