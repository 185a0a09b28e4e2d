import TelltaleWire

/// The provider of the kind `weather` of ``SimulatedWidgets``. It answers most asks soon and correctly, some late, wrongly or
/// never, and leaves at times. What it answers says to which refresh.
final class WeatherStation: ProvidingClient {
    private static let serving = "SERVE weather"

    var seat: Seat
    let name: String
    var unanswered: [String] = []
    /// Its `SERVE` was taken: before, an answer to a refresh of another connection is `forbidden`.
    private var serves = false
    var plans: [String] = []
    var isServing = false
    /// The refreshes that it was sent.
    private(set) var heard: Set<String> = []
    private var lastAnswer: String?

    init(_ seat: Seat) {
        self.seat = seat
        name = "station-\(seat.number)"
    }

    func act(on link: SimulatedLink) {
        // A second answer to a refresh that is over changes nothing.
        if random.chance(world.climate.lies), let lastAnswer { say(lastAnswer) }
    }

    func willSay(_ line: String) { if line.contains("entries\":[{") { lastAnswer = line } }

    func connect() {
        (unanswered, isServing, serves) = ([], false, false)
        _ = open()
        say("HELLO client=\(name)")
        serve()
    }

    func serve() { say(Self.serving) }

    func answered(_ line: ServerLine, to request: String?) {
        guard line.verb == "ERR" else {
            if request == Self.serving { serves = true }
            return
        }
        switch line["code"] {
        case "forbidden"? where !serves: return
        // Of a wrong answer.
        case "bad_json"?: return
        case _ where line["retry"] == "later", "unknown_kind"? where world.climate.startsFull: serveLater()
        case _: world.violated("widgets", "\(name) is refused: \(line)")
        }
    }

    func asked(_ line: ServerLine) {
        guard let operation = line["op"], line["action"] == "timeline", line["reason"] != nil else {
            return world.violated("widgets", "\(name) is asked for no timeline: \(line)")
        }
        if !world.ledger.askedForPress(operation) {
            world.violated("widgets", "\(name) is asked for \(operation) again")
        }
        heard.insert(operation)
        let isLying = !world.isCalm && random.chance(200 + world.climate.lies)
        guard isLying else { return plan(answer(to: operation), after: random.pick(10...1_500)) }
        switch random.below(5) {
        case 0: break
        case 1: plan("FAIL op=\(operation) {\"message\":\"the mast is down\"}", after: random.pick(10...1_500))
        case 2: plan(answer(to: operation), after: random.pick(5_000...30_000))
        case 3: plan("DONE op=\(operation) {\"entries\":[]}", after: 100)
        case _:
            plan(
                "DONE op=\(operation) {\"entries\":[{\"date\":5,\"content-state\":{\"n\":7}},{\"date\":5}]}", after: 100
            )
        }
    }

    /// Some entries around now, each of which names the refresh.
    private func answer(to operation: String) -> String {
        var date = world.daemonTime / 1_000 + random.pick(-5...5)
        let entries = (0...random.below(4)).map { number in
            defer { date += random.pick(1...20) }
            return #"{"date":\#(date),"content-state":{"n":"\#(operation).\#(number)"}}"#
        }
        let policy = random.pick(of: [
            "", "", #","policy":"atEnd""#, #","policy":"never""#,
            #","policy":{"after":\#(date + random.pick(-20...30))}"#,
        ])
        return #"DONE op=\#(operation) {"entries":[\#(entries.joined(separator: ","))]\#(policy)}"#
    }
}
