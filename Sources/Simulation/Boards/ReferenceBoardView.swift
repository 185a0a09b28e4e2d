/// The view state of a board in one view from a moment on, if nothing happens: by the words of Protocols/Widgets/boards.md.
struct ReferenceBoardView {
    /// Of the board.
    let name: String
    let board: ReferenceBoard
    let view: String
    /// How much the widget of each tile matters, by the tile's id.
    let relevance: [String: ReferenceRelevance]
    /// The ids of the tiles that the view shows, by place and position.
    let shown: [String]
    let names: SuggestionNames
    /// Of each stack that suggests: the widgets that it may suggest, in the order of their keys.
    var candidates: [String: [Candidate]] = [:] { didSet { moments = turningMoments() } }
    /// The moments at which anything may turn, in their order.
    private(set) var moments: [Int64] = []

    /// W37.
    private static let widgetLimit = 10

    init(
        _ name: String, _ board: ReferenceBoard, view: String, relevance: [String: ReferenceRelevance],
        names: SuggestionNames
    ) {
        (self.name, self.board, self.view, self.relevance, self.names) = (name, board, view, relevance, names)
        shown = board.places.flatMap { board.stacks[$0]?.members ?? [$0] }.filter { id in
            board.tiles[id].map { Self.shows($0, isStacked: board.stack(of: id) != nil, view) } ?? false
        }
        moments = turningMoments()
    }

    /// Whether the view has a place for the family of a tile, and the tile no other place.
    static func shows(_ tile: ReferenceBoard.Tile, isStacked: Bool, _ view: String) -> Bool {
        let place: String
        switch (view, tile.family) {
        case ("carplay", "systemSmall"): place = "carplay"
        case ("phone", "systemSmall"): place = "home"
        // The Lock Screen has no stacks.
        case ("phone", "accessoryRectangular") where !isStacked: place = "lockScreen"
        case ("standby", "systemSmall"): place = "standby"
        case ("watch", "accessoryRectangular"): place = "smartStack"
        case _: return false
        }
        return tile.placement.map { $0 == place } ?? true
    }

    // MARK: Stacks

    /// The tile of a stack that is on top at a moment, or the ``suggestion(of:at:)``; `nil` = the view shows none of it.
    func top(of id: String, at time: Int64) -> String? {
        guard let stack = board.stacks[id] else { return nil }
        let members = stack.members.filter(shown.contains)
        if let choice = stack.choices.last, members.contains(choice.tile),
            !stack.isSmart || time < choice.date + SimulatedBoards.hold
        {
            return choice.tile
        }
        let suggestion = suggestion(of: id, at: time)
        // It stands behind the placed ones.
        var top = members.first ?? suggestion?.tile
        guard stack.isSmart else { return top }
        var highest = 0.0
        for member in members {
            guard let weight = relevance[member]?.currentScore(at: time)?.weight, weight > highest else { continue }
            (top, highest) = (member, weight)
        }
        if let suggestion, suggestion.weight > highest { top = suggestion.tile }
        return top
    }

    private func turningMoments() -> [Int64] {
        var moments = Set(shown.flatMap { relevance[$0]?.moments ?? [] })
        for candidate in candidates.values.joined() { moments.formUnion(candidate.relevance.moments) }
        for stack in board.stacks.values where stack.isSmart {
            if let choice = stack.choices.last { moments.insert(choice.date + SimulatedBoards.hold) }
        }
        return moments.sorted()
    }

    /// The most turns that a row reports.
    static let turnLimit = 16

    /// Until when a row of a moment reports the turns of a stack, or on a watch of the whole board; `nil` = it reports all.
    func horizon(of stack: String?, from now: Int64) -> Int64? {
        func picture(_ time: Int64) -> [String] {
            stack.map { [top(of: $0, at: time) ?? "", suggestion(of: $0, at: time)?.tile ?? ""] }
                ?? smartStack(at: time)
        }
        var (last, count) = (picture(now), 0)
        for time in moments where time > now {
            let next = picture(time)
            if next == last { continue }
            (last, count) = (next, count + 1)
            if count == Self.turnLimit { return time }
        }
        return nil
    }

    // MARK: Numbers

    /// The number of a tile's place at a moment, as its row reports it; 0 = there is no room for it.
    func order(of id: String, at time: Int64) -> Int {
        switch view {
        case "watch": return (smartStack(at: time).firstIndex(of: id) ?? -1) + 1
        case "standby":
            // The first two places of which it shows anything.
            let place = board.stack(of: id) ?? id
            let places = board.places.filter { place in
                (board.stacks[place]?.members ?? [place]).contains(where: shown.contains)
            }
            return (places.prefix(2).firstIndex(of: place) ?? -1) + 1
        case _: return board.order(of: id)
        }
    }

