/// The mind of a person who arranges boards: what to ask for next, by what stands there.
struct TileComposer {
    private let account: String
    private let number: Int
    private var random: SimulationRandom
    private var count = 0
    /// One who stacks whatever there is, until no stack takes more.
    private let isCollector: Bool
    /// Whether suggestions are kept. A kept tile that was removed, and is forgotten within the run, is suggested again with the
    /// next change of its board alone, and the model does not know that.
    private let keeps: Bool

    init(account: String, number: Int, keeps: Bool, random: SimulationRandom) {
        (self.account, self.number, self.keeps) = (account, number, keeps)
        self.random = random
        isCollector = self.random.chance(400)
    }

    mutating func next(on boards: BoardHistory) -> TileAction {
        count += 1
        let own = account == "alice" ? SimulatedBoards.names[0] : SimulatedBoards.names[2]
        let name = random.chance(750) ? own : random.pick(of: SimulatedBoards.names)
        let board = boards.board(name)
        if random.chance(150), let tileAction = aboutSuggestion(on: board, name, boards) { return tileAction }
        let action = random.pick(of: actions)
        let id = action == .add || random.chance(80) ? freshID(on: board, for: action) : anyID(on: board)
        var tileAction = TileAction(action, name, id, by: account, eid: "\(number)-\(count)")
        switch action {
        case .add: add(to: &tileAction, on: board)
        case .configure: tileAction.widget = random.pick(of: SimulatedBoards.widgets)
        case .move:
            tileAction.position = random.chance(700) ? 1 + random.below(6) : nil
            if board.tiles[id] != nil, random.chance(450) { tileAction.stack = stack(on: board, orNone: true) }
            if tileAction.position == nil, tileAction.stack == nil { tileAction.position = 1 }
        case .pin: tileAction.position = random.chance(700) ? 1 + random.below(5) : nil
        case .stack:
            tileAction.isSmart = random.chance(800) ? random.chance(800) : nil
            tileAction.family = random.chance(100) ? "accessoryRectangular" : nil
            tileAction.placement = random.chance(60) ? random.pick(of: ["lockScreen", "carplay"]) : nil
            tileAction.position = random.chance(200) ? 1 + random.below(4) : nil
            tileAction.suggests = random.chance(500) ? random.chance(800) : nil
        case .unpin, .show, .keep, .remove: break
        }
        if random.chance(150), let rev = board.revs[id] { tileAction.seen = random.chance(600) ? rev : max(1, rev - 1) }
        if tileAction.widget != nil, random.chance(40) {
            tileAction.flaw = random.pick(of: [.lacksParameter, .unknownParameter])
        }
        if tileAction.flaw != nil, SimulatedBoards.parameter(of: tileAction.widget ?? "") == nil {
            tileAction.flaw = nil
        }
        return tileAction
    }

    private var actions: [TileAction.Action] {
        [.add, .add, .add, .show, .show, .move, .move, .configure, .pin, .unpin, .stack, .stack, .remove]
            + (isCollector ? [.add, .add, .add, .add] : [.keep, .remove])
    }

    /// About a tile that a stack suggests, or suggested before: most are kept.
    private mutating func aboutSuggestion(
        on board: ReferenceBoard, _ name: String, _ boards: BoardHistory
    ) -> TileAction? {
        let ids = boards.suggestions.all.filter { id in
            boards.suggestions.origin(of: id).map { board.stacks[$0.stack]?.suggests == true } ?? false
        }
        guard !ids.isEmpty else { return nil }
        let id = random.pick(of: ids)
        let others: [TileAction.Action] = [.move, .pin, .show, .remove, .configure, .add, .stack]
        let action = keeps && random.chance(700) ? TileAction.Action.keep : random.pick(of: others)
        var tileAction = TileAction(action, name, id, by: account, eid: "\(number)-\(count)")
        tileAction.origin = boards.suggestions.origin(of: id)
        switch action {
        case .keep: tileAction.position = random.chance(300) ? 1 + random.below(5) : nil
        case .move: tileAction.position = 1
        case .configure, .add: tileAction.widget = SimulatedWidgets.keys[0]
        case _: break
        }
        return tileAction
    }

    private mutating func add(to tileAction: inout TileAction, on board: ReferenceBoard) {
        tileAction.widget =
            random.chance(50) ? random.pick(of: ["card/1", "none/main"]) : random.pick(of: SimulatedBoards.widgets)
        tileAction.namesParameters = random.chance(500) && tileAction.widget?.hasPrefix("none/") == false
        if random.chance(700) { tileAction.stack = stack(on: board, orNone: random.chance(100)) }
        let isWatch = tileAction.board == "@wrist"
        if random.chance(isWatch ? 800 : 250) {
            let mixed = ["systemSmall", "accessoryRectangular", "systemMedium"]
            tileAction.family = isWatch && random.chance(900) ? "accessoryRectangular" : random.pick(of: mixed)
        }
        if random.chance(100) {
            tileAction.placement = random.pick(of: ["carplay", "home", "smartStack", "lockScreen"])
        }
        tileAction.position = random.chance(300) ? 1 + random.below(5) : nil
    }

    /// A stack of the board, or one that is to be made.
    private mutating func stack(on board: ReferenceBoard, orNone: Bool) -> String {
        if orNone, random.chance(300) { return "none" }
        let stacks = board.stacks.keys.sorted()
        if stacks.isEmpty || random.chance(isCollector ? 20 : 100) { return "s\(1 + random.below(3))" }
        // No stack gets the id of a tile.
        return random.chance(20) && board.tiles["t1"] != nil
            ? "t1" : random.pick(of: isCollector ? [stacks[0]] : stacks)
    }

    private mutating func anyID(on board: ReferenceBoard) -> String {
        let ids = board.ids
        return ids.isEmpty ? "t1" : random.pick(of: ids)
    }

    private mutating func freshID(on board: ReferenceBoard, for action: TileAction.Action) -> String {
        if action == .stack { return "s\(1 + random.below(3))" }
        let free = (1...14).map { "t\($0)" }.filter { !board.isThere($0) }
        return free.isEmpty || random.chance(50)
            ? "t\(1 + random.below(14))" : random.chance(600) ? free[0] : random.pick(of: free)
    }
}
