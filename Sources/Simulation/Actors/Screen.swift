import TelltaleModel
import TelltaleWire

/// A screen: follows a pattern in a view, is slow, stuck or away at times, and resumes where it was.
final class Screen: SimulatedClient {
    struct Shown {
        var rev: Int64
        /// The row's JSON, as it came.
        var text: [UInt8]

        var body: JSONObject? { (try? JSONParser().parse(text.span))?.object }

        /// Whether both are the same but for what only one reader is told: milestones that it missed, and the row that comes
        /// with an alert.
        func isSame(as other: Shown) -> Bool {
            func lasting(_ shown: Shown) -> JSONObject? {
                var body = shown.body
                for name in ["missed", "highlighted", "banner", "expanded"] { body?[name] = nil }
                return body
            }
            return rev == other.rev && (text == other.text || lasting(self) == lasting(other))
        }
    }

    unowned let world: any Environment
    let index: Int
    let name: String
    private var random: SimulationRandom
    private(set) var link: Link?
    private var lines = ClientLines()

    let view: String
    let account: String?
    let pattern: String
    private let rate: Int?
    /// It is one of the script's, which others know by its name.
    let isOnStage: Bool
    /// Told when it shows something else.
    var onChange: (Screen) -> Void = { _ in }
    /// What a person did on it and has no answer yet, in order.
    private var performed: [(line: String, onAnswer: (ServerLine) -> Void)] = []
    private var performedCount = 0
    private var traits: [String] = []

