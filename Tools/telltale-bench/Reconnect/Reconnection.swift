import Foundation

/// Screens that lose their connections, miss something, and come back by their cursors.
struct Reconnection {
    struct Result {
        /// From the first connect until the last has been notified that it is live.
        var seconds = 0.0
        /// Of the server, in nanoseconds.
        var processorTime = 0.0
        /// How many had the newest state of everything by then.
        var currentCount = 0
        /// How many TLS handshakes used a ticket.
        var resumedHandshakes = 0
    }

    let target: TelltaleScreens
    let load: FanOutLoad
    /// The pattern of each subscription, by subscriber.
    private let patterns: (Int) -> [String]
    private let view: String

    /// Connects all clients, and notes their cursors.
    init(
        _ target: TelltaleScreens, _ shape: FanOutLoad.Shape, view: String, patterns: @escaping (Int) -> [String]
    ) throws {
        self.target = target
        self.patterns = patterns
        self.view = view
        load = try FanOutLoad(port: target.port, tlsPort: target.tlsPort, shape)
        try load.connectPublisher(
            opening: target.publisherOpening, readiness: target.publisherReadiness, message: target.message)
        try load.post(shape.keys)
        load.keepTranscripts()
        prepare { _ in [] }
        try load.connect()
    }

    /// All at once, or one after the other.
    ///
    /// - Parameters:
    ///   - changed: Events that they miss.
    ///   - resumes: Whether they come with their cursors, or as if for the first time.
    func run(changed: Int, atOnce: Int, resumes: Bool) throws -> Result {
        let cursors = (0..<load.shape.subscribers).map { Self.cursors(in: load.transcript(of: $0)) }
        load.disconnect()
        // The daemon notices.
        try load.run(seconds: 1)
        if changed > 0 { try load.post(changed) }
        prepare { resumes ? cursors[$0] : [] }
        let before = target.process.processorNanoseconds
        let resumed = load.resumedCount
        let took = try load.connect(atOnce: atOnce)
        var result = Result()
        result.resumedHandshakes = load.resumedCount - resumed
        result.seconds = Double(took) / 1e9
        result.processorTime = Double(target.process.processorNanoseconds - before)
        result.currentCount = load.currentCount
        return result
    }

    private func prepare(_ cursors: (Int) -> [String]) {
        let first = patterns(0).count
        load.prepareSubscribers(readiness: target.readiness, times: first, isLine: true) { subscriber in
            let cursors = cursors(subscriber)
            let lines = patterns(subscriber).enumerated().map { number, pattern in
                let from = cursors.indices.contains(number) ? " from=\(cursors[number])" : ""
                return "SUB \(pattern) view=\(view)\(from)\n"
            }
            return Array(lines.joined().utf8)
        }
    }

    /// The cursor of each subscription, by its number.
    private static func cursors(in transcript: [UInt8]) -> [String] {
        var cursors: [Int: String] = [:]
        // The rows of everything may stand before them.
        let end = transcript.suffix(262_144)
        for line in String(decoding: end, as: UTF8.self).split(separator: "\n") where line.hasPrefix("LIVE ") {
            let words = line.split(separator: " ")
            guard let number = words.first(where: { $0.hasPrefix("sub=") }).flatMap({ Int($0.dropFirst(4)) }),
                let cursor = words.first(where: { $0.hasPrefix("cur=") })
            else { continue }
            cursors[number] = String(cursor.dropFirst(4))
        }
        return cursors.sorted { $0.key < $1.key }.map(\.value)
    }
}
