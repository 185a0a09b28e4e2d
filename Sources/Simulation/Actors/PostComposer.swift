/// One line of an order system, and its outcome.
struct OrderPost {
    enum Expectation {
        case any
        /// The daemon must refuse it with this code.
        case refusal(String)
    }

    var eid: String?
    var key: String
    var line: String
    var expectation: Expectation = .any
    var answer: (verdict: String, rev: Int64)?
    /// Whether it was sent: it may have taken effect although no reply came.
    var wasSent = false
    /// When it was due to leave, in microseconds.
    var due: Int64 = 0
    /// Whether it is never sent: an event that happened and was not reported.
    var isDropped = false
}

/// Composes the posts of one order system: mostly the next event on an order's road, with the disorder, repetitions and bad
/// lines that the fault profile asks for.
struct PostComposer {
    private let number: Int
    private let hasVersions: Bool
    private var nextEID = 1
    private var orders: [String] = []

    /// - Parameter number: The number of the order system, which is part of its keys.
    init(number: Int) {
        self.number = number
        hasVersions = number % 3 == 2
    }

    /// Composes the next post.
    ///
    /// - Parameter posts: All posts before it, in order.
    mutating func next(
        after posts: [OrderPost], in world: any Environment, random: inout SimulationRandom
    ) -> OrderPost {
        let (climate, cast) = (world.climate, world.setting.cast)
        if random.chance(climate.badLines) { return badPost(of: cast, random: &random) }
        if random.chance(climate.duplicates), let old = answered(in: posts, random: &random) {
            var again = old
            if random.chance(200), again.eid != nil {
                again.line = again.line.replacingTail(with: #"{"content-state":{"other":1}}"#)
                again.expectation = .refusal("dup_mismatch")
                again.answer = nil
            }
            return again
        }
        let key: String
        if orders.isEmpty || random.chance(150) {
            let kind = cast.pick(&random)?.kind ?? "order"
            // Several systems post to the shared keys.
            key =
                random.chance(100)
                ? world.setting.tagged("\(kind)/shared-\(random.below(5))")
                : world.setting.tagged("\(kind)/shop-\(number)-\(orders.count)")
            orders.append(key)
        } else {
            key = orders[max(0, orders.count - 1 - random.below(8))]
        }
        let kind = String(key.prefix { $0 != "/" })
        let (road, others) = cast.road(of: kind)
        let type: String
        if random.chance(climate.disorder) {
            type = random.pick(of: road + others + ["update", "end", "nonsense"])
        } else {
            // The number of posts about an order says how far it is along its road.
            let spoken = posts.suffix(200).count { $0.key == key }
            type = road[min(spoken, road.count - 1)]
        }
        let eid = "\(nextEID)"
        nextEID += 1
        var line = "EVT \(key) type=\(type) eid=\(eid)"
        if hasVersions { line += " ver=\(random.chance(50) ? max(1, nextEID - 10) : nextEID)" }
        if type == "start", random.chance(500) {
            let people = random.pick(of: [["alice"], ["bob"], ["alice", "bob"]])
            line += " for=" + people.map { world.setting.tagged($0) }.joined(separator: ",")
        }
        if random.chance(climate.lateEvents) { line += " at=\(world.daemonTime - random.pick(0...120_000))" }
        if type != "end", random.chance(climate.ownAlerts) {
            let alert = #"{"alert":{"title":"It is \#(type)","body":"\#(random.below(9))"}}"#
            return OrderPost(eid: eid, key: key, line: line + " " + alert)
        }
        switch type {
        case "start":
            line += #" {"attributes":{"item":"\#(random.below(9))"},"content-state":{"n":\#(random.below(9))}}"#
        case "update", "ready": line += #" {"content-state":{"n":\#(random.below(5))}}"#
        case "cancel": break
        case _: if random.chance(300) { line += #" {"content-state":{"m":\#(random.below(5))}}"# }
        }
        return OrderPost(eid: eid, key: key, line: line)
    }

    /// One of the newest posts that were answered, to be posted again.
    private func answered(in posts: [OrderPost], random: inout SimulationRandom) -> OrderPost? {
        guard let post = posts.suffix(200).dropFirst(random.below(200)).first, post.answer != nil, post.eid != nil
        else { return nil }
        if case .refusal = post.expectation { return nil }
        return post
    }

    /// A line that the daemon must refuse.
    private func badPost(of cast: Cast, random: inout SimulationRandom) -> OrderPost {
        let kind = cast.parts.first?.kind ?? "order"
        var bad: [(String, String)] = [
            ("EVT \(kind) type=start", "bad_key"), ("LEVITATE \(kind)/1", "unknown_verb"),
            ("EVT ghost/1 type=start", "unknown_kind"), (#"EVT \#(kind)/bad type=start {"a":"#, "bad_json"),
            (#"EVT \#(kind)/bad type=start {"a":1,"a":2}"#, "bad_json"),
            ("EVT \(kind)/never-was type=brew", "unknown_key"), ("SUB * view=tv", "bad_attr"),
            ("UNSUB sub=77", "unknown_sub"),
        ]
        if let lamp = cast.toggles.first { bad.append(("EVT \(lamp) type=start", "bad_action")) }
        let (line, code) = random.pick(of: bad)
        return OrderPost(eid: nil, key: "", line: line, expectation: .refusal(code))
    }
}

extension String {
    fileprivate func replacingTail(with tail: String) -> String {
        guard let brace = firstIndex(of: "{") else { return self + " " + tail }
        return self[..<brace] + tail
    }
}
