import TelltaleClient
import TelltaleModel
import TestSupport
import Testing

struct ServerListTests {
    @Test("Protocols/Clients/servers.table", arguments: try TableFile("Clients/servers.table").rows)
    func row(_ row: TableFile.Row) throws {
        var servers = ServerList(row[1].split(separator: ",").map { Self.address(String($0)) })
        var step = "nothing"
        for input in row[2].split(separator: ";") {
            let words = input.split(separator: " ").map(String.init)
            let leader = words.count == 3 ? words[2] : nil
            switch words[0] {
            case "failed": step = Self.describe(servers.failed())
            case "standby": step = Self.describe(servers.isNotLeader(leader: leader))
            case "served":
                servers.served()
                step = "nothing"
            case "bye":
                servers.resigned(leader: leader)
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
                case "standby": _ = servers.isNotLeader(leader: words.count == 3 ? words[2] : nil)
                case "served": servers.served()
                default: Issue.record("no input: \(input)")
                }
            }
        }
        let limit = Milliseconds.seconds(try #require(Int64(row[3])))
        #expect(servers.dialSpan(limit: limit) == .seconds(try #require(Int64(row[4]))), "\(row)")
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
        #expect(servers.isNotLeader(leader: "x:1") == .behindPause)
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
        var script = script { $0.goesToLeader = false }
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

    @Test func `one that was served is lost with its connection`() {
        var script = script { $0.reconnects = false }
        script.introduce()
        script.drop()
        #expect(script.client.isOver)
    }
}
