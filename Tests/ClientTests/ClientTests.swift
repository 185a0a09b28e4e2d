import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The shell around ``ClientProtocol``, over real sockets.
struct ClientTests {
    private static func configuration() -> ClientConfiguration {
        var configuration = ClientConfiguration(name: "test/1", eventIDPrefix: "run")
        configuration.backoff.shortest = Milliseconds(2)
        return configuration
    }

    @Test func `a client subscribes, is dropped, comes back and resumes`() async throws {
        let received = try await onLoop { loop in
            let server = try FakeServer(on: loop) { session, request in
                guard case .subscribe(let subscribe) = request.command, let id = request.id else { return }
                session.send("OK id=\(id) sub=1")
                if let cursor = subscribe.from {
                    session.send("UPD sub=1 key=a/b rev=2 why=resume {}")
                    session.send("LIVE sub=1 cur=\(cursor)")
                } else {
                    session.send("SNAP sub=1 key=a/b rev=1 {}")
                    session.send("LIVE sub=1 cur=00000000000000aa:1:b0e4")
                    session.connection.finish(lingerMilliseconds: 1000)
                }
            }
            let received = Box<[String]>([])
            let client = try Client(to: server.endpoint, configuration: Self.configuration(), on: loop) {
                client, event in
                received.value.append(describe(event).split(separator: ",")[0].description)
                if received.value.filter({ $0 == "live" }).count == 2 { client.close() }
                if client.isOver { loop.stop() }
            }
            _ = client.subscribe(SubscribeCommand(pattern: .all))
            client.start()
            return { withExtendedLifetime((server, client)) { received.value } }
        }
        #expect(
            received == [
                "ready 00000000000000aa", "snap a/b 1 {}", "live", "disconnected", "ready 00000000000000aa",
                "upd a/b 2 {}", "live", "disconnected for good",
            ])
    }

    @Test("Events get through a server that drops its clients, each once", arguments: [1, 10, 1000])
    func post(window: Int) async throws {
        let count = 2000
        let result = try await onLoop { loop in
            let taken = Box<[String]>([])
            let seen = Box<Set<String>>([])
            let server = try FakeServer(on: loop) { session, request in
                guard case .event(let event) = request.command, let id = request.id, let eid = event.eid else { return }
                let isNew = seen.value.insert(eid).inserted
                if isNew { taken.value.append(event.key.text) }
                // Taken, and the answer never sent.
                if isNew, seen.value.count % 500 == 0 { return session.connection.close() }
                session.send("OK id=\(id) verdict=\(isNew ? "applied" : "duplicate") rev=1")
            }
            var configuration = Self.configuration()
            configuration.windowCount = window
            let verdicts = Box<[Verdict: Int]>([:])
            let client = try Client(to: server.endpoint, configuration: configuration, on: loop) { client, event in
                guard case .reply(_, let reply) = event, let verdict = reply.verdict else { return }
                verdicts.value[verdict, default: 0] += 1
                if client.pendingRequestCount == 0 { loop.stop() }
            }
            for number in 0..<count {
                client.post(EventCommand(key: try #require(Key("order/\(number)")), type: "start"))
            }
            client.start()
            return { withExtendedLifetime(client) { (taken.value, verdicts.value, server.connectionCount) } }
        }
        #expect(result.0 == (0..<count).map { "order/\($0)" })
        #expect(result.1[.applied, default: 0] + result.1[.duplicate, default: 0] == count)
        #expect(result.1[.duplicate, default: 0] == 4)
        #expect(result.2 == 5)
    }

    @Test func `an address without a server is reported, and tried again`() async throws {
        let received = try await onLoop { loop in
            let endpoint = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { _ in }.endpoint
            let received = Box<[String]>([])
            let client = try Client(to: endpoint, configuration: Self.configuration(), on: loop) { client, event in
                guard case .disconnected(let reason, _) = event else { return }
                received.value.append(reason)
                if received.value.count == 3 { loop.stop() }
            }
            client.start()
            return { withExtendedLifetime(client) { received.value } }
        }
        #expect(received.count == 3)
        #expect(received.allSatisfy { $0.contains("connection refused") })
    }

    private struct Dice: RandomNumberGenerator {
        let number: UInt64
        func next() -> UInt64 { number }
    }

    @Test("The dice choose the address that a client begins at", arguments: 0..<4)
    func begins(at number: UInt64) async throws {
        let (begun, list) = try await onLoop { loop in
            let list = try EndpointList("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3").unwrapped
            let client = try Client(
                to: list, configuration: Self.configuration(), on: loop, random: Dice(number: number)
            ) { _, _ in }
            loop.stop()
            return { (client.endpoint, list) }
        }
        #expect(begun == list.endpoints[Int(number) % 3])
    }

    @Test func `a client goes from a dead address to a standby, and from there to the leader`() async throws {
        let visits = try await onLoop { loop in
            let leader = try FakeServer(on: loop) { _, _ in }
            let standby = try FakeServer(
                on: loop, greeting: Script.greeting + " node=n2 role=standby leader=\(leader.endpoint)"
            ) {
                _, _ in
            }
            // Last, so that no other server here is given its port.
            let dead = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { _ in }.endpoint
            let list = try EndpointList([dead, standby.endpoint]).unwrapped
            let visits = Box<[String]>([])
            var configuration = Self.configuration()
            configuration.backoff.longest = Milliseconds(2)
            // It begins with the dead one.
            let client = try Client(to: list, configuration: configuration, on: loop, random: Dice(number: 0)) {
                client, event in
                guard case .ready = event else { return visits.value.append(describe(event)) }
                visits.value.append(client.endpoint == leader.endpoint ? "leader" : "another")
                loop.stop()
            }
            client.start()
            return { withExtendedLifetime((client, standby, leader)) { visits.value } }
        }
        #expect(visits.first?.hasPrefix("disconnected, again after ") == true)
        #expect(visits.dropFirst() == ["disconnected, again after 0", "leader"])
    }

    @Test func `a host that takes no connection is given up, again and again`() async throws {
        let reasons = try await onLoop { loop in
            let full = try FullListener()
            var configuration = Self.configuration()
            configuration.greetingTimeout = Milliseconds(20)
            let reasons = Box<[String]>([])
            let client = try Client(to: full.endpoint, configuration: configuration, on: loop) { client, event in
                guard case .disconnected(let reason, _) = event else { return }
                reasons.value.append(reason)
                if reasons.value.count == 3 { loop.stop() }
            }
            client.start()
            return { withExtendedLifetime((client, full)) { reasons.value } }
        }
        #expect(reasons == Array(repeating: "the server took no connection within 20 ms", count: 3))
    }

    @Test func `a client that is dropped leaves nothing behind`() async throws {
        let isGone = try await onLoop { loop in
            let server = try FakeServer(on: loop) { _, _ in }
            var client: Client? = try Client(to: server.endpoint, configuration: Self.configuration(), on: loop) {
                _, _ in
                loop.stop()
            }
            client?.start()
            weak let dropped = client
            loop.run()
            client = nil
            loop.stop()
            return { withExtendedLifetime(server) { dropped == nil } }
        }
        #expect(isGone)
    }
}

/// A port whose queue of connections is full: another one gets no answer.
private final class FullListener {
    private let listener: LocalListener
    private let waiting: RawSocket

    var endpoint: Endpoint { .tcp(host: "127.0.0.1", port: listener.port) }

    init() throws {
        listener = try LocalListener(backlog: 0)
        waiting = try RawSocket(port: listener.port)
    }
}

struct BlockingClientTests {
    private static let configuration = ClientConfiguration(name: "test/1", eventIDPrefix: "run")

    /// Runs `body` against a fake server, each on a thread of its own.
    private func withServer<Value: Sendable>(
        greets: Bool = true, answer: @escaping @Sendable (FakeServer.Session, Request) -> Void,
        _ body: @escaping @Sendable (Endpoint) throws -> Value
    ) async throws -> Value {
        try await onLoop { loop in
            let server = try FakeServer(on: loop, greets: greets, answer: answer)
            let endpoint = server.endpoint
            let mailbox = try Mailbox<Void>(on: loop) { _ in loop.stop() }
            let sender = mailbox.sender
            let result = SharedResult<Value>()
            let thread = JoinableThread {
                result.set(Result { try body(endpoint) })
                sender.post(())
            }
            return {
                thread.join()
                return try withExtendedLifetime((server, mailbox)) { try result.get() }
            }
        }
    }

    @Test func `requests are answered, with their items`() async throws {
        let answer = try await withServer { session, request in
            guard let id = request.id else { return }
            switch request.command {
            case .list:
                for key in ["a/1", "a/2"] { session.send("SNAP sub=0 key=\(key) rev=1 {}") }
                session.send("OK id=\(id) count=2")
            case .event(let event): session.send("OK id=\(id) verdict=applied eid=\(event.eid ?? "")")
            case _: session.send(#"ERR id=\#(id) code=unknown_key retry=no {"msg":"no such key"}"#)
            }
        } _: { endpoint in
            let client = try BlockingClient(to: endpoint, configuration: Self.configuration)
            var keys: [String] = []
            let list = try client.request(.list(.all, view: nil)) { keys.append($0["key"] ?? "") }
            let get = try client.request(.get(try key("a/9"), view: nil))
            let post = try client.request(.event(try event("a/9", "start")))
            return "\(keys) \(list.line["count"] ?? "") \(get.isOK) \(get.line.message ?? "") \(post.line["eid"] ?? "")"
        }
        #expect(answer == #"["a/1", "a/2"] 2 false no such key run-1"#)
    }

    @Test func `a server that goes in the midst of a request is reported`() async throws {
        let failure = try await withServer { session, _ in
            session.connection.close()
        } _: { endpoint -> ClientFailure? in
            let client = try BlockingClient(to: endpoint, configuration: Self.configuration)
            do {
                _ = try client.request(.stats)
                return nil
            } catch let failure as ClientFailure {
                return failure
            }
        }
        guard case .lost = failure else { return #expect(failure == nil, "should be lost") }
    }

    @Test func `a server that does not answer is given up`() async throws {
        let failure = try await withServer { _, _ in
        } _: { endpoint -> ClientFailure? in
            // On a busy machine the greeting itself may take longer than the limit, which ends in the same error.
            do {
                let client = try BlockingClient(
                    to: endpoint, configuration: Self.configuration, timeout: Milliseconds(50))
                _ = try client.request(.stats)
                return nil
            } catch let failure as ClientFailure {
                return failure
            }
        }
        #expect(failure == .timedOut)
    }

    @Test func `a server that never greets is no daemon`() async throws {
        let expected = ClientFailure.unreachable("no greeting came: is this a telltale daemon?")
        let failure = try await withServer(greets: false) { _, _ in
        } _: { endpoint -> ClientFailure? in
            var failure: ClientFailure?
            // The limit holds for the connection too, which takes longer on a machine that stands still.
            for limit in [20, 200, 2_000, 20_000] as [Int64] where failure != expected {
                var configuration = Self.configuration
                configuration.greetingTimeout = Milliseconds(limit)
                do {
                    _ = try BlockingClient(to: endpoint, configuration: configuration)
                    return nil
                } catch let error as ClientFailure {
                    failure = error
                }
            }
            return failure
        }
        #expect(failure == expected)
    }

    @Test func `each program of a script begins at the first server of a list`() async throws {
        let begun = try await withServer { session, request in
            if let id = request.id { session.send("PONG id=\(id)") }
        } _: { endpoint in
            guard case .tcp(_, let port) = endpoint else { throw NothingThere() }
            // Both are this server.
            let list = try EndpointList([endpoint, .tcp(host: "localhost", port: port)]).unwrapped
            return try (0..<16).map { _ in
                try BlockingClient(to: list, configuration: Self.configuration).endpoint == endpoint
            }
        }
        #expect(begun == Array(repeating: true, count: 16))
    }

    @Test func `an address without a server is unreachable`() async throws {
        let failure = try await onOwnThread { () -> ClientFailure? in
            do {
                _ = try BlockingClient(to: .unix(path: "/nonexistent/telltale.sock"), configuration: Self.configuration)
                return nil
            } catch let failure as ClientFailure {
                return failure
            }
        }
        guard case .unreachable(let reason) = failure else { return #expect(failure == nil, "unreachable") }
        #expect(reason == "cannot connect to unix:/nonexistent/telltale.sock: no such file or directory (ENOENT)")
    }
}
