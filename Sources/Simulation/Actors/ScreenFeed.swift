import TelltaleModel
import TelltaleWire

/// The row of one key, as a client was sent it last.
struct ShownRow {
    var rev: Int64
    /// The JSON of the row, as it came.
    var text: [UInt8]

    var body: JSONObject? { (try? JSONParser().parse(text.span))?.object }

    /// Whether both rows are the same except for the members that depend on the reader: missed milestones, and the views that
    /// accompany an alert.
    func isSame(as other: ShownRow) -> Bool {
        func lasting(_ row: ShownRow) -> JSONObject? {
            var body = row.body
            for name in ["missed", "highlighted", "banner", "expanded"] { body?[name] = nil }
            return body
        }
        return rev == other.rev && (text == other.text || lasting(self) == lasting(other))
    }
}

/// The subscription of a screen: the table of rows that the screen shows, and the checks of every line that changes it.
struct ScreenFeed {
    private enum Phase {
        case away, greeting, subscribing, filling, resuming, live
    }

    unowned let world: any Environment
    /// The screen's name, for messages.
    let name: String
    let pattern: String
    let view: String
    /// The account of the screen's device; `nil` = every activity is visible.
    var account: String?

    private var phase = Phase.away
    /// The rows that the screen shows. They outlive a connection.
    private(set) var table: [String: ShownRow] = [:]
    private var cursor: String?
    /// The cursor that it resumes from.
    private var resumed: String?
    private var cursorSequence: Int64 = 0
    /// The newest commit that it was shown on any connection, and the epoch of that history.
    private var newest: (epoch: String, sequence: Int64) = ("", 0)
    /// Of the newest greeting. A node without a history has one of its own.
    private var epoch = ""
    private(set) var revs: [String: Int64] = [:]
    private var snapshot: [String: ShownRow] = [:]
    /// The commit from which on the screen has been connected and live; `nil` after a reconnect.
    private(set) var liveSince: Int64?
    /// Of each key at that moment. The rows of a resume may be newer than its `LIVE`, and bring no alert.
    private(set) var revsWhenLive: [String: Int64] = [:]
    private(set) var milestones: Set<ObservationLog.KeyRev> = []
    /// Keys whose rows named milestones that the screen missed.
    private(set) var missedKeys: Set<String> = []
    private(set) var alerts: Set<ObservationLog.KeyRev> = []
    /// Keys that were deleted while commits of theirs waited. A deletion does not name the milestones that were dropped.
    private(set) var foldedDeletions: Set<String> = []
    /// Keys of which it got a row since the last snapshot began.
    private(set) var seenKeys: Set<String> = []
    private let controlKinds: [[UInt8]]

