import TestSupport
import Testing

@testable import TelltaleKit

/// A client of several servers, of which one serves.
@Suite(.endsOneDay)
struct ServersTests {
    private static let standby =
        "TELLTALE 1 epoch=0123456789abcdef seq=7 now=1 hb=20000 max_line=65536 auth=token server=0.1.0 node=n2 role=standby"

    private static var options: Telltale.Options {
        var options = Telltale.Options()
        options.client = "test/1"
        options.timeout = nil
        options.backoff = .milliseconds(1) ... .milliseconds(2)
        return options
    }

    /// The servers by their addresses. A server that is not among them is down.
    private struct Place: Sendable {
        struct Down: Transport {
            func connect() async throws -> any TransportConnection { throw TransportError.failed("no route") }
        }

        var servers: [String: ScriptedServer]

        /// - Parameter first: The address that the client begins at.
        func client(
            _ addresses: String, first: UInt64 = 0, token: (@Sendable () async throws -> String)? = nil
        ) throws -> Telltale {
            let servers = servers
            var options = ServersTests.options
            options.random = { first }
            return try Telltale(addresses, options: options, token: token) { address -> any Transport in
                if let server = servers[address.description] { return server }
                return Down()
            }
        }
    }

    @Test(
        "A standby hears nothing, and the leader that it names is asked", .behaviour("leader"),
        arguments: ["", "tls://"])
    func leader(scheme: String) async throws {
        let standby = ScriptedServer { stage in
            stage.say(Self.standby + " leader=c:1")
            try await stage.hearEnd()
        }
        let leader = ScriptedServer { stage in
            try await stage.greet(Stage.greeting + " node=n1 role=leader term=3")
            stage.say("OK id=\(try await stage.hear("EVT")) verdict=applied rev=8 state=queued")
            await stage.waitForEnd()
        }
        // The leader is no address of the client's.
        let place = Place(servers: ["\(scheme)a:1": standby, "\(scheme)c:1": leader])
        let telltale = try place.client("\(scheme)a:1,\(scheme)b:1") { "tt_aaaaaaaa_secret" }
        #expect(try await telltale.post("a/1", "start").rev == 8)
        #expect(standby.stages.first?.heard == [])
        await telltale.close()
        try await standby.finish()
    }

    @Test("A server that stands down says where to", .behaviour("leader"))
    func standsDown() async throws {
        let old = ScriptedServer(
            { stage in
                try await stage.show("SNAP sub=1 key=a/1 rev=1 {}", cursor: "0123456789abcdef:1:b0e4")
                stage.say("BYE code=not_leader wait=1-2 leader=b:1")
            })
        let new = ScriptedServer { stage in
            try await stage.greet(Stage.greeting + " node=n1 role=leader term=4")
            stage.say("OK id=\(try await stage.hear("SUB")) sub=1 view=full")
            stage.say("UPD sub=1 key=a/1 rev=2 why=resume {}", "LIVE sub=1 cur=0123456789abcdef:2:b0e4")
            await stage.waitForEnd()
        }
        let telltale = try Place(servers: ["a:1": old, "b:1": new]).client("a:1,c:1,b:1")
        var iterator = telltale.follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let found = try await changes(&iterator) { $0.isLive }
        #expect(found.map(describe) == ["disconnected", "connected", "upd a/1 2 resume", "live"])
        let asked = new.stages.first?.heard.last ?? ""
        #expect(asked.hasPrefix("SUB * view=full from=0123456789abcdef:1:b0e4 id="), "\(asked)")
    }

    @Test("Behind a server that is down comes the next", .behaviour("next-server"))
    func nextServer() async throws {
        let first = ScriptedServer { stage in
            try await stage.greet()
            stage.say("PONG id=\(try await stage.hear("PING"))")
            // And it dies.
        }
        let second = ScriptedServer { stage in
            try await stage.greet()
            stage.say("PONG id=\(try await stage.hear("PING"))")
            await stage.waitForEnd()
        }
        let telltale = try Place(servers: ["a:1": first, "c:1": second]).client("a:1,b:1,c:1")
        try await telltale.ping()
        try await first.finish()
        try await telltale.ping()
        #expect(first.connectionCount == 1 && second.connectionCount == 1)
        await telltale.close()
    }

    @Test("A node that forwards writes is stayed at, by providers too", .behaviour("leader"))
    func forwards() async throws {
        let follower = ScriptedServer(
            { stage in
                try await stage.greet(Self.standby.replacing("auth=token", with: "auth=none") + " leader=a:1 serves=1")
                stage.say("OK id=\(try await stage.hear("EVT")) verdict=applied rev=8 state=queued")
                await stage.waitForEnd()
            },
            { stage in
                try await stage.greet(Self.standby.replacing("auth=token", with: "auth=none") + " leader=a:1 serves=1")
                stage.say("OK id=\(try await stage.hear("SERVE"))")
                await stage.waitForEnd()
            })
        let leader = ScriptedServer { _ in }
        // All connections of one client begin at the same node.
        let telltale = try Place(servers: ["a:1": leader, "b:1": follower]).client("a:1,b:1", first: 1)
        #expect(try await telltale.post("a/1", "start").rev == 8)
        // It asks for the values when it is accepted.
        let (accepted, accept) = AsyncStream.makeStream(of: Void.self)
        let provider = telltale.provide(
            "porch-light",
            values: {
                accept.finish()
                return [:]
            }
        ) { _ in nil }
        let providing = Task { try await provider.run() }
        for await _ in accepted {}
        #expect(leader.stages.isEmpty)
        providing.cancel()
        try await providing.value
        await telltale.close()
        try await follower.finish()
    }

    @Test("A client that comes back at another node says what it has seen", .behaviour("resume-elsewhere"))
    func after() async throws {
        let old = ScriptedServer(
            { stage in
                try await stage.greet(Stage.greeting + " node=n1 role=leader term=3")
                stage.say("OK id=\(try await stage.hear("EVT")) verdict=applied rev=41903 state=queued")
                stage.say("BYE code=shutting_down wait=0-0 to=b:1")
            })
        let new = ScriptedServer { stage in
            try await stage.greet(Self.standby.replacing("auth=token", with: "auth=none") + " serves=1")
            stage.say("PONG id=\(try await stage.hear("PING"))")
            await stage.waitForEnd()
        }
        let telltale = try Place(servers: ["a:1": old, "b:1": new]).client("a:1,c:1,b:1")
        #expect(try await telltale.post("a/1", "start").rev == 41903)
        try await telltale.ping()
        let hello = new.stages.first?.heard.first ?? ""
        #expect(hello.contains(" after=0123456789abcdef:41903 "), "\(hello)")
        await telltale.close()
        try await new.finish()
    }

    @Test(
        "A list that is none is refused",
        arguments: ["", "a:1,", "a:1,tls://b:1", "a:1 ,b:1", String(repeating: "a:1,", count: 16) + "a:1"])
    func badList(text: String) {
        #expect(throws: TelltaleError.self) { try Telltale(text) }
    }
}
