/// A device that shows a board in a view, and turns its stacks by itself.
final class BoardScreen: PlacedScreen {
    /// How long a row may be on its way when its moment comes, in milliseconds.
    private static let latitude: Int64 = 5_000

    var seat: Seat
    let name: String
    let view: String
    let pattern: String
    let account: String?
    var place: DevicePlace<(time: Int64, boards: [ReferenceBoardView])>
    var rows = FollowedRows()

    init(_ seat: Seat) {
        name = "board-\(seat.number)"
        var random = seat.random
        let board = random.pick(of: SimulatedBoards.names)
        view = random.pick(
            of: board == "@wrist" ? ["watch", "watch", "phone"] : ["carplay", "carplay", "standby", "phone"])
        pattern = random.pick(of: ["\(board)/*", "\(board)/*", "\(board)/*", "*", "\(board)/t1"])
        account = random.pick(of: ["alice", "bob", nil])
        place = DevicePlace(isOnWay: random.chance(300))
        self.seat = seat
        self.random = random
    }

    var introduction: [String] {
        ["HELLO client=\(name) caps=widgets" + (account.map { " account=\($0)" } ?? "")]
            + (place.isOnWay ? [place.trait] : [])
    }
    var device: BoardDevice { BoardDevice(isOnWay: place.isOnWay, seesSuggestions: pattern != "*" || account != nil) }
    var subscription: String { "SUB \(pattern) view=\(view) id=s" }
    var restlessness: Int { 20 }
    var knownSequence: Int64? { world.chronicle?.boards?.sequence }

    func isForgotten(_ key: String) -> Bool { world.chronicle?.boards?.forgotten.contains(key) != false }

    // MARK: The daemon

    func fault(ofEmitted line: ClientLine, in world: World) -> String? {
        // Until the daemon has heard where it is, a row is drawn for one place or the other.
        guard isPlaceKnown, let boards = world.records.boards else { return nil }
        return line.verb == "DEL" ? fault(ofDeletion: line, boards, in: world) : fault(of: line, boards, in: world)
    }

    private func fault(of line: ClientLine, _ boards: BoardHistory, in world: World) -> String? {
        guard let key = line["key"], let rev = line.integer("rev"), SimulatedBoards.isTile(key) else { return nil }
        let (board, id) = SimulatedBoards.parts(of: key)
        if !boards.isVisible(board, to: account) { return "is another account's, and is shown \(key)" }
        guard let reported = ReceivedTile(line.text) else {
            return "is sent \(key) without entries: \(String(decoding: line.text, as: UTF8.self))"
        }
        let tile = reported.isSuggested ? reported.stack ?? "" : id
        if let fault = boards.fault(
            ofRev: rev, tile: tile, on: board, suggested: reported.isSuggested ? reported.widget : nil)
        {
            return "is sent \(key), which \(fault)"
        }
        let boardView = boards.boardView(board, view: view, device: device, widgets: world.records.widgets)
        if let fault = reported.fault(of: key, in: boardView, at: world.drawnMoment, isSending: true) {
            return "is sent \(key) at \(rev), which \(fault)"
        }
        if reported.isSuggested {
            return world.records.widgets.current[reported.widget]
                .map { reported.fault(ofContent: $0, at: world.drawnMoment) ?? nil }?.map {
                    "is sent \(key), which \($0)"
                }
        }
        if let order = SimulatedWidgets.order(ofStatus: reported.widget) {
            let isBlank = reported.content.entries.allSatisfy { $0.drawn.number == nil }
            return isBlank || mayBeSent(of: order, in: world)
                ? nil : "is sent \(key) with \(order), which is not its own"
        }
        let isUnavailable = boards.isUnavailable(reported.widget, widgets: world.records.widgets)
        if reported.isUnavailable != isUnavailable {
            return "is sent \(key), and \(reported.widget) is \(isUnavailable ? "not " : "")there"
        }
        if isUnavailable {
            return reported.content.entries.allSatisfy { $0.drawn.number == nil }
                ? nil : "is sent \(key) with content, and \(reported.widget) is not there"
        }
        return world.records.widgets.fault(ofTile: reported.content, on: reported.widget, ahead: 4)
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
        let boardView = boards.boardView(board, view: view, device: device, widgets: world.records.widgets)
        return boardView.draws(suggesting: origin.widget, in: origin.stack, at: world.drawnMoment)
            ? "is told that \(key) is gone, and \(origin.widget) is suggested" : nil
    }