    /// What it shows, across connections.
    private(set) var table: [String: Shown] = [:]
    private var cursor: String?
    private var revs: [String: Int64] = [:]
    private enum Phase {
        case away, greeting, subscribing, filling, resuming, live
    }
    private var phase = Phase.away
    private var snapshot: [String: Shown] = [:]
    private var cursorSequence: Int64 = 0
    /// The commit from which on it was connected, live and not asked to forget anything.
    private(set) var liveSince: Int64?
    private(set) var milestones: Set<ObservationLog.KeyRev> = []
    /// Keys of which older milestones were named in a row.
    private(set) var missedKeys: Set<String> = []
    private(set) var alerts: Set<ObservationLog.KeyRev> = []
    /// Keys that went while commits of theirs waited: a deletion does not name milestones that found no room.
    private(set) var foldedDeletions: Set<String> = []
    private var readsSlowly = false
    /// The ids of what it asked beside its subscription, in order.
    private var asked: [String] = []
    private var askedCount = 0
    /// Until when it may still read what came while it was slow.
    private var slowUntil: Int64 = 0

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        name = "screen-\(number)"
        let views = ["full", "full", "carplay", "watch", "desktop", "phone", "pad", "standby"]
        view = world.setting.view(ofScreen: number) ?? views[number % views.count]
        account = number % 3 == 1 ? world.setting.tagged(self.random.pick(of: ["alice", "bob"])) : nil
        let cast = world.setting.cast
        let (first, last) = (cast.parts.first?.kind ?? "order", cast.parts.last?.kind ?? "ride")
        let control = cast.controlKinds.first ?? first
        pattern = self.random.pick(of: [
            "*", "*", "\(first)/*", "\(first)/*", "\(control)/*", "\(last)/*",
            world.setting.tagged("\(first)/shared-1"),
        ])
        isOnStage = false
        rate = number % 7 == 6 ? 1 + self.random.below(4) : nil
    }

    /// A screen of the script: it shows everything, and does only what it is told.
    init(world: any Environment, index: Int, stage: StageScreen) {
        self.world = world
        self.index = index
        random = SimulationRandom(seed: UInt64(index))
        name = stage.name
        view = stage.view
        account = stage.account.map { world.setting.tagged($0) }
        pattern = "*"
        rate = nil
        traits = stage.traits
        isOnStage = true
    }

    var isWaiting: Bool { phase != .live || !performed.isEmpty || !asked.isEmpty }
    var isLive: Bool { phase == .live }
    var untilNextMove: Int64 { random.pick(500...15_000) }

    /// Its surface draws an alert in every situation that it can be in.
    var drawsEveryAlert: Bool { view == "watch" || view == "phone" || view == "pad" }

    func follows(_ key: String) -> Bool {
        pattern == "*" || pattern == key || (pattern.hasSuffix("/*") && key.hasPrefix(pattern.dropLast()))
    }

    /// The lines with which the same screen would begin anew.
    var introduction: [String] {
        // A name of the script is for people, and may have spaces.
        var hello = "HELLO client=screen-\(index)"
        if let account { hello += " account=\(account)" }
        var lines = [hello]
        if !traits.isEmpty { lines.append("TRAIT " + traits.joined(separator: " ")) }
        return lines
    }

    func move() {
        guard let link else {
            if phase == .away { connect() }
            return
        }
        if world.isCalm || isOnStage { return }
        if random.chance(world.climate.resets) {
            world.reset(link)
            return forget()
        }
        if random.chance(world.climate.slowReaders) {
            if readsSlowly {
                wake()
            } else {
                readsSlowly = true
                link.readingLimit = random.chance(300) ? 1 : 200 + random.below(2_000)
                // Sometimes it takes nothing for longer than anybody is waited for.
                link.pause = random.chance(200) ? random.pick(5_000...70_000) : random.pick(50...2_000)
            }
        }
        if random.chance(100) { ask() }
        if view != "full", random.chance(100) {
            let trait = random.pick(of: [
                "locked=yes", "locked=no", "dashboard=hidden", "dashboard=visible", "wrist=down", "wrist=up",
                "light=low", "light=normal", "luminance=reduced", "luminance=normal", "focus=on", "focus=off",
            ])
            let name = trait.prefix { $0 != "=" }
            traits.removeAll { $0.hasPrefix(name + "=") }
            traits.append(trait)
            world.send("TRAIT \(trait)\n", on: link)
        }
    }

    func doLater(_ what: Int) {}

    /// Asks for something beside what it follows.
    private func ask() {
        guard let link, phase == .live, asked.count < 4 else { return }
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

    func calmDown() {
        wake()
        if link == nil { connect() }
    }

    private func wake() {
        guard let link else {
            readsSlowly = false
            return
        }
        link.readingLimit = nil
        if link.isReadScheduled { link.isReadScheduled = false }
        world.read(link)
        if readsSlowly { slowUntil = world.now + 1_000 }
        readsSlowly = false
    }

    // MARK: Connection

    private func connect() {
        lines.begin()
        phase = .greeting
        let link = world.connect(self)
        self.link = link
        var text = introduction.map { $0 + "\n" }.joined() + "SUB \(pattern) view=\(view) id=s"
        if let rate { text += " rate=\(rate)" }
        // Now and then it begins anew, or with a cursor of a history that never was.
        if !isOnStage, random.chance(50) { cursor = nil }
        if var cursor {
            if !isOnStage, random.chance(30) {
                cursor = "00000000000000ff" + cursor.dropFirst(16)
                self.cursor = cursor
            }
            text += " from=\(cursor)"
        }
        liveSince = nil
        for (place, deed) in performed.enumerated() {
            text += "\n" + deed.line.withID("p\(performedCount - performed.count + place)")
        }
        world.send(text + "\n", on: link)
    }

    /// A person does something on it. Without a connection, it is done as soon as there is one.
    func perform(_ line: String, onAnswer: @escaping (ServerLine) -> Void) {
        if line.hasPrefix("TRAIT ") {
            for trait in line.split(separator: " ").dropFirst() {
                let name = trait.prefix { $0 != "=" }
                traits.removeAll { $0.hasPrefix(name + "=") }
                traits.append(String(trait))
            }
        }
        performed.append((line, onAnswer))
        performedCount += 1
        if let link { world.send(line.withID("p\(performedCount - 1)") + "\n", on: link) } else { connect() }
    }

    /// Goes without a word, and comes back at its next move.
    func vanish() {
        guard let link else { return }
        world.reset(link)
        forget()
    }

    /// - Returns: Whether the line answers something that a person did.
    private func answered(_ line: ClientLine) -> Bool {
        if let id = line["id"], id.hasPrefix("q") {
            answered(id, line)
            return true
        }
        guard line["id"]?.hasPrefix("p") == true, !performed.isEmpty else { return false }
        performed.removeFirst().onAnswer(line.whole)
        return true
    }

    private func forget() {
        link = nil
        phase = .away
        readsSlowly = false
        asked = []
    }

    func lost(_ link: Link) {
        guard link === self.link else { return }
        forget()
        if world.isCalm { connect() }
    }

    // MARK: Lines

    func received(_ bytes: [UInt8], on link: Link) {
        guard link === self.link else { return }
        let (lines, fault) = lines.readHeads(bytes)
        if let fault { broken("is sent what is no line: \(fault)") }
        for line in lines { receive(line) }
    }

    private func receive(_ line: ClientLine) {
        switch line.verb {
        case "TELLTALE":
            if phase != .greeting { broken("is greeted twice") }
            phase = .subscribing
        case "OK", "PONG": if !answered(line) { subscribed(line) }
        case "RESET":
            world.ledger.resets += 1
            guard phase == .resuming else { return broken("is reset, and did not resume") }
            let isForeign = cursor?.hasPrefix("00000000000000ff") ?? false
            let why = line["why"] ?? ""
            // The history is whole and its own: a reset comes for a foreign cursor, or for what was pruned.
            let isExpired = why == "expired" && cursorSequence < world.chronicle?.resumeFloor ?? .max
            if isForeign ? why != "epoch" : !isExpired {
                world.violated("P5", "\(name) resumes from \(cursor ?? "") and is reset: \(why)")
            }
            phase = .filling
            snapshot = [:]
            cursorSequence = 0
        case "SNAP" where line["sub"] == "0": answer(line)
        case "HIST": if let fault = faultOfPast(line) { world.violated("history", "\(name) is told that \(fault)") }
        case "KIND": break
        case "SNAP":
            guard phase == .filling else { return broken("gets a SNAP outside a snapshot") }
            row(line, isSnapshot: true)
        case "UPD":
            switch phase {
            case .live: row(line, isSnapshot: false)
            case .resuming:
                if line["why"] != "resume" { broken("resumes and gets a row without why=resume") }
                row(line, isSnapshot: false)
            case _: broken("gets an UPD outside LIVE")
            }
        case "DEL":
            guard phase == .live || phase == .resuming else { return broken("gets a DEL in a snapshot") }
            deletion(line)
        case "LIVE": live(line)
        case "MARK": take(line["cur"])
        case "MILE":
            guard let key = line["key"], let rev = line.integer("rev") else { return broken("gets a MILE of nothing") }
            checkRev(rev, of: key)
            if !milestones.insert(ObservationLog.KeyRev(key: key, rev: rev)).inserted {
                world.violated("P3", "\(name) is told the milestone of \(key) at \(rev) twice")
            }
        case "ALERT":
            guard let key = line["key"], let rev = line.integer("rev") else {
                return broken("gets an ALERT of nothing")
            }
            checkRev(rev, of: key)
            if !alerts.insert(ObservationLog.KeyRev(key: key, rev: rev)).inserted {
                world.violated("P3", "\(name) is told the alert of \(key) at \(rev) twice")
            }
        case "ERR": if !answered(line) { broken("is refused: \(line.whole)") }
        case "#", "BYE": break
        case _: broken("is sent \(line.verb)")
        }
    }

    // MARK: What it asked

    private func answered(_ id: String, _ line: ClientLine) {
        guard id == asked.first else {
            return broken("waits for the answer to \(asked.first ?? "nothing") and gets \(id)")
        }
        asked.removeFirst()
        if line.verb == "ERR" {
            // What it asked for may have gone meanwhile.
            if line["code"] != "unknown_key" { broken("is refused: \(line.whole)") }
        } else if line["key"] != nil {
            answer(line)
        }
    }

    /// A row of GET or LIST.
    private func answer(_ line: ClientLine) {
        guard let key = line["key"], let rev = line.integer("rev"), !line.text.isEmpty else {
            return broken("gets an answer of nothing")
        }
        checkRev(rev, of: key)
        if let known = revs[key], rev < known {
            world.violated("P3", "\(name) is answered \(key) at \(rev), and was told \(known)")
        }
        if line.text.starts(with: Self.fullBeginning) || isControl(key) { check(line.text, key: key, rev: rev) }
    }

    /// How the full row of an order begins; a surface's does not.
    private static let fullBeginning = Array(#"{"kind":"#.utf8)
    private static let missedBeginning = Array(#"{"missed":"#.utf8)

    private lazy var controlKinds = world.setting.cast.controlKinds.map { Array("\($0)/".utf8) }
    private func isControl(_ key: String) -> Bool { controlKinds.contains { key.utf8.starts(with: $0) } }

    private func faultOfPast(_ line: ClientLine) -> String? {
        guard let record = HistoryRecord(line), let key = line["key"] else { return "this is a record: \(line.whole)" }
        return world.chronicle?.fault(inRecord: record, of: key)
    }

    private func subscribed(_ line: ClientLine) {
        guard line["id"] == "s" else { return }
        guard phase == .subscribing, line["sub"] == "1" else { return broken("is subscribed twice") }
        if cursor == nil {
            phase = .filling
            snapshot = [:]
            cursorSequence = 0
        } else {
            phase = .resuming
            world.ledger.resumes += 1
        }
    }

    private func live(_ line: ClientLine) {
        switch phase {
        case .filling:
            // What was not in it is gone.
            table = snapshot
            snapshot = [:]
        case .resuming: break
        case _: return broken("is LIVE again")
        }
        phase = .live
        take(line["cur"])
        liveSince = cursorSequence
        onChange(self)
    }

    private func take(_ text: String?) {
        guard let text else { return }
        guard let parsed = Cursor(text) else { return broken("is given the cursor \(text)") }
        if parsed.sequence < cursorSequence { broken("its cursor goes back from \(cursorSequence) to \(text)") }
        if parsed.sequence > world.durableSequence {
            world.violated("P2", "\(name) is given the cursor \(text), ahead of the disk")
        }
        cursorSequence = parsed.sequence
        cursor = text
    }

    private func row(_ line: ClientLine, isSnapshot: Bool) {
        guard let key = line["key"], let rev = line.integer("rev"), !line.text.isEmpty else {
            return broken("gets a row of nothing")
        }
        guard world.isOwn(key) else { return take(line["cur"]) }
        world.ledger.rows += 1
        if let skip = line.integer("skip") { world.ledger.folded += Int(skip) }
        let isNews = phase == .live && line["why"] != "resume"
        // What is at or before the cursor was told, or was not to be seen: it comes again because of others.
        if isNews, rev > cursorSequence, revs[key] != rev {
            let isSlow = readsSlowly || world.now < slowUntil
            world.ledger.latency?.arrived(
                rev: rev, view: isSlow ? LatencyBook.slowReader : view, at: world.instant)
        }
        advance(key, rev, isNew: view == "full" && isNews)
        let shown = Shown(rev: rev, text: line.text)
        // They are named by their states alone, so which of this key they were cannot be told.
        let isMissing = line.text.starts(with: Self.missedBeginning)
        if isMissing { missedKeys.insert(key) }
        checkRev(rev, of: key)
        if view == "full", !isMissing { check(line.text, key: key, rev: rev) }
        if isControl(key), let body = line.tail {
            checkOperation(body, key: key)
            countOperation(body)
        }
        if isSnapshot { snapshot[key] = shown } else { table[key] = shown }
        take(line["cur"])
        if !isSnapshot { onChange(self) }
    }

    private func deletion(_ line: ClientLine) {
        guard let key = line["key"], let rev = line.integer("rev") else { return broken("gets a DEL of nothing") }
        guard world.isOwn(key) else { return take(line["cur"]) }
        checkRev(rev, of: key)
        if line.integer("skip") != nil { foldedDeletions.insert(key) }
        advance(key, rev, isNew: false)
        table[key] = nil
        take(line["cur"])
        onChange(self)
    }

    /// Within an epoch a key's rev never goes back.
    private func advance(_ key: String, _ rev: Int64, isNew: Bool) {
        if let known = revs[key] {
            if rev < known {
                world.ledger.regressions += 1
                world.violated("P3", "\(name) sees \(key) go back from \(known) to \(rev)")
            }
            if isNew, rev == known, table[key] != nil { broken("gets \(key) at \(rev) again") }
        }
        revs[key] = rev
    }

    // MARK: What rows say

    /// The state in a full row, as a record has it.
    static func state(in body: JSONObject) -> String? {
        if let lifecycle = body["lifecycle"]?.string { return body["state"]?.string.map { "\(lifecycle) \($0)" } }
        guard let phase = body["phase"]?.string else { return nil }
        guard body["control"]?.string == "toggle", phase != "unknown" else { return phase }
        return "\(phase) \(body["value"]?.bool.map { $0 ? "on" : "off" } ?? "unknown")"
    }

    /// The commit that gave a full row its rev was written, and the row says what it did.
    private func check(_ body: [UInt8], key: String, rev: Int64) {
        let (isNew, fault) = world.ledger.saw(body, of: key, rev: rev)
        if let fault { return world.violated("P3", fault) }
        guard isNew, let known = world.chronicle?.states[ObservationLog.KeyRev(key: key, rev: rev)],
            let json = (try? JSONParser().parse(body.span))?.object, let state = Self.state(in: json)
        else { return }
        if known != state { world.violated("P3", "\(name) sees \(key) \(state) at \(rev), where it is \(known)") }
    }

    private func checkRev(_ rev: Int64, of key: String) {
        guard let fault = world.chronicle?.fault(of: key, rev: rev) else { return }
        world.violated("P2", "\(name) is told that \(fault)")
    }

    /// How an operation ended, as a screen was told.
    private func countOperation(_ body: JSONObject) {
        guard let last = body["last"]?.object, let op = last["op"]?.string, let result = last["result"]?.string else {
            return
        }
        let reason = last["reason"]?.string.map { " \($0)" } ?? ""
        world.ledger.operations[op] = result + reason
    }

    /// What is confirmed, a provider has done or reported.
    private func checkOperation(_ body: JSONObject, key: String) {
        guard let last = body["last"]?.object, last["result"]?.string == "confirmed", let op = last["op"]?.string,
            !world.ledger.doneOperations.contains(op), !world.ledger.reportedKeys.contains(key)
        else { return }
        world.violated("protocol", "\(op) of \(key) is confirmed, and no provider has done it")
    }

    private func broken(_ what: String) {
        world.violated("protocol", "\(name) (\(pattern), \(view)) \(what)")
    }
}
