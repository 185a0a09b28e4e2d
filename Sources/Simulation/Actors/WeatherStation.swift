import TelltaleWire

/// The provider of the kind `weather` of ``SimulatedWidgets``. It answers most asks soon and correctly, some late, wrongly or
/// never, and leaves at times. What it answers says to which ask.
final class WeatherStation: ConnectedClient {
    private static let serving = "SERVE weather"

    unowned let world: any Environment
    let index: Int
    private let name: String
    private var random: SimulationRandom
    var connection = ClientConnection()
    /// The requests of this connection that are not answered yet; replies come in their order.
    private var unanswered: [String] = []
    /// Its `SERVE` was taken: before, an answer to an ask of another connection is `forbidden`.
    private var serves = false
    /// The lines that it sends later, by number.
    private var plans: [String] = []
    /// `SERVE` is to be sent again.
    private var isServing = false
    /// The asks that it was sent.
    private(set) var heard: Set<String> = []
    private var lastAnswer: String?

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        name = "station-\(number)"
    }

    var isWaiting: Bool { link == nil || !unanswered.isEmpty }
    var untilNextMove: Int64 { random.pick(1_000...10_000) }

    func move() {
        guard link != nil else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets) { return vanish() }
        // A second answer to an ask that is over changes nothing.
        if random.chance(world.climate.lies), let lastAnswer { say(lastAnswer) }
    }

    func doLater(_ what: Int) {
        guard plans.indices.contains(what), link != nil else { return }
        let line = plans[what]
        if line == Self.serving {
            isServing = false
        } else if line.contains("entries\":[{") {
            lastAnswer = line
        }
        say(line)
    }

    func connect() {
        (unanswered, isServing, serves) = ([], false, false)
        _ = connection.open(world.connect(self))
        say("HELLO client=\(name)")
        say(Self.serving)
    }

    private func say(_ line: String) {
        guard let link else { return }
        unanswered.append(line)
        world.send(line + "\n", on: link)
    }

    private func plan(_ line: String, after delay: Int64) {
        plans.append(line)
        world.scheduleLater(plans.count - 1, for: self, after: delay)
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard let lines = connection.read(bytes, on: link)?.lines else { return }
        for line in lines {
            switch line.verb {
            case "OK": if takeRequest() == Self.serving { serves = true }
            case "ERR":
                takeRequest()
                refused(line)
            case "DO": act(line)
            case _: break
            }
        }
    }

    /// The request that a reply belongs to.
    @discardableResult
    private func takeRequest() -> String? { unanswered.isEmpty ? nil : unanswered.removeFirst() }

    private func refused(_ line: ServerLine) {
        switch line["code"] {
        case "forbidden"? where !serves: return
        // Of a wrong answer.
        case "bad_json"?: return
        case _ where line["retry"] == "later", "unknown_kind"? where world.climate.startsFull:
            guard !isServing else { return }
            isServing = true
            plan(Self.serving, after: RequestQueue.retryDelay)
        case _: world.violated("widgets", "\(name) is refused: \(line)")
        }
    }

    private func act(_ line: ServerLine) {
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

    /// Some entries around now, each of which names the ask.
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
