import Hub
import Journal
import TelltaleModel
import TelltaleWire

/// Checks every record, as soon as it is durable and in the form that `HISTORY` returns, against the reference models.
///
/// It keeps everything: rows, replies, later `HISTORY` answers and prunings are checked against it.
final class HistoryChecker {
    /// The history of one key.
    struct Story {
        var reference: any ReferenceModel
        /// The records of all lives of the key, as `HISTORY` returns them.
        var lines: [(heard: Int64, bytes: [UInt8])] = []
        /// How many of the records may be gone because the key was forgotten.
        var forgottenCount = 0
        /// The accounts of the newest life: empty for everyone, `nil` when they are not known.
        var audience: [String]?
        /// Whether an account has seen or dismissed it.
        var wasHandled = false
        /// The moment at which the deadline of an operation was written, and its span, in milliseconds.
        var operation: (begun: Int64, span: Int64)?
    }

    /// A milestone or an alert, which is sent before its row.
    struct Announcement {
        var place: ObservationLog.KeyRev
        var audience: [String]?

        /// Whether a device of `account` could see the activity then; `nil` = a device that sees every account's.
        func isFor(_ account: String?) -> Bool {
            guard let account else { return true }
            return audience.map { $0.isEmpty || $0.contains(account) } ?? false
        }
    }

    private unowned let world: World
    private(set) var stories: [String: Story] = [:]
    /// The state after each commit that gave its key a rev.
    private(set) var states: [ObservationLog.KeyRev: String] = [:]
    /// Whose it was after each commit that gave its key a rev, where that is known; empty = everybody's.
    private var audiences: [ObservationLog.KeyRev: [String]] = [:]
    /// By `source/eid`.
    private(set) var effects: [String: Effect] = [:]
    /// Every tap that was taken, by its operation.
    private(set) var operations: Set<String> = []
    private(set) var milestones: [Announcement] = []
    private(set) var alerts: [Announcement] = []
    /// Resumes from before it cannot be complete.
    private(set) var resumeFloor: Int64 = 0
    private var lastSequence: Int64 = 0
    private var lines = ClientLines()
    var outages = Outages()
    private(set) var widgets: WidgetHistory
    /// Where people arrange boards.
    let boards: BoardHistory?
    /// Where widgets come and go by themselves.
    let relevantTiles: RelevantWidgetHistory?
    /// The leaps of the wall clock, with the world's time of each.
    private var leaps: [(at: Int64, span: Int64)] = []

    init(world: World) {
        self.world = world
        widgets = WidgetHistory(hours: ReferenceSchedule(isWeekly: world.hasWeeklyHours))
        boards = world.hasBoards ? BoardHistory() : nil
        relevantTiles = world.hasRelevantTiles ? RelevantWidgetHistory() : nil
    }

    /// How late the daemon may decide due work when nothing holds it up: the current sync, and the pace.
    private var patience: Int64 { Int64(world.climate.slowestSync + world.climate.pace) + 10 }
    /// And until it is durable, with a sync of its own.
    private var reach: Int64 { 2 * patience }
    private var retention: Int64 { Int64(world.climate.retention) * 1_000 }
    /// Kinds live by the wall's clock, as controls and retention do.
    private var hasOneClock: Bool { world.setting.clockSpeed == 1 }

    /// These have become durable.
    func checkRecord(_ records: [JournalRecord]) {
        for record in records {
            guard world.ledger.violations.isEmpty else { return }
            guard record.sequence == lastSequence + 1 else {
                return world.violated("P1", "record \(record.sequence) is written after record \(lastSequence)")
            }
            lastSequence = record.sequence
            boards?.begin(record)
            relevantTiles?.begin(record)
            if !record.entity.isEmpty { checkRecord(record) }
        }
        if world.setting.cast == .simulated { checkAttachments(of: records) }
    }

    /// A control that belongs to an order is there exactly as long as the order is.
    private func checkAttachments(of records: [JournalRecord]) {
        for record in records where record.entity.hasPrefix("order/") || record.entity.hasPrefix("tip/") {
            let id = record.entity.drop { $0 != "/" }
            guard let order = stories["order\(id)"]?.reference, let isListed = order.isListed else {
                if stories["order\(id)"] == nil {
                    return world.violated("attachments", "tip\(id) is there, and there never was an order\(id)")
                }
                continue
            }
            guard let isThere = stories["tip\(id)"]?.reference.isListed ?? (hasOneClock ? false : nil) else { continue }
            if isThere != isListed {
                return world.violated(
                    "attachments",
                    "order\(id) is \(isListed ? "there" : "gone"), and tip\(id) is \(isThere ? "there" : "gone")")
            }
        }
    }

