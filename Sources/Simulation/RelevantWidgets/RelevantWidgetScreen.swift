/// A watch with a board on which only what comes by itself changes.
final class RelevantWidgetScreen: PlacedScreen {
    /// How long the boards of what is everybody's may wait to be looked at, in milliseconds.
    private static let latitude: Int64 = 5_000

    var seat: Seat
    let name: String
    private let board: String
    let account: String?
    var place: DevicePlace<RelevantWidgetHistory.View>
    var rows = FollowedRows()

    init(_ seat: Seat) {
        self.seat = seat
        let number = seat.number
        name = "nudges-\(number)"
        let boards = SimulatedRelevantWidgets.boards
        // The first ones follow their own; then a device without an account, one of another account, and one in the hall.
        board = boards[[0, 1, 2, 0, 1, 2][number % 6]].name
        account = ["alice", "bob", nil, nil, "alice", "bob"][number % 6]
        place = DevicePlace(isOnWay: number % 6 != 4)
    }

    var introduction: [String] {
        ["HELLO client=\(name) caps=widgets" + (account.map { " account=\($0)" } ?? ""), place.trait]
    }
    var pattern: String { "\(board)/*" }
    var subscription: String { "SUB \(pattern) view=watch id=s" }
    /// A board begins with a tile, which its owner places.
    var preparation: [String] {
        let tile = "TILE \(board)/first do=add widget=\(SimulatedWidgets.queue) family=accessoryRectangular id=first"
        return account == RelevantWidgetHistory.owner(of: board) ? [tile] : []
    }
    var restlessness: Int { 40 }
    var knownSequence: Int64? { world.chronicle?.relevantTiles?.sequence }

    func isForgotten(_ key: String) -> Bool {
        let relevantTiles = world.chronicle?.relevantTiles
        let order = relevantTiles?.order(ofID: SimulatedBoards.parts(of: key).id)
        return order.flatMap { relevantTiles?.hosts[$0]?.wasForgotten } == true
    }

    func isRefusal(_ line: ClientLine) -> Bool { line["id"] == "s" }

    // MARK: The daemon

    func fault(ofEmitted line: ClientLine, in world: World) -> String? {
        guard let relevantTiles = world.records.relevantTiles, let key = line["key"],
            SuggestionNames.isID(SimulatedBoards.parts(of: key).id)
        else { return nil }
        return fault(of: line, key, relevantTiles).map { "is sent \(key), which \($0)" }
    }

    private func fault(of line: ClientLine, _ key: String, _ relevantTiles: RelevantWidgetHistory) -> String? {
        let (board, id) = SimulatedBoards.parts(of: key)
        if line.verb == "DEL" { return relevantTiles.fault(ofDeletion: id, on: board, for: account) }
        guard let reported = ReceivedTile(line.text) else { return "has no entries" }
        if isPlaceKnown, !place.isOnWay { return "is for devices that are on their way" }
        return relevantTiles.fault(ofRow: reported, id: id, on: board, for: account)
    }

    func currentView(in world: World) -> RelevantWidgetHistory.View { currentView(in: world, isAtRest: false) }

    /// Gives the orders that it has to show now.
    ///
    /// - Parameter isAtRest: Every board has been looked at.
    func currentView(in world: World, isAtRest: Bool) -> RelevantWidgetHistory.View {
        guard place.isOnWay, let relevantTiles = world.records.relevantTiles else {
            return RelevantWidgetHistory.View()
        }
        return relevantTiles.view(
            board, for: account, at: world.drawnMoment, since: world.now - (isAtRest ? 0 : Self.latitude))
    }

    // MARK: The table

    /// The fault of the table, if it has one: it shows what is there, as far as there is room, and nothing else.
    func fault(in view: RelevantWidgetHistory.View) -> String? {
        var shown: Set<String> = []
        for (key, row) in table.sorted(by: { $0.key < $1.key })
        where SuggestionNames.isID(SimulatedBoards.parts(of: key).id) {
            guard let reported = ReceivedTile(row.text),
                let order = SimulatedRelevantWidgets.order(ofWidget: reported.widget)
            else {
                return "has no entries of \(key)"
            }
            shown.insert(order)
        }
        if let other = shown.subtracting(view.possible).min() { return "still shows \(other)" }
        if view.possible.count <= RelevantWidgetHistory.limit, let lost = view.due.subtracting(shown).min() {
            return "does not show \(lost)"
        }
        // There may be rows of more, which have room later.
        let least = min(RelevantWidgetHistory.limit, view.due.count)
        return shown.count >= least ? nil : "shows \(shown.count) of \(view.due.count)"
    }

    func broken(_ what: String) { world.violated("visits", "\(name) (\(board)) \(what)") }
}
