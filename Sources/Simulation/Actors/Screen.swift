import TelltaleModel
import TelltaleWire

/// A screen: follows a pattern in a view, is slow, stuck or away at times, and resumes from its cursor.
final class Screen: RowClient {
    var seat: Seat
    private(set) var feed: ScreenFeed

    let account: String?
    private let rate: Int?
    /// Whether it is a named screen of a scenario's script. Such a screen only follows the script.
    let isOnStage: Bool
    /// It shows a board.
    let isBoard: Bool
    /// The script has taken its connection away.
    private(set) var isToStayAway = false
    /// Called when its table may have changed.
    var onChange: (Screen) -> Void = { _ in }
    /// The actions that a person took on it and that have no reply yet, in order.
    private var performed: [(line: String, onAnswer: (ServerLine) -> Void)] = []
    private var performedCount = 0
    private var traits: [String] = []
    /// The ids of its requests beside its subscription, in order.
    private var asked: [String] = []
    private var askedCount = 0
    private var readsSlowly = false
    /// Until when it may still read rows that came while it was slow.
    private var slowUntil: Int64 = 0

    init(_ seat: Seat) {
        self.seat = seat
        let (world, number) = (seat.world, seat.number)
        let views = ["full", "full", "carplay", "watch", "desktop", "phone", "pad", "standby"]
        account = number % 3 == 1 ? world.setting.tagged(self.seat.random.pick(of: ["alice", "bob"])) : nil
        let cast = world.setting.cast
        let (first, last) = (cast.parts.first?.kind ?? "order", cast.parts.last?.kind ?? "ride")
        let control = cast.controlKinds.first ?? first
        let pattern = self.seat.random.pick(of: [
            "*", "*", "\(first)/*", "\(first)/*", "\(control)/*", "\(last)/*",
            world.setting.tagged("\(first)/shared-1"),
        ])
        feed = ScreenFeed(
            world: world, name: "screen-\(number)", pattern: pattern,
            view: world.setting.view(ofScreen: number) ?? views[number % views.count])
        (isOnStage, isBoard) = (false, false)
        rate = number % 7 == 6 ? 1 + self.seat.random.below(4) : nil
        feed.account = account
    }

    /// A screen of a script. It follows its board, or everything but boards.
    init(world: any Environment, index: Int, stage: StageScreen) {
        seat = Seat(world: world, index: index, number: 0, random: SimulationRandom(seed: UInt64(index)))
        account = stage.account.map { world.setting.tagged($0) }
        let pattern = stage.board.map { "\($0)/*" } ?? "*"
        feed = ScreenFeed(world: world, name: stage.name, pattern: pattern, view: stage.view)
        rate = nil
        isBoard = stage.board != nil
        traits = stage.traits
        isOnStage = true
        feed.account = account
    }

    var name: String { feed.name }
    var view: String { feed.view }
    var pattern: String { feed.pattern }
    var table: [String: ShownRow] { feed.table }
    var isLive: Bool { feed.isLive }
    var isWaiting: Bool { !feed.isLive || !performed.isEmpty || !asked.isEmpty }
    var untilNextMove: Int64 { random.pick(500...15_000) }

    /// Whether its surface draws every alert in every situation.
    var drawsEveryAlert: Bool { view == "watch" || view == "phone" || view == "pad" }

    /// The lines with which a second screen of the same kind would begin.
    var introduction: [String] {
        // A name of the script may have spaces, so it cannot be sent.
        var hello = "HELLO client=screen-\(index)"
        if let account { hello += " account=\(account)" }
        var lines = [hello]
        if !traits.isEmpty { lines.append("TRAIT " + traits.joined(separator: " ")) }
        return lines
    }

    // MARK: Moves

    func move() {
        guard let link else {
            if feed.isAway, !isToStayAway { connect() }
            return
        }
        if world.isCalm || isOnStage { return }
        if random.chance(world.climate.resets) { return vanish() }
        if random.chance(world.climate.slowReaders) {
            if readsSlowly {
                wake()
            } else {
                readsSlowly = true
                link.readingLimit = random.chance(300) ? 1 : 200 + random.below(2_000)
                // Some pauses are longer than the daemon waits for a stuck reader.
                link.pause = random.chance(200) ? random.pick(5_000...70_000) : random.pick(50...2_000)
            }
        }
        if random.chance(100) { ask() }
        if view != "full", random.chance(100) {
            let trait = random.pick(
                of: [
                    "locked=yes", "locked=no", "dashboard=hidden", "dashboard=visible", "wrist=down", "wrist=up",
                    "light=low", "light=normal", "luminance=reduced", "luminance=normal", "focus=on", "focus=off",
                ] + (view == "carplay" ? [] : ["show=locked", "show=unlocked"]))
            set(trait)
            world.send("TRAIT \(trait)\n", on: link)
        }
    }

    private func set(_ trait: String) {
        let name = trait.prefix { $0 != "=" }
        traits.removeAll { $0.hasPrefix(name + "=") }
        traits.append(trait)
    }

