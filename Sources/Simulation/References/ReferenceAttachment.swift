/// The model of a control that belongs to an order: the kind `tip` of ``SimulatedKinds``, which is never pressed.
struct ReferenceAttachment: ReferenceModel {
    private let retention: Int64
    private var isThere = false
    private var goneAt: Int64?

    init(retention: Int64) {
        self.retention = retention
    }

    var stateText: String? { isThere ? "idle" : nil }
    var isListed: Bool? { isThere }
    /// When it is forgotten.
    var nextDue: Int64? { goneAt.map { $0 + retention } }

    mutating func applyRecord(_ record: HistoryRecord, leap: Int64) -> String? {
        switch record.type {
        case "attached":
            (isThere, goneAt) = (true, nil)
            return record.state == "idle" ? nil : "it begins as \(record.state)"
        case "detached":
            guard isThere else { return "it goes, and was not there" }
            (isThere, goneAt) = (false, record.heard)
            return record.state == "gone" ? nil : "it goes as \(record.state)"
        case "pruned":
            guard let due = nextDue else { return "it is forgotten while its order is there" }
            goneAt = nil
            return due <= record.heard ? nil : "it is pruned too early"
        case _: return "a tip has \(record.type)"
        }
    }
}
