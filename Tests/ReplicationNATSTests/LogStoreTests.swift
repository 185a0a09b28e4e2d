import Glibc
import Journal
import Replication
import TelltaleEventLoop
import TelltaleModel
import TestSupport
import Testing

@testable import ReplicationNATS

/// Replicas over three real servers, which are killed and stopped.
@Suite(.serialized, .enabled(if: TestLogStore.isThere, TestLogStore.reason), .endsOneDay)
struct LogStoreTests {
    /// Runs nodes until `step` says that all is done. It is asked after each word of the log store.
    private static func run(
        _ configurations: [NATSLogConfiguration], settings: ReplicaSettings = ReplicaSettings(),
        prepare: @escaping ([TestNode]) -> Void = { _ in }, _ step: @escaping ([TestNode]) -> Bool,
        check: @escaping ([TestNode]) throws -> Void
    ) async throws {
        let parts = Parts(prepare: prepare, step: step, check: check)
        try await onLoop(state: { parts.state }) { loop in
            let nodes = try configurations.map { try TestNode($0, on: loop, settings: settings) }
            parts.nodes = nodes
            parts.prepare(nodes)
            for node in nodes {
                node.onStep = { _ in if parts.step(nodes) { loop.stop() } }
            }
            return {
                parts.end()
                try parts.check(nodes)
            }
        }
    }

    /// Of one test, for its one thread.
    private final class Parts: @unchecked Sendable {
        let prepare: ([TestNode]) -> Void
        let step: ([TestNode]) -> Bool
        let check: ([TestNode]) throws -> Void
        var nodes: [TestNode] = []

        init(
            prepare: @escaping ([TestNode]) -> Void, step: @escaping ([TestNode]) -> Bool,
            check: @escaping ([TestNode]) throws -> Void
        ) {
            (self.prepare, self.step, self.check) = (prepare, step, check)
        }

        func end() {
            for node in nodes { node.end() }
            nodes = []
        }

        /// Of nodes that do not get on; they end.
        var state: String {
            defer { end() }
            return nodes.map(\.state).joined(separator: "\n")
        }
    }

    private static func leader(_ nodes: [TestNode]) -> TestNode? { nodes.first(where: \.isLeading) }

    private static func isSame(_ nodes: [TestNode], count: Int) -> Bool {
        nodes.allSatisfy { $0.records.count >= count } && Set(nodes.map { $0.replica.reader.chain }).count == 1
    }

    private static func expectInOrder(_ node: TestNode) {
        #expect(node.records.map(\.sequence) == Array(1...Int64(max(1, node.records.count))))
    }

