import Hub
import TelltaleModel
import TelltaleWire

/// A watch with a board on which only what comes by itself changes. It is on its way or at home, slow or away at times, and
/// resumes.
final class VisitScreen: RowClient {
    /// The table that a cursor stands for, as it is to be.
    private struct Promise {
        var cursor: String
        var look: VisitHistory.Look
    }

    /// How long the boards of what is everybody's may wait to be looked at, in milliseconds.
    private static let latitude: Int64 = 5_000

    unowned let world: any Environment
    let index: Int
    private var random: SimulationRandom
    var connection = ClientConnection()
    private let name: String
    let board: String
    let account: String?
    private var isOnWay: Bool
    /// The daemon has not said yet that it has heard where the device is.
    private var isPlaceUnheard = false
    private var rows = FollowedRows()
    private var emission = ClientLines()
    private var promise: Promise?

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        name = "nudges-\(number)"
        let boards = SimulatedVisits.boards
        // The first ones follow their own; then a device without an account, one of another account, and one in the hall.
        board = boards[[0, 1, 2, 0, 1, 2][number % 6]].name
        account = ["alice", "bob", nil, nil, "alice", "bob"][number % 6]
        isOnWay = number % 6 != 4
    }

    var isWaiting: Bool { !rows.isLive }
    var isLive: Bool { rows.isLive }
    var table: [String: ShownRow] { rows.table }
    var untilNextMove: Int64 { random.pick(500...15_000) }

    var introduction: [String] {
        ["HELLO client=\(name) caps=widgets" + (account.map { " account=\($0)" } ?? ""), place]
    }
    private var place: String { "TRAIT place=\(isOnWay ? "commute" : "home") id=place" }
    var subscription: String { "SUB \(board)/* view=watch id=s" }
    /// A board begins with a tile.
    private var arrangement: String {
        "TILE \(board)/first do=add widget=\(SimulatedWidgets.queue) family=accessoryRectangular id=first"
    }

    // MARK: Moves

    func move() {
        guard let link else {
            if rows.isAway { connect() }
            return
        }
        if world.isCalm { return }
        if random.chance(world.climate.resets + 40) { return vanish() }
        if !isPlaceUnheard, rows.isLive, random.chance(100) {
            (isOnWay, isPlaceUnheard) = (!isOnWay, true)
            world.send(place + "\n", on: link)
        }
        if random.chance(world.climate.slowReaders) { changeReading(of: link, &random) }
    }

    func calmDown() {
        guard let link else { return connect() }
        wake(link)
    }

    func connect() {
        let link = connection.open(world.connect(self))
        emission.begin()
        (promise, isPlaceUnheard) = (nil, false)
        let from = rows.begin(isAnew: random.chance(50))
        let isOwner = account == VisitHistory.owner(of: board)
        world.send(
            (introduction + (isOwner ? [arrangement] : []) + [subscription + from]).map { $0 + "\n" }.joined(), on: link
        )
    }

    func ended(_ link: Link, wasLost: Bool) { rows.end() }

    // MARK: The daemon

    /// The daemon sends it something, which is of the newest durable state.
    func emitted(_ bytes: [UInt8], on link: Link) {
        guard link === self.link, let visits = world.chronicle?.visits else { return }
        for line in emission.readHeads(bytes).lines {
            switch line.verb {
            case "OK" where line["id"] == "place": isPlaceUnheard = false
            case "SNAP", "UPD", "DEL":
                guard let key = line["key"], SuggestionNames.isID(SimulatedBoards.parts(of: key).id) else { break }
                if let fault = fault(of: line, key, visits) { return broken("is sent \(key), which \(fault)") }
            case "LIVE":
                guard let cursor = line["cur"], Cursor(cursor)?.sequence == visits.sequence, !isPlaceUnheard else {
                    break
                }
                promise = Promise(cursor: cursor, look: look(visits, isAtRest: false))
            case _: break
            }
        }
    }

    private func fault(of line: ClientLine, _ key: String, _ visits: VisitHistory) -> String? {
        let (board, id) = SimulatedBoards.parts(of: key)
        if line.verb == "DEL" { return visits.fault(ofDeletion: id, on: board, for: account) }
        guard let told = ToldTile(line.text) else { return "has no entries" }
        if !isPlaceUnheard, !isOnWay { return "is for devices that are on their way" }
        return visits.fault(ofRow: told, id: id, on: board, for: account)
    }

    /// Gives the orders that it has to show now.
    ///
    /// - Parameter isAtRest: Every board has been looked at.
    func look(_ visits: VisitHistory, isAtRest: Bool) -> VisitHistory.Look {
        guard isOnWay, let world = world as? World else { return VisitHistory.Look() }
        return visits.look(
            board, for: account, at: world.drawnMoment, since: world.now - (isAtRest ? 0 : Self.latitude))
    }

    // MARK: Lines

    func receive(_ line: ClientLine) {
        rows.take(line)
        switch line.verb {
        case "LIVE":
            if let promise, promise.cursor == line["cur"], let fault = fault(in: promise.look) {
                broken("is LIVE, and \(fault)")
            }
            promise = nil
        case "ERR" where line["id"] == "s": broken("is refused: \(line.whole)")
        case "SNAP", "UPD", "DEL":
            guard let key = line["key"], let rev = line.integer("rev") else { break }
            take(line, key, rev)
        case _: break
        }
    }

    private func take(_ line: ClientLine, _ key: String, _ rev: Int64) {
        if !key.hasPrefix(board + "/") { return broken("is told of \(key)") }
        let visits = world.chronicle?.visits
        let order = visits?.order(ofID: SimulatedBoards.parts(of: key).id)
        if let fault = rows.fault(ofRev: rev, key: key), order.flatMap({ visits?.hosts[$0]?.wasForgotten }) != true {
            return broken(fault)
        }
        rows.set(line.verb == "DEL" ? nil : ShownRow(rev: rev, text: line.text), of: key)
    }

    /// The fault of the table, if it has one: it shows what is there, as far as there is room, and nothing else.
    func fault(in look: VisitHistory.Look) -> String? {
        var shown: Set<String> = []
        for (key, row) in table.sorted(by: { $0.key < $1.key })
        where SuggestionNames.isID(SimulatedBoards.parts(of: key).id) {
            guard let told = ToldTile(row.text), let order = SimulatedVisits.order(ofWidget: told.widget) else {
                return "has no entries of \(key)"
            }
            shown.insert(order)
        }
        if let other = shown.subtracting(look.possible).min() { return "still shows \(other)" }
        if look.possible.count <= VisitHistory.limit, let lost = look.due.subtracting(shown).min() {
            return "does not show \(lost)"
        }
        // There may be rows of more, which have room later.
        let least = min(VisitHistory.limit, look.due.count)
        return shown.count >= least ? nil : "shows \(shown.count) of \(look.due.count)"
    }

    func broken(_ what: String) { world.violated("visits", "\(name) (\(board)) \(what)") }
}
