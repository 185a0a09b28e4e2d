import Replication
import TelltaleModel
import Testing

@testable import ReplicationNATS

struct PreparationTests {
    private static var configuration: NATSLogConfiguration {
        var configuration = NATSLogConfiguration(cluster: "shop", node: "n1", servers: ["nats://127.0.0.1:1"])
        configuration.monitors = ["http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"]
        return configuration
    }

    private static func varz(_ port: UInt16, version: String = "2.15.1", sync: String = "true") -> [UInt8] {
        Array(
            #"{"server_name":"s\#(port)","version":"\#(version)","jetstream":{"config":{"sync_always":\#(sync)}}}"#
                .utf8)
    }

    /// A log store as it should be, with a part of its words replaced.
    private static func run(
        _ configuration: NATSLogConfiguration = configuration, replacing old: String = "", by new: String = "",
        answers: [String: String] = [:], longest: Int = 1_048_576, silent: [String] = [], denials: [String] = [],
        monitor: (UInt16) -> [UInt8]? = { varz($0) }
    ) -> Preparation.Outcome {
        let names = Names(cluster: "shop")
        return withoutActuallyEscaping(monitor) { monitor in
            Preparation(
                configuration: configuration, names: names, longestMessage: longest,
                ask: { subject, _ in
                    let name = String(subject.split(separator: ".").last ?? "")
                    if let answer = answers[subject] { return Array(answer.utf8) }
                    let purpose = Purpose.allCases.first { $0.stream(names) == name } ?? .log
                    return Array(
                        """
                        {"config":\(purpose.configuration(names)),"state":{"messages":0,"first_seq":0},"cluster":\
                        {"leader":"s1","replicas":[{"name":"s2"},{"name":"s3"}]}}
                        """.replacing(old, with: new).utf8)
                }, probe: { !silent.contains($0) }, denials: { denials.map { Denial($0) } },
                monitor: { monitor($0.port) }
            ).run()
        }
    }

    private static func faults(_ outcome: Preparation.Outcome) -> [String] {
        if case .refused(let faults) = outcome { faults } else { [] }
    }

    @Test func `a log store as it should be is used`() {
        #expect(Self.run() == .ready(version: "2.15.1", isSyncProven: true, warnings: []))
    }

