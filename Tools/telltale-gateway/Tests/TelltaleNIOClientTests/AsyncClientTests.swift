import NIOCore
import NIOPosix
import Synchronization
import TelltaleClient
import TelltaleModel
import TelltaleNIOClient
import TelltaleWire
import Testing

/// A daemon of a few words: answers every `EVT`, and sends rows to whoever subscribes.
private final class ScriptedPeer: ChannelInboundHandler, Sendable {
    typealias InboundIn = NIOCore.ByteBuffer
    private let rows: Int
    private let cutsFirst: Bool
    private let state = Mutex((connections: 0, text: ""))
    let heard = Mutex<[String]>([])

    init(rows: Int = 0, cutsFirst: Bool = false) {
        self.rows = rows
        self.cutsFirst = cutsFirst
    }

    func channelActive(context: ChannelHandlerContext) {
        state.withLock { $0 = ($0.connections + 1, "") }
        say("TELLTALE 1 epoch=0000000000000001 seq=1 now=1 hb=20000 max_line=65536 auth=none server=x\n", context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let lines = state.withLock { state in
            state.text += String(buffer: unwrapInboundIn(data))
            var lines = state.text.split(separator: "\n", omittingEmptySubsequences: false)
            state.text = String(lines.removeLast())
            return lines.map(String.init)
        }
        for line in lines {
            heard.withLock { $0.append(line) }
            let id = line.split(separator: " ").first { $0.hasPrefix("id=") } ?? "id=0"
            if line.hasPrefix("EVT"), cutsFirst, state.withLock({ $0.connections }) == 1 {
                return context.close(promise: nil)
            }
            switch line.prefix(3) {
            case "SUB":
                var text = "OK \(id) sub=1 view=full\nLIVE sub=1 cur=0000000000000001:1:0000\n"
                for row in 0..<rows {
                    text += "UPD sub=1 key=a/b rev=\(row + 2) cur=0000000000000001:\(row + 2):0000 {\"n\":\(row)}\n"
                }
                say(text, context)
            case "KIN": say("KIND name=a type=activity version=1 {}\nOK \(id) count=1\n", context)
            case "LIS": say("ERR \(id) code=forbidden retry=no {\"msg\":\"no\"}\n", context)
            case "GET": break
            case "PIN": say("PONG \(id)\n", context)
            default: say("OK \(id) verdict=applied rev=2\n", context)
            }
        }
    }

    private func say(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(NIOCore.ByteBuffer(string: text)), promise: nil)
    }

    func serve() async throws -> (any Channel, DaemonConnector) {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] channel in channel.pipeline.addHandler(self) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        return (channel, try DaemonConnector(to: .tcp(host: "127.0.0.1", port: port)))
    }
}

struct AsyncClientTests {
    private func client(_ connector: DaemonConnector, failsFast: Bool = false) -> AsyncClient {
        var configuration = ClientConfiguration(name: "test", eventIDPrefix: "t")
        configuration.backoff.shortest = Milliseconds(1)
        let client = AsyncClient(
            to: connector, configuration: configuration, failsFast: failsFast,
            on: MultiThreadedEventLoopGroup.singleton.next())
        client.start()
        return client
    }

    @Test func `requests are answered, in pieces and in order`() async throws {
        let daemon = ScriptedPeer()
        let (server, connector) = try await daemon.serve()
        let client = client(connector)
        #expect(try await client.ready().epoch == "0000000000000001")
        let key = try #require(Key("a/b"))
        #expect(try await client.post(EventCommand(key: key, type: "x")).verdict == .applied)
        #expect(try await client.tap(TapCommand(key, .press)).isOK)
        #expect(try await client.tap(TapCommand(key, .set(true))).isOK)
        #expect(try await client.request(.kinds).items.map { $0["name"] } == ["a"])
        #expect(try await client.request(.list(.all, view: nil)).refusal?["code"] == "forbidden")
        let many = (0..<100).map { Command.event(EventCommand(key: key, type: "t\($0)", eid: "\($0)")) }
        let answers = await client.request(all: many)
        #expect(answers.allSatisfy { (try? $0.get())?.reply.isOK == true })
        let types = daemon.heard.withLock { $0.filter { $0.contains(" type=t") }.map { $0.split(separator: " ")[2] } }
        #expect(types == (0..<100).map { "type=t\($0)" })
        client.close()
        try await server.close()
    }

    @Test func `an event whose connection is cut is sent again, with the same id`() async throws {
        let daemon = ScriptedPeer(cutsFirst: true)
        let (server, connector) = try await daemon.serve()
        let client = client(connector)
        let reply = try await client.post(EventCommand(key: try #require(Key("a/b")), type: "x"))
        #expect(reply.verdict == .applied)
        let sent = daemon.heard.withLock { $0.filter { $0.hasPrefix("EVT") } }
        #expect(sent.count == 2 && Set(sent).count == 1)
        client.close()
        try await server.close()
    }

    @Test func `what was not answered in time may have taken effect; what was never sent has not`() async throws {
        let daemon = ScriptedPeer()
        let (server, connector) = try await daemon.serve()
        let client = client(connector)
        _ = try await client.ready()
        let get = Command.get(try #require(Key("a/b")), view: nil)
        do throws(RequestFailure) {
            _ = try await client.request(get, timeout: .milliseconds(50))
            Issue.record("it was to fail")
        } catch {
            guard case .outcomeUnknown = error else {
                Issue.record("\(error)")
                return
            }
        }
        client.close()
        try await server.close()
        let late = self.client(connector, failsFast: true)
        do throws(RequestFailure) {
            _ = try await late.request(.ping)
            Issue.record("it was to fail")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
        late.close()
    }

    @Test func `a subscription is followed, each event with its cursor, however slow the consumer`() async throws {
        let daemon = ScriptedPeer(rows: 5_000)
        let (server, connector) = try await daemon.serve()
        let client = client(connector)
        var count = 0
        for await followed in client.follow(SubscribeCommand(pattern: .all)) {
            guard case .update(let row) = followed.event else { continue }
            #expect(row.body["n"]?.integer == Int64(count))
            if count % 500 == 0 { await Task.yield() }
            count += 1
            if count == 5_000 {
                #expect(followed.cursor == "0000000000000001:5001:0000")
                break
            }
        }
        #expect(count == 5_000)
        client.close()
        try await server.close()
    }

    @Test func `a closed client fails what it is asked, and ends what is followed`() async throws {
        let daemon = ScriptedPeer()
        let (server, connector) = try await daemon.serve()
        let client = client(connector)
        _ = try await client.ready()
        let followed = client.follow(SubscribeCommand(pattern: .all))
        client.close()
        for await _ in followed {}
        await #expect(throws: RequestFailure.self) { try await client.request(.ping) }
        try await server.close()
    }
}