    @Test func `nodes over three servers: one leads, lost words change nothing, a stranger is void`() async throws {
        let logStore = try TestLogStore()
        // 1. One leads, the others replay; every third acknowledgement is lost, and is found by reading.
        var acknowledgements = 0
        var dropped = 0
        try await Self.run(
            ["n1", "n2", "n3"].map { logStore.configuration("shop", $0) },
            prepare: { nodes in
                for node in nodes {
                    node.isHeard = { event in
                        guard case .stored = event else { return true }
                        acknowledgements += 1
                        if acknowledgements.isMultiple(of: 3) { dropped += 1 }
                        return !acknowledgements.isMultiple(of: 3)
                    }
                }
            },
            { nodes in
                guard let leader = Self.leader(nodes) else { return false }
                if leader.storedCount < 200 { leader.append(10) }
                return Self.isSame(nodes, count: 200)
            },
            check: { nodes in
                #expect(dropped > 0)
                #expect(nodes.reduce(0) { $0 + $1.standDowns } == 0)
                #expect(nodes.allSatisfy { $0.warnings.isEmpty && $0.stop == nil })
                let leader = try #require(Self.leader(nodes))
                #expect(leader.log.status.sync == .proven)
                #expect(leader.log.status.version == "2.15.1" || !leader.log.status.version.isEmpty)
                for node in nodes { Self.expectInOrder(node) }
            })

        // 2. The nodes of before are gone: others go on with the same history. A stranger's message, with headers that look like
        // a server's, is void for all of them.
        var isForged = false
        try await Self.run(
            ["n4", "n5"].map { logStore.configuration("shop", $0) },
            { nodes in
                guard let leader = Self.leader(nodes) else { return false }
                if !isForged, leader.storedCount >= 20 {
                    isForged = true
                    Self.forge(logStore.configuration("shop", "stranger"))
                }
                if leader.storedCount < 40 { leader.append(10) }
                return isForged && Self.isSame(nodes, count: 240) && nodes.allSatisfy { !$0.warnings.isEmpty }
            },
            check: { nodes in
                #expect(nodes.allSatisfy { $0.warnings.count == 1 && $0.stop == nil }, "\(nodes.map(\.warnings))")
                #expect(nodes.allSatisfy { $0.replica.term >= 2 })
                for node in nodes { Self.expectInOrder(node) }
            })

        // 3. The stream is deleted under a leader: it stops, and says how much is lost.
        var settings = ReplicaSettings()
        settings.shortLogPatience = Milliseconds(300)
        var isDeleted = false
        try await Self.run(
            [logStore.configuration("shop", "n6")], settings: settings,
            { nodes in
                if !isDeleted, nodes[0].isLeading {
                    let stranger = logStore.configuration("shop", "stranger")
                    isDeleted = Self.ask(stranger, "$JS.API.STREAM.DELETE.TT_shop_LOG", "") != nil
                }
                return nodes[0].stop != nil
            },
            check: { nodes in #expect(nodes[0].stop?.contains("are lost") == true, "\(nodes[0].stop ?? "")") })
    }

    @Test func `a stream that is full refuses a batch, and takes it when there is room`() async throws {
        let logStore = try TestLogStore()
        let stranger = logStore.configuration("mart", "stranger")
        let limited = { (bytes: Int) in
            Purpose.log.configuration(Names(cluster: "mart")).replacing(
                "\"max_bytes\":-1", with: "\"max_bytes\":\(bytes)")
        }
        var isMade = false
        var wasFull = false
        try await Self.run(
            [logStore.configuration("mart", "n1")],
            { nodes in
                let node = nodes[0]
                guard node.isLeading else { return false }
                if !isMade { isMade = Self.ask(stranger, "$JS.API.STREAM.UPDATE.TT_mart_LOG", limited(20_000)) != nil }
                if node.isFull, !wasFull {
                    wasFull = Self.ask(stranger, "$JS.API.STREAM.UPDATE.TT_mart_LOG", limited(-1)) != nil
                }
                node.append(10)
                return wasFull && node.storedCount >= 100
            },
            check: { nodes in
                #expect(nodes[0].standDowns == 0 && nodes[0].stop == nil)
                Self.expectInOrder(nodes[0])
            })
    }

    @Test(arguments: [SIGKILL, SIGSTOP])
    func `the stream's leader is killed or stopped: nothing stored is lost, and nothing is stored twice`(
        signal: CInt
    ) async throws {
        let logStore = try TestLogStore()
        var victim: String?
        var countBefore = 0
        try await Self.run(
            ["n1", "n2"].map { logStore.configuration("shop", $0) },
            { nodes in
                guard let leader = Self.leader(nodes) else { return false }
                if victim == nil, leader.storedCount >= 100 {
                    victim = Self.streamLeader(logStore.configuration("shop", "stranger"))
                    guard let victim else { return false }
                    countBefore = leader.records.count
                    logStore.signal(victim, signal)
                }
                if victim == nil || leader.records.count < countBefore + 100 { leader.append(10) }
                return victim != nil && Self.isSame(nodes, count: countBefore + 100)
            },
            check: { nodes in
                #expect(nodes.allSatisfy { $0.stop == nil && $0.warnings.isEmpty })
                #expect(Self.leader(nodes)?.log.status.longestStall ?? .zero > .milliseconds(250))
                for node in nodes { Self.expectInOrder(node) }
            })
        guard let victim else { return }
        if signal == SIGKILL { try logStore.restart(victim) } else { logStore.signal(victim, SIGCONT) }
        // A node that begins now reads all of it, from whichever server.
        try await Self.run(
            [logStore.configuration("shop", "n3")],
            { nodes in nodes[0].records.count >= countBefore + 100 && nodes[0].isLeading },
            check: { nodes in
                #expect(nodes[0].stop == nil && nodes[0].warnings.isEmpty)
                Self.expectInOrder(nodes[0])
            })
    }

    @Test func `a log store that does not sync, or is no cluster, is refused with every fault`() async throws {
        let alone = try TestLogStore(count: 1, sync: "\"1m\"")
        try await Self.run(
            [alone.configuration("shop", "n1")], { $0[0].events.contains { Self.faults($0) != nil } },
            check: { nodes in
                let faults = nodes[0].events.compactMap(Self.faults).joined()
                let isEach = faults.allSatisfy { $0.contains("is no cluster") }
                #expect(faults.count == Purpose.allCases.count && isEach, "\(Array(faults))")
            })
        let lazy = try TestLogStore(sync: "\"1m\"")
        try await Self.run(
            [lazy.configuration("shop", "n1")], { $0[0].events.contains { Self.faults($0) != nil } },
            check: { nodes in
                let faults = nodes[0].events.compactMap(Self.faults).joined()
                #expect(faults.count == 3, "\(Array(faults))")
                #expect(faults.allSatisfy { $0.contains("does not sync before it acknowledges") }, "\(Array(faults))")
            })
    }

    @Test func `a password that the log store refuses is a fault, and is reported nowhere`() async throws {
        let logStore = try TestLogStore(count: 1, password: "right")
        var configuration = logStore.configuration("shop", "n1")
        configuration.servers = configuration.servers.map { $0.replacing("nats://", with: "nats://tt:wrong@") }
        try await Self.run(
            [configuration], { $0[0].events.contains { Self.faults($0) != nil } },
            check: { nodes in
                #expect(
                    nodes[0].events.compactMap(Self.faults).joined().elementsEqual([
                        "the engine refuses the credentials of this node"
                    ]))
                #expect(!"\(nodes[0].events)".contains("wrong"))
            })
    }

    @Test func `a node whose credentials were refused for a while goes on when they are taken again`() async throws {
        let logStore = try TestLogStore(password: "right")
        var configuration = logStore.configuration("shop", "n1")
        configuration.servers = configuration.servers.map { $0.replacing("nats://", with: "nats://tt:right@") }
        func reportsRefusal(_ event: LogEvent) -> Bool {
            guard case .connection(isUp: false, let text) = event else { return false }
            return text.hasSuffix("refuses the credentials of this node")
        }
        enum Phase { case begin, refused, taken }
        var phase = Phase.begin
        try await Self.run(
            [configuration],
            { nodes in
                switch phase {
                case .begin where Self.leader(nodes) != nil:
                    phase = .refused
                    logStore.setPassword("other")
                case .refused where nodes[0].events.contains(where: reportsRefusal):
                    phase = .taken
                    logStore.setPassword("right")
                case .taken: return nodes[0].log.status.isConnected && Self.leader(nodes) != nil
                case .begin, .refused: break
                }
                return false
            },
            check: { nodes in
                #expect(nodes[0].events.compactMap(Self.faults).isEmpty)
                #expect(!"\(nodes[0].events)".contains("right"))
            })
    }

    @Test func `a server that comes back without sync deposes the leader, until it syncs again`() async throws {
        let logStore = try TestLogStore()
        let configurations = ["n1", "n2"].map { name in
            var configuration = logStore.configuration("shop", name)
            configuration.proofInterval = .seconds(1)
            return configuration
        }
        enum Phase { case begin, broken, mended }
        var phase = Phase.begin
        var wasRefuted = false
        try await Self.run(
            configurations,
            { nodes in
                let isRefuted = nodes.allSatisfy { $0.log.status.sync == .refuted && !$0.isLeading }
                switch phase {
                case .begin where Self.leader(nodes) != nil && nodes.allSatisfy { $0.log.status.sync == .proven }:
                    phase = .broken
                    logStore.restart("s2", sync: "\"1m\"")
                case .broken where isRefuted:
                    (phase, wasRefuted) = (.mended, true)
                    logStore.restart("s2", sync: "always")
                case .mended:
                    return Self.leader(nodes) != nil && nodes.allSatisfy { $0.log.status.sync == .proven }
                case .begin, .broken: break
                }
                return false
            },
            check: { nodes in
                #expect(wasRefuted && nodes.reduce(0) { $0 + $1.standDowns } > 0)
                let reasons = nodes[0].events.compactMap { event in
                    if case .sync(.refuted, let reasons) = event { reasons } else { nil }
                }
                #expect(
                    reasons.first?.contains(
                        "the engine's server s2 does not sync before it acknowledges (jetstream { sync_interval: always })"
                    )
                        == true, "\(reasons)")
            })
    }