    /// The widgets of a watch, from the top: pins at their places, the others by relevance and position (W37, W45).
    func smartStack(at time: Int64) -> [String] {
        var places = [String?](repeating: nil, count: Self.widgetLimit + 1)
        var rest: [String] = []
        for id in shown {
            if let pin = board.tiles[id]?.pinned, (1...Self.widgetLimit).contains(pin), places[pin] == nil {
                places[pin] = id
            } else {
                rest.append(id)
            }
        }
        for place in 1...Self.widgetLimit where places[place] == nil && !rest.isEmpty {
            // The first of those left before which none of the others goes.
            var first = 0
            for index in rest.indices.dropFirst() where goes(rest[index], before: rest[first], at: time) {
                first = index
            }
            places[place] = rest.remove(at: first)
        }
        return places.compactMap { $0 }
    }

    private func goes(_ one: String, before other: String, at time: Int64) -> Bool {
        guard let mine = relevance[one]?.currentScore(at: time) else { return false }
        guard let its = relevance[other]?.currentScore(at: time) else { return true }
        return mine.weight > its.weight || (mine.weight == its.weight && mine.since < its.since)
    }

    // MARK: Pictures

    /// Whether a new subscriber at a moment is sent a row of a tile, which is so where the tile has room then or later.
    func hasRow(_ id: String, at time: Int64) -> Bool {
        guard shown.contains(id) else { return false }
        let later = [time] + moments.filter { $0 > time }
        switch view {
        case "watch": return later.contains { order(of: id, at: $0) > 0 }
        case "standby":
            guard order(of: id, at: time) > 0 else { return false }
            guard let stack = board.stack(of: id) else { return true }
            let end = horizon(of: stack, from: time) ?? .max
            return later.contains { $0 <= end && top(of: stack, at: $0) == id }
        case _: return true
        }
    }

    /// Whether a tile is drawn at a moment.
    func draws(_ id: String, at time: Int64) -> Bool {
        guard shown.contains(id), order(of: id, at: time) > 0 else { return false }
        guard view != "watch", let stack = board.stack(of: id) else { return true }
        return top(of: stack, at: time) == id
    }

    // MARK: The tile that a stack suggests (W42)

    struct Candidate: Hashable {
        var widget: String
        var relevance: ReferenceRelevance
    }

    /// The name of a suggested tile among those of its stack. No tile has such an id.
    static func tile(suggesting widget: String) -> String { "?" + widget }

    /// Whether a stack suggests anything, if it matters.
    func suggests(_ id: String) -> Bool {
        guard let stack = board.stacks[id] else { return false }
        return stack.suggests && stack.members.count < SimulatedBoards.stackLimit
    }

    /// The tile that a stack suggests at a moment: the most relevant, and of equal ones the first by its key.
    func suggestion(of stack: String, at time: Int64) -> (tile: String, weight: Double)? {
        var best: (tile: String, weight: Double)?
        for candidate in candidates[stack] ?? [] {
            guard let weight = candidate.relevance.currentScore(at: time)?.weight, weight > best?.weight ?? 0 else {
                continue
            }
            best = (Self.tile(suggesting: candidate.widget), weight)
        }
        return best
    }

    /// Whether a new subscriber at a moment is sent a row of a suggestion: it is shown then, or in the time that is reported ahead.
    func hasRow(suggesting widget: String, in stack: String, at time: Int64) -> Bool {
        guard candidates[stack]?.contains(where: { $0.widget == widget }) == true, order(of: stack, at: time) > 0 else {
            return false
        }
        let (tile, end) = (Self.tile(suggesting: widget), horizon(of: stack, from: time) ?? .max)
        let times = ([time] + moments.filter { time < $0 && $0 <= end })
        guard times.contains(where: { suggestion(of: stack, at: $0)?.tile == tile }) else { return false }
        // StandBy shows tops alone.
        return view != "standby" || times.contains { top(of: stack, at: $0) == tile }
    }

    /// Whether a suggestion is drawn at a moment.
    func draws(suggesting widget: String, in stack: String, at time: Int64) -> Bool {
        order(of: stack, at: time) > 0 && top(of: stack, at: time) == Self.tile(suggesting: widget)
    }

    /// Whether a key is that of a tile of a stack, or of the suggestion that stands for it.
    func isKey(_ key: String, of tile: String, in stack: String) -> Bool {
        guard tile.hasPrefix("?") else { return key == "\(name)/\(tile)" }
        let parts = SimulatedBoards.parts(of: key)
        return parts.board == name && names.mayName(parts.id, String(tile.dropFirst()), in: stack)
    }
}
