import TelltaleWire

/// Posts the lines that it is given, each until it has a reply, with the same event id every time.
///
/// A script and a trace post through one. It makes no faults of its own.
final class EventClient: RequestingClient, Poster {
    struct Parcel {
        var line: String
        var eid: String
        /// When the event is due to leave, in microseconds.
        var due: Int64
        var answer: ServerLine?
    }

    var seat: Seat
    let source: String
    private(set) var parcels: [Parcel] = []
    var requests = RequestQueue(letter: "c")
    /// Called with the number and the reply of each parcel.
    var onAnswer: (Int, ServerLine) -> Void = { _, _ in }
    /// Called at each move.
    var onMove: () -> Void = {}
    /// Called with the numbers that the owner scheduled for this client.
    var onLater: (Int) -> Void = { _ in }

    /// The number that the client schedules for itself; the owner's numbers are 0 and above.
    private static let retry = -1

    init(world: any Environment, index: Int, source: String) {
        seat = Seat(world: world, index: index, number: 0, random: SimulationRandom(seed: 0))
        self.source = source
    }

    var title: String { source }
    var isIdle: Bool { requests.isIdle }
    var untilNextMove: Int64 { 1_000 }

    func move() {
        if link == nil { connect() }
        onMove()
    }

    /// - Returns: The number of the parcel.
    @discardableResult
    func post(_ line: String, eid: String, due: Int64) -> Int {
        parcels.append(Parcel(line: line, eid: eid, due: due))
        requests.append(parcels.count - 1)
        if link == nil { connect() } else { flush() }
        return parcels.count - 1
    }

    func doLater(_ what: Int) { what == Self.retry ? flush() : onLater(what) }

    var hello: String { "HELLO id=hello client=\(source)" }

    func request(_ number: Int) -> String {
        world.ledger.willSend("\(source)/\(parcels[number].eid)", parcels[number].line)
        return parcels[number].line
    }

    func answered(_ number: Int, _ line: ServerLine) {
        if postpones(number, line, butFor: "limit_activities", scheduling: Self.retry) { return }
        if line.verb == "OK" {
            let verdict = line["verdict"] ?? ""
            world.ledger.verdicts[verdict, default: 0] += 1
            world.ledger.latency?.timeline.acknowledged(at: world.now)
            let id = "\(source)/\(parcels[number].eid)"
            if let fault = world.chronicle?.fault(ofAnswer: id, verdict: verdict, rev: line.integer("rev") ?? -1) {
                world.violated("P1", fault)
            }
            if verdict == "applied", let rev = line.integer("rev") {
                world.ledger.latency?.applied(rev: rev, due: parcels[number].due)
            }
        } else {
            world.ledger.errors[line["code"] ?? "", default: 0] += 1
        }
        parcels[number].answer = line
        onAnswer(number, line)
    }

    var acknowledged: [Acknowledgement] {
        parcels.compactMap { parcel in
            guard let answer = parcel.answer, answer.verb == "OK", let rev = answer.integer("rev") else { return nil }
            return Acknowledgement(line: parcel.line, rev: rev)
        }
    }

    var sentIDs: Set<String> { Set(parcels.map { "\(source)/\($0.eid)" }) }
}
