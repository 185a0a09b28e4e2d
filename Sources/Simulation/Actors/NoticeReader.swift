import TelltaleWire

/// A program that is notified of changes and no rows (`deliver=notice`), and reads when it is reported.
final class NoticeReader: RowClient {
    private enum Phase {
        case away, subscribing, live
    }

    var seat: Seat
    private let name: String
    let pattern: String
    private var phase = Phase.away
    private var cursor: String?
    /// The keys, and the rev with which each was read last.
    private(set) var table: [String: Int64] = [:]
    private var listed: [String: Int64] = [:]
    /// It was notified of a change, and has asked for nothing that covers everything since.
    private var isBehind = false
    /// A `LIST` is under way.
    private var isListing = false
    /// The keys of the GETs that are under way.
    private var asked: [String] = []
    /// A change was reported on this connection, and nothing has been read since.
    private var isNotified = false
    private var newestNoticed: Int64 = 0

    init(_ seat: Seat) {
        self.seat = seat
        name = "notices-\(seat.number)"
        pattern = self.seat.random.pick(of: ["*", "sales/*", "order/*", "card/*", "queue/*", "sales/Hoegi"])
    }

    var isWaiting: Bool { phase != .live || isBehind || isListing || !asked.isEmpty }
    var untilNextMove: Int64 { random.pick(200...8_000) }

    var introduction: [String] { ["HELLO client=\(name) caps=widgets"] }

    // MARK: Moves

    func act(on link: SimulatedLink) {
        guard phase == .live, !isListing else { return }
        if isBehind, random.chance(700) { return list() }
        // Where every reload is counted, others send them.
        if world.chronicle?.relevantTiles == nil, random.chance(150) {
            world.send("RELOAD \(random.pick(of: SimulatedWidgets.towns)) id=r\n", on: link)
        }
        // One key alone: what else has changed is still to be read.
        if let key = table.keys.sorted().first, asked.isEmpty, random.chance(100) {
            asked.append(key)
            world.send("GET \(key) id=g\n", on: link)
        }
    }

    func calmDown() {
        guard link != nil else { return connect() }
        if phase == .live, isBehind, !isListing { list() }
    }

    private func list() {
        guard let link else { return }
        (isListing, listed) = (true, [:])
        world.send("LIST \(pattern) id=l\n", on: link)
    }

    func connect() {
        phase = .subscribing
        (isListing, isNotified, asked, newestNoticed) = (false, false, [], 0)
        // A change that was reported before, and not read, is reported again, or the cursor went too far.
        let from = cursor.map { " from=\($0)" } ?? ""
        isBehind = cursor == nil
        open(with: introduction + ["SUB \(pattern) deliver=notice id=s" + from])
    }

    func ended(_ link: SimulatedLink, wasLost: Bool) { phase = .away }

    // MARK: Lines

    func receive(_ line: ClientLine) {
        switch line.verb {
        case "RESET": (isBehind, cursor) = (true, nil)
        case "LIVE":
            phase = .live
            if isBehind { list() }
        case "CHANGED": changed(line)
        case "SNAP" where line["sub"] == "0":
            if let key = line["key"], let rev = line.integer("rev") { listed[key] = rev }
        case "OK" where line["id"] == "l":
            (table, isListing, isNotified, isBehind) = (listed, false, false, false)
        case "OK" where line["id"] == "g", "ERR" where line["id"] == "g":
            guard let key = asked.popLast() else { return broken("is answered what it did not ask") }
            table[key] = line.verb == "OK" ? line.integer("rev") : nil
            isNotified = false
        // It changes something, and so may be refused by the disk.
        case "ERR" where line["id"] == "r" && (line["retry"] == "later" || world.climate.startsFull): break
        case "ERR": broken("is refused: \(line.whole)")
        case "SNAP", "UPD", "DEL", "MILE", "ALERT": broken("is sent a row: \(line.verb)")
        default: break
        }
        if let known = line["cur"] { cursor = known }
    }

    private func changed(_ line: ClientLine) {
        if isNotified { return broken("is told of changes twice, and has read nothing in between") }
        guard let rev = line.integer("rev"), rev >= newestNoticed else {
            return broken("is told of rev \(line["rev"] ?? "-")")
        }
        if let count = line.integer("count"), count < 1 { return broken("is told that \(count) keys changed") }
        (isNotified, isBehind, newestNoticed) = (true, true, rev)
        if world.isCalm, phase == .live, !isListing { list() }
    }

    func broken(_ what: String) { world.violated("notices", "\(name) \(what)") }
}
