import TelltaleModel

// At rest, each screen draws of each widget what a new screen would draw, although nothing told it so.
extension ConvergenceCheck {
    /// How long a row may be on its way when its moment comes, in milliseconds.
    private static let latitude: Int64 = 5_000

    func checkWidgets() {
        for case let screen as WidgetScreen in world.clients where world.ledger.violations.isEmpty { check(screen) }
    }

    /// No ask is overdue, and each that was given up had been sent.
    func checkAsks() {
        var heard: Set<String> = []
        for case let station as WeatherStation in world.clients { heard.formUnion(station.heard) }
        for (key, forecast) in world.records.widgets.forecasts.sorted(by: { $0.key < $1.key }) {
            if let fault = forecast.fault(atRest: world.daemonTime) { return violated("\(key) \(fault)") }
            if let lost = forecast.timedOut.first(where: { !heard.contains($0) }) {
                return violated("\(key) was given up as \(lost), for which nobody was asked")
            }
        }
    }

    /// One that is told of changes has read the newest state of everything.
    func checkNotices() {
        for case let reader as NoticeReader in world.clients where world.ledger.violations.isEmpty {
            let lines = ask(reader.introduction + ["LIST \(reader.pattern) id=l"])
            guard lines.contains(where: { $0["id"] == "l" && $0.verb == "OK" }) else {
                return violated("notices-\(reader.index) would not get a list")
            }
            let fresh = Verdicts.snapshot(in: lines).mapValues(\.rev)
            for key in Set(fresh.keys).union(reader.table.keys).sorted() where fresh[key] != reader.table[key] {
                return world.violated(
                    "notices",
                    "\(reader.index) has \(key) at \(reader.table[key] ?? 0), was not told, and it is at \(fresh[key] ?? 0)"
                )
            }
        }
    }

    private func check(_ screen: WidgetScreen) {
        let lines = ask(screen.introduction + [screen.subscription])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            return violated("widgets-\(screen.index) would not get a snapshot")
        }
        let fresh = Verdicts.snapshot(in: lines, where: SimulatedWidgets.isWidget)
        for key in Set(fresh.keys).union(screen.table.keys).sorted() {
            guard let old = screen.table[key], let new = fresh[key] else {
                return violated(
                    "\(screen.index) shows \(screen.table[key] == nil ? "no" : "a") \(key), and it is otherwise")
            }
            if let unit = screen.budgetName, screen.isOff, world.budgets.mayHold(key, of: unit, at: world.now) {
                continue
            }
            if let fault = fault(of: old, to: new, key: key) { return violated("\(screen.index) \(fault)") }
        }
        for (key, isThere) in world.records.widgets.cards.sorted(by: { $0.key < $1.key })
        where screen.follows(key) && isThere != (fresh[key] != nil) {
            return violated("\(key) is \(isThere ? "there" : "gone"), and is listed otherwise")
        }
        for (key, widget) in world.records.widgets.current.sorted(by: { $0.key < $1.key }) where screen.follows(key) {
            if widget.isThere != (fresh[key] != nil) {
                return violated("\(key) is \(widget.isThere ? "there" : "gone"), and is listed otherwise")
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
        if shown.isTurning(around: now - Self.latitude...now + 100)
            || due.isTurning(around: now - Self.latitude...now + 100)
        {
            return nil
        }
        let (drawn, right) = (shown.entry(at: now), due.entry(at: now))
        if drawn.view != right.view || drawn.drawn != right.drawn {
            return "draws \(key) from a row that is used up: \(drawn.drawn), and it is \(right.drawn)"
        }
        if let widget = world.records.widgets.current[key],
            widget.drawn(at: now) != right.drawn
        {
            return "is shown \(key) as \(right.drawn), and it is \(widget.drawn(at: now))"
        }
        return nil
    }

    private func violated(_ what: String) { world.violated("widgets", what) }
}
