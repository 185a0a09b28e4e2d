/// A client with a principal of few rights, which the operator changes while it is connected. It asks for what it may and for
/// what it may not.
///
/// Its lines are checked where the daemon sends them (``GuestCheck``).
final class GuestClient: ConnectedClient {
    var seat: Seat
    private let principals: SimulatedPrincipals
    private let check: GuestCheck
    private var count = 0
    /// Where it follows on, by pattern.
    private var cursors: [String: String] = [:]
    private var patterns: [String: String] = [:]

    init(_ seat: Seat, in world: World, principals: SimulatedPrincipals) {
        self.seat = seat
        self.principals = principals
        check = GuestCheck(world: world, guest: seat.number, principals: principals)
    }

    var isWaiting: Bool { false }
    var untilNextMove: Int64 { random.pick(200...4_000) }

    /// The daemon sends it something.
    func emitted(_ bytes: [UInt8], on link: SimulatedLink) { check.emitted(bytes, on: link) }
    func checkPromise() { check.checkPromise(on: link) }

    var restlessness: Int { 30 }

    func act(on link: SimulatedLink) {
        for _ in 0..<(random.chance(100) ? 12 : 1 + random.below(3)) { ask(on: link) }
    }

    func connect() {
        let link = open()
        patterns = [:]
        let rights = principals.guests[seat.number]
        var hello = "HELLO id=hello client=guest"
        let token = rights.tokens.last.map(\.number) ?? 999_999
        hello += " token=\(SimulatedPrincipals.token(token))"
        var account: String?
        if rights.account == nil, random.chance(500) { account = random.pick(of: ["alice", "bob"]) }
        if let account { hello += " account=\(account)" }
        check.connected(on: link, token: token, account: account ?? rights.account)
        world.send(hello + "\n", on: link)
        for pattern in cursors.keys.sorted() { follow(pattern, on: link) }
    }

    private func follow(_ pattern: String, on link: SimulatedLink) {
        count += 1
        let id = "g\(count)"
        patterns[id] = pattern
        let view = random.pick(of: ["full", "full", "watch", "carplay"])
        var line = "SUB \(pattern) view=\(view) id=\(id)"
        if let cursor = cursors[pattern], !cursor.isEmpty { line += " from=\(cursor)" }
        send(line, id, "read", pattern, on: link)
    }

    private func send(_ line: String, _ id: String, _ verb: String, _ range: String, on link: SimulatedLink) {
        check.asked(id, verb: verb, range: range, on: link)
        world.send(line + "\n", on: link)
    }

    private func ask(on link: SimulatedLink) {
        let kind = random.pick(of: ["order", "ride", "lamp", "bell", "tip"])
        let key = random.pick(of: [
            "order/shared-1", "order/shop-0-\(random.below(9))", "ride/shop-1-\(random.below(9))", "lamp/1", "bell/1",
        ])
        let pattern = random.pick(of: ["*", "\(kind)/*", "order/*", "order/shared-1"])
        if random.chance(150) {
            cursors[pattern] = cursors[pattern] ?? ""
            return follow(pattern, on: link)
        }
        count += 1
        let id = "g\(count)"
        let (line, verb, range): (String, String, String) = random.pick(of: [
            ("GET \(key) view=full", "read", key), ("HISTORY \(key)", "read", key), ("OPEN \(key)", "read", key),
            ("LIST \(pattern)", "read", pattern), ("KINDS", "read", "*"), ("KIND \(kind)", "read", "\(kind)/*"),
            ("STATS", "stats", ""), ("SEEN order/none-\(random.below(3)) rev=1", "act", "order/none"),
            ("SET lamp/none value=on", "act", "lamp/none"), ("EVT ghost/1 type=start", "post", "ghost/1"),
            ("EVT order/ghost type=start", "post", "order/ghost"), ("SERVE lamp", "serve", "lamp"), ("PING", "", ""),
        ])
        send("\(line) id=\(id)", id, verb, range, on: link)
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let (lines, _) = seat.connection.readHeads(bytes, on: link) else { return }
        for line in lines {
            if let id = line["id"], let pattern = patterns[id], let number = line["sub"] { patterns[number] = pattern }
            if let number = line["sub"], let pattern = patterns[number], let cursor = line["cur"] {
                cursors[pattern] = cursor
            }
        }
    }
}
