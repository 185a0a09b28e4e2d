/// The order that holds for the records of every control: a restart is recorded before anything else, and a due deadline
/// fires before any input.
struct ControlRecordOrder {
    /// The daemon has restarted, and the record of it is missing.
    var hasRestartPending = false
    /// Milliseconds that the wall clock may have been set ahead by since the deadline was set. A time-out does not count
    /// them, so the deadline fires so much later by that clock, or less.
    var leap: Int64 = 0

    /// The fault of the deadline that was due at `due` and fired as `record`, if it has one.
    func fault(ofDeadline record: HistoryRecord, due: Int64) -> String? {
        let fired = record.happened
        if fired < due || fired > due + leap { return "the deadline at \(due) fired as the one at \(fired)" }
        return fired > record.heard ? "a deadline fired \(fired - record.heard) ms too early" : nil
    }

    mutating func fault(of record: HistoryRecord, due: Int64?) -> String? {
        if hasRestartPending, record.type != "restarted" { return "\(record.type) came before the restart" }
        hasRestartPending = false
        guard let due, !record.isOfTheHub, due <= record.heard else { return nil }
        return "\(record.type) came \(record.heard - due) ms after a deadline that had not fired"
    }
}

/// The reference model of a control: what all of them have.
protocol ReferenceControl: ReferenceModel, CustomStringConvertible {
    var order: ControlRecordOrder { get set }
    var isServed: Bool { get }
    var isInFlight: Bool { get }
    /// The deadline of the operation, or of a held report, has come.
    mutating func fire(at time: Int64)
    /// Every record but a deadline.
    mutating func apply(_ record: HistoryRecord) -> String?
}

extension ReferenceControl {
    var stateText: String? { description }
    var isListed: Bool? { true }
    var hasRestartPending: Bool { order.hasRestartPending }
    var nextDue: Int64? { operationDue.map { $0 + order.leap } }

    /// The pending operation must be settled and the provider is gone. A held report goes on waiting.
    mutating func restart() { order.hasRestartPending = isServed || isInFlight }
    mutating func leapt(by span: Int64) { order.leap += span }

    mutating func applyRecord(_ record: HistoryRecord, leap: Int64) -> String? {
        let due = operationDue
        defer { if operationDue != due { order.leap = leap } }
        if let fault = order.fault(of: record, due: nextDue) { return fault }
        if record.type == "deadline" {
            guard let due else { return "a deadline fired and none was set" }
            if let fault = order.fault(ofDeadline: record, due: due) { return fault }
            fire(at: record.heard)
        } else if let fault = apply(record) {
            return fault
        }
        return record.state == description ? nil : "\(record.type) led to \(record.state), not to \(description)"
    }
}

/// The reference model of a lamp: the kind `lamp` of ``SimulatedKinds``.
struct ReferenceToggle: ReferenceControl {
    private var value: Bool?
    private var flight: (operation: String, wanted: Bool, begun: Int64, due: Int64)?
    private var queued: (operation: String, wanted: Bool)?
    private var held: Bool?
    private var settles: Int64?
    private(set) var isServed = false
    var order = ControlRecordOrder()

    private static let timeout: Int64 = 10_000
    private static let settling: Int64 = 1_000

    var description: String {
        guard flight != nil || value != nil else { return "unknown" }
        return "\(flight != nil ? "pending" : "settled") \(value.map { $0 ? "on" : "off" } ?? "unknown")"
    }

    var isInFlight: Bool { flight != nil }
    var operationDue: Int64? { flight?.due ?? (held == nil ? nil : settles) }

