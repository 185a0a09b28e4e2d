import Hub
import Journal
import TelltaleModel

/// The checks of a simulated world after faults and writes have stopped and every byte has arrived.
struct ConvergenceCheck {
    let world: World
    /// Whether the run ends with it. The checks that take long run only then.
    let isLast: Bool

    func run() {
        let checks: [() -> Void] = [
            checkScreens, checkLeftOut, checkWidgets, checkBoards, checkRelevantTiles, checkNotices, checkRefreshes,
            checkAnnouncements,
            checkAcknowledged,
            checkFullView, checkDeadlines, checkHistories, checkRecovery, checkPushes,
        ]
        for check in checks where world.ledger.violations.isEmpty { check() }
    }

    func ask(_ lines: [String]) -> [ClientLine] { read(world.daemon.answers(to: lines)) }

    private func read(_ bytes: [UInt8]) -> [ClientLine] {
        var reader = ClientLines()
        return reader.readHeads(bytes).lines
    }

    /// The rows of a new device of the same kind.
    ///
    /// - Returns: `nil` after noting that it gets none.
    private func snapshot(
        like screen: some DeviceScreen, where isOwn: (String) -> Bool
    ) -> [String: ShownRow]? {
        let lines = ask(screen.introduction + [screen.subscription])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            screen.broken("would not get a snapshot")
            return nil
        }
        return Verdicts.snapshot(in: lines, where: isOwn)
    }

    // MARK: P4, P5

    /// Every subscription has the rows that a new one gets.
    private func checkScreens() {
        for client in world.clients where world.ledger.violations.isEmpty {
            if let screen = client as? Screen, screen.isBoard {
                checkBoard(of: screen)
            } else if let screen = client as? Screen {
                check(
                    screen.table, of: screen.name, screen.pattern, screen.view, introduction: screen.introduction)
            } else if let churner = client as? ChurnClient {
                for (_, following) in churner.followings.sorted(by: { $0.key < $1.key }) {
                    check(following.table, of: churner.name, following.pattern, following.view, introduction: [])
                }
            }
        }
    }

    private func check(
        _ table: [String: ShownRow], of name: String, _ pattern: String, _ view: String, introduction: [String]
    ) {
        let lines = ask(introduction + ["SUB \(pattern) view=\(view) id=s"])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            return world.violated("P4", "\(name) would not get a snapshot: \(lines.last?.verb ?? "")")
        }
        let fault = Verdicts.convergence(
            of: table, to: Verdicts.snapshot(in: lines), client: "\(name) (\(pattern), \(view))")
        if let fault { world.violated(fault) }
    }

    /// A watch and a dashboard of an account show the activities that the reference gives a place, in its order.
    private func checkLeftOut() {
        for case let screen as Screen in world.clients where screen.account != nil && !screen.isBoard {
            guard screen.view == "watch" || screen.view == "carplay" else { continue }
            // LIST shows each as if it were alone.
            let alone = ask(screen.introduction + ["LIST \(screen.pattern) view=\(screen.view)"])
            let full = ask(screen.introduction + ["LIST \(screen.pattern) view=full"])
            let candidates = Set(Verdicts.snapshot(in: alone).keys)
            let rows = Verdicts.snapshot(in: full).filter { candidates.contains($0.key) }
            let wanted = ReferenceCompetition.order(of: rows, limit: world.activitiesPerView)
            let shown = ReferenceCompetition.shown(in: screen.table)
            guard shown != wanted else { continue }
            return world.violated("C10", "\(screen.name) (\(screen.view)) shows \(shown), and not \(wanted)")
        }
    }

    /// A screen that was live all the time was sent every milestone, and every alert that its surface draws.
    private func checkAnnouncements() {
        for case let screen as Screen in world.clients {
            guard let since = screen.feed.liveSince else { continue }
            func reported(_ all: [HistoryChecker.Announcement]) -> [HistoryChecker.Announcement] {
                all.filter { announcement in
                    announcement.place.rev > max(since, screen.feed.revsWhenLive[announcement.place.key] ?? 0)
                        && screen.feed.follows(announcement.place.key)
                        && announcement.isFor(screen.account)
                }
            }
            func isDue(_ announcement: HistoryChecker.Announcement) -> Bool {
                world.records.isDue(announcement, to: screen.account)
            }
            if screen.view == "full" {
                // A milestone of a handled activity waits for the reader too.
                let reported = reported(world.records.milestones)
                for (index, announcement) in reported.enumerated() where isDue(announcement) {
                    let place = announcement.place
                    if screen.feed.milestones.contains(place) || screen.feed.missedKeys.contains(place.key) { continue }
                    // At most 64 milestones wait for a reader, and a deleted row does not name the dropped ones. The server
                    // sends no deletion of a key that the device never had: it was another account's, or it ended before the
                    // snapshot reached it.
                    let hasGone =
                        screen.feed.foldedDeletions.contains(place.key)
                        || screen.account != nil && screen.table[place.key] == nil
                        || !screen.feed.seenKeys.contains(place.key)
                    if hasGone, reported.count - index > 64 { continue }
                    return world.violated(
                        "milestones", "\(screen.name) was not told the milestone of \(place.key) at \(place.rev)")
                }
            }
            // An activity that a view leaves out does not alert there.
            let leavesOut = screen.account != nil && world.activitiesPerView < Limits().activitiesPerView
            if screen.drawsEveryAlert, !leavesOut {
                var alerts = reported(world.records.alerts)
                // At most 64 alerts wait for a reader; the server drops the oldest. Those that are not due now waited too.
                if let link = screen.link, world.mayWait(on: link) { alerts = alerts.suffix(64) }
                for place in alerts.filter(isDue).map(\.place) where !screen.feed.alerts.contains(place) {
                    return world.violated(
                        "alerts", "\(screen.name) was not told the alert of \(place.key) at \(place.rev)")
                }
            }
        }
    }

    // MARK: P1, P6

    private func checkAcknowledged() {
        for case let poster as any Poster in world.clients {
            let posts = isLast ? poster.acknowledged[...] : poster.acknowledged.suffix(50)
            guard !posts.isEmpty else { continue }
            let lines = ask(["HELLO client=\(poster.source)"] + posts.map(\.line))
            if let fault = Verdicts.acknowledgement(of: posts, source: poster.source, in: lines).first {
                return world.violated(fault)
            }
        }
    }

    // MARK: The reference

    /// The full view has the keys that the reference lists, each in the reference's state.
    private func checkFullView() {
        var keys: Set<String> = []
        for line in ask(["SUB *"]) where line.verb == "SNAP" {
            guard let key = line["key"], let rev = line.integer("rev"), let body = line.tail else { continue }
            keys.insert(key)
            if let fault = world.ledger.saw(line.text, of: key, rev: rev).fault { return world.violated("P3", fault) }
            if let fault = faultOfRow(body, key: key) { return world.violated("reference", "\(key) \(fault)") }
        }
        for (key, story) in world.records.stories.sorted(by: { $0.key < $1.key }) {
            guard let isListed = story.reference.isListed, isListed != keys.contains(key) else { continue }
            let other = keys.contains(key) ? "is there" : "is gone"
            return world.violated("reference", "\(key) \(other), and it is \(story.reference.stateText ?? "no more")")
        }
    }

    private func faultOfRow(_ body: JSONObject, key: String) -> String? {
        guard let reference = world.records.stories[key]?.reference else { return "was never written" }
        if let state = ScreenFeed.state(in: body), let known = reference.stateText, state != known {
            return "is \(state), and not \(known)"
        }
        if let phase = body["phase"]?.string, phase == "pending" || phase == "performing" {
            return "is \(phase) though every time is up"
        }
        if body["available"]?.bool == false, world.climate.providers > 0 {
            return "is not available though its provider is there"
        }
        guard let order = reference as? ReferenceOrder else { return nil }
        if let due = order.staleAt, body["staleAt"]?.integer != due { return "is not stale at \(due)" }
        if let due = order.removeAt, body["removeAt"]?.integer != due { return "is not removed at \(due)" }
        return nil
    }

    private func checkDeadlines() {
        world.records.checkDeadlines(at: world.daemonTime)
    }

    /// `HISTORY` returns the records that were written, and pruning removed no others than it may.
    private func checkHistories() {
        guard isLast else { return }
        let now = world.wall.milliseconds
        let keys = world.records.stories.keys.sorted()
        var histories: [[[UInt8]]] = [[]]
        for line in world.daemon.answers(to: keys.map { "HISTORY \($0)" }).split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "HIST ".utf8) {
                histories[histories.count - 1].append(Array(line) + [UInt8(ascii: "\n")])
            } else if line.starts(with: "OK ".utf8) || line.starts(with: "ERR ".utf8) {
                histories.append([])
            }
        }
        guard histories.count == keys.count + 1 else {
            return world.violated("history", "\(keys.count) questions have \(histories.count - 1) answers")
        }
        for (key, history) in zip(keys, histories) {
            if let fault = world.records.fault(inHistory: history, of: key, at: now) {
                return world.violated("history", fault)
            }
        }
    }

    // MARK: P9, P10

    /// A daemon that recovers from the journal has the same state, with and without the snapshot, and every time.
    private func checkRecovery() {
        let contents = world.daemon.disk.contents
        do {
            let question = ["HELLO caps=widgets", "SUB *"]
            let first = try world.daemon.answers(to: question, after: contents)
            let here = rows(world.daemon.answers(to: question))
            guard compare(here, with: rows(first.bytes), "a recovery"), isLast else { return }
            let second = try world.daemon.answers(to: question, after: contents)
            if first.bytes != second.bytes || first.stateHash != second.stateHash {
                return world.violated("P10", "two recoveries of one journal differ")
            }
            guard contents.prunedThrough == 0, contents.snapshotSequence != nil else { return }
            var whole = contents
            whole.snapshotSequence = nil
            whole.snapshotChunks = []
            let third = try world.daemon.answers(to: question, after: whole)
            guard compare(here, with: rows(third.bytes), "a recovery without the snapshot") else { return }
            if third.stateHash != first.stateHash {
                world.violated("P9", "a recovery without the snapshot computes another state")
            }
        } catch {
            world.violated("P9", "it would not recover: \(error)")
        }
    }

    /// The rows of a snapshot, sorted, because their order on the wire has no meaning.
    private func rows(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: "SNAP ".utf8) }
            .map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    private func compare(_ here: [String], with there: [String], _ what: String) -> Bool {
        guard here != there else { return true }
        let (lost, new) = (Set(here).subtracting(there).min(), Set(there).subtracting(here).min())
        world.violated("P9", "\(lost ?? "nothing") is after \(what) \(new ?? "nothing")")
        return false
    }

    // MARK: Widgets

    /// The moments around `now` at which a row may be on its way, in milliseconds.
    private static func around(_ now: Int64) -> ClosedRange<Int64> { now - 5_000...now + 100 }

    private static func fault(
        of shown: WidgetRowCheck, to due: WidgetRowCheck, _ key: String, at now: Int64
    ) -> String? {
        let (drawn, right) = (shown.entry(at: now), due.entry(at: now))
        return drawn.view == right.view && drawn.drawn == right.drawn
            ? nil : "draws \(key) as \(drawn.drawn), and it is \(right.drawn)"
    }

    private func checkWidgets() {
        for case let screen as WidgetScreen in world.clients where world.ledger.violations.isEmpty { check(screen) }
    }

    /// No refresh is overdue, and each that was given up had been sent.
    private func checkRefreshes() {
        var heard: Set<String> = []
        for case let station as WeatherStation in world.clients { heard.formUnion(station.heard) }
        for (key, forecast) in world.records.widgets.forecasts.sorted(by: { $0.key < $1.key }) {
            if let fault = forecast.fault(atRest: world.daemonTime) {
                return world.violated("widgets", "\(key) \(fault)")
            }
            if let lost = forecast.timedOut.first(where: { !heard.contains($0) }) {
                return world.violated("widgets", "\(key) was given up as \(lost), for which nobody was asked")
            }
        }
    }

    /// One that is notified of changes has read the newest state of everything.
    private func checkNotices() {
        for case let reader as NoticeReader in world.clients where world.ledger.violations.isEmpty {
            let lines = ask(reader.introduction + ["LIST \(reader.pattern) id=l"])
            guard lines.contains(where: { $0["id"] == "l" && $0.verb == "OK" }) else {
                return reader.broken("would not get a list")
            }
            let fresh = Verdicts.snapshot(in: lines).mapValues(\.rev)
            for key in Set(fresh.keys).union(reader.table.keys).sorted() where fresh[key] != reader.table[key] {
                let revs = (reader.table[key] ?? 0, fresh[key] ?? 0)
                return reader.broken("has \(key) at \(revs.0), was not told, and it is at \(revs.1)")
            }
        }
    }

    private func check(_ screen: WidgetScreen) {
        guard let fresh = snapshot(like: screen, where: SimulatedWidgets.isWidget) else { return }
        for key in Set(fresh.keys).union(screen.table.keys).sorted() {
            guard let old = screen.table[key], let new = fresh[key] else {
                return screen.broken("shows \(screen.table[key] == nil ? "no" : "a") \(key), and it is otherwise")
            }
            if let unit = screen.budgetName, screen.isOff, world.budgets.mayHold(key, of: unit, at: world.now) {
                continue
            }
            if let fault = fault(of: old, to: new, key: key) { return screen.broken(fault) }
        }
        for (key, isThere) in world.records.widgets.cards.sorted(by: { $0.key < $1.key })
        where screen.follows(key) && isThere != (fresh[key] != nil) {
            return world.violated("widgets", "\(key) is \(isThere ? "there" : "gone"), and is listed otherwise")
        }
        for (key, widget) in world.records.widgets.current.sorted(by: { $0.key < $1.key }) where screen.follows(key) {
            if widget.isThere != (fresh[key] != nil) {
                return world.violated(
                    "widgets", "\(key) is \(widget.isThere ? "there" : "gone"), and is listed otherwise")
            }
        }
    }

    private func fault(of old: ShownRow, to new: ShownRow, key: String) -> String? {
        guard let shown = WidgetRowCheck(old.text), let due = WidgetRowCheck(new.text) else {
            return "\(key) has no entries"
        }
        if old.rev != new.rev { return "shows \(key) at \(old.rev), and it is at \(new.rev)" }
        if shown.lasting != due.lasting { return "shows \(key) in another look" }
        let edition = "cup.\(world.daemon.edition)"
        if key.hasPrefix("sales/"), due.entries[0].view["symbol"]?.string != edition {
            return "is shown \(key) by an old kind"
        }
        let now = world.daemonTime
        if [shown, due].contains(where: { $0.isTurning(around: Self.around(now)) }) { return nil }
        if let fault = Self.fault(of: shown, to: due, key, at: now) { return fault }
        let right = due.entry(at: now).drawn
        guard let widget = world.records.widgets.current[key], widget.drawn(at: now) != right else { return nil }
        return "is shown \(key) as \(right), and it is \(widget.drawn(at: now))"
    }

    // MARK: Boards

    private func checkBoards() {
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
    private func checkBoard(of screen: Screen) {
        let lines = ask(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"])
        let (fresh, now) = (Verdicts.snapshot(in: lines), world.daemonTime)
        for key in Set(fresh.keys).union(screen.table.keys).sorted() {
            let (old, new) = (screen.table[key]?.body, fresh[key]?.body)
            if [old, new].contains(where: { $0?.isTurning(around: Self.around(now)) == true }) { continue }
            let (shown, due) = (old?.drawn(as: key, at: now), new?.drawn(as: key, at: now))
            // A row that is drawn no more is let lie.
            if shown == due || due == nil && (shown?["top"] == false || shown?["order"] == 0) { continue }
            return world.violated(
                "P4/P5", "\(screen.name) draws \(key) as \(Self.text(shown)), and it is \(Self.text(due))")
        }
    }

    private static func text(_ body: JSONObject?) -> String { body.map { "\(JSON.object($0))" } ?? "nothing" }

    private func check(_ screen: BoardScreen, _ boards: BoardHistory) {
        guard let fresh = snapshot(like: screen, where: SimulatedBoards.isTile) else { return }
        let (now, views) = screen.currentView(in: world)
        if views.contains(where: { $0.moments.contains(where: Self.around(now).contains) }) { return }
        for view in views {
            for id in view.shown where screen.follows("\(view.name)/\(id)") {
                let key = "\(view.name)/\(id)"
                guard view.hasRow(id, at: now) == (fresh[key] != nil) else {
                    return world.violated(
                        "boards", "\(key) is \(fresh[key] == nil ? "not " : "")shown to a new \(screen.view)")
                }
                // A row that is not drawn may be an old one.
                guard view.draws(id, at: now), let old = screen.table[key], let new = fresh[key] else { continue }
                if let fault = fault(of: old, to: new, key) { return screen.broken(fault) }
                checkWidget(of: new, key, screen)
            }
        }
        for view in views where world.ledger.violations.isEmpty { checkSuggestions(in: view, fresh, screen) }
        if let fault = screen.fault(in: views, at: now, isAtRest: true) { screen.broken(fault) }
    }

    /// A new subscriber is sent the suggestions that there are, and no others.
    private func checkSuggestions(in view: ReferenceBoardView, _ fresh: [String: ShownRow], _ screen: BoardScreen) {
        let now = world.drawnMoment
        var due: Set<String> = []
        for (stack, candidates) in view.candidates.sorted(by: { $0.key < $1.key }) {
            for widget in candidates.map(\.widget) where view.hasRow(suggesting: widget, in: stack, at: now) {
                let key = "\(view.name)/\(view.names.id(of: widget, in: stack) ?? "~")"
                guard screen.follows(key) else { continue }
                due.insert(key)
                guard let row = fresh[key] else {
                    return world.violated(
                        "boards", "\(key), which is \(widget) in \(stack), is not suggested to a new \(screen.view)")
                }
                if let old = screen.table[key], old.rev != row.rev {
                    return screen.broken("has \(key) at \(old.rev), and it is at \(row.rev)")
                }
                if view.draws(suggesting: widget, in: stack, at: now) { checkWidget(of: row, key, screen) }
            }
        }
        for (key, row) in fresh.sorted(by: { $0.key < $1.key }) where !due.contains(key) {
            if SimulatedBoards.parts(of: key).board == view.name, ReceivedTile(row.text)?.isSuggested == true {
                return world.violated("boards", "\(key) is suggested to a new \(screen.view), and does not matter")
            }
        }
    }

    private func fault(of old: ShownRow, to new: ShownRow, _ key: String) -> String? {
        guard let shown = ReceivedTile(old.text), let due = ReceivedTile(new.text) else {
            return "\(key) has no entries"
        }
        if old.rev != new.rev { return "shows \(key) at \(old.rev), and it is at \(new.rev)" }
        let now = world.drawnMoment
        if [shown, due].contains(where: { $0.content.isTurning(around: Self.around(now)) }) { return nil }
        return Self.fault(of: shown.content, to: due.content, key, at: now)
    }

    /// A tile shows nothing that its device is not shown of the widget itself.
    private func checkWidget(of row: ShownRow, _ key: String, _ screen: BoardScreen) {
        guard let reported = ReceivedTile(row.text), !reported.isUnavailable,
            reported.content.entries.contains(where: { $0.drawn.number != nil && $0.drawn != .nothing })
        else { return }
        let lines = ask(screen.introduction + ["GET \(reported.widget) id=g"])
        if lines.contains(where: { $0["id"] == "g" && $0.verb == "OK" }) { return }
        screen.broken("is shown \(key), and not \(reported.widget)")
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
                return world.violated(
                    "boards",
                    "\(name)/\(id) is \(rows[id] == nil ? "lost" : "there"), and was \(board.state(of: id))")
            }
            for (member, due) in Self.members(of: id, on: board) where row[member] != due {
                let found = row[member].map { "\($0)" } ?? "nothing"
                return world.violated(
                    "boards",
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
        let actions = isLast ? writer.acknowledged[...] : writer.acknowledged.suffix(50)
        guard !actions.isEmpty else { return }
        let lines = ask([writer.introduction] + actions.map(\.line))
        if let fault = Verdicts.acknowledgement(of: actions, source: writer.source, in: lines).first {
            world.violated(fault)
        }
    }

    // MARK: What comes by itself

    private func checkRelevantTiles() {
        guard let relevantTiles = world.records.relevantTiles else { return }
        if let fault = relevantTiles.reloads.fault(of: SimulatedRelevantWidgets.townKeys) {
            return world.violated("visits", fault)
        }
        for case let screen as RelevantWidgetScreen in world.clients where world.ledger.violations.isEmpty {
            check(screen, relevantTiles)
        }
    }

    private func check(_ screen: RelevantWidgetScreen, _ relevantTiles: RelevantWidgetHistory) {
        func isRelevantTile(_ key: String) -> Bool { SuggestionNames.isID(SimulatedBoards.parts(of: key).id) }
        guard let fresh = snapshot(like: screen, where: isRelevantTile) else { return }
        let table = screen.table.filter { isRelevantTile($0.key) }
        for key in Set(fresh.keys).union(table.keys).sorted() where fresh[key]?.rev != table[key]?.rev {
            let name = relevantTiles.order(ofID: SimulatedBoards.parts(of: key).id) ?? "nothing that it knows"
            let revs = [table[key], fresh[key]].map { $0.map { "at \($0.rev)" } ?? "not at all" }
            return screen.broken("shows \(name) \(revs[0]), and it is told \(revs[1])")
        }
        if let fault = screen.fault(in: screen.currentView(in: world, isAtRest: true)) { screen.broken(fault) }
    }

}
