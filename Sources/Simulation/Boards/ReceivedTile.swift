import TelltaleModel

/// The row of a tile, as a device reads it: where it stands, and how its stack turns without a word.
struct ReceivedTile {
    let content: WidgetRowCheck
    let widget: String
    let order: Int
    let orders: [(date: Int64, order: Int)]
    let stack: String?
    let position: Int?
    private let isTop: Bool
    let turns: [(date: Int64, key: String)]
    let pinned: Int?
    let isUnavailable: Bool
    let isSuggested: Bool

    /// `nil` for what is no row of a tile.
    init?(_ text: [UInt8]) {
        guard let content = WidgetRowCheck(text), let widget = content.body["widget"]?.string,
            let order = content.body["order"]?.integer
        else { return nil }
        let body = content.body
        (self.content, self.widget, self.order) = (content, widget, Int(order))
        stack = body["stack"]?.string
        position = body["position"]?.integer.map { Int($0) }
        isTop = body["top"]?.bool ?? true
        pinned = body["pinned"]?.integer.map { Int($0) }
        isUnavailable = body["unavailable"]?.bool ?? false
        isSuggested = body["suggested"]?.bool ?? false
        turns = (body["turns"]?.array ?? []).map { ($0["date"]?.integer ?? 0, $0["key"]?.string ?? "") }
        orders = (body["orders"]?.array ?? []).map { ($0["date"]?.integer ?? 0, Int($0["order"]?.integer ?? 0)) }
    }

    func order(at time: Int64) -> Int { orders.last { $0.date <= time }?.order ?? order }

    /// Whether a device draws it at a moment.
    func draws(_ key: String, at time: Int64) -> Bool {
        order(at: time) > 0 && isTop(key, at: time) && content.entry(at: time).drawn != .nothing
    }

    /// Whether it is on top of its stack at a moment.
    private func isTop(_ key: String, at time: Int64) -> Bool {
        turns.last { $0.date <= time }.map { $0.key == key } ?? isTop
    }

    /// The fault of the row, if it has one: where its tile stands, and that it turns as the rules say.
    ///
    /// - Parameters:
    ///   - now: The moment at which it is checked.
    ///   - isSending: Whether the row is sent at that moment. What it reports of later moments is then checked too.
    func fault(of key: String, in boardView: ReferenceBoardView, at now: Int64, isSending: Bool) -> String? {
        if isSuggested { return fault(ofSuggested: key, in: boardView, at: now, isSending: isSending) }
        let id = SimulatedBoards.parts(of: key).id
        guard let tile = boardView.board.tiles[id], boardView.shown.contains(id) else {
            return "is told, and the view does not show it"
        }
        if widget != tile.widget { return "shows \(widget), and it is on \(tile.widget)" }
        if pinned != tile.pinned { return "is pinned at \(Self.text(pinned)), and it is at \(Self.text(tile.pinned))" }
        let own = boardView.view == "watch" ? nil : boardView.board.stack(of: id)
        if stack != own { return "stands in \(stack ?? "no stack"), and it is in \(own ?? "none")" }
        if let own, position != boardView.board.position(of: id) {
            return "is number \(Self.text(position)) of \(own), and it is \(boardView.board.position(of: id))"
        }
        return fault(ofTurns: key, id, of: own, in: boardView, at: now, isSending: isSending)
    }

