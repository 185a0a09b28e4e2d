internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// TILE: from the parsed line to the record.
extension Hub {
    /// Decides a change of a board by a person, and stages its reply.
    mutating func decideTile(_ command: TileCommand, _ request: Request, from session: Session) {
        stageCommitted(request.id, for: session) { hub, writer in
            do throws(WireError) {
                try hub.arrange(command, request, from: session, to: &writer)
            } catch {
                writer.removeAll()
                hub.refuse(request.id, error, to: &writer)
            }
        }
    }

    private mutating func arrange(
        _ command: TileCommand, _ request: Request, from session: Session, to writer: inout LineWriter
    ) throws(WireError) {
        let key = command.key
        // Its blank keeps it from being a source of events.
        let sender = sessions.tapSender(session, of: access.principal(of: session.id)?.name)
        let source = "tiles of \(sender)"
        if let eid = command.eid,
            let known = store.knownEvent(eid, of: source, hash: HashIndex.hash(of: eid))
        {
            guard known.digest == command.digest else {
                throw WireError(
                    .duplicateMismatch, "eid \(eid) was used for another request; give every request an id of its own")
            }
            statistics.count(.duplicate)
            let state = store.index(of: key).flatMap { store.boardItem(at: $0) }?.state
            return writer.ok(
                id: request.id, verdict: .duplicate, rev: known.rev, state: state, ignored: request.ignored)
        }
        guard store.version(named: key.kind) == nil else {
            throw WireError(.badAction, "\(key.kind) is a kind; name the board otherwise")
        }
        let board = store.board(named: key.kind)
        if let owner = board.account, let account = session.account, owner != account { throw .unknownKey(key) }
        try checkRev(of: command, on: board)
        var reading = TileReading(command: command, board: board, kinds: store.kindsInForce)
        if let unplaced = store.unplacedTile(at: key) {
            reading.isRelevantWidget = unplaced.tile.isRelevantWidget
            if !reading.isRelevantWidget, renderer.maySuggest(unplaced, store) { reading.suggestion = unplaced.tile }
        }
        let input = try reading.input()
        try checkRight(to: input, of: session)
        try checkRoom(for: command, input, on: board, of: session, source: source)
        let entry = TileEntry(
            key: key, input: input, account: session.account, source: source, eid: command.eid, digest: command.digest)
        let result = try record(.tile(entry))
        if let widget = input.widget, store.needsWidget(widget) {
            // From now on its provider loads it, or its activities are counted.
            _ = try? record(.created(widget))
            align(widget)
        }
        writer.ok(
            id: request.id, verdict: result.verdict, rev: result.rev, state: result.state, ignored: request.ignored)
    }

    /// A board shows its content, so a principal may not place a widget that it may not read.
    private func checkRight(to input: TileInput, of session: Session) throws(WireError) {
        guard access.isEnforced, let principal = access.principal(of: session.id) else { return }
        let scope: Scope
        if let widget = input.widget {
            scope = .read(KeyRange(widget))
        } else if case .stack(let stacking) = input, stacking.suggests == true {
            // Any widget may be suggested, including those of future kinds.
            scope = .read(.all)
        } else {
            return
        }
        guard !principal.has(scope) else { return }
        var details = JSONObject()
        details["need"] = .string(scope.description)
        throw WireError(
            .forbidden, "this needs \(scope), which \(principal.name) does not have: a board shows what stands on it",
            details: details)
    }

    /// W97: a person acts on the row as shown. Its `rev` may be that of the widget, which no request changes.
    private func checkRev(of command: TileCommand, on board: Board) throws(WireError) {
        guard let seen = command.seenRev, let entity = store.index(of: command.key),
            board.items[String(command.key.id)] != nil
        else { return }
        let own = store[entity].rev
        guard (own...store.rowRev(of: entity)).contains(seen) else {
            let rejection = ControlRejection.staleRev(have: own, want: seen)
            throw WireError(
                .staleRev, "the board was out of date; read the tile again before arranging it",
                details: rejection.details)
        }
    }

    /// Limits for requests only; recorded entries are accepted, whatever the limits were.
    private func checkRoom(
        for command: TileCommand, _ input: TileInput, on board: Board, of session: Session, source: String
    ) throws(WireError) {
        let limits = configuration.limits
        if command.eid != nil, !store.hasRoom(forIDsOf: source, limit: limits.sources) {
            throw WireError(
                .limitSources, "event ids of \(limits.sources) sources are remembered; send this without eid=")
        }
        if let widget = input.widget, store.needsWidget(widget) {
            guard store.hasRoomForTile(on: widget.kind), store.keyCount < limits.keys else {
                throw WireError(
                    .limitKeys,
                    "there are as many widgets of \(widget.kind) as tiles may open; show one that is there, which LIST tells"
                )
            }
        }
        guard board.items[String(command.key.id)] == nil else { return }
        switch input {
        case .add, .stack, .keep(.some): break
        case .configure, .move, .pin, .unpin, .show, .keep(nil), .remove: return
        }
        guard store.keyCount < limits.keys else {
            throw WireError(.limitKeys, "there are \(limits.keys) keys, which is as many as may be")
        }
        // The first tile of a stack creates the stack.
        let makesStack = input.stack.map { board.items[$0] == nil } ?? false
        guard board.items.count + (makesStack ? 2 : 1) <= limits.tilesPerBoard else {
            throw WireError(
                .limitTiles, "\(command.key.kind) has \(limits.tilesPerBoard) tiles and stacks; remove one first")
        }
        guard board.items.isEmpty else { return }
        let most = session.account == nil ? limits.sharedBoards : limits.boardsPerAccount
        guard store.boardCount(of: session.account) < most else {
            throw WireError(.limitTiles, "there are \(most) boards already; remove the tiles of one first")
        }
        guard let account = session.account, !store.hasRoom(for: account, limit: limits.accounts) else { return }
        throw WireError(.limitAccounts, "there are activities and boards for \(limits.accounts) accounts")
    }
}

extension TileInput {
    /// The stack that a tile is placed in.
    var stack: String? { if case .add(let addition) = self { addition.stack } else { nil } }

    /// The key of the widget that a tile shows.
    var widget: Key? {
        switch self {
        case .add(let addition): addition.widget
        case .keep(let addition): addition?.widget
        case .configure(let change): change.widget
        case .move, .pin, .unpin, .show, .stack, .remove: nil
        }
    }
}

extension TileCommand {
    /// Two requests with one `eid` are the same if this is equal: it covers all words except `if=`.
    var digest: UInt64 {
        var hash = StableHash()
        hash.combine(key.text)
        hash.combine(action.rawValue)
        for text in [widget, family, stack, placement, mounting, theme] { hash.combine(text ?? "") }
        for number in [scale, position] { hash.combine(UInt64(bitPattern: Int64(number ?? -1))) }
        for flag in [isSmart, suggests] { hash.combine(flag.map { $0 ? "yes" : "no" } ?? "") }
        if let configuration { hash.combine(json: .object(configuration)) }
        return hash.finalize()
    }
}
