import TelltaleModel

/// A screen with widgets: it follows them in one family, place and mode, keeps one row a key, and draws from it.
final class WidgetScreen: DeviceScreen {
    /// How it looks at widgets.
    private struct View {
        var view: String
        var words = ""
        var family: String
    }

    var seat: Seat
    let name: String
    let pattern: String
    private let view: View
    private let ahead: Int?
    private let isLocked: Bool
    /// The device that it is; two screens may be one.
    private let unit: String?
    private(set) var isOff = false
    var rows = FollowedRows()

    init(_ seat: Seat) {
        name = "widgets-\(seat.number)"
        var random = seat.random
        view = random.pick(of: [
            View(view: "phone", family: "systemSmall"), View(view: "pad", family: "systemSmall"),
            View(view: "phone", words: " placement=lockScreen", family: "accessoryRectangular"),
            View(view: "phone", words: " placement=lockScreen family=accessoryCircular", family: "accessoryCircular"),
            View(view: "watch", family: "accessoryRectangular"), View(view: "standby", family: "systemSmall"),
            View(view: "watch", words: " family=accessoryCircular", family: "accessoryCircular"),
            View(view: "carplay", family: "systemSmall"),
            View(view: "desktop", words: " mode=vibrant", family: "systemSmall"),
        ])
        pattern = random.pick(of: [
            "*", "sales/*", "sales/*", "card/*", "card/*", "weather/*", "queue/*", "hours/*", "sales/Hoegi",
        ])
        ahead = random.pick(of: [nil, nil, 0, 1, 2, 12])
        isLocked = view.view == "phone" && random.chance(400)
        unit = random.chance(600) ? "unit-\(seat.number / 2)" : nil
        isOff = unit != nil && random.chance(600)
        self.seat = seat
        self.random = random
    }

    var introduction: [String] {
        ["HELLO client=\(name) caps=widgets" + (unit.map { " unit=\($0)" } ?? "")]
            + (isLocked ? ["TRAIT locked=yes"] : []) + (isOff ? [screenTrait] : [])
    }

    private var screenTrait: String { isOff ? "TRAIT screen=off id=off" : "TRAIT screen=on id=on" }

    var subscription: String {
        "SUB \(pattern) view=\(view.view)\(view.words)" + (ahead.map { " ahead=\($0)" } ?? "") + " id=s"
    }

    func isShown(_ key: String) -> Bool { SimulatedWidgets.isWidget(key) }

    // MARK: Moves

    func changeSituation(on link: SimulatedLink) { if unit != nil, random.chance(150) { turn(off: !isOff) } }

    private func turn(off: Bool) {
        guard off != isOff, let link else { return }
        isOff = off
        world.send(screenTrait + "\n", on: link)
    }

    func calmDown() {
        guard let link else { return connect() }
        wake(link)
        // One that stays dark gets what waits when there is credit.
        if random.chance(500) { turn(off: false) }
    }

    /// Whose budget it is: the same word of another principal is another one.
    var budgetName: String? { unit.map { world.needsHello ? "\(name) \($0)" : $0 } }

    func emitted(_ bytes: [UInt8], on link: SimulatedLink) {
        if let budgetName { (world as? World)?.checkBudget(bytes, of: budgetName, name, on: link) }
    }

    // MARK: Lines

    func showRow(_ line: ClientLine, key: String, rev: Int64) {
        if let fault = fault(of: key, rev: rev) ?? rows.repetition(in: line, rev: rev, key: key) {
            return broken(fault)
        }
        guard line.verb != "DEL" else { return rows.set(nil, of: key) }
        if let fault = fault(of: line, key: key, rev: rev) { world.violated("widgets", "\(name): \(key) \(fault)") }
        if let known = table[key], known.rev == rev, rows.isLive, SimulatedWidgets.isCard(key), isLasting(known) {
            return broken("is sent \(key) at \(rev) again, and still knows what it will be")
        }
        rows.set(ShownRow(rev: rev, text: line.text), of: key)
    }

    /// Whether a row has entries left: what it foresaw is no news when it comes.
    private func isLasting(_ row: ShownRow) -> Bool {
        guard world.climate.clockJumps == 0, let row = WidgetRowCheck(row.text) else { return false }
        let isWhole = row.entries.count <= ahead ?? 4 && row.body["more"] == nil
        return isWhole || row.entries[row.entries.count - 1].date > world.daemonTime + 5_000
    }

    private func fault(of line: ClientLine, key: String, rev: Int64) -> String? {
        guard let row = WidgetRowCheck(line.text) else {
            return "has no entries: \(String(decoding: line.text, as: UTF8.self))"
        }
        if row.body["presentation"]?.string != view.family { return "is not drawn as \(view.family)" }
        if isLocked, row.entries.contains(where: { $0.view["subtitle"] != nil }) {
            return "shows a locked device what is private"
        }
        // A wall clock that was set back is behind the daemon's for a while.
        if world.climate.clockJumps == 0, row.entries[0].date > world.daemonTime { return "draws nothing yet" }
        return world.chronicle?.widgets.fault(of: row, key: key, rev: rev, ahead: ahead ?? 4)
    }

    func broken(_ what: String) { world.violated("widgets", "\(name) \(what)") }
}
