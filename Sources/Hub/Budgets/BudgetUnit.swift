internal import FanOut
internal import TelltaleModel

/// The name of a device with a budget: `HELLO unit=`. It is scoped to the principal and account, so nobody can spend another's
/// budget.
struct UnitName: Hashable, Sendable {
    var principal: String?
    var account: String?
    var word: String
}

/// The ledgers of one device, one for each widget whose rows it was charged for. Several connections may share a device; each of
/// their sessions references it.
///
/// A full ledger is the default, so it is not stored.
final class BudgetUnit {
    let name: UnitName
    let budget: RowBudget
    /// The sessions of its connections.
    private(set) var sessions: Set<SessionID> = []
    /// When its last connection closed.
    private(set) var departedAt = MonotonicTime.distantPast
    /// How many times its last connection closed.
    private(set) var departureCount = 0
    private var ledgers: [Key: RowLedger] = [:]
    /// The ledger shared by all widgets beyond ``keyLimit``.
    private var common = RowLedger()
    /// The ledger of notices (`deliver=notice`), which name no widget.
    private var notices = RowLedger()
    private var sweepCount = leastSweep
    private var nextSweep = MonotonicTime.distantPast
    private var taps: [Tap] = []

    /// A control that the device has tapped.
    private struct Tap {
        let control: Key
        /// The newest commit whose row still counts as an effect of the tap.
        var commit: Int64
        /// The operation has ended: later changes are not effects of the tap.
        var isOver = false
    }

    /// Widgets with their own ledger. Those beyond share one, which never holds more than one budget.
    static let keyLimit = 4_096
    private static let leastSweep = 64
    /// Taps that are remembered; rows after an older one are charged.
    private static let tapLimit = 16

    init(_ name: UnitName, _ budget: RowBudget) {
        (self.name, self.budget) = (name, budget)
    }

    /// Ledgers that may not be full, including the shared one.
    var ledgerCount: Int { ledgers.count + 1 }

    func hasSpent(at now: MonotonicTime) -> Bool {
        !common.isWhole(at: now) || !notices.isWhole(at: now) || ledgers.contains { !$0.value.isWhole(at: now) }
    }

    // MARK: Connections

    func join(_ session: SessionID) { sessions.insert(session) }

    func leaveBudget(_ session: SessionID, at now: MonotonicTime) {
        sessions.remove(session)
        guard sessions.isEmpty else { return }
        departedAt = now
        departureCount += 1
    }

    // MARK: Rows

    /// Charges a row of a widget that is sent now.
    ///
    /// - Parameter used: The charge for the subscriber's last row.
    func pay(_ key: Key, at now: MonotonicTime, after used: MonotonicTime?) -> RowPayment {
        if ledgers[key] == nil {
            sweep(at: now)
            // Once the limit was reached, new widgets use the shared ledger until that is full again.
            if ledgers.count >= Self.keyLimit || !common.isWhole(at: now) { return common.pay(at: now, budget) }
        }
        return ledgers[key, default: RowLedger()].pay(at: now, budget, after: used)
    }

    /// Charges a notice that is sent now.
    ///
    /// - Parameter used: The charge for the subscriber's last one.
    func payNotice(at now: MonotonicTime, after used: MonotonicTime?) -> RowPayment {
        notices.pay(at: now, budget, after: used)
    }

    /// The credit for a widget, in milliseconds.
    func credit(_ key: Key, at now: MonotonicTime) -> Milliseconds {
        (ledgers[key] ?? (common.isWhole(at: now) ? RowLedger() : common)).credit(at: now, budget)
    }

    /// Drops full ledgers, at most once a second, and only if half of them may be full.
    private func sweep(at now: MonotonicTime) {
        guard ledgers.count >= sweepCount, now >= nextSweep else { return }
        dropWhole(at: now)
        nextSweep = now + Milliseconds.seconds(1)
    }

    /// Drops the full ledgers.
    func dropWhole(at now: MonotonicTime) {
        ledgers = ledgers.filter { !$0.value.isWhole(at: now) }
        sweepCount = min(Self.keyLimit, max(Self.leastSweep, 2 * ledgers.count))
    }

    // MARK: Taps

    /// Records that it tapped a control in this commit.
    func noteTap(of control: Key, in commit: Int64) {
        taps.removeAll { $0.control == control }
        if taps.count == Self.tapLimit { taps.removeFirst() }
        taps.append(Tap(control: control, commit: commit))
    }

    /// Records that a control changed. If the device has tapped it, rows up to this commit are effects of the tap.
    ///
    /// - Returns: Whether the device has tapped it.
    func noteChange(of control: Key, in commit: Int64, endsOperation: Bool) -> Bool {
        guard let place = taps.firstIndex(where: { $0.control == control && !$0.isOver }) else { return false }
        taps[place].commit = commit
        taps[place].isOver = endsOperation
        return true
    }

    var hasTaps: Bool { !taps.isEmpty }

    /// Whether a row that is pending since `firstCommit` and shows `controls` is an effect of the device's own tap.
    func hasTapped(anyOf controls: [String], since firstCommit: Int64) -> Bool {
        taps.contains { tap in firstCommit <= tap.commit && controls.contains(tap.control.text) }
    }

    /// Forgets its taps, and returns their controls.
    func takeTaps() -> [Key] {
        defer { taps = [] }
        return taps.map(\.control)
    }
}