    /// A cursor whose epoch is that of no journal.
    private static let foreignEpoch = "00000000000000ff"
    /// How the full row of an activity begins. The row of a surface begins differently.
    private static let fullBeginning = Array(#"{"kind":"#.utf8)
    private static let missedBeginning = Array(#"{"missed":"#.utf8)

    init(world: any Environment, name: String, pattern: String, view: String) {
        self.world = world
        self.name = name
        self.pattern = pattern
        self.view = view
        controlKinds = world.setting.cast.controlKinds.map { Array("\($0)/".utf8) }
    }

    var isLive: Bool { phase == .live }
    var isAway: Bool { phase == .away }

    /// Whether it shows a control that waits for its provider.
    var hasPendingControl: Bool {
        table.values.contains { row in
            let phase = row.body?["phase"]?.string
            return phase == "pending" || phase == "performing"
        }
    }

    func follows(_ key: String) -> Bool { pattern.includes(key: key) }

    // MARK: Connection

    /// A connection begins.
    ///
    /// - Parameters:
    ///   - isAnew: The table is not resumed.
    ///   - isForeign: Asked when there is a cursor: whether to resume with one of another epoch.
    /// - Returns: The cursor to resume from.
    mutating func connect(isAnew: Bool, isForeign: () -> Bool) -> String? {
        phase = .greeting
        liveSince = nil
        if isAnew { cursor = nil }
        if let known = cursor, isForeign() { cursor = Self.foreignEpoch + known.dropFirst(16) }
        return cursor
    }

    mutating func disconnect() { phase = .away }

    /// What it says of itself when it connects to another node.
    var position: String? { newest.sequence > 0 ? "\(newest.epoch):\(newest.sequence)" : nil }

    mutating func greeted(_ line: ClientLine) {
        if phase != .greeting { broken("is greeted twice") }
        epoch = line["epoch"] ?? ""
        phase = .subscribing
    }

    /// `SUB` was answered with `OK`.
    mutating func subscribed(_ line: ClientLine) {
        guard phase == .subscribing, line["sub"] == "1" else { return broken("is subscribed twice") }
        if cursor == nil {
            fill()
        } else {
            (phase, resumed) = (.resuming, cursor)
            world.ledger.resumes += 1
        }
    }

    private mutating func fill() {
        phase = .filling
        snapshot = [:]
        seenKeys = []
        cursorSequence = 0
    }

    // MARK: Lines

    /// Takes a line of the subscription.
    ///
    /// - Parameter isSlow: Whether the screen reads slowly, so that latencies are its own fault.
    /// - Returns: Whether the table may have changed.
    mutating func receive(_ line: ClientLine, isSlow: Bool) -> Bool {
        switch line.verb {
        case "RESET": reset(line)
        case "SNAP":
            guard phase == .filling else {
                broken("gets a SNAP outside a snapshot")
                return false
            }
            row(line, isSlow: isSlow)
        case "UPD":
            switch phase {
            case .live: return row(line, isSlow: isSlow)
            case .resuming:
                if line["why"] != "resume" { broken("resumes and gets a row without why=resume") }
                return row(line, isSlow: isSlow)
            case _: broken("gets an UPD outside LIVE")
            }
        case "DEL":
            guard phase == .live || phase == .resuming else {
                broken("gets a DEL in a snapshot")
                return false
            }
            return deletion(line)
        case "LIVE": return live(line)
        case "MARK": feed(line["cur"])
        case "MILE":
            if let place = announced(line), !milestones.insert(place).inserted {
                world.violated("P3", "\(name) is told the milestone of \(place.key) at \(place.rev) twice")
            }
        case "ALERT":
            if let place = announced(line), !alerts.insert(place).inserted {
                world.violated("P3", "\(name) is told the alert of \(place.key) at \(place.rev) twice")
            }
        case _: broken("is sent \(line.verb)")
        }
        return false
    }

    /// At most, in these worlds.
    private static let keysPerCommit: Int64 = 4

    private mutating func reset(_ line: ClientLine) {
        world.ledger.resets += 1
        guard phase == .resuming else { return broken("is reset, and did not resume") }
        let isForeign = cursor.map { $0.hasPrefix(Self.foreignEpoch) || world.isOfOtherHistory($0) } ?? false
        resumed = nil
        let why = line["why"] ?? ""
        // The journal is whole, so only a cursor of another epoch or of a pruned history is reset.
        let isExpired = why == "expired" && cursorSequence < world.chronicle?.resumeFloor ?? .max
        // What left a view of an account is not known any more when too many keys changed since. A commit may change several: an
        // activity, and the widgets that show it.
        let changeCount = (world.durableSequence - cursorSequence) * Self.keysPerCommit
        let isTooOld =
            why == "expired" && account != nil && view != "full"
            && changeCount > (world as? World)?.keysFilledAtOnce ?? .max
        if isForeign ? why != "epoch" : !isExpired && !isTooOld {
            world.violated("P5", "\(name) resumes from \(cursor ?? "") and is reset: \(why)")
        }
        fill()
    }

    private mutating func live(_ line: ClientLine) -> Bool {
        switch phase {
        case .filling:
            table = snapshot
            snapshot = [:]
        case .resuming:
            if let resumed, world.isOfOtherHistory(resumed) {
                world.violated("P5", "\(name) resumes from \(resumed), of another history, and is not reset")
            }
        case _:
            broken("is LIVE again")
            return false
        }
        phase = .live
        feed(line["cur"])
        (liveSince, revsWhenLive) = (cursorSequence, revs)
        return true
    }

    private mutating func feed(_ text: String?) {
        guard let text else { return }
        guard let parsed = Cursor(text) else { return broken("is given the cursor \(text)") }
        if parsed.sequence < cursorSequence { broken("its cursor goes back from \(cursorSequence) to \(text)") }
        if parsed.sequence > world.durableSequence {
            world.violated("P2", "\(name) is given the cursor \(text), ahead of the disk")
        }
        cursorSequence = parsed.sequence
        noteHistory()
        saw(parsed.sequence)
        cursor = text
    }

    @discardableResult
    private mutating func row(_ line: ClientLine, isSlow: Bool) -> Bool {
        guard let key = line["key"], let rev = line.integer("rev"), !line.text.isEmpty else {
            broken("gets a row of nothing")
            return false
        }
        guard world.isOwn(key) else {
            feed(line["cur"])
            return false
        }
        world.ledger.rows += 1
        world.ledger.latency?.timeline.delivered(at: world.now)
        if let skip = line.integer("skip") { world.ledger.folded += Int(skip) }
        let isNews = phase == .live && line["why"] != "resume"
        // A commit at or before the cursor is not new to the screen: the row comes again because another one competes with it.
        if isNews, rev > cursorSequence, revs[key] != rev {
            world.ledger.latency?.arrived(
                rev: rev, view: isSlow ? LatencyBook.slowReader : view, at: world.instant, now: world.now)
        }
        if let account, world.chronicle?.isFor(account, key: key, rev: rev) == false {
            world.violated("accounts", "\(name) is \(account)'s, and is shown \(key) at \(rev)")
        }
        advance(key, rev, isNew: view == "full" && isNews)
        let row = ShownRow(rev: rev, text: line.text)
        // The row names missed milestones by their states, not by their revs.
        let isMissing = line.text.starts(with: Self.missedBeginning)
        if isMissing { missedKeys.insert(key) }
        checkRev(rev, of: key)
        if view == "full", !isMissing { check(line.text, key: key, rev: rev) }
        if isControl(key), let body = line.tail {
            checkOperation(body, key: key)
            countOperation(body)
        }
        if phase == .filling { snapshot[key] = row } else { table[key] = row }
        seenKeys.insert(key)
        feed(line["cur"])
        return true
    }

    private mutating func deletion(_ line: ClientLine) -> Bool {
        guard let key = line["key"], let rev = line.integer("rev") else {
            broken("gets a DEL of nothing")
            return false
        }
        guard world.isOwn(key) else {
            feed(line["cur"])
            return false
        }
        checkRev(rev, of: key)
        if line.integer("skip") != nil { foldedDeletions.insert(key) }
        advance(key, rev, isNew: false)
        table[key] = nil
        feed(line["cur"])
        return true
    }

    private func announced(_ line: ClientLine) -> ObservationLog.KeyRev? {
        guard let key = line["key"], let rev = line.integer("rev") else {
            broken("gets \(line.verb == "MILE" ? "a MILE" : "an ALERT") of nothing")
            return nil
        }
        checkRev(rev, of: key)
        return ObservationLog.KeyRev(key: key, rev: rev)
    }

    /// Within an epoch the rev of a key never goes back.
    private mutating func advance(_ key: String, _ rev: Int64, isNew: Bool) {
        noteHistory()
        if let known = revs[key] {
            if rev < known {
                world.ledger.regressions += 1
                world.violated("P3", "\(name) sees \(key) go back from \(known) to \(rev)")
            }
            if isNew, rev == known, table[key] != nil { broken("gets \(key) at \(rev) again") }
        }
        revs[key] = rev
        saw(rev)
    }

    private mutating func saw(_ sequence: Int64) { newest.sequence = max(newest.sequence, sequence) }

    /// A row or a cursor of another history than before: its revs say nothing of those.
    private mutating func noteHistory() {
        guard newest.epoch != epoch else { return }
        (newest, revs) = ((epoch, 0), [:])
    }

    /// Checks a row that answers `GET` or `LIST`.
    func checkAnswer(_ line: ClientLine) {
        guard let key = line["key"], let rev = line.integer("rev"), !line.text.isEmpty else {
            return broken("gets an answer of nothing")
        }
        checkRev(rev, of: key)
        if let known = revs[key], rev < known {
            world.violated("P3", "\(name) is answered \(key) at \(rev), and was told \(known)")
        }
        if line.text.starts(with: Self.fullBeginning) || isControl(key) { check(line.text, key: key, rev: rev) }
    }

    // MARK: The content of rows

    private func isControl(_ key: String) -> Bool { controlKinds.contains { key.utf8.starts(with: $0) } }

    /// The state in a full row, in the words of the journal's records.
    static func state(in body: JSONObject) -> String? {
        if let lifecycle = body["lifecycle"]?.string { return body["state"]?.string.map { "\(lifecycle) \($0)" } }
        guard let phase = body["phase"]?.string else { return nil }
        guard body["control"]?.string == "toggle", phase != "unknown" else { return phase }
        return "\(phase) \(body["value"]?.bool.map { $0 ? "on" : "off" } ?? "unknown")"
    }

    /// A full row must be the same for every client, and its state must be that of the commit that it names.
    private func check(_ body: [UInt8], key: String, rev: Int64) {
        let (isNew, fault) = world.ledger.saw(body, of: key, rev: rev)
        if let fault { return world.violated("P3", fault) }
        guard isNew, let known = world.chronicle?.states[ObservationLog.KeyRev(key: key, rev: rev)],
            let json = (try? JSONParser().parse(body.span))?.object, let state = Self.state(in: json)
        else { return }
        if known != state { world.violated("P3", "\(name) sees \(key) \(state) at \(rev), where it is \(known)") }
    }

    private func checkRev(_ rev: Int64, of key: String) {
        // A tile has the rev of its widget, where that is newer.
        guard !SimulatedBoards.isTile(key), let fault = world.chronicle?.fault(of: key, rev: rev) else { return }
        world.violated("P2", "\(name) is told that \(fault)")
    }

    /// Notes how an operation ended, as the row reports it.
    private func countOperation(_ body: JSONObject) {
        guard let last = body["last"]?.object, let op = last["op"]?.string, let result = last["result"]?.string else {
            return
        }
        let reason = last["reason"]?.string.map { " \($0)" } ?? ""
        world.ledger.operations[op] = result + reason
    }

    /// An operation may be confirmed only after a provider did it or reported the value.
    private func checkOperation(_ body: JSONObject, key: String) {
        guard let last = body["last"]?.object, last["result"]?.string == "confirmed", let op = last["op"]?.string,
            !world.ledger.doneOperations.contains(op), !world.ledger.reportedKeys.contains(key)
        else { return }
        world.violated("protocol", "\(op) of \(key) is confirmed, and no provider has done it")
    }

    func broken(_ what: String) {
        world.violated("protocol", "\(name) (\(pattern), \(view)) \(what)")
    }
}
