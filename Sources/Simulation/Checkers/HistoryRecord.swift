import TelltaleModel
import TelltaleWire

/// One line of `HISTORY`, the input of the reference models.
struct HistoryRecord {
    var sequence: Int64
    /// The key's rev after it.
    var rev: Int64
    var type: String
    var verdict: String
    /// When it happened; of a deadline, when it was due.
    var happened: Int64
    /// The hub's clock when it was decided.
    var heard: Int64
    /// The state after it, as the hub recorded it: of an order, its life-cycle first.
    var state: String
    /// `source/eid` of an event.
    var id: String?
    /// Of `set`, `reported` and `done`.
    var value: Bool?
    /// Of `done` and `failed`.
    var operation: String?
    /// The event brings an alert of its own.
    var hasAlert = false
    /// The event itself sets the date at which it goes stale, begins or is removed.
    var hasDates = false

    init?(_ line: ClientLine) {
        guard line.verb == "HIST", let tail = line.tail, let sequence = tail["seq"]?.integer,
            let rev = line.integer("rev"), let type = line["type"], let verdict = line["verdict"],
            let happened = line.integer("at"), let heard = line.integer("heard"), let state = tail["state"]?.string
        else { return nil }
        (self.sequence, self.rev, self.type, self.verdict) = (sequence, rev, type, verdict)
        (self.happened, self.heard, self.state) = (happened, heard, state)
        if let source = tail["src"]?.string, let eid = tail["eid"]?.string { id = "\(source)/\(eid)" }
        value = tail["value"]?.bool
        operation = tail["op"]?.string
        hasAlert = tail["alert"] != nil
        hasDates = tail["stale-date"] != nil || tail["dismissal-date"] != nil || tail["start-date"] != nil
    }

    /// Whether the hub itself made the record: a deadline, a restart, a change of provider or of kind.
    var isOfTheHub: Bool {
        ["deadline", "restarted", "provider-came", "provider-left", "kind-changed", "attached", "detached"].contains(
            type)
    }

    /// It may begin a life.
    func isBeginning(by rules: ReferenceRules) -> Bool {
        type == "start" || rules.beginnings[rules.renames[type] ?? type] != nil
    }
}

/// The models that histories are held against, by the sort of their key.
enum Reference {
    case order(ReferenceOrder)
    case toggle(ReferenceToggle)
    case button(ReferenceButton)
    case attached(ReferenceAttachment)
    /// Something that it has no model of.
    case unknown

    /// - Parameter retention: Milliseconds for which a dismissed order is kept; `nil` where kinds live by another clock
    ///   than controls.
    init(key: String, retention: Int64?) {
        if let rules = ReferenceRules.of(key) {
            self = .order(ReferenceOrder(rules, retention: retention))
        } else if retention != nil, key.hasPrefix("lamp/") {
            self = .toggle(ReferenceToggle())
        } else if retention != nil, key.hasPrefix("bell/") {
            self = .button(ReferenceButton())
        } else if let retention, key.hasPrefix("tip/") {
            self = .attached(ReferenceAttachment(retention: retention))
        } else {
            self = .unknown
        }
    }

    /// - Parameter leap: The span that the wall clock may have been set ahead by since the record was decided, in
    ///   milliseconds.
    /// - Returns: The fault of the record, if it has one.
    mutating func take(_ record: HistoryRecord, leap: Int64 = 0) -> String? {
        // Dates that a publisher sets are nothing of the models.
        if record.hasDates { self = .unknown }
        // Each is moved out and in again, so that it is not copied.
        switch self {
        case .order(var order):
            defer { self = .order(order) }
            return order.take(record)
        case .toggle(var toggle):
            defer { self = .toggle(toggle) }
            return toggle.take(record, leap: leap)
        case .button(var button):
            defer { self = .button(button) }
            return button.take(record, leap: leap)
        case .attached(var attachment):
            defer { self = .attached(attachment) }
            return attachment.take(record)
        case .unknown: return nil
        }
    }

    /// The daemon restarted: pending operations must be settled first.
    mutating func restart() {
        switch self {
        case .order, .attached, .unknown: break
        case .toggle(var toggle):
            toggle.restart()
            self = .toggle(toggle)
        case .button(var button):
            button.restart()
            self = .button(button)
        }
    }

    /// The wall clock was set ahead by `span`, in milliseconds.
    mutating func leapt(by span: Int64) {
        switch self {
        case .order, .attached, .unknown: break
        case .toggle(var toggle):
            toggle.leapt(by: span)
            self = .toggle(toggle)
        case .button(var button):
            button.leapt(by: span)
            self = .button(button)
        }
    }

    /// The deadline of an operation, with no leap of the clock; `nil` for all but controls.
    var operationDue: Int64? {
        switch self {
        case .order, .attached, .unknown: nil
        case .toggle(let toggle): toggle.operationDue
        case .button(let button): button.operationDue
        }
    }

    var owesRestart: Bool {
        switch self {
        case .order, .attached, .unknown: false
        case .toggle(let toggle): toggle.owesRestart
        case .button(let button): button.owesRestart
        }
    }

    /// Its next deadline, on the hub's clock.
    var nextDue: Int64? {
        switch self {
        case .order(let order): order.nextDue
        case .toggle(let toggle): toggle.nextDue
        case .button(let button): button.nextDue
        case .attached(let attachment): attachment.nextDue
        case .unknown: nil
        }
    }

    /// The state in words, as a record has it; `nil` when there is nothing.
    var state: String? {
        switch self {
        case .order(let order): order.isThere ? order.description : nil
        case .toggle(let toggle): toggle.description
        case .button(let button): button.description
        case .attached(let attachment): attachment.isThere ? "idle" : nil
        case .unknown: nil
        }
    }

    /// It is in views and lists; `nil` where it has no model.
    var isListed: Bool? {
        switch self {
        case .order(let order): order.isThere && !order.isDismissed
        case .toggle, .button: true
        case .attached(let attachment): attachment.isThere
        case .unknown: nil
        }
    }
}
