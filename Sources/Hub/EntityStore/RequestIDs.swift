internal import Machines
internal import TelltaleModel

/// The ids by which a request names what was decided before: those of events, of taps, and of operations in progress.
struct RequestIDs: Sendable {
    var events = EventIDs()
    var taps = TapLedger()
    /// The control of each operation that a provider performs.
    private var operations: [Int64: Key] = [:]

    /// The control whose provider performs `operation`; `nil` = none is waiting.
    func control(performing operation: OperationID) -> Key? { operations[operation.number] }
    mutating func began(_ operation: OperationID, on key: Key) { operations[operation.number] = key }
    mutating func ended(_ operation: OperationID) { operations[operation.number] = nil }

    /// Forgets the operations that records after `durable` began.
    mutating func rollBack(to durable: Int64) { operations = operations.filter { $0.key <= durable } }

    mutating func forget(at wall: Timestamp, _ settings: DecisionSettings) {
        events.forget(at: wall, ageLimit: settings.eventIDAge, countLimit: settings.eventIDsPerSource)
        taps.forget(at: wall)
    }
}