    /// Whether what stood under a key at a rev was for `account`; `nil` where that is not known.
    func isFor(_ account: String, key: String, rev: Int64) -> Bool? {
        audiences[ObservationLog.KeyRev(key: key, rev: rev)].map { $0.isEmpty || $0.contains(account) }
    }

    private func checkRecord(_ record: JournalRecord) {
        let (key, bytes) = (record.entity, Hub.historyLine(of: record))
        guard let line = lines.readHeads(bytes).lines.first, let record = HistoryRecord(line) else {
            return world.violated(
                "history", "\(key) has an unreadable record: \(String(decoding: bytes, as: UTF8.self))")
        }
        if let fault = checkID(record) { return world.violated(fault.promise, "\(key): \(fault.what)") }
        if record.type == "deadline" || record.type == "pruned" { checkPunctuality(of: record, key: key) }
        var story =
            stories.removeValue(forKey: key)
            ?? Story(reference: UnknownReference.model(of: key, retention: hasOneClock ? retention : nil))
        let wasListed = story.reference.isListed == true
        let due = story.reference.operationDue
        if record.type == "deadline", let operation = story.operation { checkSpan(of: operation, key: key) }
        if let fault = record.fault(by: &story.reference, leap: recentLeap) {
            world.violated("reference", "\(key) at record \(record.sequence): \(fault)")
        }
        if story.reference.operationDue != due {
            story.operation = story.reference.operationDue.map { (world.now, $0 - record.heard) }
        }
        // Another cast's kinds of widgets have no model.
        if world.hasWidgets, let fault = line.tail.flatMap({ widgets.applyRecord(record, of: key, tail: $0) }) {
            world.violated("widgets", "\(key) at record \(record.sequence): \(fault)")
        }
        if let fault = line.tail.flatMap({ boards?.recordRow(record, of: key, tail: $0, widgets: widgets) }) {
            world.violated(fault.promise, "record \(record.sequence): \(fault.what)")
        }
        let order = story.reference as? ReferenceOrder
        if let order, key.hasPrefix("order/") { widgets.applyRecord(record, ofOrder: key, order) }
        story.lines.append((record.heard, bytes))
        if !wasListed, story.reference.isListed == true {
            story.audience = record.id.map { world.ledger.audiences[$0] ?? [] }
        }
        if record.type == "attached" {
            story.audience = stories["order\(key.drop { $0 != "/" })"]?.audience
        }
        if record.type == "seen" || record.type == "dismissed" { story.wasHandled = true }
        if record.type == "set" || record.type == "press" { operations.insert("o\(record.sequence)") }
        if record.type == "pruned" {
            story.forgottenCount = story.lines.count
            resumeFloor = max(resumeFloor, record.rev)
        }
        stories[key] = story
        relevantTiles?.recordRow(record, of: key)
        if let order, key.hasPrefix("order/") {
            relevantTiles?.recordRow(
                record, ofOrder: key, order, accounts: story.audience,
                dismissedBy: record.type == "dismissed" ? line.tail?["account"]?.string : nil, at: world.now)
        }
        guard record.rev == record.sequence else { return }
        let place = ObservationLog.KeyRev(key: key, rev: record.rev)
        states[place] = record.state
        audiences[place] = story.audience
        guard let order else { return }
        let announcement = Announcement(place: place, audience: story.audience)
        if order.newestMilestone == record.rev { milestones.append(announcement) }
        if order.newestAlert == record.rev { alerts.append(announcement) }
    }

    /// Whether a device of `account` must be sent the announcement. It need not be once any account has handled the
    /// activity.
    func isDue(_ announcement: Announcement, to account: String?) -> Bool {
        announcement.isFor(account) && (account == nil || stories[announcement.place.key]?.wasHandled == false)
    }

    /// Only events that were sent are recorded, each once (P1, P6).
    private func checkID(_ record: HistoryRecord) -> (promise: String, what: String)? {
        guard let id = record.id else { return nil }
        if let operation = Self.operation(ofRaised: id) {
            if !operations.contains(operation) { return ("P1", "\(id) is recorded, and no such press was taken") }
        } else if !world.ledger.sent.contains(id) {
            return ("P1", "\(id) is recorded, and nobody sent it")
        }
        if let effect = effects[id] { return ("P6", "\(id) is recorded twice: rev \(effect.rev), then \(record.rev)") }
        effects[id] = Effect(verdict: record.verdict, rev: record.rev)
        return nil
    }

