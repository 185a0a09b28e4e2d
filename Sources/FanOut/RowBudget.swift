public import TelltaleModel

/// How many rows of one widget a device is sent while its screen is off (Protocols/Widgets/rules.md, W27–W32).
///
/// Credit is time: a row costs a fraction of a day, and credit grows with the clock.
public struct RowBudget: Hashable, Sendable {
    /// Rows per day in the long run.
    public let rowsPerDay: Int
    /// Rows that may be sent at once after a long pause.
    public let burst: Int

    /// - Parameters:
    ///   - rowsPerDay: 1 to 86,400.
    ///   - burst: 1 to 1,000.
    public init(rowsPerDay: Int = 48, burst: Int = 8) {
        self.rowsPerDay = min(max(rowsPerDay, 1), 86_400)
        self.burst = min(max(burst, 1), 1_000)
    }

    /// The cost of one row. Rounded up; otherwise one row too many would be sent eventually.
    public var cost: Milliseconds {
        let day = Milliseconds.days(1).count
        return Milliseconds((day + Int64(rowsPerDay) - 1) / Int64(rowsPerDay))
    }

    /// The credit of a device after a long pause.
    public var capacity: Milliseconds { cost.multiplied(by: Int64(burst)) }
}

/// The credit of one device for one widget, in 16 bytes.
///
/// Invariant: credit is spent only by ``pay(at:_:)``, so no day has more than ``RowBudget/rowsPerDay`` and ``RowBudget/burst``
/// rows together.
public struct RowLedger: Hashable, Sendable {
    /// When the credit is full again. The missing credit is the time until then.
    private var wholeAt = MonotonicTime.distantPast
    /// When a row was last charged.
    private var paidAt = MonotonicTime.distantPast

    /// Makes a full ledger.
    public init() {}

    /// Whether the credit is full, as in a new ledger.
    public func isWhole(at now: MonotonicTime) -> Bool { wholeAt <= now }

    /// The credit at a moment, in whole milliseconds.
    public func credit(at now: MonotonicTime, _ budget: RowBudget) -> Milliseconds {
        isWhole(at: now) ? budget.capacity : budget.capacity - missing(at: now)
    }

    /// The missing credit, rounded up.
    private func missing(at now: MonotonicTime) -> Milliseconds {
        let missing = wholeAt.milliseconds(since: now)
        return now + missing < wholeAt ? missing + Milliseconds(1) : missing
    }

    /// Charges a row that is sent now.
    public mutating func pay(at now: MonotonicTime, _ budget: RowBudget) -> RowPayment {
        let least = budget.capacity - budget.cost
        if wholeAt > now + least { return .waits(until: wholeAt + (Milliseconds.zero - least)) }
        wholeAt = max(wholeAt, now) + budget.cost
        paidAt = now
        return .paid(now)
    }

    /// Charges a row of a device with several readers. Rows sent to them within a second are charged once, because they wake the
    /// device once. Each reader gets one row per charge.
    ///
    /// - Parameter used: The charge for the reader's last row.
    public mutating func pay(at now: MonotonicTime, _ budget: RowBudget, after used: MonotonicTime?) -> RowPayment {
        now < paidAt + Self.window && used != paidAt ? .paid(paidAt) : pay(at: now, budget)
    }

    private static let window = Milliseconds.seconds(1)
}

/// Whether a pending row may be sent to a device.
public enum RowPayment: Hashable, Sendable {
    /// It may be sent, under the charge made at this moment.
    case paid(MonotonicTime)
    /// There will be enough credit at this moment.
    case waits(until: MonotonicTime)
}
