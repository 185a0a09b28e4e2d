import Replication
import TelltaleModel
import Testing

@testable import ReplicationNATS

/// Servers are asked again whether they sync: when, and the meaning of their words.
struct SyncProofTests {
    private typealias Server = Preparation.Replica

    private static func varz(_ version: String = "2.15.1", sync: Bool = true) -> JSONObject {
        let text = #"{"version":"\#(version)","jetstream":{"config":{"sync_always":\#(sync)}}}"#
        return (try? JSONParser().parse(Array(text.utf8).span))?.object ?? JSONObject()
    }

    private static let servers = ["s1", "s2", "s3"].map { Server(name: $0, isOffline: $0 == "s3") }

    @Test func `servers that say so prove it, one that does not refutes it, and silence does neither`() {
        let all = ["s1": Self.varz(), "s2": Self.varz(), "s3": Self.varz()]
        let proof = SyncProof(of: Self.servers, reported: all)
        #expect(proof.sync(isTrusted: false) == (.proven, []) && proof.version == "2.15.1")
        var some = all
        some["s2"] = nil
        some["s3"] = nil
        let doubts = [
            "no monitor tells of the engine's server s2: whether it syncs is not known",
            "the engine's server s3 is away: whether it syncs is not known",
        ]
        #expect(SyncProof(of: Self.servers, reported: some).sync(isTrusted: false) == (.unknown, doubts))
        some["s2"] = Self.varz(sync: false)
        let unsynced =
            "the engine's server s2 does not sync before it acknowledges (jetstream { sync_interval: always })"
        #expect(
            SyncProof(of: Self.servers, reported: some).sync(isTrusted: false) == (.refuted, [unsynced, doubts[1]]))
        #expect(SyncProof(of: Self.servers, reported: some).sync(isTrusted: true) == (.trusted, [unsynced, doubts[1]]))
        some["s2"] = Self.varz("2.11.9")
        #expect(SyncProof(of: Self.servers, reported: some).sync(isTrusted: false).0 == .refuted)
        #expect(SyncProof(of: [], reported: all).sync(isTrusted: false).0 == .unknown)
    }

    // MARK: When

    private static func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: seconds * 1_000) }

    /// When it asks, with a heartbeat a second, and answers that come at once.
    private static func asks(
        _ watch: inout ProofWatch, _ range: Range<Int64>, answer: LogStoreSync?, isLeading: Bool = false
    ) -> [Int64] {
        range.filter { second in
            guard watch.isDue(isLeading: isLeading, at: time(second)) else { return false }
            guard let answer else { return true }
            if watch.listed() { _ = watch.settled(answer, [], at: time(second)) }
            return true
        }
    }

    @Test func `each minute, more often behind doubt, at once behind a reconnection and where a node begins to lead`() {
        var watch = ProofWatch(isTrusted: false, every: .minutes(1))
        _ = watch.settled(.proven, [], at: Self.time(0))
        #expect(Self.asks(&watch, 0..<130, answer: .proven) == [60, 120])
        #expect(Self.asks(&watch, 130..<200, answer: .unknown) == [180, 186, 192, 198])
        watch.reconnected()
        #expect(Self.asks(&watch, 200..<260, answer: .proven) == [200])
        #expect(Self.asks(&watch, 210..<260, answer: .proven, isLeading: true) == [210])
        // Without an answer it is asked again.
        #expect(Self.asks(&watch, 260..<400, answer: nil, isLeading: true) == [270, 330, 390])
    }

    @Test func `an outcome is reported where it is another one`() {
        var watch = ProofWatch(isTrusted: false, every: .minutes(1))
        let words: [(LogStoreSync, [String], Bool)] = [
            (.proven, [], true), (.proven, [], false), (.unknown, ["a"], true), (.unknown, ["a"], false),
            (.unknown, ["b"], true), (.refuted, ["b"], true), (.proven, [], true),
        ]
        for (sync, reasons, isNews) in words {
            let isReported = watch.settled(sync, reasons, at: Self.time(0))
            #expect(isReported == isNews, "\(sync)")
        }
    }

    // MARK: The way

    @Test func `the log store names the servers, whatever else it says`() {
        var dialogue = Dialogue(names: Names(cluster: "shop"), node: "n1", inbox: "_INBOX.me")
        dialogue.watch = ProofWatch(isTrusted: false, every: .minutes(1))
        func receive(_ text: String, status: Int = 0) -> [Preparation.Replica]? {
            dialogue.received(
                Incoming(subject: "_INBOX.me.s", status: status, sequence: -1, pending: -1, bytes: Array(text.utf8)),
                at: Self.time(1))
            return dialogue.takeServers()
        }
        let answer = #"{"cluster":{"leader":"s1","replicas":[{"name":"s2","offline":true}]}}"#
        #expect(receive(answer) == nil, "nothing was asked")
        dialogue.heartbeat(
            Heartbeat(node: "n1", role: .standby, term: 1, position: 0, address: "", release: "", number: 1),
            at: Self.time(1))
        let requests = dialogue.takeRequests()
        #expect(requests.contains { $0.subject == "$JS.API.STREAM.INFO.TT_shop_LOG" && $0.answer == "s" })
        for text in ["", "{}", "rubbish", #"{"cluster":7}"#, #"{"cluster":{"replicas":[7,{}]}}"#] {
            #expect(receive(text) == nil)
        }
        #expect(receive(answer, status: 503) == nil)
        #expect(receive(answer) == [Server(name: "s1", isOffline: false), Server(name: "s2", isOffline: true)])
        #expect(receive(answer) == nil, "once")
        dialogue.proved(.refuted, ["s2 does not"], at: Self.time(2))
        let events = dialogue.takeEvents()
        #expect(events == [.sync(.refuted, ["s2 does not"])] && dialogue.status.sync == .refuted)
    }
}
