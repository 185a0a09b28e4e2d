import TelltaleModel

// At rest, each device shows of each board what the requests that were taken made of it, and every request is still known.
extension ConvergenceCheck {
    /// How long a row may be on its way when its moment comes, in milliseconds.
    private static let latitude: Int64 = 5_000

    func checkBoards() {
        guard let boards = world.records.boards else { return }
        for case let screen as BoardScreen in world.clients where world.ledger.violations.isEmpty {
            check(screen, boards)
        }
        for name in boards.names where world.ledger.violations.isEmpty { checkArrangement(of: name, boards) }
        for case let writer as BoardWriter in world.clients where world.ledger.violations.isEmpty {
            checkAcknowledged(by: writer)
        }
    }

    /// A screen of a script draws what a new one would draw.
    func checkBoard(of screen: Screen) {
        let lines = ask(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"])
        let (fresh, now) = (Verdicts.snapshot(in: lines), world.daemonTime)
        for key in Set(fresh.keys).union(screen.table.keys).sorted() {
            let (old, new) = (screen.table[key]?.body, fresh[key]?.body)
            let range = now - Self.latitude...now + 100
            if [old, new].contains(where: { $0?.isTurning(around: range) == true }) { continue }
            let (shown, due) = (old?.drawn(as: key, at: now), new?.drawn(as: key, at: now))
            // A row that is drawn no more is let lie.
            if shown == due || due == nil && (shown?["top"] == false || shown?["order"] == 0) { continue }
            return world.violated(
                "P4/P5", "\(screen.name) draws \(key) as \(Self.text(shown)), and it is \(Self.text(due))")
        }
    }

    private static func text(_ body: JSONObject?) -> String { body.map { "\(JSON.object($0))" } ?? "nothing" }

    private func check(_ screen: BoardScreen, _ boards: BoardHistory) {
        let lines = ask(screen.introduction + [screen.subscription])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            return violated("board-\(screen.index) would not get a snapshot")
        }
        let fresh = Verdicts.snapshot(in: lines, where: SimulatedBoards.isTile)
        let looks = boards.names.filter { boards.isVisible($0, to: screen.account) }
            .map { boards.look($0, view: screen.view, device: screen.device, widgets: world.records.widgets) }
        let now = world.drawnMoment
        let isTurning = looks.contains { look in
            look.moments.contains { (now - Self.latitude...now + 100).contains($0) }
        }
        if isTurning { return }
        for look in looks {
            for id in look.shown where screen.follows("\(look.name)/\(id)") {
                let key = "\(look.name)/\(id)"
                guard look.hasRow(id, at: now) == (fresh[key] != nil) else {
                    return violated("\(key) is \(fresh[key] == nil ? "not " : "")shown to a new \(screen.view)")
                }
                // A row that is not drawn may be an old one.
                guard look.draws(id, at: now), let old = screen.table[key], let new = fresh[key] else { continue }
                if let fault = fault(of: old, to: new, key) { return violated("board-\(screen.index) \(fault)") }
                checkWidget(of: new, key, screen)
            }
        }
        for look in looks where world.ledger.violations.isEmpty { checkSuggestions(in: look, fresh, screen) }
        if let fault = screen.fault(in: looks, at: now, isAtRest: true) { violated("board-\(screen.index) \(fault)") }
    }

    /// A new subscriber is sent the suggestions that there are, and no others.
    private func checkSuggestions(in look: BoardLook, _ fresh: [String: ShownRow], _ screen: BoardScreen) {
        let now = world.drawnMoment
        var due: Set<String> = []
        for (stack, candidates) in look.candidates.sorted(by: { $0.key < $1.key }) {
            for widget in candidates.map(\.widget) where look.hasRow(suggesting: widget, in: stack, at: now) {
                let key = "\(look.name)/\(look.names.id(of: widget, in: stack) ?? "~")"
                guard screen.follows(key) else { continue }
                due.insert(key)
                guard let row = fresh[key] else {
                    return violated("\(key), which is \(widget) in \(stack), is not suggested to a new \(screen.view)")
                }
                if let old = screen.table[key], old.rev != row.rev {
                    return violated("board-\(screen.index) has \(key) at \(old.rev), and it is at \(row.rev)")
                }
                if look.draws(suggesting: widget, in: stack, at: now) { checkWidget(of: row, key, screen) }
            }
        }
        for (key, row) in fresh.sorted(by: { $0.key < $1.key }) where !due.contains(key) {
            if SimulatedBoards.parts(of: key).board == look.name, ToldTile(row.text)?.isSuggested == true {
                return violated("\(key) is suggested to a new \(screen.view), and does not matter")
            }
        }
    }

