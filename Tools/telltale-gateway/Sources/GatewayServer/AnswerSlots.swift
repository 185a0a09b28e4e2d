internal import Gateway
internal import NIOCore
internal import Synchronization
internal import TelltaleModel

/// Limits the long answers in progress, for each caller and in all: lists, histories, and reads of many rows. Further
/// ones wait for their turn, oldest first.
final class AnswerSlots: Sendable {
    struct Limits: Sendable {
        /// Under way at once.
        var total = 64
        /// The most in progress for one caller, and also the most waiting for one caller.
        var caller = 16
        /// Waiting at once.
        var waiting = 256
        /// How long one waits.
        var patience = TimeAmount.seconds(5)
    }

    /// One slot, which is free again when nothing retains it.
    final class Slot: Sendable {
        private let slots: AnswerSlots
        private let caller: String

        fileprivate init(_ slots: AnswerSlots, _ caller: String) {
            self.slots = slots
            self.caller = caller
        }

        deinit { slots.leave(caller) }
    }

    private struct Waiting {
        var caller: String
        var turn: EventLoopPromise<Slot?>
    }

    private struct State {
        var total = 0
        var counts: [String: Int] = [:]
        /// By number: a lower one came earlier.
        var waiting: [Int: Waiting] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    let limits: Limits

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// The number in progress.
    var count: Int { state.withLock { $0.total } }
    /// The number waiting.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for a slot.
    ///
    /// - Parameter loop: The loop that measures the time.
    /// - Throws: `busy` if too many wait, or if no slot is free in time.
    func enter(_ caller: String, on loop: any EventLoop) async throws(Problem) -> Slot {
        let entry = state.withLock { enter(caller, on: loop, &$0) }
        switch entry {
        case .begun: return Slot(self, caller)
        case .full: throw busy
        case .waiting(let number, let turn):
            let deadline = loop.scheduleTask(in: limits.patience) { [self] in
                state.withLock { $0.waiting.removeValue(forKey: number) }?.turn.succeed(nil)
            }
            turn.futureResult.whenComplete { _ in deadline.cancel() }
            guard let slot = (try? await turn.futureResult.get()) ?? nil else { throw busy }
            return slot
        }
    }

    private enum Entry {
        case begun
        case waiting(Int, EventLoopPromise<Slot?>)
        case full
    }

    private func enter(_ caller: String, on loop: any EventLoop, _ state: inout State) -> Entry {
        if hasRoom(for: caller, state) {
            begin(caller, &state)
            return .begun
        }
        guard state.waiting.count < limits.waiting,
            state.waiting.values.count(where: { $0.caller == caller }) < limits.caller
        else { return .full }
        let turn = loop.makePromise(of: Slot?.self)
        state.next += 1
        state.waiting[state.next] = Waiting(caller: caller, turn: turn)
        return .waiting(state.next, turn)
    }

    private func hasRoom(for caller: String, _ state: State) -> Bool {
        state.total < limits.total && state.counts[caller, default: 0] < limits.caller
    }

    private func begin(_ caller: String, _ state: inout State) {
        state.total += 1
        state.counts[caller, default: 0] += 1
    }

    private func leave(_ caller: String) {
        let next: Waiting? = state.withLock { state in
            state.total -= 1
            let count = state.counts[caller, default: 1] - 1
            state.counts[caller] = count > 0 ? count : nil
            // A caller at its own limit lets later ones pass.
            let first = state.waiting.filter { hasRoom(for: $0.value.caller, state) }.keys.min()
            guard let first, let next = state.waiting.removeValue(forKey: first) else { return nil }
            begin(next.caller, &state)
            return next
        }
        if let next { next.turn.succeed(Slot(self, next.caller)) }
    }

    private var busy: Problem {
        var details = JSONObject()
        details["wait"] = 1_000
        return Problem(
            "busy",
            "\(limits.total) long answers are under way, at most \(limits.caller) of one caller; ask again in a second",
            details: details)
    }
}
