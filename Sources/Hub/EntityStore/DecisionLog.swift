internal import FanOut

/// What deciding a batch notes beside the state: how to undo it, the keys that it forgets, and faults to report. A replay leaves
/// none of it.
struct DecisionLog: Sendable {
    /// A batch is being decided. Otherwise this is a recovery, whose faults were reported when they happened.
    private(set) var isDeciding = false
    private var undo: [Undo] = []
    /// Keys that the batch forgets. Their indices are retained until the batch is settled, so that no other key gets them.
    private(set) var forgotten: [EntityIndex] = []
    private(set) var faults = MachineFaultLog()

    var undoCount: Int { undo.count }

    /// - Parameter count: The expected number of records.
    mutating func begin(expecting count: Int) {
        isDeciding = true
        // An event with an id records two undo steps.
        undo.reserveCapacity(2 * count)
    }

    /// Ends the batch, or its decisions.
    ///
    /// - Returns: Its undo log.
    mutating func end() -> [Undo] {
        isDeciding = false
        defer { undo = [] }
        return undo
    }

    @inline(__always)
    mutating func note(_ step: Undo) { undo.append(step) }

    /// Drops the newest steps, because what they would undo did not happen.
    mutating func drop(to count: Int) { undo.removeLast(undo.count - count) }
    mutating func removeUndo() { undo.removeAll(keepingCapacity: true) }

    mutating func forget(_ entity: EntityIndex) { forgotten.append(entity) }
    mutating func removeForgotten() { forgotten.removeAll(keepingCapacity: true) }

    mutating func noteFault(_ body: (inout MachineFaultLog) -> Void) { if isDeciding { body(&faults) } }
    mutating func takeFaultTexts() -> [String] { faults.takeTexts() }
}