    private func fault(of old: ShownRow, to new: ShownRow, _ key: String) -> String? {
        guard let shown = ToldTile(old.text), let due = ToldTile(new.text) else { return "\(key) has no entries" }
        if old.rev != new.rev { return "shows \(key) at \(old.rev), and it is at \(new.rev)" }
        let now = world.drawnMoment
        let range = now - Self.latitude...now + 100
        if shown.content.isTurning(around: range) || due.content.isTurning(around: range) { return nil }
        let (drawn, right) = (shown.content.entry(at: now), due.content.entry(at: now))
        return drawn.view == right.view && drawn.drawn == right.drawn
            ? nil : "draws \(key) as \(drawn.drawn), and it is \(right.drawn)"
    }

    /// A tile shows nothing that its device is not shown of the widget itself.
    private func checkWidget(of row: ShownRow, _ key: String, _ screen: BoardScreen) {
        guard let told = ToldTile(row.text), !told.isUnavailable,
            told.content.entries.contains(where: { $0.drawn.number != nil && $0.drawn != .nothing })
        else { return }
        let lines = ask(screen.introduction + ["GET \(told.widget) id=g"])
        if lines.contains(where: { $0["id"] == "g" && $0.verb == "OK" }) { return }
        violated("board-\(screen.index) is shown \(key), and not \(told.widget)")
    }

    /// Everything stands where the requests that were taken have put it.
    private func checkArrangement(of name: String, _ boards: BoardHistory) {
        let board = boards.board(name)
        var rows: [String: JSONObject] = [:]
        for line in ask(["LIST \(name)/* view=full id=l"]) where line.verb == "SNAP" {
            if let key = line["key"] { rows[SimulatedBoards.parts(of: key).id] = line.tail }
        }
        for id in Set(board.ids).union(rows.keys).sorted() {
            guard let row = rows[id], board.isThere(id) else {
                return violated(
                    "\(name)/\(id) is \(rows[id] == nil ? "lost" : "there"), and was \(board.state(of: id))")
            }
            for (member, due) in Self.members(of: id, on: board) where row[member] != due {
                let found = row[member].map { "\($0)" } ?? "nothing"
                return violated(
                    "\(name)/\(id) has the \(member) \(found), and that was \(due.map { "\($0)" } ?? "nothing")")
            }
        }
    }

    private static func members(of id: String, on board: ReferenceBoard) -> [(String, JSON?)] {
        let position = JSON.integer(Int64(board.position(of: id)))
        if let stack = board.stacks[id] {
            return [
                ("family", .string(stack.family)), ("smart", .bool(stack.isSmart)), ("suggest", .bool(stack.suggests)),
                ("order", position), ("placement", stack.placement.map { .string($0) }),
            ]
        }
        guard let tile = board.tiles[id] else { return [] }
        let stack = board.stack(of: id)
        return [
            ("state", .string(board.state(of: id))), ("widget", .string(tile.widget)), ("family", .string(tile.family)),
            ("stack", stack.map { .string($0) }), (stack == nil ? "order" : "position", position),
            ("pinned", tile.pinned.map { .integer(Int64($0)) }),
            ("placement", tile.placement.map { .string($0) }),
        ]
    }

    /// P1, P6: a request that was answered is a duplicate when it comes again.
    private func checkAcknowledged(by writer: BoardWriter) {
        let deeds = isLast ? writer.acknowledged[...] : writer.acknowledged.suffix(50)
        guard !deeds.isEmpty else { return }
        let lines = ask([writer.introduction] + deeds.map(\.line))
        if let fault = Verdicts.acknowledgement(of: deeds, source: writer.source, in: lines).first {
            world.violated(fault)
        }
    }

    private func violated(_ what: String) { world.violated("boards", what) }
}
