import TelltaleModel
import TelltaleWire

/// Posts the lines that it is given, each until it is answered, with the same id.
///
/// What a script says and what a trace tells go through one. It does not lose its temper: no fault is its own.
final class EventClient: SimulatedClient, Poster {
    struct Parcel {
        var line: String
        var eid: String
        /// When it was meant to leave, in microseconds.
        var due: Int64
        var answer: ServerLine?
    }

    unowned let world: any Environment
    let index: Int
    let source: String
    private(set) var link: Link?
    private var lines = ClientLines()
    private(set) var parcels: [Parcel] = []
    private var todo: [Int] = []
    private var underWay: [Int] = []
    private var isHelloAnswered = false
    private var pausedUntil: Int64 = 0
    /// Told each parcel's number, with its answer.
    var onAnswer: (Int, ServerLine) -> Void = { _, _ in }
    /// Told about itself when there is time.
    var onMove: () -> Void = {}
    var onLater: (Int) -> Void = { _ in }

    init(world: any Environment, index: Int, source: String) {
        self.world = world
        self.index = index
        self.source = source
    }

    var isWaiting: Bool { !todo.isEmpty || !underWay.isEmpty || !isHelloAnswered }
    var isIdle: Bool { todo.isEmpty && underWay.isEmpty }
    var untilNextMove: Int64 { 1_000 }

    func move() {
        if link == nil { connect() }
        onMove()
    }

    /// - Returns: Its number.
    @discardableResult
    func post(_ line: String, eid: String, due: Int64) -> Int {
        parcels.append(Parcel(line: line, eid: eid, due: due))
        todo.append(parcels.count - 1)
        if link == nil { connect() } else { flush() }
        return parcels.count - 1
    }

    func vanish() {
        guard let link else { return }
        world.reset(link)
        self.link = nil
    }

    func doLater(_ what: Int) { what < 0 ? flush() : onLater(what) }

    func calmDown() { if link == nil { connect() } else { flush() } }

    private func connect() {
        lines.begin()
        isHelloAnswered = false
        let link = world.connect(self)
        self.link = link
        world.send("HELLO id=hello client=\(source)\n", on: link)
        todo = underWay + todo
        underWay = []
        flush()
    }

    func lost(_ link: Link) {
        guard link === self.link else { return }
        self.link = nil
        if world.isCalm { connect() }
    }

    private func flush() {
        guard let link, pausedUntil <= world.now else { return }
        var text = ""
        while underWay.count < 200, !todo.isEmpty {
            let place = todo.removeFirst()
            underWay.append(place)
            world.ledger.willSend("\(source)/\(parcels[place].eid)", parcels[place].line)
            text += parcels[place].line.withID("c\(place)") + "\n"
        }
        if !text.isEmpty { world.send(text, on: link) }
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard link === self.link else { return }
        for line in lines.read(bytes).lines where line.verb == "OK" || line.verb == "ERR" {
            if !isHelloAnswered {
                isHelloAnswered = true
                continue
            }
            guard let place = underWay.first, line["id"] == "c\(place)" else {
                world.violated("protocol", "\(source) is answered out of order: \(line["id"] ?? "one without id")")
                continue
            }
            underWay.removeFirst()
            answered(place, line)
        }
        flush()
    }

    private func answered(_ place: Int, _ line: ServerLine) {
        if line.verb == "ERR", line["retry"] == "later", line["code"] != "limit_activities" {
            world.ledger.errors[line["code"] ?? "", default: 0] += 1
            todo.append(place)
            if pausedUntil <= world.now {
                pausedUntil = world.now + 1_500
                world.scheduleLater(-1, for: self, after: 1_500)
            }
            return
        }
        if line.verb == "OK" {
            let verdict = line["verdict"] ?? ""
            world.ledger.verdicts[verdict, default: 0] += 1
            let id = "\(source)/\(parcels[place].eid)"
            if let fault = world.chronicle?.fault(ofAnswer: id, verdict: verdict, rev: line.integer("rev") ?? -1) {
                world.violated("P1", fault)
            }
            if verdict == "applied", let rev = line.integer("rev") {
                world.ledger.latency?.applied(rev: rev, due: parcels[place].due)
            }
        } else {
            world.ledger.errors[line["code"] ?? "", default: 0] += 1
        }
        parcels[place].answer = line
        onAnswer(place, line)
    }

    var acknowledged: [(line: String, source: String, rev: Int64)] {
        parcels.compactMap { parcel in
            guard let answer = parcel.answer, answer.verb == "OK", let rev = answer.integer("rev") else { return nil }
            return (parcel.line, source, rev)
        }
    }

    var sentIDs: Set<String> { Set(parcels.map { "\(source)/\($0.eid)" }) }
}