    /// Sends a request beside its subscription.
    private func ask() {
        guard let link, feed.isLive, asked.count < 4 else { return }
        let key = table.isEmpty ? "order/shared-1" : random.pick(of: table.keys.sorted())
        askedCount += 1
        let id = "q\(askedCount)"
        let question = random.pick(of: [
            "GET \(key) view=full", "GET \(key)", "LIST \(pattern) view=full", "HISTORY \(key)", "STATS", "KINDS",
            "PING",
        ])
        asked.append(id)
        world.send("\(question) id=\(id)\n", on: link)
    }

    /// A person acts on it. Without a connection, the screen connects and sends the action then.
    func perform(_ line: String, onAnswer: @escaping (ServerLine) -> Void) {
        if line.hasPrefix("TRAIT ") { for trait in line.split(separator: " ").dropFirst() { set(String(trait)) } }
        performed.append((line, onAnswer))
        performedCount += 1
        if let link { world.send(line.withID("p\(performedCount - 1)") + "\n", on: link) } else { connect() }
    }

    /// Its connection is lost, until it is asked to come back.
    func stay(away isAway: Bool) {
        isToStayAway = isAway
        if isAway { vanish() } else if link == nil { connect() }
    }

    func calmDown() {
        isToStayAway = false
        wake()
        if link == nil { connect() }
    }

    /// Reads at full speed again.
    private func wake() {
        defer { readsSlowly = false }
        guard let link else { return }
        wake(link)
        if readsSlowly { slowUntil = world.now + 1_000 }
    }

    // MARK: Connection

    func connect() {
        let link = open()
        var introduction = introduction
        if world.isCluster, let position = feed.position { introduction[0] += " after=\(position)" }
        var text = introduction.map { $0 + "\n" }.joined() + "SUB \(pattern) view=\(view) id=s"
        if let rate { text += " rate=\(rate)" }
        let isAnew = !isOnStage && random.chance(50)
        let cursor = feed.connect(isAnew: isAnew) { !isOnStage && random.chance(30) }
        if let cursor { text += " from=\(cursor)" }
        for (place, action) in performed.enumerated() {
            text += "\n" + action.line.withID("p\(performedCount - performed.count + place)")
        }
        world.send(text + "\n", on: link)
    }

    func ended(_ link: SimulatedLink, wasLost: Bool) {
        feed.disconnect()
        readsSlowly = false
        asked = []
    }

    // MARK: Lines

    func broken(_ what: String) { feed.broken(what) }

    func receive(_ line: ClientLine) {
        switch line.verb {
        case "TELLTALE": feed.greeted(line)
        case "OK", "PONG": if !answered(line), line["id"] == "s" { feed.subscribed(line) }
        case "ERR": if !answered(line) { feed.broken("is refused: \(line.whole)") }
        case "SNAP" where line["sub"] == "0": feed.checkAnswer(line)
        case "HIST": if let fault = faultOfPast(line) { world.violated("history", "\(name) is told that \(fault)") }
        case "KIND", "WIDGET", "#", "BYE": break
        case "SNAP", "UPD":
            if let key = line["key"], SimulatedWidgets.isWidget(key) { feed.broken("is sent the widget \(key)") }
            if view == "carplay", !isOnStage, showsPrivateText(line) { feed.broken("shows a car what is private") }
            fallthrough
        case _: if feed.receive(line, isSlow: readsSlowly || world.now < slowUntil) { onChange(self) }
        }
    }

    /// Whether a row shows the text that the simulation's orders keep private.
    private func showsPrivateText(_ line: ClientLine) -> Bool {
        guard line["key"]?.hasPrefix("order/") == true, let body = ShownRow(rev: 0, text: line.text).body else {
            return false
        }
        return body["presentation"] == "small" && body["view"]?["text"] != nil
    }

    /// - Returns: Whether the line replies to something else than its `SUB`.
    private func answered(_ line: ClientLine) -> Bool {
        if let id = line["id"], id.hasPrefix("q") {
            answered(id, line)
            return true
        }
        guard line["id"]?.hasPrefix("p") == true, !performed.isEmpty else { return false }
        performed.removeFirst().onAnswer(line.whole)
        return true
    }

    private func answered(_ id: String, _ line: ClientLine) {
        guard id == asked.first else {
            return feed.broken("waits for the answer to \(asked.first ?? "nothing") and gets \(id)")
        }
        asked.removeFirst()
        if line.verb == "ERR" {
            // The key of the request may have been deleted meanwhile.
            if line["code"] != "unknown_key" { feed.broken("is refused: \(line.whole)") }
        } else if line["key"] != nil {
            feed.checkAnswer(line)
        }
    }

    private func faultOfPast(_ line: ClientLine) -> String? {
        guard let record = HistoryRecord(line), let key = line["key"] else { return "this is a record: \(line.whole)" }
        return world.chronicle?.fault(inRecord: record, of: key)
    }
}
