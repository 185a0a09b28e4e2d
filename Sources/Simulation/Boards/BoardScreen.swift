import TelltaleModel
import TelltaleWire

/// A device that shows a board: it follows it, is slow or away at times, turns its stacks by itself, and resumes.
///
/// Its rows are checked where the daemon sends them, and its table where the daemon says that it is whole.
final class BoardScreen: RowClient {
    /// The table that a cursor stands for, as it is to be.
    private struct Promise {
        var cursor: String
        var time: Int64
        var looks: [BoardLook]
    }

    /// How long a row may be on its way when its moment comes, in milliseconds.
    private static let latitude: Int64 = 5_000

    unowned let world: any Environment
    let index: Int
    private var random: SimulationRandom
    var connection = ClientConnection()
    private let name: String
    let view: String
    let pattern: String
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
        name = "board-\(number)"
        var random = random
        let board = random.pick(of: SimulatedBoards.names)
        view = random.pick(
            of: board == "@wrist" ? ["watch", "watch", "phone"] : ["carplay", "carplay", "standby", "phone"])
        pattern = random.pick(of: ["\(board)/*", "\(board)/*", "\(board)/*", "*", "\(board)/t1"])
        account = random.pick(of: ["alice", "bob", nil])
        isOnWay = random.chance(300)
        self.random = random
    }

    var isWaiting: Bool { !rows.isLive }
    var isLive: Bool { rows.isLive }
    var table: [String: ShownRow] { rows.table }
    var untilNextMove: Int64 { random.pick(500...15_000) }

    var introduction: [String] {
        ["HELLO client=\(name) caps=widgets" + (account.map { " account=\($0)" } ?? "")] + (isOnWay ? [place] : [])
    }
    private var place: String { "TRAIT place=\(isOnWay ? "commute" : "home") id=place" }
    var device: BoardDevice { BoardDevice(isOnWay: isOnWay, seesSuggestions: pattern != "*" || account != nil) }
    var subscription: String { "SUB \(pattern) view=\(view) id=s" }

    func follows(_ key: String) -> Bool {
        SimulatedBoards.isTile(key)
            && (pattern == "*" || pattern == key || (pattern.hasSuffix("/*") && key.hasPrefix(pattern.dropLast())))
    }

    // MARK: Moves

    func move() {
        guard let link else {
            if rows.isAway { connect() }
            return
        }
        if world.isCalm { return }
        if random.chance(world.climate.resets + 20) { return vanish() }
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
        world.send((introduction + [subscription + from]).map { $0 + "\n" }.joined(), on: link)
    }

    func ended(_ link: Link, wasLost: Bool) { rows.end() }

    // MARK: The daemon

    /// The daemon sends it something, which is of the newest durable state.
    func emitted(_ bytes: [UInt8], on link: Link) {
        guard link === self.link, let world = world as? World, let boards = world.chronicle?.boards else { return }
        for line in emission.readHeads(bytes).lines where world.ledger.violations.isEmpty {
            switch line.verb {
            case "OK" where line["id"] == "place": isPlaceUnheard = false
            // It is drawn for one place or the other.
            case _ where isPlaceUnheard: break
            case "SNAP", "UPD": if let fault = fault(of: line, boards, in: world) { broken(fault) }
            case "DEL": if let fault = fault(ofDeletion: line, boards, in: world) { broken(fault) }
            case "LIVE":
                guard let cursor = line["cur"], Cursor(cursor)?.sequence == boards.sequence else { break }
                promise = Promise(cursor: cursor, time: world.drawnMoment, looks: looks(boards, in: world))
            case _: break
            }
        }
    }

    private func fault(of line: ClientLine, _ boards: BoardHistory, in world: World) -> String? {
        guard let key = line["key"], let rev = line.integer("rev"), SimulatedBoards.isTile(key) else { return nil }
        let (board, id) = SimulatedBoards.parts(of: key)
        if !boards.isVisible(board, to: account) { return "is another account's, and is shown \(key)" }
        guard let told = ToldTile(line.text) else {
            return "is sent \(key) without entries: \(String(decoding: line.text, as: UTF8.self))"
        }
        let tile = told.isSuggested ? told.stack ?? "" : id
        if let fault = boards.fault(ofRev: rev, tile: tile, on: board, suggested: told.isSuggested ? told.widget : nil)
        {
            return "is sent \(key), which \(fault)"
        }
        let look = boards.look(board, view: view, device: device, widgets: world.records.widgets)
        if let fault = told.fault(of: key, in: look, at: world.drawnMoment, isTelling: true) {
            return "is sent \(key) at \(rev), which \(fault)"
        }
        if told.isSuggested {
            return world.records.widgets.current[told.widget]
                .map { told.fault(ofContent: $0, at: world.drawnMoment) ?? nil }?.map { "is sent \(key), which \($0)" }
        }
        if let order = SimulatedWidgets.order(ofStatus: told.widget) {
            let isBlank = told.content.entries.allSatisfy { $0.drawn.number == nil }
            return isBlank || mayBeTold(of: order, in: world)
                ? nil : "is sent \(key) with \(order), which is not its own"
        }
        let isUnavailable = boards.isUnavailable(told.widget, widgets: world.records.widgets)
        if told.isUnavailable != isUnavailable {
            return "is sent \(key), and \(told.widget) is \(isUnavailable ? "not " : "")there"
        }
        if isUnavailable {
            return told.content.entries.allSatisfy { $0.drawn.number == nil }
                ? nil : "is sent \(key) with content, and \(told.widget) is not there"
        }
        return world.records.widgets.fault(ofTile: told.content, on: told.widget, ahead: 4)
            .map { "is sent \(key), which \($0)" }
    }

    /// A suggestion goes as it came: nobody removed it.
    private func fault(ofDeletion line: ClientLine, _ boards: BoardHistory, in world: World) -> String? {
        guard let key = line["key"], SuggestionNames.isID(SimulatedBoards.parts(of: key).id) else { return nil }
        let (board, id) = SimulatedBoards.parts(of: key)
        guard let origin = boards.suggestions.origin(of: id), !boards.board(board).isThere(id),
            boards.isVisible(board, to: account)
        else { return nil }
        if line["why"] == "removed", !boards.removedKept.contains(key) {
            return "is told that \(key) was removed, which nobody placed"
        }
        let look = boards.look(board, view: view, device: device, widgets: world.records.widgets)
        return look.draws(suggesting: origin.widget, in: origin.stack, at: world.drawnMoment)
            ? "is told that \(key) is gone, and \(origin.widget) is suggested" : nil
    }

    /// Whether an order is there, and is its account's or everybody's.
    private func mayBeTold(of order: String, in world: World) -> Bool {
        guard let story = world.records.stories[order] else { return false }
        guard let account, let audience = story.audience else { return true }
        return audience.isEmpty || audience.contains(account)
    }

    private func looks(_ boards: BoardHistory, in world: World) -> [BoardLook] {
        boards.names.filter { boards.isVisible($0, to: account) }
            .map { boards.look($0, view: view, device: device, widgets: world.records.widgets) }
    }

    // MARK: Lines

    func receive(_ line: ClientLine) {
        rows.take(line)
        switch line.verb {
        case "LIVE":
            if let promise, promise.cursor == line["cur"] { keep(promise) }
            promise = nil
        case "ERR": broken("is refused: \(line.whole)")
        case "SNAP", "UPD", "DEL":
            if let key = line["key"], let rev = line.integer("rev"), SimulatedBoards.isTile(key) {
                take(line, key: key, rev: rev)
            }
        default: break
        }
    }

    private func take(_ line: ClientLine, key: String, rev: Int64) {
        if !follows(key) { return broken("is told of \(key)") }
        if let fault = rows.fault(ofRev: rev, key: key), world.chronicle?.boards?.forgotten.contains(key) == false {
            return broken(fault)
        }
        rows.set(line.verb == "DEL" ? nil : ShownRow(rev: rev, text: line.text), of: key)
    }

    /// A snapshot or a resume is over: the table shows all of it, whatever was missed.
    private func keep(_ promise: Promise) {
        if let fault = fault(in: promise.looks, at: promise.time, isAtRest: false) { broken("is LIVE, and \(fault)") }
    }

    /// The fault of the table at a moment, if it has one: it draws what the boards show, and nothing else.
    ///
    /// - Parameter isAtRest: A suggestion that has just come or gone has been told.
    func fault(in looks: [BoardLook], at now: Int64, isAtRest: Bool) -> String? {
        var seen: Set<String> = []
        for look in looks {
            if let fault = fault(inSuggestions: look, at: now, isAtRest: isAtRest, &seen) { return fault }
            for id in look.shown {
                let key = "\(look.name)/\(id)"
                guard follows(key) else { continue }
                guard let row = table[key] else {
                    if look.hasRow(id, at: now) { return "has no row of \(key)" }
                    continue
                }
                seen.insert(key)
                guard let told = ToldTile(row.text) else { return "has no entries of \(key)" }
                // A row that was drawn out is let lie.
                if !look.draws(id, at: now), !told.draws(key, at: now) { continue }
                if let fault = told.fault(of: key, in: look, at: now, isTelling: false) { return "\(key) \(fault)" }
            }
        }
        let left = Set(table.keys).subtracting(seen).sorted().first { key in
            let (board, id) = SimulatedBoards.parts(of: key)
            guard let boards = world.chronicle?.boards, let origin = boards.suggestions.origin(of: id) else {
                return true
            }
            return !boards.isReused(origin.stack, on: board)
        }
        guard let left else { return nil }
        return "still has \(left)"
    }

    private func fault(
        inSuggestions look: BoardLook, at now: Int64, isAtRest: Bool, _ seen: inout Set<String>
    ) -> String? {
        for (stack, candidates) in look.candidates.sorted(by: { $0.key < $1.key }) {
            for widget in candidates.map(\.widget) {
                let id = look.names.id(of: widget, in: stack) ?? ""
                let key = "\(look.name)/\(id)"
                guard follows(key) else { continue }
                let rows = [now, now - Self.latitude].map { look.hasRow(suggesting: widget, in: stack, at: $0) }
                guard let row = table[key] else {
                    if rows == [true, true] { return "has no row of \(widget), which \(stack) suggests" }
                    continue
                }
                guard let told = ToldTile(row.text) else { return "has no entries of \(key)" }
                let isDrawn = (look.draws(suggesting: widget, in: stack, at: now), told.draws(key, at: now))
                // A row that is over goes with the next one.
                if rows == [false, false], isAtRest || isDrawn.1 { continue }
                seen.insert(key)
                if isDrawn == (false, false) { continue }
                if let fault = told.fault(of: key, in: look, at: now, isTelling: false) { return "\(key) \(fault)" }
            }
        }
        return nil
    }

    func broken(_ what: String) { world.violated("boards", "\(name) (\(pattern), \(view)) \(what)") }
}