    /// Whether an order is there, and is its account's or everybody's.
    private func mayBeSent(of order: String, in world: World) -> Bool {
        guard let story = world.records.stories[order] else { return false }
        guard let account, let audience = story.audience else { return true }
        return audience.isEmpty || audience.contains(account)
    }

    func currentView(in world: World) -> (time: Int64, boards: [ReferenceBoardView]) {
        guard let boards = world.records.boards else { return (world.drawnMoment, []) }
        let visible = boards.names.filter { boards.isVisible($0, to: account) }
        return (
            world.drawnMoment,
            visible.map { boards.boardView($0, view: view, device: device, widgets: world.records.widgets) }
        )
    }

    // MARK: The table

    func fault(in boardView: (time: Int64, boards: [ReferenceBoardView])) -> String? {
        fault(in: boardView.boards, at: boardView.time, isAtRest: false)
    }

    /// The fault of the table at a moment, if it has one: it draws what the boards show, and nothing else.
    ///
    /// - Parameter isAtRest: A suggestion that has just come or gone has been reported.
    func fault(in views: [ReferenceBoardView], at now: Int64, isAtRest: Bool) -> String? {
        var seen: Set<String> = []
        for boardView in views {
            if let fault = fault(inSuggestions: boardView, at: now, isAtRest: isAtRest, &seen) { return fault }
            for id in boardView.shown {
                let key = "\(boardView.name)/\(id)"
                guard follows(key) else { continue }
                guard let row = table[key] else {
                    if boardView.hasRow(id, at: now) { return "has no row of \(key)" }
                    continue
                }
                seen.insert(key)
                guard let reported = ReceivedTile(row.text) else { return "has no entries of \(key)" }
                // A row that was drawn out is let lie.
                if !boardView.draws(id, at: now), !reported.draws(key, at: now) { continue }
                if let fault = reported.fault(of: key, in: boardView, at: now, isSending: false) {
                    return "\(key) \(fault)"
                }
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
        inSuggestions boardView: ReferenceBoardView, at now: Int64, isAtRest: Bool, _ seen: inout Set<String>
    ) -> String? {
        for (stack, candidates) in boardView.candidates.sorted(by: { $0.key < $1.key }) {
            for widget in candidates.map(\.widget) {
                let id = boardView.names.id(of: widget, in: stack) ?? ""
                let key = "\(boardView.name)/\(id)"
                guard follows(key) else { continue }
                let rows = [now, now - Self.latitude].map { boardView.hasRow(suggesting: widget, in: stack, at: $0) }
                guard let row = table[key] else {
                    if rows == [true, true] { return "has no row of \(widget), which \(stack) suggests" }
                    continue
                }
                guard let reported = ReceivedTile(row.text) else { return "has no entries of \(key)" }
                let isDrawn = (boardView.draws(suggesting: widget, in: stack, at: now), reported.draws(key, at: now))
                // A row that is over goes with the next one.
                if rows == [false, false], isAtRest || isDrawn.1 { continue }
                seen.insert(key)
                if isDrawn == (false, false) { continue }
                if let fault = reported.fault(of: key, in: boardView, at: now, isSending: false) {
                    return "\(key) \(fault)"
                }
            }
        }
        return nil
    }

    func broken(_ what: String) { world.violated("boards", "\(name) (\(pattern), \(view)) \(what)") }
}