    @Test(arguments: [
        (#""num_replicas":3"#, #""num_replicas":1"#, "has 1 replica, and needs 3", 3),
        (#""tt.shop.log""#, #""orders""#, "does not take the subject tt.shop.log alone: it is another cluster's", 1),
        (#""allow_direct":true"#, #""allow_direct":false"#, "allows no direct reads", 3),
        (#""storage":"file""#, #""storage":"memory""#, "is not on disk", 2),
        (#""discard":"new""#, #""discard":"old""#, "forgets messages by itself", 2),
        (#""max_age":0"#, #""max_age":1000"#, "forgets messages by itself", 2),
        (#""allow_direct":true"#, #""allow_direct":true,"sealed":true"#, "is sealed", 3),
        (#""max_msg_size":-1"#, #""max_msg_size":65536"#, "takes messages of at most 65536 bytes (max_msg_size)", 3),
        (#""allow_direct":true"#, #""allow_direct":true,"mirror":{"name":"x"}"#, "copies another stream", 3),
    ])
    func `a stream that is another one is refused`(old: String, new: String, text: String, count: Int) {
        let faults = Self.faults(Self.run(replacing: old, by: new))
        #expect(faults.count == count && faults.allSatisfy { $0.contains(text) }, "\(faults)")
    }

    @Test func `every fault is named, not only the first one`() {
        let faults = Self.faults(
            Self.run(replacing: #""num_replicas":3"#, by: #""num_replicas":1"#) { port in
                Self.varz(port, version: port == 2 ? "2.11.9" : "2.15.1", sync: port == 3 ? "false" : "true")
            })
        #expect(faults.count == 5)
        #expect(faults.contains { $0.contains("server s2 is nats-server 2.11.9, and 2.12.3 is the oldest") })
        #expect(faults.contains { $0.contains("server s3 does not sync before it acknowledges") })
    }

    @Test func `a server that nobody asked proves nothing`() {
        #expect(
            Self.run { $0 == 2 ? nil : Self.varz($0) }
                == .later("no monitor tells of the engine's server s2, which has the log"))
        let away = Self.run(replacing: #"{"name":"s2"}"#, by: #"{"name":"s2","offline":true}"#) {
            $0 == 2 ? nil : Self.varz($0)
        }
        #expect(
            away
                == .ready(
                    version: "2.15.1", isSyncProven: false,
                    warnings: ["the engine's server s2 is away: whether it syncs is not known"]))
    }

    @Test(arguments: [
        (#"Permissions Violation for Publish to "tt.shop.log""#, "publish on tt.shop.log", "tt.shop.log"),
        (#"'Permissions Violation for Publish to "tt.shop.beat.n1"'"#, "publish on tt.shop.beat.n1", "tt.shop.beat.n1"),
        (#"Permissions Violation for Subscription to "tt.shop.told""#, "subscribe to tt.shop.told", nil),
        ("Permissions Violation", "do something: Permissions Violation", nil),
        ("\u{1b}[2J\u{202e}", "do something:  [2J ", nil),
        ("", "do something: ", nil),
    ])
    func `what the server denies`(words: String, text: String, published: String?) {
        let denial = Denial(words)
        #expect(denial.text == text && denial.published == published)
    }

    @Test func `a node that may not publish does not begin, and says where`() {
        let words = ["tt.shop.log", "tt.shop.beat.n1"].map { "Permissions Violation for Publish to \"\($0)\"" }
        let refused = Self.run(silent: ["tt.shop.log", "tt.shop.beat.n1"], denials: words)
        #expect(
            refused
                == .refused([
                    "the engine does not let this node publish on tt.shop.log (permissions)",
                    "the engine does not let this node publish on tt.shop.beat.n1 (permissions)",
                ]))
        // Silence alone is no denial.
        #expect(Self.run(silent: ["tt.shop.beat.n1"]) == .later("the engine does not answer tt.shop.beat.n1"))
        // Nor may it do anything less, such as notifying a standby of a message.
        let hint = #"Permissions Violation for Publish to "tt.shop.told""#
        #expect(Self.faults(Self.run(denials: [hint])).count == 1)
    }

    @Test func `a log store that takes only short messages is refused`() {
        #expect(Self.faults(Self.run(longest: 16_448)).isEmpty)
        #expect(
            Self.faults(Self.run(longest: 16_447)) == [
                "the engine takes messages of at most 16447 bytes (max_payload), and a node needs 16448"
            ])
    }

    @Test func `an operator may answer for the log store`() {
        var trusted = Self.configuration
        trusted.isSyncTrusted = true
        trusted.monitors = []
        #expect(
            Self.run(trusted)
                == .ready(
                    version: "", isSyncProven: false,
                    warnings: ["the engine is trusted to sync before it acknowledges, and was not asked"]))
    }

    @Test func `a log store that has no leader yet is waited for, and one that is no cluster is refused`() {
        let missing = #"{"error":{"err_code":10059}}"#
        func create(_ code: Int) -> Preparation.Outcome {
            Self.run(answers: [
                "$JS.API.STREAM.INFO.TT_shop_LOG": missing,
                "$JS.API.STREAM.CREATE.TT_shop_LOG": #"{"error":{"err_code":\#(code),"description":"no"}}"#,
            ])
        }
        #expect(create(10_005) == .later("the stream TT_shop_LOG: no"))
        #expect(Self.faults(create(10_074)) == ["the engine is no cluster, and TT_shop_LOG needs 3 servers"])
        #expect(Self.faults(create(10_039)) == ["the stream TT_shop_LOG cannot be had: no"])
        #expect(Self.run(answers: ["$JS.API.STREAM.INFO.TT_shop_LOG": "rubbish"]) != .refused([]))
    }

    @Test(arguments: [("shop", 9 as UInt64, nil), ("mart", 9, "mart"), ("shop", 10, "epoch a")])
    func `a log of another cluster or lineage is refused`(cluster: String, epoch: UInt64, fault: String?) {
        let message = LogMessage(
            cluster: cluster, epoch: epoch, term: 1, node: "n1", instance: 1, sequence: 0, link: 0, body: .resign)
        var configuration = Self.configuration
        configuration.epoch = 9
        let outcome = Self.run(
            configuration, replacing: #""messages":0"#, by: #""messages":1"#,
            answers: [
                "$JS.API.STREAM.MSG.GET.TT_shop_LOG":
                    #"{"message":{"data":"\#(Base64.text(message.encoded(), .standard))"}}"#
            ])
        let faults = Self.faults(outcome)
        #expect(fault.map { text in faults.count == 1 && faults[0].contains(text) } ?? faults.isEmpty, "\(outcome)")
    }

    @Test func `a configuration names its faults, and no password`() {
        var configuration = NATSLogConfiguration(
            cluster: "a.b", node: "", servers: ["nats://me:secret@h:1", "h:secret@:4222"])
        configuration.monitors = ["https://h:1", "http://h", "http://h:8222/", "http://me:secret@h:8222"]
        let faults = configuration.faults
        #expect(faults.count == 6, "\(faults)")
        #expect(faults.last == "monitor 4 is no address of a monitor (http://host:port)")
        #expect(!faults.joined().contains("secret"))
        configuration = NATSLogConfiguration(cluster: "shop", node: "n1", servers: [])
        #expect(configuration.faults.count == 2)
    }

    @Test(arguments: [
        ("2.12.3", true), ("2.15.1", true), ("3.0.0", true), ("2.12.2", false), ("2.9.25", false), ("", false),
        ("2.13.0-beta.1", true), ("x.y.z", false), ("2.12", false), ("99999999999999999999.1.1", false),
    ])
    func `versions`(text: String, isRecent: Bool) {
        #expect(Preparation.isRecent(text) == isRecent)
    }

    @Test func `a monitor that answers a byte at a time is waited for no longer than one that is silent`() throws {
        let monitor = try SlowMonitor(answer: "HTTP/1.0 200 OK\r\n\r\n{}", pause: 100_000)
        let address = try #require(MonitorAddress("http://127.0.0.1:\(monitor.port)"))
        #expect(MonitorClient.varz(address, within: .milliseconds(500)) == nil)
        let quick = try SlowMonitor(answer: "HTTP/1.0 200 OK\r\n\r\n{}", pause: 0)
        let other = try #require(MonitorAddress("http://127.0.0.1:\(quick.port)"))
        #expect(MonitorClient.varz(other) == Array("{}".utf8))
    }

    @Test func `the answer of a monitor is what stands behind its head`() {
        func body(_ text: String) -> String? {
            MonitorClient.body(of: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(body("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}") == "{}")
        #expect(body("HTTP/1.0 200 OK\r\n\r\n") == "")
        for text in ["", "HTTP/1.1 404 No\r\n\r\n{}", "HTTP/1.1 200 OK\r\n", "\r\n\r\n", "HTTP/1.1"] {
            #expect(body(text) == nil)
        }
    }
}
