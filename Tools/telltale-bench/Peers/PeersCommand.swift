import ArgumentParser
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench peers`: the same work beside NATS, Redis, Mosquitto and a plain relay in C, in one run.
struct PeersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers", abstract: "Telltale beside NATS, Redis, Mosquitto and a plain relay in C.",
        discussion: """
            Tools/bench/peers fetches what is missing, builds, and runs this.

            The same publisher, subscribers and load for all, the same two processors (one for the server, one for the \
            load), by turns. A payload has --bytes bytes of JSON: for the others it is sent as it is and passed on as \
            it is; for Telltale it is a row's body, which the daemon draws from the state of an activity that each \
            event has moved on. So the others relay, and Telltale decides, renders and relays. The plain relay does \
            nothing but epoll and writev; what it passes on is as long as Telltale's whole line, and it flushes at \
            Telltale's pace: the practical limit.

            Settings: nats-server as it is; redis-server without persistence and without limits on slow subscribers; \
            mosquitto with QoS 0, no persistence, no queue limits; telltaled with its journal in memory and --pace. \
            Where many screens follow the same, a send to each of them is nearly all of the cost, for everybody; a \
            longer pace lets events share sends. A screen then waits as much longer at the most.

            For each audience first the maximum of each server, then --rounds rounds, in which each serves events at one \
            rate for all, 70% of what the slowest can (but each key once in three paces at the most: where events of \
            one key come faster than screens are written to, Telltale folds them into the newest, and such a delivery \
            does not count), and then as many as it takes: with 64 events on their way, or one of each key, whichever \
            delivers more. A run at the common rate with more than 1% folded is marked VOID. Figures are medians; in \
            brackets stand the least and the most. Telltale runs twice (the second is "again"): when the two differ \
            by more than a tenth, the run says nothing, and is marked VOID.

              telltale-bench peers --audience 1000            everybody follows one key
              telltale-bench peers --audience 64x10x64        everybody follows the same 64 keys
              telltale-bench peers --audience 64x1000x64@20   1,000 follow the same 64 keys, at a pace of 20 ms
              telltale-bench peers --audience 16x10000x16@1000 --seconds 5    some events a second; so longer
              telltale-bench peers --audience 10000x1000x10   10,000 keys, 1,000 subscribers, 10 keys each
              telltale-bench peers --audience 64x10x64 --load 1 --load 10 --load 30 --load 60 --load 90
              telltale-bench peers --idle 10000               memory of idle connections with ten subscriptions
            """)

    @Option(help: "Subscribers of one key, or KEYSxSUBSCRIBERSxEACH, and @PACE if not --pace; may be repeated.")
    var audience: [String] = []
    @Option(help: "Idle connections with ten subscriptions each; 0 = not measured.") var idle: Int?
    @Option(help: "Seconds until their memory is looked at (telltale-bench idle --help says why).")
    var settling = 50.0
    @Option(help: "Interleaved repetitions.") var rounds = 5
    @Option(help: "Seconds of each measurement, after half as many to warm up.") var seconds = 2.0
    @Option(help: "Bytes of a payload.") var bytes = 200
    @Option(help: "Deliveries a second for all, instead of 70% of what the slowest can.") var deliveries: Double?
    @Option(help: "Latency at this per cent of what the slowest can, instead of the comparison; may be repeated.")
    var load: [Double] = []
    @Option(help: "telltaled's --pace: auto, or milliseconds. The plain relay has the same, and none with auto.")
    var pace = PaceArgument.auto
    @Option(help: "memory, off, normal or full.") var journal = "memory"
    @Option(help: "Of telltale, plain, nats, redis, mosquitto; may be repeated. (default: all there are)")
    var only: [String] = []
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-peers"
    @Flag(help: "Print one JSON object.") var json = false

    private static let standard = [
        "64x10x64", "64x100x64", "64x100x64@2", "1000", "64x1000x64", "64x1000x64@20", "10000", "10000x1000x10",
    ]

    func validate() throws {
        guard audience.allSatisfy({ Audience($0) != nil }) else {
            throw ValidationError(
                "an audience is a number of subscribers, or KEYSxSUBSCRIBERSxEACH, evenly spread, and may end in @PACE")
        }
        guard rounds > 0, (0.1...600).contains(seconds), (60...4_000).contains(bytes),
            ["memory", "off", "normal", "full"].contains(journal), (idle ?? 0) >= 0, (0...3_600).contains(settling),
            (deliveries ?? 1) > 0, load.allSatisfy({ $0 > 0 && $0 <= 200 }),
            only.allSatisfy({ PeerGroup.names.contains($0) })
        else { throw ValidationError("a number is out of range, or a name unknown") }
    }

    /// The subscribers, and the keys that each follows.
    struct Audience {
        var text: String
        var shape: FanOutLoad.Shape
        /// Milliseconds; `nil` = as for the others.
        var pace: Int?

        init?(_ text: String) {
            let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 {
                guard let pace = Int(parts[1]), (0...1_000).contains(pace) else { return nil }
                self.pace = pace
            }
            let numbers = parts[0].split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            self.text = text
            switch numbers.count {
            case 1: shape = .init(subscribers: numbers[0])
            case 3: shape = .init(subscribers: numbers[1], keys: numbers[0], each: numbers[2])
            default: return nil
            }
            guard shape.isEven, shape.keys <= 1_000_000 else { return nil }
        }

        var title: String {
            shape.keys == 1
                ? "\(shape.subscribers) subscribers of one key"
                : "\(shape.keys) keys, \(shape.subscribers) subscribers, \(shape.each) keys each"
        }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        let group = PeerGroup(
            only: only, settings: .init(journal: journal, pace: pace, view: "carplay", bytes: bytes), data: data)
        for name in group.missing { warn("\(name) is not there, and is left out (Tools/bench/peers fetches it)") }
        var report = JSONObject()
        let audiences = audience.isEmpty && idle == nil ? Self.standard : audience
        for audience in audiences.compactMap({ Audience($0) }) {
            if !load.isEmpty {
                let curve = try LoadCurve(
                    audience, loads: load, group: group.paced(audience.pace), rounds: rounds, seconds: seconds)
                report[audience.text] = .object(curve.json)
                if !json { print(curve.table + "\n") }
                continue
            }
            let comparison = try PeerComparison(
                audience, group: group.paced(audience.pace), rounds: rounds, seconds: seconds, deliveries: deliveries)
            report[audience.text] = .object(comparison.json)
            if !json { print(comparison.table + "\n") }
        }
        let idleCount = idle ?? (audience.isEmpty ? 10_000 : 0)
        if idleCount > 0 {
            let memory = try IdleMemory.measure(connections: idleCount, settling: settling, group: group)
            report["idle"] = .object(memory.json)
            if !json { print(memory.table) }
        }
        if json { print(JSON.object(report)) }
    }

    private func warn(_ text: String) {
        StandardStream.error.write("telltale-bench: \(text)\n")
    }
}