    @Test func `batches longer than max_payload are stored in parts, and shorter ones when it shrinks`() async throws {
        let logStore = try TestLogStore(payload: 65_536)
        enum Phase { case long, shrunk }
        var phase = Phase.long
        var count = 0
        try await Self.run(
            ["n1", "n2"].map { logStore.configuration("shop", $0) },
            { nodes in
                guard let leader = Self.leader(nodes) else { return false }
                // 300 KB each.
                if leader.records.count < (phase == .long ? 500 : count + 500) { leader.append(100, length: 3_000) }
                switch phase {
                case .long where Self.isSame(nodes, count: 500) && !leader.isAppending:
                    (phase, count) = (.shrunk, leader.records.count)
                    for node in nodes { node.forgetLongestAppend() }
                    logStore.setPayload(32_768)
                case .shrunk: return Self.isSame(nodes, count: count + 500)
                case .long: break
                }
                return false
            },
            check: { nodes in
                #expect(nodes.allSatisfy { $0.stop == nil && !$0.isFull })
                #expect(nodes.contains { $0.events.contains(.limited(byteCount: 65_472)) })
                #expect(nodes.contains { $0.events.contains(.limited(byteCount: 32_704)) })
                for node in nodes { Self.expectInOrder(node) }
            })
    }

    @Test func `the permissions that the guide names are enough`() async throws {
        let streams = ["LOG", "BEAT", "BASE"].flatMap {
            ["$JS.API.STREAM.*.TT_shop_\($0)", "$JS.API.DIRECT.GET.TT_shop_\($0)"]
        }
        let published = (["tt.shop.>", "$JS.API.STREAM.MSG.GET.TT_shop_LOG"] + streams).map { "\"\($0)\"" }
        let logStore = try TestLogStore(
            permissions: """
                publish: [\(published.joined(separator: ", "))], subscribe: ["_INBOX.>", "tt.shop.told", "tt.shop.beat.*"]
                """)
        // The second time the streams and their history are there.
        for count in [20, 40] {
            try await Self.run(
                ["n1", "n2"].map { logStore.configuration("shop", $0) },
                { nodes in
                    Self.leader(nodes)?.append(10)
                    return Self.isSame(nodes, count: count)
                },
                check: { nodes in
                    #expect(nodes.allSatisfy { $0.log.status.denials.isEmpty && $0.stop == nil && $0.warnings.isEmpty })
                })
        }
    }

