import CFanOut
import Foundation
import Histogram

/// Events at a rate through the leader of a cluster, while its screens are nowhere, at the leader or at the followers.
final class ClusterLoad {
    enum Place: String {
        case nowhere, leader, followers
    }

    struct Settings {
        var screens = 0
        /// Events a second.
        var rate = 0.0
        /// Of an event's line.
        var bytes = 300
        var seconds = 0.0
        var warmUpSeconds = 0.5
    }

    /// One measurement. Times are nanoseconds of processor time for each event that was answered.
    struct Reading {
        var eventsPerSecond = 0.0
        /// By node, the leader first.
        var nodes: [Double] = []
        var log = 0.0
        /// Screens that do not have the newest state of their key in the end.
        var lost = 0
        /// By node, from the intended time of an event to its row, in nanoseconds.
        var latency: [Histogram<UInt64>] = []

        /// Of the followers, the mean; `nan` without any.
        var follower: Double { nodes.dropFirst().reduce(0, +) / Double(nodes.count - 1) }
    }

    private let cluster: BenchCluster
    private let settings: Settings
    private let load: FanOutLoad
    private var place = Place.nowhere
    /// By place, once screens have been there: what each costs the nodes that serve them, in bytes.
    private(set) var memory: [Place: Double] = [:]

    init(_ cluster: BenchCluster, _ settings: Settings) throws {
        self.cluster = cluster
        self.settings = settings
        load = try Self.load(.init(subscribers: settings.screens, keys: settings.screens), at: cluster, settings)
        // Each screen follows a key of its own.
        load.prepareSubscribers(readiness: Self.readiness, times: 1) { Self.opening(key: $0) }
    }

    private static let readiness = Array("LIVE sub=".utf8)

    private static func opening(key: Int) -> [UInt8] {
        Array("SUB tally/\(FanOutMessage.digits(key)) view=carplay\n".utf8)
    }

    private static func load(
        _ shape: FanOutLoad.Shape, at cluster: BenchCluster, _ settings: Settings
    ) throws -> FanOutLoad {
        let load = try FanOutLoad(port: try cluster.leader.port, shape)
        let least = TelltaleScreens.event(note: 0).bytes.count
        try load.connectPublisher(
            opening: [], readiness: Array("TELLTALE ".utf8),
            message: TelltaleScreens.event(note: max(0, settings.bytes - least)))
        try load.post(shape.keys)
        return load
    }

    /// - Parameter label: For the line of progress.
    func measure(_ place: Place, label: String, progress: Progress) throws -> Reading {
        progress.show("\(label): connecting")
        try move(to: place)
        let start = load.counts
        load.publish(rate: settings.rate, window: 64)
        try load.run(seconds: settings.warmUpSeconds)
        let (before, nodes, log) = (load.counts, processorTimes, cluster.logProcessorTime)
        let clock = ContinuousClock.now
        load.beginCounting()
        var shown = before.answers
        while true {
            let left = settings.seconds - (ContinuousClock.now - clock) / .seconds(1)
            guard left > 0.001 else { break }
            let slice = min(left, 0.5)
            try load.run(seconds: slice)
            let answers = load.counts.answers
            progress.show("\(label): \(Int(Double(answers - shown) / slice)) events/s")
            shown = answers
        }
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        let events = Double(max(1, load.counts.answers - before.answers))
        var reading = Reading()
        reading.eventsPerSecond = events / seconds
        reading.nodes = zip(processorTimes, nodes).map { ($0 - $1) / events }
        reading.log = (cluster.logProcessorTime - log) / events
        load.hold()
        progress.show("\(label): waiting for the last")
        try waitForAnswers(since: start)
        if place != .nowhere {
            try load.run(seconds: Self.patience, untilCurrent: true)
            reading.lost = settings.screens - load.currentCount
        }
        reading.latency = cluster.nodes.indices.map { load.latency(of: $0) }
        progress.clear()
        return reading
    }

    /// Seconds for the last answers and rows to arrive.
    private static let patience = 20.0

    private func waitForAnswers(since start: FanOutLoad.Counts) throws {
        let end = ContinuousClock.now + .seconds(Self.patience)
        while load.counts.answers - start.answers < load.counts.sent - start.sent {
            guard ContinuousClock.now < end else {
                throw ServerProcess.StartFailure(description: "the leader is more than 20 s behind; lower --rate")
            }
            try load.run(seconds: 0.05)
        }
    }

    private var processorTimes: [Double] { cluster.nodes.map { Double($0.process.processorNanoseconds) } }

    private func move(to place: Place) throws {
        guard place != self.place else { return }
        if self.place != .nowhere {
            load.disconnect()
            // The nodes notice.
            try load.run(seconds: 1)
        }
        self.place = place
        guard place != .nowhere else { return }
        let indices = place == .leader ? 0..<1 : 1..<cluster.nodes.count
        for screen in 0..<settings.screens {
            let index = indices.lowerBound + screen % indices.count
            load.place(screen, at: try cluster.nodes[index].port, group: index)
        }
        let before = residentByteCount(of: indices)
        try load.connect()
        try load.run(seconds: 0.5)
        guard memory[place] == nil else { return }
        memory[place] = Double(residentByteCount(of: indices) - before) / Double(settings.screens)
    }

    private func residentByteCount(of indices: Range<Int>) -> Int {
        cluster.nodes[indices].reduce(0) { $0 + $1.process.residentByteCount }
    }

    /// A few events a second, which one screen at each node follows.
    ///
    /// - Returns: By node, from the intended time of an event to its row, in nanoseconds.
    static func measureCalm(
        _ cluster: BenchCluster, _ settings: Settings, rate: Double
    ) throws -> [Histogram<UInt64>] {
        let nodes = cluster.nodes
        let load = try load(.init(subscribers: nodes.count), at: cluster, settings)
        load.prepareSubscribers(readiness: readiness, times: 1) { _ in opening(key: 0) }
        for index in nodes.indices { load.place(index, at: try nodes[index].port, group: index) }
        try load.connect()
        load.publish(rate: rate, window: 64)
        try load.run(seconds: settings.warmUpSeconds)
        load.beginCounting()
        try load.run(seconds: settings.seconds)
        load.hold()
        try load.run(seconds: patience, untilCurrent: true)
        return nodes.indices.map { load.latency(of: $0) }
    }
}
