import TelltaleWire

/// A shop's system: posts timelines, out of order at times, and lines that no server should take.
final class WidgetSource {
    private unowned let world: any Environment
    let client: EventClient
    private var random: SimulationRandom
    /// The codes with which each parcel may be refused; none where it must be taken.
    private var refusals: [Int: Set<String>] = [:]
    private var versions: [Int: (key: String, version: Int)] = [:]
    /// The newest version that was taken of each key, since it began.
    private var newest: [String: Int] = [:]
    private var count = 0

    init(_ seat: Seat) {
        (world, random) = (seat.world, seat.random)
        client = EventClient(world: world, index: seat.index, source: "shop")
        client.onMove = { [unowned self] in if !self.world.isCalm { post() } }
        client.onAnswer = { [unowned self] number, line in answered(number, line) }
    }

    private func post() {
        count += 1
        let keys = SimulatedWidgets.keys + (world.climate.boards > 0 ? [SimulatedWidgets.trip] : [])
        let key = random.pick(of: keys)
        if random.chance(world.climate.badLines * 5) { return postBad(key) }
        if random.chance(60) {
            return post("EVT \(key) type=\(random.pick(of: ["end", "reload", "reload"]))", refusals: ["unknown_key"])
        }
        var line = "EVT \(key) type=timeline"
        if random.chance(300) {
            let version = random.chance(200) ? max(1, count - 20) : count
            line += " ver=\(version)"
            // A widget that is forgotten with its kind has no version any more.
            if key != SimulatedWidgets.trip { versions[client.parcels.count] = (key, version) }
        }
        if random.chance(world.climate.lateEvents) { line += " at=\(world.daemonTime - random.pick(0...60_000))" }
        post(line, tail: Self.tail(timeline(), alert: random.chance(50)))
    }

    /// Entries from a while ago to a minute ahead.
    private func timeline() -> [String] {
        var date = world.daemonTime / 1_000 + random.pick(-20...20)
        return (0...random.below(7)).map { _ in
            date += random.pick(1...20)
            return Self.entry(date: "\(date)", number: random.below(50), relevance: relevance())
        }
    }

    /// How much an entry matters, where there are stacks that it may turn.
    private func relevance() -> String {
        guard world.climate.boards > 0, random.chance(700) else { return "" }
        let span = random.chance(500) ? #","for":\#(random.pick(1...40))"# : ""
        return #","relevance":{"score":\#(random.pick(-1...5))\#(span)}"#
    }

    private static func entry(date: String, number: Int, filler: Int = 0, relevance: String = "") -> String {
        let secret = String(repeating: "s", count: 1 + filler)
        return #"{"date":\#(date),"content-state":{"n":"\#(number)","secret":"\#(secret)"}\#(relevance)}"#
    }

    private static func tail(_ entries: [String], alert: Bool = false) -> String {
        let alert = alert ? #","alert":{"title":"A widget does not ring"}"# : ""
        return #"{"entries":[\#(entries.joined(separator: ","))],"policy":"never"\#(alert)}"#
    }

    private func postBad(_ key: String) {
        let timeline = "EVT \(key) type=timeline"
        func bad(_ tail: String, _ code: String) { post(timeline, tail: tail, refusals: [code], isNamed: false) }
        let twice = Self.entry(date: "1763719200", number: 1)
        let which = random.below(10)
        // Before HELLO is answered a server with tokens takes no line so long, and the first lines follow it at once.
        if world.needsHello, (1...3).contains(which) { return bad(Self.tail([]), "bad_json") }
        switch which {
        case 0: bad(Self.tail([twice, twice]), "bad_json")
        case 1: bad(Self.tail((0...64).map { Self.entry(date: "\(1_763_719_200 + $0)", number: $0) }), "too_large")
        case 2: bad(Self.tail([Self.entry(date: "1763719200", number: 1, filler: 4_096)]), "too_large")
        case 3:
            bad(
                Self.tail((0..<20).map { Self.entry(date: "\(1_763_719_200 + $0)", number: $0, filler: 2_000) }),
                "too_large")
        case 4: bad(Self.tail([]), "bad_json")
        case 5: bad(Self.tail([Self.entry(date: #""soon""#, number: 1)]), "bad_json")
        case 6: bad(Self.tail([Self.entry(date: "1e300", number: 1)]), "bad_json")
        case 7: post("EVT \(key) type=ready", refusals: ["bad_action", "unknown_key"], isNamed: false)
        case 8: post("SET \(key) value=on", refusals: ["bad_action", "unknown_key"], isNamed: false)
        case _:
            post(
                "EVT hours/main type=timeline", tail: Self.tail([twice]),
                refusals: ["bad_action", "unknown_kind", "unknown_key"], isNamed: false)
        }
    }

    /// - Parameter isNamed: It has an event id, because it may be taken.
    private func post(_ line: String, tail: String = "", refusals: Set<String> = [], isNamed: Bool = true) {
        let eid = "\(count)"
        // Its kind is taken away at times.
        let isGone: Set<String> = line.contains(" trip/") ? ["unknown_kind"] : []
        self.refusals[client.parcels.count] = refusals.union(isGone)
        client.post(
            line + (isNamed ? " eid=\(eid)" : "") + (tail.isEmpty ? "" : " " + tail), eid: eid, due: world.instant)
    }

    private func answered(_ number: Int, _ line: ServerLine) {
        let due = refusals[number] ?? []
        let posted = client.parcels[number].line
        if line.verb == "ERR" {
            guard !due.contains(line["code"] ?? "") else { return }
            return world.violated("widgets", "\(posted.prefix(80)) is refused: \(line["code"] ?? "")")
        }
        guard posted.contains(" eid=") else {
            return world.violated("widgets", "\(posted.prefix(80)) is taken: \(line["verdict"] ?? "")")
        }
        if posted.contains(" type=end") { newest[String(posted.split(separator: " ")[1])] = nil }
        guard let (key, version) = versions[number], line["verdict"] == "applied" else { return }
        if let known = newest[key], version < known {
            world.violated("widgets", "\(key) takes version \(version) behind version \(known)")
        }
        newest[key] = max(newest[key] ?? 0, version)
    }
}
