import Histogram
import TelltaleModel

/// What was measured of a leader with one number of followers.
struct ClusterStage {
    let followers: Int
    /// By where the screens are: one reading a round.
    private var readings: [ClusterLoad.Place: [ClusterLoad.Reading]] = [:]
    /// Bytes a screen.
    private var memory: [ClusterLoad.Place: Double] = [:]
    /// By node, in nanoseconds: a few events a second, one screen at each.
    private var calm: [Histogram<UInt64>] = []
    private var trips: [RoundTrips.Result] = []

    init(followers: Int) {
        self.followers = followers
    }

    /// The places of screens that are compared: the leader's alone where nobody follows it.
    private var places: [ClusterLoad.Place] { [.nowhere, followers == 0 ? .leader : .followers] }

    // MARK: Measuring

    /// - Parameter seconds: No further round begins after so long.
    mutating func measure(
        _ cluster: BenchCluster, _ settings: ClusterLoad.Settings, rounds: Int, seconds: Double, progress: Progress
    ) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        let title = followers == 1 ? "1 follower" : "\(followers) followers"
        progress.show("\(title): one event at a time")
        trips = try RoundTrips.run(cluster.nodes, count: min(500, max(20, Int(100 * settings.seconds))))
        calm = try ClusterLoad.measureCalm(cluster, settings, rate: 100)
        let load = try ClusterLoad(cluster, settings)
        for round in 0..<rounds {
            if round > 0, ContinuousClock.now > end { break }
            // By turns, so that neither is always first and screens connect every second round.
            for place in round % 2 == 0 ? places : places.reversed() {
                let label = "\(title), round \(round + 1) of \(rounds), screens \(place.rawValue)"
                readings[place, default: []].append(try load.measure(place, label: label, progress: progress))
            }
        }
        memory = load.memory
        try cluster.checkLeader()
    }

    // MARK: Figures

    private func sample(_ place: ClusterLoad.Place, _ value: (ClusterLoad.Reading) -> Double) -> Sample {
        Sample(values: (readings[place] ?? []).map(value))
    }

    var rate: Sample { sample(.nowhere) { $0.eventsPerSecond } }
    /// Of a node or the log's servers, in microseconds an event, without screens.
    var leader: Sample { sample(.nowhere) { $0.nodes[0] / 1e3 } }
    var follower: Sample { sample(.nowhere) { $0.follower / 1e3 } }
    var log: Sample { sample(.nowhere) { $0.log / 1e3 } }

    /// A follower's processor time for an event, of the leader's; each round by itself.
    var followerShare: Sample { sample(.nowhere) { $0.follower / $0.nodes[0] } }

    /// The leader's with screens, of that without; each round by itself.
    var leaderWithScreens: Sample {
        let pairs = zip(readings[places[1]] ?? [], readings[.nowhere] ?? [])
        return Sample(values: pairs.map { $0.nodes[0] / $1.nodes[0] })
    }

    var lost: Int { readings.values.joined().reduce(0) { $0 + $1.lost } }
    var unseen: Int { trips.reduce(0) { $0 + $1.unseen } }

    /// Milliseconds at the half of events by which an answer of a follower, or a row there, comes later than at the leader.
    /// The slowest of the followers counts.
    var extraAnswer: Double { Self.extra(trips.map(\.latency), perMillisecond: 1e3) }
    var extraRow: Double { Self.extra(calm, perMillisecond: 1e6) }

    private static func extra(_ latency: [Histogram<UInt64>], perMillisecond unit: Double) -> Double {
        let halves = latency.map { Double($0.valueAtPercentile(50)) / unit }
        guard let leader = halves.first, let slowest = halves.dropFirst().max() else { return .nan }
        return slowest - leader
    }

    // MARK: Output

    static let titles = [
        "", "events/s", "CPU of the leader, µs/event", "  × leader alone", "CPU of a follower, µs/event",
        "  × its leader", "CPU of the log's servers, µs/event", "with screens: CPU of the leader, µs/event",
        "  × without screens", "  CPU of a follower, µs/event", "  memory a screen, bytes",
        "  event to row, p50 ms", "  event to row, p99 ms", "one screen a node: row at the leader, p50 ms",
        "  p99 ms", "  row at a follower, p50 ms", "  p99 ms", "one event at a time: OK at the leader, p50 ms",
        "  p99 ms", "  OK at a follower, p50 ms", "  p99 ms", "  GETs that did not see their OK",
    ]

    /// In the order of ``titles``.
    func column(_ alone: ClusterStage?) -> [String] {
        let loaded = places[1]
        let loadedNodes = followers == 0 ? 0..<1 : 1..<followers + 1
        let rows = Self.joined((readings[loaded] ?? []).flatMap { $0.latency[loadedNodes] })
        let name = followers == 0 ? "leader alone" : "\(followers) follower\(followers == 1 ? "" : "s")"
        var column = [
            name, rate.text(), leader.text(1), Sample.text(leader.median / (alone?.leader.median ?? .nan), 2),
            follower.text(1), followerShare.text(2), log.text(1), sample(loaded) { $0.nodes[0] / 1e3 }.text(1),
            leaderWithScreens.text(2), sample(loaded) { $0.follower / 1e3 }.text(1),
            Sample.text(memory[loaded] ?? .nan, 0),
        ]
        column += Self.texts(rows, 1e6)
        column += Self.texts(calm.first, 1e6) + Self.texts(Self.joined(Array(calm.dropFirst())), 1e6)
        column += Self.texts(trips.first?.latency, 1e3) + Self.texts(Self.joined(trips.dropFirst().map(\.latency)), 1e3)
        return column + ["\(unseen)"]
    }

    private static func texts(_ latency: Histogram<UInt64>?, _ unit: Double) -> [String] {
        [50.0, 99].map { percentile in
            guard let latency, latency.totalCount > 0 else { return "-" }
            return Sample.text(Double(latency.valueAtPercentile(percentile)) / unit, 2)
        }
    }

    private static func joined(_ all: [Histogram<UInt64>]) -> Histogram<UInt64> {
        var whole = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        for one in all {
            for step in one.recordedValues() { whole.record(step.value, count: step.count) }
        }
        return whole
    }

    var json: JSON {
        var object = JSONObject()
        object["followers"] = .integer(Int64(followers))
        for place in places {
            var figures = JSONObject()
            figures["events_per_second"] = sample(place) { $0.eventsPerSecond }.json
            figures["leader_cpu_us_per_event"] = sample(place) { $0.nodes[0] / 1e3 }.json
            figures["follower_cpu_us_per_event"] = sample(place) { $0.follower / 1e3 }.json
            figures["log_cpu_us_per_event"] = sample(place) { $0.log / 1e3 }.json
            if let bytes = memory[place] { figures["bytes_per_screen"] = Sample.json(bytes) }
            if place != .nowhere {
                figures["row_us"] = .array(
                    (0...followers).map { node in
                        Self.json(Self.joined((readings[place] ?? []).map { $0.latency[node] }), 1e3)
                    })
            }
            object["screens_\(place.rawValue)"] = .object(figures)
        }
        object["follower_share"] = followerShare.json
        object["leader_with_screens"] = leaderWithScreens.json
        object["lost"] = .integer(Int64(lost))
        object["calm_row_us"] = .array(calm.map { Self.json($0, 1e3) })
        object["answer_us"] = .array(trips.map { Self.json($0.latency, 1) })
        object["unseen_after_own_ok"] = .integer(Int64(unseen))
        return .object(object)
    }

    private static func json(_ latency: Histogram<UInt64>, _ unit: Double) -> JSON {
        guard latency.totalCount > 0 else { return .null }
        var object = JSONObject()
        for (name, percentile) in [("p50", 50.0), ("p99", 99)] {
            object[name] = Sample.json(Double(latency.valueAtPercentile(percentile)) / unit)
        }
        return .object(object)
    }
}
