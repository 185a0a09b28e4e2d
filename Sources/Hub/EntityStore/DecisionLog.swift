internal import FanOut

/// What deciding a batch notes beside the state: how to undo it, the keys that it forgets, and faults to report. The replay of a
/// batch notes the keys alone, and a recovery nothing.
struct DecisionLog: Sendable {
    private enum Phase {
        /// Between batches, and in a recovery, which replays by the record.
        case idle
        case deciding
        /// Another node has decided the batch, and has reported its faults.
        case replaying
    }

    private var phase = Phase.idle
    private var undo: [Undo] = []
    /// Keys that the batch forgets. Their indices are retained until the batch is published, so that no other key gets them.
    private(set) var forgotten: [EntityIndex] = []
    private(set) var faults = MachineFaultLog()

    var undoCount: Int { undo.count }
    var isDeciding: Bool { phase == .deciding }
    /// The changes of the records so far are not published yet.
    var isInBatch: Bool { phase != .idle }

    /// - Parameter count: The expected number of records.
    mutating func begin(expecting count: Int) {
        phase = .deciding
        // An event with an id records two undo steps.
        undo.reserveCapacity(2 * count)
    }

    mutating func beginReplay() { phase = .replaying }

    /// Ends the batch, or its decisions.
    ///
    /// - Returns: Its undo log.
    mutating func end() -> [Undo] {
        phase = .idle
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