    @Test func `a node without the right to publish does not begin, and names each subject`() async throws {
        let logStore = try TestLogStore(permissions: TestLogStore.denying("tt.shop.log", "tt.shop.beat.*"))
        try await Self.run(
            [logStore.configuration("shop", "n1")], { $0[0].events.contains { Self.faults($0) != nil } },
            check: { nodes in
                let faults = nodes[0].events.compactMap(Self.faults).joined()
                #expect(
                    Set(faults) == [
                        "the engine does not let this node publish on tt.shop.log (permissions)",
                        "the engine does not let this node publish on tt.shop.beat.n1 (permissions)",
                    ], "\(Array(faults))")
            })
    }

    @Test(arguments: ["tt.shop.log", "tt.shop.beat.*"])
    func `a leader that may not publish any more says so and stands down, and leads when it may again`(
        subject: String
    ) async throws {
        let logStore = try TestLogStore(permissions: TestLogStore.denying())
        enum Phase { case begin, denied, allowed }
        var phase = Phase.begin
        var reported: [String] = []
        try await Self.run(
            [logStore.configuration("shop", "n1")],
            { nodes in
                let node = nodes[0]
                node.append(1)
                switch phase {
                case .begin where node.storedCount > 0:
                    phase = .denied
                    logStore.permit(TestLogStore.denying(subject))
                case .denied where !node.isLeading && !node.log.status.denials.isEmpty:
                    (phase, reported) = (.allowed, node.log.status.denials)
                    logStore.permit(TestLogStore.denying())
                case .allowed: return node.isLeading && node.log.status.denials.isEmpty
                case .begin, .denied: break
                }
                return false
            },
            check: { nodes in
                #expect(reported == ["publish on \(subject.replacing("*", with: "n1"))"])
                #expect(nodes[0].standDowns > 0 && nodes[0].stop == nil)
                Self.expectInOrder(nodes[0])
            })
    }

    private static func faults(_ event: LogEvent) -> [String]? {
        if case .unusable(let faults) = event { faults } else { nil }
    }

    // MARK: A stranger's connection

    private static func ask(_ configuration: NATSLogConfiguration, _ subject: String, _ text: String) -> NATSAnswer? {
        do {
            let connection = try NATSConnection(configuration, context: 0, patience: 60_000)
            defer { connection.close() }
            return connection.request(subject, Array(text.utf8), milliseconds: 60_000).flatMap(NATSAnswer.init)
        } catch {
            Issue.record("a stranger cannot connect: \(error.text)")
            return nil
        }
    }

    private static func forge(_ configuration: NATSLogConfiguration) {
        do {
            let connection = try NATSConnection(configuration, context: 0, patience: 60_000)
            _ = connection.publish("tt.shop.log", answer: nil, header: ("Nats-Sequence", "3"), [1, 2, 3])
            _ = connection.publish("tt.shop.told", answer: nil, header: nil, Array("99999999".utf8))
            _ = connection.request("$JS.API.INFO", [], milliseconds: 60_000)
            connection.close()
        } catch {
            Issue.record("a stranger cannot connect: \(error.text)")
        }
    }

    private static func streamLeader(_ configuration: NATSLogConfiguration) -> String? {
        ask(configuration, "$JS.API.STREAM.INFO.TT_shop_LOG", "")?["cluster"]?["leader"]?.string
    }
}
