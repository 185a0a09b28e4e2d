import TelltaleModel
import TelltaleWire

/// An order system: posts events in bursts, and says again what was not answered, with the same id.
///
/// It keeps its own ledger of what was acknowledged (P1, P6).
final class OrderSystem: SimulatedClient, Poster {
    private struct Post {
        var eid: String?
        var key: String
        var line: String
        var expectation: Expectation = .any
        var answer: (verdict: String, rev: Int64)?
        /// It may have taken effect although no answer came.
        var wasSent = false
        /// When it was meant to leave, in microseconds.
        var due: Int64 = 0
        var isDropped = false
    }

    private enum Expectation {
        case any
        case refusal(String)
    }

    unowned let world: any Environment
    let index: Int
    private let name: String
    private var random: SimulationRandom
    private(set) var link: Link?
    private var lines = ClientLines()
    private var posts: [Post] = []
    /// To be sent, and sent but not answered, as places in `posts`.
    private var todo: [Int] = []
    private var underWay: [Int] = []
    private var nextEID = 1
    private var orders: [String] = []
    /// It has shut its side; what it asked is still owed to it.
    private var hasHalfClosed = false
    private var isHelloAnswered = false
    private var isAway = false
    /// The server said `later`.
    private var pausedUntil: Int64 = 0
    private let number: Int
    private let versions: Bool
    private var cast: Cast { world.setting.cast }
    var source: String { name }

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        self.number = number
        name = world.setting.tagged("shop-\(number)")
        versions = number % 3 == 2
    }

    var isWaiting: Bool { !todo.isEmpty || !underWay.isEmpty || !isHelloAnswered }
    var untilNextMove: Int64 { random.chance(100) ? random.pick(5_000...40_000) : random.pick(100...4_000) }

    func move() {
        if link == nil {
            if !isAway { connect() }
            return
        }
        if world.isCalm { return }
        if random.chance(world.climate.resets), let link {
            world.reset(link)
            return forget()
        }
        if random.chance(world.climate.halfCloses), let link, !hasHalfClosed, isHelloAnswered, todo.isEmpty {
            post(1 + random.below(5))
            hasHalfClosed = true
            world.halfClose(link)
            return
        }
        if !hasHalfClosed, world.setting.arrivals == nil {
            post(1 + (random.chance(200) ? random.below(40) : random.below(6)))
        }
    }

    /// An arrival of an open model: it is due now, whether or not there is a connection.
    func arrive(_ count: Int) { post(count) }

    func vanish() {
        guard let link else { return }
        world.reset(link)
        forget()
    }

    func doLater(_ what: Int) { flush() }

    func calmDown() {
        isAway = false
        if link == nil { connect() }
        flush()
    }

    // MARK: Connection

    private func connect() {
        lines.begin()
        hasHalfClosed = false
        isHelloAnswered = false
        let link = world.connect(self)
        self.link = link
        world.send("HELLO id=hello client=\(name)\n", on: link)
        todo = underWay + todo
        underWay = []
        flush()
    }

    private func forget() {
        link = nil
        isHelloAnswered = false
    }

    func lost(_ link: Link) {
        guard link === self.link else { return }
        if hasHalfClosed, !underWay.isEmpty, world.wasHungUp(link) {
            world.violated("protocol", "a half-close cost \(name) \(underWay.count) replies")
        }
        forget()
        if world.isCalm { connect() }
    }

    // MARK: Posting

    private func post(_ count: Int) {
        let first = posts.count
        for _ in 0..<count {
            var post = nextPost()
            post.due = world.instant
            posts.append(post)
            world.countInput()
            // It happened, and was never told.
            if world.climate.drops > 0, random.chance(world.climate.drops) { posts[posts.count - 1].isDropped = true }
        }
        var new = Array(first..<posts.count).filter { !posts[$0].isDropped }
        if world.climate.reorderWindow > 1 { shuffle(&new, window: world.climate.reorderWindow) }
        todo += new
        flush()
    }

    /// Each leaves at most `window` places from its own.
    private func shuffle(_ places: inout [Int], window: Int) {
        var start = 0
        while start < places.count {
            let end = min(places.count, start + window)
            for place in stride(from: end - 1, to: start, by: -1) {
                places.swapAt(place, start + random.below(place - start + 1))
            }
            start = end
        }
    }

    private func nextPost() -> Post {
        if random.chance(world.climate.badLines) { return badPost() }
        if random.chance(world.climate.duplicates), let old = anyAnswered() {
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
            // Some keys are shared with other systems.
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
        if random.chance(world.climate.disorder) {
            type = random.pick(of: road + others + ["update", "end", "nonsense"])
        } else {
            // Where the order is on its road is known by how often it was spoken of.
            let spoken = posts.suffix(200).count { $0.key == key }
            type = road[min(spoken, road.count - 1)]
        }
        let eid = "\(nextEID)"
        nextEID += 1
        var line = "EVT \(key) type=\(type) eid=\(eid)"
        if versions { line += " ver=\(random.chance(50) ? max(1, nextEID - 10) : nextEID)" }
        if type == "start", random.chance(500) {
            let people = random.pick(of: [["alice"], ["bob"], ["alice", "bob"]])
            line += " for=" + people.map { world.setting.tagged($0) }.joined(separator: ",")
        }
        if random.chance(world.climate.lateEvents) { line += " at=\(world.daemonTime - random.pick(0...120_000))" }
        if type != "end", random.chance(world.climate.ownAlerts) {
            let alert = #"{"alert":{"title":"It is \#(type)","body":"\#(random.below(9))"}}"#
            return Post(eid: eid, key: key, line: line + " " + alert)
        }
        switch type {
        case "start":
            line += #" {"attributes":{"item":"\#(random.below(9))"},"content-state":{"n":\#(random.below(9))}}"#
        case "update", "ready": line += #" {"content-state":{"n":\#(random.below(5))}}"#
        case "cancel": break
        case _: if random.chance(300) { line += #" {"content-state":{"m":\#(random.below(5))}}"# }
        }
        return Post(eid: eid, key: key, line: line)
    }

    private func anyAnswered() -> Post? {
        guard let post = posts.suffix(200).dropFirst(random.below(200)).first, post.answer != nil, post.eid != nil
        else { return nil }
        if case .refusal = post.expectation { return nil }
        return post
    }

    private func badPost() -> Post {
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
        return Post(eid: nil, key: "", line: line, expectation: .refusal(code))
    }

    private func flush() {
        guard let link, !hasHalfClosed, pausedUntil <= world.now else { return }
        var text = ""
        while underWay.count < 200, !todo.isEmpty {
            let place = todo.removeFirst()
            underWay.append(place)
            if let eid = posts[place].eid {
                posts[place].wasSent = true
                world.ledger.willSend("\(name)/\(eid)", posts[place].line)
            }
            text += posts[place].line.withID("r\(place)") + "\n"
        }
        if !text.isEmpty { world.send(text, on: link) }
    }

    // MARK: Replies

    func received(_ bytes: [UInt8], on link: Link) {
        guard link === self.link else { return }
        let (lines, fault) = lines.read(bytes)
        if let fault { world.violated("protocol", "\(name) is sent what is no line: \(fault)") }
        for line in lines {
            switch line.verb {
            case "OK", "ERR": answered(line)
            case "TELLTALE", "MARK", "#", "BYE": break
            case _: world.violated("protocol", "\(name) did not ask for \(line.verb)")
            }
        }
        flush()
    }

    private func answered(_ line: ServerLine) {
        if !isHelloAnswered {
            guard line["id"] == "hello" else {
                return world.violated("protocol", "\(name) said HELLO and is answered \(line["id"] ?? "nothing")")
            }
            isHelloAnswered = true
            return
        }
        guard let place = underWay.first, line["id"] == "r\(place)" else {
            return world.violated(
                "protocol",
                "\(name) waits for the reply to r\(underWay.first ?? -1) and gets \(line["id"] ?? "one without id")")
        }
        underWay.removeFirst()
        if line.verb == "ERR" { refused(place, line) } else { accepted(place, line) }
    }

    private func refused(_ place: Int, _ line: ServerLine) {
        let code = line["code"] ?? ""
        world.ledger.errors[code, default: 0] += 1
        if line["retry"] == "later", code != "limit_activities" {
            todo.append(place)
            if pausedUntil <= world.now {
                pausedUntil = world.now + 1_500
                world.scheduleLater(0, for: self, after: 1_500)
            }
            return
        }
        // Its kinds could not be written yet.
        if world.climate.startsFull, code == "unknown_kind" { return }
        switch posts[place].expectation {
        case .refusal(let expected):
            if code != expected {
                world.violated("protocol", "\(posts[place].line) is refused as \(code), not as \(expected)")
            }
        case .any:
            // Past the start of its order, or too many orders of one person; neither uses up the id.
            if posts[place].answer != nil || !["unknown_key", "limit_activities"].contains(code) {
                world.violated("P6", "\(name) posts \(posts[place].line) and is refused: \(code)")
            }
        }
    }

    private func accepted(_ place: Int, _ line: ServerLine) {
        let post = posts[place]
        let (verdict, rev) = (line["verdict"] ?? "", line.integer("rev") ?? -1)
        world.ledger.verdicts[verdict, default: 0] += 1
        if case .refusal(let code) = post.expectation {
            return world.violated("protocol", "\(post.line) is taken, and \(code) was due")
        }
        guard let eid = post.eid else { return }
        let id = "\(name)/\(eid)"
        if let fault = world.chronicle?.fault(ofAnswer: id, verdict: verdict, rev: rev) {
            return world.violated("P1", fault)
        }
        if let effect = world.ledger.effects[id] {
            if verdict != "duplicate" {
                return world.violated(
                    "P6", "\(id) took effect twice: \(effect.verdict) rev \(effect.rev), then \(verdict) rev \(rev)")
            }
            if rev != effect.rev {
                world.violated("P6", "\(id) had rev \(effect.rev) and is a duplicate with rev \(rev)")
            }
        } else {
            world.ledger.effects[id] = ObservationLog.Effect(key: post.key, verdict: verdict, rev: rev)
        }
        posts[place].answer = (verdict, rev)
        if verdict == "applied" { world.ledger.latency?.applied(rev: rev, due: post.due) }
    }

    /// Every id that was acknowledged, with its line, for the check at the end of a storm.
    var acknowledged: [(line: String, source: String, rev: Int64)] {
        var seen: Set<String> = []
        return posts.compactMap { post in
            guard let eid = post.eid, let answer = post.answer, seen.insert(eid).inserted else { return nil }
            return (post.line, name, answer.rev)
        }
    }

    /// Every line that was ever sent, by id: nothing else may have been recorded.
    var sentIDs: Set<String> { Set(posts.compactMap { $0.wasSent ? $0.eid.map { "\(name)/\($0)" } : nil }) }
}

extension String {
    func withID(_ id: String) -> String {
        // After the verb, so that a broken tail does not swallow it.
        guard let space = firstIndex(of: " ") else { return self + " id=\(id)" }
        return self[..<space] + " id=\(id)" + self[space...]
    }

    fileprivate func replacingTail(with tail: String) -> String {
        guard let brace = firstIndex(of: "{") else { return self + " " + tail }
        return self[..<brace] + tail
    }
}
