import TelltaleWire

extension String {
    /// Whether this pattern includes a key.
    func includes(key: String) -> Bool {
        self == "*" || self == key || (hasSuffix("/*") && key.hasPrefix(dropLast()))
    }
}

/// A device with one subscription: it keeps one row a key and draws from it, is slow or away at times, and resumes.
protocol DeviceScreen: RowClient {
    var name: String { get }
    var pattern: String { get }
    var rows: FollowedRows { get set }
    /// The lines with which another device of its kind would begin, and its `SUB`, with `id=s`.
    var introduction: [String] { get }
    var subscription: String { get }
    /// What it asks for before it subscribes.
    var preparation: [String] { get }
    /// Whether a key is of the sort that the device shows.
    func isShown(_ key: String) -> Bool
    /// A key of which the device may be sent an older rev, because the daemon has forgotten it.
    func isForgotten(_ key: String) -> Bool
    func isRefusal(_ line: ClientLine) -> Bool
    /// The situation of the device changes, at times.
    func changeSituation(on link: SimulatedLink)
    /// A connection begins.
    func begun()
    /// A snapshot or a resume is over.
    func becameLive(_ line: ClientLine)
    /// A row or a deletion came.
    func showRow(_ line: ClientLine, key: String, rev: Int64)
}

extension DeviceScreen {
    var isWaiting: Bool { !rows.isLive }
    var table: [String: ShownRow] { rows.table }
    var untilNextMove: Int64 { random.pick(500...15_000) }
    var preparation: [String] { [] }

    func isForgotten(_ key: String) -> Bool { false }
    func isRefusal(_ line: ClientLine) -> Bool { true }
    func changeSituation(on link: SimulatedLink) {}
    func begun() {}
    func becameLive(_ line: ClientLine) {}

    func follows(_ key: String) -> Bool { isShown(key) && pattern.includes(key: key) }

    func act(on link: SimulatedLink) {
        changeSituation(on: link)
        if random.chance(world.climate.slowReaders) { changeReading(of: link, &random) }
    }

    func calmDown() {
        guard let link else { return connect() }
        wake(link)
    }

    func connect() {
        let link = open()
        begun()
        let from = rows.begin(isAnew: random.chance(50))
        let lines = introduction + preparation + [subscription + from]
        world.send(lines.map { $0 + "\n" }.joined(), on: link)
    }

    func ended(_ link: SimulatedLink, wasLost: Bool) { rows.end() }

    func receive(_ line: ClientLine) {
        rows.followLine(line)
        switch line.verb {
        case "LIVE": becameLive(line)
        case "ERR" where isRefusal(line): broken("is refused: \(line.whole)")
        case "SNAP", "UPD", "DEL":
            if let key = line["key"], let rev = line.integer("rev"), isShown(key) { showRow(line, key: key, rev: rev) }
        default: break
        }
    }

    func showRow(_ line: ClientLine, key: String, rev: Int64) {
        if let fault = fault(of: key, rev: rev) { return broken(fault) }
        rows.set(line.verb == "DEL" ? nil : ShownRow(rev: rev, text: line.text), of: key)
    }

    /// Notes the rev of a row or a deletion.
    ///
    /// - Returns: The fault of it, if it has one: it is of a key that the device follows, and not older than what came before.
    func fault(of key: String, rev: Int64) -> String? {
        if !follows(key) { return "is told of \(key)" }
        guard let fault = rows.fault(ofRev: rev, key: key), !isForgotten(key) else { return nil }
        return fault
    }
}

/// The place of a device, and what is known of its table.
struct DevicePlace<Look> {
    var isOnWay: Bool
    /// The daemon has not said yet that it has heard where the device is.
    var isUnheard = false
    /// The lines that the daemon has sent, whether or not they have arrived.
    var emission = ClientLines()
    /// The table that a cursor stands for, as it is to be.
    var promise: (cursor: String, look: Look)?

    var trait: String { "TRAIT place=\(isOnWay ? "commute" : "home") id=place" }
}

/// A device that shows boards, at home or on its way. Its rows are checked where the daemon sends them, and its table where the
/// daemon says that it is whole.
protocol PlacedScreen: DeviceScreen {
    associatedtype Look
    var place: DevicePlace<Look> { get set }
    var account: String? { get }
    /// The newest commit that its model knows.
    var knownSequence: Int64? { get }
    /// What it has to show now.
    func currentView(in world: World) -> Look
    /// The fault of a line that the daemon sends, if it has one.
    func fault(ofEmitted line: ClientLine, in world: World) -> String?
    /// The fault of the table, if it has one: it draws what the view shows, and nothing else.
    func fault(in view: Look) -> String?
}

extension PlacedScreen {
    var isPlaceKnown: Bool { !place.isUnheard }

    func isShown(_ key: String) -> Bool { SimulatedBoards.isTile(key) }

    func begun() {
        place.emission.begin()
        (place.promise, place.isUnheard) = (nil, false)
    }

    func changeSituation(on link: SimulatedLink) {
        guard !place.isUnheard, rows.isLive, random.chance(100) else { return }
        (place.isOnWay, place.isUnheard) = (!place.isOnWay, true)
        world.send(place.trait + "\n", on: link)
    }

    func emitted(_ bytes: [UInt8], on link: SimulatedLink) {
        guard link === self.link, let world = world as? World, !world.daemon.isInDoubt, let knownSequence else {
            return
        }
        for line in place.emission.readHeads(bytes).lines where world.ledger.violations.isEmpty {
            switch line.verb {
            case "OK" where line["id"] == "place": place.isUnheard = false
            case "SNAP", "UPD", "DEL": if let fault = fault(ofEmitted: line, in: world) { broken(fault) }
            case "LIVE" where !place.isUnheard:
                guard let cursor = line["cur"], Cursor(cursor)?.sequence == knownSequence else { break }
                place.promise = (cursor, currentView(in: world))
            case _: break
            }
        }
    }

    func becameLive(_ line: ClientLine) {
        if let promise = place.promise, promise.cursor == line["cur"], let fault = fault(in: promise.look) {
            broken("is LIVE, and \(fault)")
        }
        place.promise = nil
    }
}