    mutating func apply(_ record: HistoryRecord) -> String? {
        switch record.type {
        case "created", "kind-changed": break
        case "provider-came": isServed = true
        case "provider-left": isServed = false
        case "restarted":
            isServed = false
            if flight != nil { land(reverting: true, at: record.heard) }
        case "set":
            guard let wanted = record.value else { return "a tap wants nothing" }
            guard isServed else { return "a tap is taken although nobody serves it" }
            tap(wanted, record)
        case "reported":
            guard let value = record.value else { return "nothing is reported" }
            // A connection that reports a control before it exists acts for it.
            if self.value == nil, flight == nil { isServed = true }
            switch record.verdict {
            case "applied", "noop":
                if flight != nil { return "a report settles what is in flight" }
                (self.value, held, settles) = (value, nil, nil)
            case "deferred": held = value
            case _: break
            }
        case "done", "failed":
            guard record.verdict == "applied" else { break }
            guard let flight, flight.operation == record.operation else {
                return "\(record.operation ?? "") is \(record.type), and is not in flight"
            }
            if record.type == "failed" {
                land(reverting: true, at: record.heard)
                break
            }
            (value, held) = (record.value ?? flight.wanted, nil)
            let settled = flight.begun + Self.settling
            settles = value == flight.wanted && record.heard < settled ? settled : nil
            land(reverting: false, at: record.heard)
        case _: return "a lamp has \(record.type)"
        }
        return nil
    }

    mutating func fire(at time: Int64) {
        if flight != nil { land(reverting: true, at: time) } else { confirmHeld() }
    }

    private mutating func tap(_ wanted: Bool, _ record: HistoryRecord) {
        let operation = "o\(record.sequence)"
        if let flight {
            if wanted == flight.wanted { queued = nil } else { queued = queued ?? (operation, wanted) }
        } else if record.verdict == "applied" {
            begin(operation, wanted, at: record.heard)
        }
    }

    private mutating func begin(_ operation: String, _ wanted: Bool, at time: Int64) {
        flight = (operation, wanted, time, time + Self.timeout)
        settles = nil
    }

    /// The pending operation ends, and the queued one begins.
    private mutating func land(reverting: Bool, at time: Int64) {
        if reverting, held != nil { confirmHeld() }
        flight = nil
        guard let next = queued else { return }
        queued = nil
        if isServed { begin(next.operation, next.wanted, at: time) }
    }

    private mutating func confirmHeld() {
        value = held
        (held, settles) = (nil, nil)
    }
}

/// The reference model of a bell: the kind `bell` of ``SimulatedKinds``.
struct ReferenceButton: ReferenceControl {
    private var flight: (operation: String, due: Int64)?
    private var coolingUntil: Int64?
    private(set) var isServed = false
    var order = ControlRecordOrder()

    private static let timeout: Int64 = 5_000
    private static let cooldown: Int64 = 3_000

    var description: String { flight == nil ? "idle" : "performing" }

    var isInFlight: Bool { flight != nil }
    var operationDue: Int64? { flight?.due }

    mutating func apply(_ record: HistoryRecord) -> String? {
        switch record.type {
        case "created", "kind-changed", "reported": break
        case "provider-came", "provider-left":
            isServed = record.type == "provider-came"
            // The provider that was asked may have rung it, and it is not rung twice.
            if flight != nil { (flight, coolingUntil) = (nil, record.heard + Self.cooldown) }
        case "restarted":
            isServed = false
            if flight != nil { (flight, coolingUntil) = (nil, nil) }
        case "press":
            guard isServed else { return "a press is taken although nobody serves it" }
            if flight != nil { return record.verdict == "noop" ? nil : "it is pressed twice: \(record.verdict)" }
            if let coolingUntil, record.heard < coolingUntil {
                return "it is pressed \(coolingUntil - record.heard) ms before it has cooled down"
            }
            flight = ("o\(record.sequence)", record.heard + Self.timeout)
            coolingUntil = nil
        case "done", "failed":
            guard record.verdict == "applied" else { break }
            guard let flight, flight.operation == record.operation else {
                return "\(record.operation ?? "") is \(record.type), and is not in flight"
            }
            self.flight = nil
            coolingUntil = record.type == "done" ? record.heard + Self.cooldown : nil
        case _: return "a bell has \(record.type)"
        }
        return nil
    }

    mutating func fire(at time: Int64) { (flight, coolingUntil) = (nil, isServed ? time + Self.cooldown : nil) }
}
