import TelltaleModel

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

/// A model that the history of one key is held against.
protocol ReferenceModel {
    /// - Parameter leap: The span that the wall clock may have been set ahead by since the record was decided, in
    ///   milliseconds.
    /// - Returns: The fault of the record, if it has one.
    mutating func applyRecord(_ record: HistoryRecord, leap: Int64) -> String?
    /// The daemon restarted: pending operations must be settled first.
    mutating func restart()
    /// The wall clock was set ahead by `span`, in milliseconds.
    mutating func leapt(by span: Int64)
    var hasRestartPending: Bool { get }
    /// The deadline of an operation, with no leap of the clock; `nil` for all but controls.
    var operationDue: Int64? { get }
    /// Its next deadline, on the hub's clock.
    var nextDue: Int64? { get }
    /// The state in words, as a record has it; `nil` when there is nothing.
    var stateText: String? { get }
    /// It is in views and lists; `nil` where it has no model.
    var isListed: Bool? { get }
}

extension ReferenceModel {
    mutating func restart() {}
    mutating func leapt(by span: Int64) {}
    var hasRestartPending: Bool { false }
    var operationDue: Int64? { nil }
}

/// Stands for a key that has no model.
struct UnknownReference: ReferenceModel {
    mutating func applyRecord(_ record: HistoryRecord, leap: Int64) -> String? { nil }
    var nextDue: Int64? { nil }
    var stateText: String? { nil }
    var isListed: Bool? { nil }

    /// The model of a key, by its kind.
    ///
    /// - Parameter retention: Milliseconds for which a dismissed order is kept; `nil` where kinds live by another clock
    ///   than controls.
    static func model(of key: String, retention: Int64?) -> any ReferenceModel {
        if let rules = ReferenceRules.of(key) { return ReferenceOrder(rules, retention: retention) }
        guard let retention else { return UnknownReference() }
        switch key.prefix(while: { $0 != "/" }) {
        case "lamp": return ReferenceToggle()
        case "bell": return ReferenceButton()
        case "tip": return ReferenceAttachment(retention: retention)
        case _: return UnknownReference()
        }
    }
}

extension HistoryRecord {
    /// The fault of the record by a model, if it has one. Dates that a publisher sets are nothing of the models.
    func fault(by model: inout any ReferenceModel, leap: Int64 = 0) -> String? {
        if hasDates { model = UnknownReference() }
        return model.applyRecord(self, leap: leap)
    }
}
