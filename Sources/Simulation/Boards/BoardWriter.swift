import TelltaleWire

/// A person who arranges boards: places widgets, stacks, turns, moves, pins and removes them, and asks at times for what no
/// board takes.
///
/// A request without an answer is sent again with its event id, whatever has happened to the connection or to the daemon.
final class BoardWriter: RequestingClient {
    private struct Sent {
        var action: TileAction
        /// The newest commit when it was sent last.
        var sentAt: Int64 = 0
        /// The daemon's moment then, in milliseconds.
        var moment: Int64 = 0
        var answer: (verdict: String, rev: Int64)?
    }

    var seat: Seat
    let account: String
    let source: String
    private var composer: TileComposer
    private var sent: [Sent] = []
    var requests = RequestQueue(letter: "b", window: 20)

    init(_ seat: Seat) {
        self.seat = seat
        account = ["alice", "bob", "alice"][seat.number % 3]
        source = "arranger-\(seat.number)"
        composer = TileComposer(
            account: account, number: seat.number, keeps: seat.world.climate.retention >= 3_000,
            random: self.seat.random.fork())
    }

    var title: String { source }
    var hello: String { "\(introduction) id=hello" }
    var bundles: Bool { false }
    var untilNextMove: Int64 { random.pick(100...4_000) }

    var introduction: String { "HELLO client=\(source) account=\(account)" }

    /// The requests that were taken, with the rev that was reported.
    var acknowledged: [Acknowledgement] {
        sent.compactMap { each in each.answer.map { Acknowledgement(line: each.action.line, rev: $0.rev) } }
    }

    // MARK: Moves

    func act(on link: SimulatedLink) {
        guard let boards = world.chronicle?.boards else { return }
        for _ in 0...random.below(3) {
            world.countInput()
            let action = composer.next(on: boards)
            boards.willSend(action)
            sent.append(Sent(action: action))
            requests.append(sent.count - 1)
            // A reply may be lost on the way: the same request comes again.
            if random.chance(world.climate.duplicates) {
                sent.append(Sent(action: action))
                requests.append(sent.count - 1)
            }
        }
        flush()
    }

    private var moment: Int64 { (world as? World)?.drawnMoment ?? world.daemonTime }

    func request(_ number: Int) -> String {
        sent[number].sentAt = world.chronicle?.boards?.sequence ?? 0
        sent[number].moment = moment
        return sent[number].action.line
    }

    // MARK: Replies

    func answered(_ number: Int, _ line: ServerLine) {
        guard let boards = world.chronicle?.boards else { return }
        let action = sent[number].action
        let code = line["code"] ?? ""
        if postpones(number, line, butFor: "limit_tiles") { return }
        let fault: (promise: String, what: String)?
        if line.verb == "OK" {
            let (verdict, rev) = (line["verdict"] ?? "", line.integer("rev") ?? -1)
            world.ledger.verdicts[verdict, default: 0] += 1
            sent[number].answer = (verdict, rev)
            fault = boards.fault(ofAnswer: action, verdict: verdict, rev: rev)
        } else {
            world.ledger.errors[code, default: 0] += 1
            let moments = sent[number].moment...max(sent[number].moment, moment)
            fault = boards.fault(
                ofRefusal: action, code: code, sentAt: sent[number].sentAt, moments: moments,
                isRepeated: sent[(number + 1)...].contains { $0.action.eid == action.eid })
        }
        if let fault { world.violated(fault.promise, "\(source): \(fault.what)") }
    }
}