    /// The press that raised an event; `nil` where it was no button that sent it.
    private static func operation(ofRaised id: String) -> String? {
        id.hasPrefix("\(EventCommand.buttonSource)/") ? String(id.dropFirst(EventCommand.buttonSource.count + 1)) : nil
    }

    /// A daemon starts: no connection of before is there any more.
    func restarted() {
        for key in stories.keys { stories[key]?.reference.restart() }
    }

    /// The wall clock was set ahead by `span`, in milliseconds. The daemon sees it when it reads the clock next.
    func leapt(by span: Int64) {
        leaps.append((world.now, span))
        for key in stories.keys { stories[key]?.reference.leapt(by: span) }
    }

    /// The span that the clock was set ahead by since a record that is written now may have been decided.
    private var recentLeap: Int64 {
        leaps.reduce(0) { $0 + ($1.at + reach >= world.now ? $1.span : 0) }
    }

    /// A time-out is a span of the monotonic clock: a wall clock that is set ahead takes nothing off it.
    private func checkSpan(of operation: (begun: Int64, span: Int64), key: String) {
        let waited = world.now - operation.begun
        if waited + reach < operation.span {
            world.violated("deadline", "\(key) timed out after \(waited) ms and not after \(operation.span) ms")
        }
    }

    private func checkPunctuality(of record: HistoryRecord, key: String) {
        guard hasOneClock else { return }
        // The end of retention is no date of the order's own; the reference knows when it was due.
        guard let due = record.type == "deadline" ? record.happened : stories[key]?.reference.nextDue else { return }
        let excused = outages.excused(due, reach: reach)
        if record.heard > excused + patience {
            world.violated("deadline", "\(key) was due at \(due) and fired \(record.heard - due) ms late")
        }
    }

    /// Nothing stays past its deadline.
    func checkDeadlines(at now: Int64) {
        guard hasOneClock else { return }
        for (key, story) in stories.sorted(by: { $0.key < $1.key }) {
            if story.reference.hasRestartPending {
                return world.violated("reference", "\(key) is as it was before the restart")
            }
            guard let due = story.reference.nextDue else { continue }
            if outages.excused(due, reach: reach) + patience < now {
                return world.violated(
                    "deadline", "\(key) is \(story.reference.stateText ?? ""), \(now - due) ms past its deadline")
            }
        }
    }

    /// The fault of the reply to the event `id`, if it has one.
    func fault(ofAnswer id: String, verdict: String, rev: Int64) -> String? {
        guard let record = effects[id] else { return "\(id) is acknowledged, and is not on the disk" }
        guard record.rev != rev || (verdict != "duplicate" && record.verdict != verdict) else { return nil }
        return "\(id) is \(verdict) with rev \(rev), and was written as \(record.verdict), rev \(record.rev)"
    }

    /// The fault of a row, a deletion or an announcement of this rev, if it has one.
    func fault(of key: String, rev: Int64) -> String? {
        states[ObservationLog.KeyRev(key: key, rev: rev)] == nil
            ? "\(key) has rev \(rev), which no commit gave it" : nil
    }

    /// The fault of a record that a client received, if it has one.
    func fault(inRecord record: HistoryRecord, of key: String) -> String? {
        record.sequence > lastSequence ? "\(key) has record \(record.sequence), and \(lastSequence) were written" : nil
    }

    /// The fault of the daemon's `HISTORY` of `key` at `now`, if it has one.
    func fault(inHistory lines: [[UInt8]], of key: String, at now: Int64) -> String? {
        let whole = stories[key]?.lines ?? []
        guard lines.count <= whole.count else {
            return "\(key) has \(lines.count) records, and \(whole.count) were written"
        }
        let gone = whole.count - lines.count
        for (line, known) in zip(lines, whole.dropFirst(gone)) where line != known.bytes {
            return
                "\(key) has the record \(String(decoding: line, as: UTF8.self)), which was \(String(decoding: known.bytes, as: UTF8.self))"
        }
        guard gone > stories[key]?.forgottenCount ?? 0 else { return nil }
        let newest = whole[gone - 1].heard
        return !hasOneClock || now - newest > retention ? nil : "\(key) has lost a record of \(now - newest) ms ago"
    }
}
