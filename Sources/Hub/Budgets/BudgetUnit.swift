internal import FanOut
internal import TelltaleModel

/// The name of a device that has a budget: `HELLO unit=`. The same word of another principal or account is another one,
/// so that nobody spends what is another's.
struct UnitName: Hashable, Sendable {
    var principal: String?
    var account: String?
    var word: String
}

/// The ledgers of one device, one for each widget of which a row was paid. Several connections may be of it; each of
/// their sessions holds it.
///
/// A ledger that is whole says nothing, so it is not kept.
final class BudgetUnit {
    let name: UnitName
    let budget: RowBudget
    /// Of its connections.
    private(set) var sessions: Set<SessionID> = []
    /// When its last connection went.
    private(set) var departedAt = MonotonicTime.distantPast
    /// How many times its last connection went.
    private(set) var departureCount = 0
    private var ledgers: [Key: RowLedger] = [:]
    /// Of all widgets beyond ``keyLimit``.
    private var common = RowLedger()
    /// Of notices (`deliver=notice`), which name no widget.
    private var notices = RowLedger()
    private var sweepCount = leastSweep
    private var nextSweep = MonotonicTime.distantPast
    private var taps: [Tap] = []

    /// A control that it has tapped.
    private struct Tap {
        let control: Key
        /// The newest commit that a row of the tap may stand for.
        var commit: Int64
        /// The operation has ended: what changes later is not of the tap.
        var isOver = false
    }

    /// Widgets with a ledger of their own; those beyond share one, which is kinder to the device and never more than
    /// its budget.
    static let keyLimit = 4_096
    private static let leastSweep = 64
    /// Taps that are remembered; a row of an older one has its cost.
    private static let tapLimit = 16

    init(_ name: UnitName, _ budget: RowBudget) {
        (self.name, self.budget) = (name, budget)
    }

    /// Ledgers that may not be whole, the common one among them.
    var ledgerCount: Int { ledgers.count + 1 }

    /// Whether it is other than a new one.
    func hasSpent(at now: MonotonicTime) -> Bool {
        !common.isWhole(at: now) || !notices.isWhole(at: now) || ledgers.contains { !$0.value.isWhole(at: now) }
    }

    // MARK: Connections

    func join(_ session: SessionID) { sessions.insert(session) }

    func leave(_ session: SessionID, at now: MonotonicTime) {
        sessions.remove(session)
        guard sessions.isEmpty else { return }
        departedAt = now
        departureCount += 1
    }

    // MARK: Rows

    /// Pays for a row of a widget that leaves now.
    ///
    /// - Parameter used: The payment that the subscriber had its last row for.
    func pay(_ key: Key, at now: MonotonicTime, after used: MonotonicTime?) -> RowPayment {
        if ledgers[key] == nil {
            sweep(at: now)
            // A widget that had to share goes on sharing until that makes no difference.
            if ledgers.count >= Self.keyLimit || !common.isWhole(at: now) { return common.pay(at: now, budget) }
        }
        return ledgers[key, default: RowLedger()].pay(at: now, budget, after: used)
    }

    /// Pays for a notice that leaves now.
    ///
    /// - Parameter used: The payment that the subscriber had its last one for.
    func payNotice(at now: MonotonicTime, after used: MonotonicTime?) -> RowPayment {
        notices.pay(at: now, budget, after: used)
    }

    /// The credit for a widget, in milliseconds.
    func credit(_ key: Key, at now: MonotonicTime) -> Milliseconds {
        (ledgers[key] ?? (common.isWhole(at: now) ? RowLedger() : common)).credit(at: now, budget)
    }

    /// Drops what is whole, when that may be half of it, and once a second at most.
    private func sweep(at now: MonotonicTime) {
        guard ledgers.count >= sweepCount, now >= nextSweep else { return }
        dropWhole(at: now)
        nextSweep = now + Milliseconds.seconds(1)
    }

    /// Drops the ledgers that say nothing.
    func dropWhole(at now: MonotonicTime) {
        ledgers = ledgers.filter { !$0.value.isWhole(at: now) }
        sweepCount = min(Self.keyLimit, max(Self.leastSweep, 2 * ledgers.count))
    }

    // MARK: Taps

    /// It has tapped a control, with this commit.
    func noteTap(of control: Key, in commit: Int64) {
        taps.removeAll { $0.control == control }
        if taps.count == Self.tapLimit { taps.removeFirst() }
        taps.append(Tap(control: control, commit: commit))
    }

    /// A control changed: where the device has tapped it, rows that stand for this are of the tap.
    ///
    /// - Returns: Whether it has.
    func noteChange(of control: Key, in commit: Int64, endsOperation: Bool) -> Bool {
        guard let place = taps.firstIndex(where: { $0.control == control && !$0.isOver }) else { return false }
        taps[place].commit = commit
        taps[place].isOver = endsOperation
        return true
    }

    var hasTaps: Bool { !taps.isEmpty }

    /// Whether a row that is owed since `firstCommit`, and shows `controls`, comes of a tap of its own.
    func hasTapped(anyOf controls: [String], since firstCommit: Int64) -> Bool {
        taps.contains { tap in firstCommit <= tap.commit && controls.contains(tap.control.text) }
    }

    /// Forgets its taps, and gives their controls.
    func takeTaps() -> [Key] {
        defer { taps = [] }
        return taps.map(\.control)
    }
}
