internal import TelltaleModel

/// The lanes that wait for their turn, and the pushes in flight to each service.
struct PushQueue: Sendable {
    typealias LaneID = PushState.LaneID

    /// The lanes that wait for one service. A lane that has since changed to another service is skipped.
    private struct Line {
        var lanes: [LaneID] = []
        /// The number of those that had their turn.
        var count = 0

        mutating func next() -> LaneID? {
            guard count < lanes.count else { return nil }
            count += 1
            return lanes[count - 1]
        }

        mutating func compact() {
            lanes.removeFirst(count)
            count = 0
        }
    }

    /// The most pushes in flight to one service. A slow service does not delay the others.
    private let flightLimit: Int
    private var lines: [String: Line] = [:]
    /// The service that each lane waits for.
    private var waitsFor: [LaneID: String] = [:]
    private var wakes: [LaneID: Timestamp] = [:]
    /// The service of each push in flight.
    private var inFlight: [LaneID: String] = [:]
    /// The number of pushes in flight to each service.
    private var flights: [String: Int] = [:]

    /// The name of Apple's service; the names of browsers' services are hosts.
    static let apple = ""

    init(flightLimit: Int) { self.flightLimit = flightLimit }

    /// The services that lanes wait for, sorted.
    var services: [String] { lines.keys.sorted() }

    /// When the next lane has its turn; `nil` if none waits.
    var nextWake: Timestamp? {
        lines.keys.contains(where: { hasRoom(for: $0) }) ? .distantPast : wakes.values.min()
    }

    func isInFlight(_ id: LaneID) -> Bool { inFlight[id] != nil }

    mutating func append(_ id: LaneID, for service: String) {
        guard waitsFor[id] != service else { return }
        waitsFor[id] = service
        lines[service, default: Line()].lanes.append(id)
    }

    /// The next lane that a service has room for.
    mutating func next(for service: String) -> LaneID? {
        while hasRoom(for: service), let id = lines[service]?.next() {
            guard waitsFor[id] == service else { continue }
            waitsFor[id] = nil
            return id
        }
        lines[service]?.compact()
        if lines[service]?.lanes.isEmpty == true { lines[service] = nil }
        return nil
    }

    private func hasRoom(for service: String) -> Bool {
        guard flights[service] ?? 0 < flightLimit else { return false }
        return service == Self.apple
            || inFlight.count - (flights[Self.apple] ?? 0) < flightLimit * PushState.browserFlights
    }

    mutating func wake(_ id: LaneID, at time: Timestamp) { wakes[id] = time }

    /// The lanes whose time has come, sorted.
    mutating func takeDue(at now: Timestamp) -> [LaneID] {
        let due = wakes.filter { $0.value <= now }.keys.sorted()
        for id in due { wakes[id] = nil }
        return due
    }

    mutating func takeOff(_ id: LaneID, to service: String) {
        land(id)
        inFlight[id] = service
        flights[service, default: 0] += 1
    }

    /// A push is no longer in flight.
    mutating func land(_ id: LaneID) {
        guard let service = inFlight.removeValue(forKey: id) else { return }
        let count = (flights[service] ?? 1) - 1
        flights[service] = count > 0 ? count : nil
    }

    mutating func remove(_ id: LaneID) {
        wakes[id] = nil
        land(id)
    }
}
