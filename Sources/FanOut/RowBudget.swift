public import TelltaleModel

/// How many rows of one widget a device is sent while its screen is off (Protocols/Widgets/rules.md, W27–W32).
///
/// Credit is time: a row costs a part of a day, and credit grows with the clock.
public struct RowBudget: Hashable, Sendable {
    /// Rows a day in the long run.
    public let rowsPerDay: Int
    /// Rows that may leave at once, where none has left for long.
    public let burst: Int

    /// - Parameters:
    ///   - rowsPerDay: 1 to 86,400.
    ///   - burst: 1 to 1,000.
    public init(rowsPerDay: Int = 48, burst: Int = 8) {
        self.rowsPerDay = min(max(rowsPerDay, 1), 86_400)
        self.burst = min(max(burst, 1), 1_000)
    }

    /// The cost of one row. Rounded up: a part of a millisecond less would be a row too many some day.
    public var cost: Milliseconds {
        let day = Milliseconds.days(1).count
        return Milliseconds((day + Int64(rowsPerDay) - 1) / Int64(rowsPerDay))
    }

    /// The credit of a device that has been sent nothing for long.
    public var capacity: Milliseconds { cost.multiplied(by: Int64(burst)) }
}

/// The credit of one device for one widget, in 16 bytes.
///
/// Invariant: it is spent in no other way than ``pay(at:_:)``, so no day has more than ``RowBudget/rowsPerDay`` and
/// ``RowBudget/burst`` rows together.
public struct RowLedger: Hashable, Sendable {
    /// When its credit is whole again. What lacks then is what lies between.
    private var wholeAt = MonotonicTime.distantPast
    /// When a row was paid last.
    private var paidAt = MonotonicTime.distantPast

    /// Makes one with all of its credit.
    public init() {}

    /// Whether nothing lacks: it is as good as a new one.
    public func isWhole(at now: MonotonicTime) -> Bool { wholeAt <= now }

    /// The credit at a moment, in whole milliseconds.
    public func credit(at now: MonotonicTime, _ budget: RowBudget) -> Milliseconds {
        isWhole(at: now) ? budget.capacity : budget.capacity - missing(at: now)
    }

    /// Rounded up.
    private func missing(at now: MonotonicTime) -> Milliseconds {
        let missing = wholeAt.milliseconds(since: now)
        return now + missing < wholeAt ? missing + Milliseconds(1) : missing
    }

    /// Pays for a row that leaves now.
    public mutating func pay(at now: MonotonicTime, _ budget: RowBudget) -> RowPayment {
        let least = budget.capacity - budget.cost
        if wholeAt > now + least { return .waits(until: wholeAt + (Milliseconds.zero - least)) }
        wholeAt = max(wholeAt, now) + budget.cost
        paidAt = now
        return .paid(now)
    }

    /// The same, where several readers are of the device: rows that leave to them within a second cost once, because they
    /// wake the device once. Each reader has one of them for each payment.
    ///
    /// - Parameter used: The payment that the reader had its last row for.
    public mutating func pay(at now: MonotonicTime, _ budget: RowBudget, after used: MonotonicTime?) -> RowPayment {
        now < paidAt + Self.window && used != paidAt ? .paid(paidAt) : pay(at: now, budget)
    }

    private static let window = Milliseconds.seconds(1)
}

/// The answer to a row that a device is owed.
public enum RowPayment: Hashable, Sendable {
    /// It may leave, by the payment of this moment.
    case paid(MonotonicTime)
    /// There will be credit for it then.
    case waits(until: MonotonicTime)
}