    /// The fault of what it reports of the turns of its stack, or of its place on a watch.
    ///
    /// - Parameters:
    ///   - id: Of the tile, or the name of the suggestion.
    ///   - own: Its stack.
    func fault(
        ofTurns key: String, _ id: String, of own: String?, in boardView: ReferenceBoardView, at now: Int64,
        isSending: Bool
    ) -> String? {
        let isOnWatch = boardView.view == "watch"
        let place = own ?? id
        if max(turns.count, orders.count) > ReferenceBoardView.turnLimit {
            return "tells \(turns.count + orders.count) turns"
        }
        let moments =
            isSending ? Set(boardView.moments + turns.map(\.date) + orders.map(\.date)).filter { $0 > now } : []
        let end = isSending && (isOnWatch || own != nil) ? boardView.horizon(of: own, from: now) ?? .max : .max
        for time in [now] + moments.sorted() where time <= end {
            let due = boardView.order(of: isOnWatch ? id : place, at: time)
            if order(at: time) != due { return "has the place \(order(at: time)) at \(time), where it is \(due)" }
            guard let own else { continue }
            // Where nothing is on top, none of its tiles is drawn.
            guard let top = boardView.top(of: own, at: time) else { continue }
            if isTop(key, at: time) != (top == id) {
                return "is \(top == id ? "not " : "")on top at \(time), where \(top) is"
            }
            if let turn = turns.last(where: { $0.date <= time }), !boardView.isKey(turn.key, of: top, in: own) {
                return "turns to \(turn.key) at \(time), where \(top) is on top"
            }
        }
        return nil
    }

    static func text(_ number: Int?) -> String { number.map(String.init) ?? "no place" }

    // MARK: Tiles that stacks suggest

    /// How many later entries a row has at most.
    private static let ahead = 4

    /// The fault of the row of a suggestion, if it has one: that it is one, where it stands, and when it is drawn.
    func fault(ofSuggested key: String, in boardView: ReferenceBoardView, at now: Int64, isSending: Bool) -> String? {
        guard let stack, boardView.candidates[stack]?.contains(where: { $0.widget == widget }) == true else {
            return "is suggested, and \(stack ?? "nothing") suggests no \(widget)"
        }
        let tile = ReferenceBoardView.tile(suggesting: widget)
        if !boardView.isKey(key, of: tile, in: stack) {
            return
                "is \(widget) in \(stack), whose id is \(boardView.names.id(of: widget, in: stack) ?? "that of another")"
        }
        if isSending, !boardView.hasRow(suggesting: widget, in: stack, at: now) {
            return "is told, and is not suggested in the time that is known"
        }
        if pinned != nil { return "is pinned, and nobody placed it" }
        let due = (boardView.board.stacks[stack]?.members.count ?? 0) + 1
        if position != due { return "is number \(Self.text(position)) of \(stack), and it is \(due)" }
        let end = isSending ? min(boardView.horizon(of: stack, from: now) ?? .max, received) : now
        let moments = (boardView.moments + content.entries.map(\.date)).filter { now < $0 && $0 <= end }
        for time in [now] + moments.sorted() {
            let isDue = boardView.suggestion(of: stack, at: time)?.tile == tile
            if isDue == (content.entry(at: time).drawn == .nothing) {
                return "is \(isDue ? "not " : "")drawn at \(time), where \(widget) is \(isDue ? "" : "not ")suggested"
            }
        }
        return fault(ofTurns: key, tile, of: stack, in: boardView, at: now, isSending: isSending)
    }

    /// Until when its entries report what is drawn, in milliseconds.
    private var received: Int64 {
        let isWhole = content.entries.count <= Self.ahead && content.body["more"] == nil
        return isWhole ? .max : content.entries[content.entries.count - 1].date
    }

    /// The fault of what a suggestion draws, if it has one: while it is suggested, what its widget shows.
    func fault(ofContent widget: ReferenceWidget, at now: Int64) -> String? {
        if content.entries.count > Self.ahead + 1 { return "has \(content.entries.count) entries" }
        for (entry, next) in zip(content.entries, content.entries.dropFirst()) where entry.date >= next.date {
            return "has an entry of \(next.date) behind one of \(entry.date)"
        }
        let moments = (widget.moments + content.entries.map(\.date)).filter { now < $0 && $0 <= received }
        for time in [now] + moments {
            let (drawn, due) = (content.entry(at: time).drawn, widget.drawn(at: time))
            if drawn != .nothing, drawn != due {
                return "draws \(drawn) at \(time), where \(self.widget) is \(due)"
            }
        }
        return nil
    }
}
