import TelltaleWire

/// A client that opens several subscriptions on one connection and gives them up again.
final class ChurnClient: ConnectedClient {
    /// One subscription.
    struct Following {
        var pattern: String
        var view: String
        var isLive = false
        var table: [String: ShownRow] = [:]
        var revs: [String: Int64] = [:]
        var cursor: Int64 = 0
    }

    private enum Question {
        case subscribe(pattern: String, view: String)
        case unsubscribe(Int)
        case greeting
    }

    var seat: Seat
    private var asked: [Question] = []
    /// By the number that the daemon gave each subscription.
    private(set) var followings: [Int: Following] = [:]

    /// How many subscriptions it has at most.
    private static let limit = 5

    init(_ seat: Seat) {
        self.seat = seat
    }

    var name: String { "wanderer-\(index)" }
    var isWaiting: Bool { link == nil || !asked.isEmpty || followings.values.contains { !$0.isLive } }
    var untilNextMove: Int64 { random.pick(1_000...20_000) }

    func act(on link: SimulatedLink) {
        let numbers = followings.keys.sorted()
        if numbers.count < Self.limit, random.chance(700) || numbers.isEmpty {
            subscribe(on: link)
        } else if !numbers.isEmpty {
            let number = random.pick(of: numbers)
            asked.append(.unsubscribe(number))
            world.send("UNSUB sub=\(number) id=w\n", on: link)
        }
    }

    private func subscribe(on link: SimulatedLink) {
        let cast = world.setting.cast
        let kinds = cast.parts.map(\.kind) + cast.controlKinds
        let pattern = random.chance(300) || kinds.isEmpty ? "*" : "\(random.pick(of: kinds))/*"
        let view = random.pick(of: ["full", "carplay", "watch", "phone", "desktop", "vision"])
        asked.append(.subscribe(pattern: pattern, view: view))
        world.send("SUB \(pattern) view=\(view) id=w\n", on: link)
    }

    func connect() {
        let link = open()
        if world.needsHello {
            asked.append(.greeting)
            world.send("HELLO id=w client=\(name)\n", on: link)
        }
        subscribe(on: link)
    }

    func ended(_ link: SimulatedLink, wasLost: Bool) {
        asked = []
        followings = [:]
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let lines = seat.connection.readHeads(bytes, on: link)?.lines else { return }
        for line in lines { receive(line) }
    }

    private func receive(_ line: ClientLine) {
        if line.verb == "OK" || line.verb == "ERR" { return answered(line) }
        guard let number = line.integer("sub").map({ Int($0) }) else { return }
        guard var following = followings[number] else {
            return broken("is sent \(line.verb) of the subscription \(number), which it does not have")
        }
        // The subscription is moved out and in again, so that its table is not copied.
        followings[number] = Following(pattern: "", view: "")
        if let fault = handleLine(line, &following) { broken("\(following.pattern), \(following.view): \(fault)") }
        followings[number] = following
    }

    private func answered(_ line: ClientLine) {
        guard !asked.isEmpty, line["id"] == "w" else { return broken("is answered what it did not ask") }
        switch asked.removeFirst() {
        case .greeting: break
        case .subscribe(let pattern, let view):
            guard line.verb == "OK", let number = line.integer("sub") else {
                return broken("may not follow \(pattern)")
            }
            followings[Int(number)] = Following(pattern: pattern, view: view)
        case .unsubscribe(let number):
            // It may have sent UNSUB twice.
            if followings.removeValue(forKey: number) != nil, line.verb == "ERR" { broken("cannot give up \(number)") }
        }
    }

    /// - Returns: The fault of a subscription's line, if it has one.
    private func handleLine(_ line: ClientLine, _ following: inout Following) -> String? {
        if let cursor = line["cur"].flatMap({ Cursor($0) }) {
            if cursor.sequence < following.cursor { return "its cursor goes back" }
            if cursor.sequence > world.durableSequence { return "its cursor is ahead of the disk" }
            following.cursor = cursor.sequence
        }
        if line.verb == "LIVE" {
            defer { following.isLive = true }
            return following.isLive ? "it is LIVE twice" : nil
        }
        guard let key = line["key"], let rev = line.integer("rev") else { return nil }
        if let fault = world.chronicle?.fault(of: key, rev: rev) { return fault }
        if !following.pattern.includes(key: key) { return "it is told of \(key)" }
        switch line.verb {
        case "SNAP", "UPD", "DEL":
            if (line.verb == "SNAP") == following.isLive { return "\(line.verb) on the wrong side of LIVE" }
            if rev < following.revs[key] ?? 0 { return "\(key) goes back to \(rev)" }
            following.revs[key] = rev
            following.table[key] = line.verb == "DEL" ? nil : ShownRow(rev: rev, text: line.text)
        case _: break
        }
        return nil
    }

    private func broken(_ what: String) { world.violated("protocol", "\(name) \(what)") }
}
