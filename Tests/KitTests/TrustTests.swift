import Synchronization
import TelltaleModel
import TestSupport
import Testing

@testable import TelltaleKit

@Suite(.endsOneDay)
struct TrustTests {
    static let secret = "tt_k3v9q2ma_0123456789012345678901234567890123456789012"

    /// A transport as one with TLS behaves: no connection before the certificate is accepted.
    final class Untrusting: Transport {
        let attempts = Atomic(0)

        func connect() async throws -> any TransportConnection {
            attempts.add(1, ordering: .relaxed)
            throw TransportError.untrusted("the certificate is of an unknown authority")
        }
    }

    @Test("A certificate that is not trusted ends the client, and is not tried again", .behaviour("wrong-authority"))
    func wrongAuthority() async throws {
        let transport = Untrusting()
        let telltale = try Telltale.test(over: transport)
        let expected = TelltaleError.untrusted("the certificate is of an unknown authority")
        await #expect(throws: expected) { try await telltale.ping() }
        await #expect(throws: expected) { for try await _ in telltale.follow("*") {} }
        #expect(transport.attempts.load(ordering: .relaxed) == 2)
    }

    @Test func `TLS without a transport that has it is reported at once`() async throws {
        #if !canImport(Network)
            var options = Telltale.Options()
            options.timeout = nil
            let telltale = try Telltale("tls://127.0.0.1:7879", options: options)
            do throws(TelltaleError) {
                try await telltale.ping()
                Issue.record("it was answered")
            } catch {
                guard case .invalidRequest(let reason) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(reason.contains("tls://127.0.0.1:7879 needs TLS"))
            }
        #endif
    }

    @Test(
        "A server that asks for no proof is sent no token", .behaviour("needless-secret"), arguments: ["none", "token"])
    func needlessSecret(authentication: String) async throws {
        let server = ScriptedServer { stage in
            try await stage.greet(Stage.greeting.replacing("auth=none", with: "auth=\(authentication)"))
            stage.say("PONG id=\(try await stage.hear("PING"))")
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server, token: { Self.secret })
        try await telltale.ping()
        #expect(server.stages[0].heard[0].contains(Self.secret) == (authentication == "token"))
    }

    @Test("A revoked token ends a follower, the next request asks for a new one", .behaviour("revoked-token"))
    func revoked() async throws {
        let refuse: ScriptedServer.Scene = { stage in
            stage.say(Stage.greeting.replacing("auth=none", with: "auth=token"))
            stage.say(#"ERR id=\#(try await stage.hear("HELLO")) code=auth_failed retry=auth {"msg":"not accepted"}"#)
            await stage.waitForEnd()
        }
        let server = ScriptedServer(
            { stage in
                try await stage.show(
                    cursor: "0123456789abcdef:1:b0e4", greeting: Stage.greeting.replacing("none", with: "token"))
                stage.say("BYE code=auth_revoked")
            }, refuse, refuse,
            { stage in
                try await stage.greet(Stage.greeting.replacing("auth=none", with: "auth=token"))
                stage.say("PONG id=\(try await stage.hear("PING"))")
                await stage.waitForEnd()
            })
        let reads = Atomic(0)
        let telltale = try Telltale.test(
            over: server, token: { "\(Self.secret)\(reads.add(1, ordering: .relaxed).newValue)" })
        do throws(TelltaleError) {
            for try await _ in telltale.follow("*") {}
            Issue.record("it ended well")
        } catch {
            #expect(error.refusal?.code == "auth_failed" && error.refusal?.retry == .authenticate)
            #expect(!"\(error)".contains(Self.secret))
        }
        await #expect(throws: TelltaleError.self) { try await telltale.ping() }
        try await telltale.ping()
        #expect(server.stages[3].heard[0].contains("token=\(Self.secret)4"))
    }

    @Test func `a token that cannot be sent, or not be read, is reported without it`() async throws {
        let server = ScriptedServer()
        let broken = try Telltale.test(over: server, token: { "two words of a secret" })
        do throws(TelltaleError) { try await broken.ping() } catch {
            #expect("\(error)".contains("a token is 1 to 4,096") && !"\(error)".contains("secret"))
        }
        struct Locked: Error, CustomStringConvertible { let description = "secret of the keychain" }
        // A follower is sent each attempt, so that no clock decides which one is looked at.
        let locked = try Telltale.test(over: server, token: { throw Locked() })
        for try await change in locked.follow("*") {
            guard case .disconnected(let reason, _) = change else { continue }
            #expect(reason.contains("(Locked)") && !reason.contains("secret"))
            break
        }
        #expect(server.connectionCount == 0)
    }
}
