internal import FanOut
internal import TelltaleModel

/// The devices that have a budget: those with a connection, and those that had one within a day.
///
/// It bounds its memory by what each client has: a device with a connection has at most ``BudgetUnit/keyLimit`` ledgers,
/// and those without one have ``departedLimit`` together for each principal. Beyond that the device that left first is
/// forgotten, and has all of its credit when it comes back, as after a restart. So one principal's devices cost no other's.
struct UnitBudgets {
    /// `nil` = there is no budget.
    let budget: RowBudget?
    private var units: [UnitName: BudgetUnit] = [:]
    private var departed: [String: Departed] = [:]
    /// Of each control whose operation a device with a budget has begun: the sessions that tapped it.
    private var tappers: [Key: Set<SessionID>] = [:]

    /// Ledgers of one principal's devices that have no connection.
    static let departedLimit = 65_536
    /// A device that stays away longer is forgotten.
    static let memory = Milliseconds.days(1)

    /// The devices of one principal that have no connection, those that left first in front. One that came back stays in
    /// its place until that comes up.
    private struct Departed {
        var places: [(unit: BudgetUnit, since: MonotonicTime)] = []
        var first = 0
        var unitCount = 0
        var ledgerCount = 0
    }

    init(_ budget: RowBudget?) { self.budget = budget }

    var unitCount: Int { units.count }
    /// Ledgers of devices that have no connection.
    var departedLedgerCount: Int { departed.values.reduce(0) { $0 + $1.ledgerCount } }
    /// Whether an operation that such a device began may be under way. Hardly ever.
    var hasTaps: Bool { !tappers.isEmpty }

    /// A connection is a device's from now on.
    ///
    /// - Returns: `nil` where there is no budget.
    mutating func join(_ name: UnitName, at now: MonotonicTime) -> BudgetUnit? {
        guard let budget else { return nil }
        if let known = units[name] {
            if known.connectionCount == 0 { returned(known) }
            if known.connectionCount > 0 || now < known.departedAt + Self.memory {
                known.connectionCount += 1
                known.departedAt = .distantFuture
                return known
            }
        }
        let unit = BudgetUnit(name, budget)
        unit.connectionCount = 1
        units[name] = unit
        return unit
    }

    /// A connection is not the device's any more.
    mutating func leave(_ unit: BudgetUnit, at now: MonotonicTime) {
        unit.connectionCount -= 1
        guard unit.connectionCount == 0 else { return }
        unit.departedAt = now
        guard !unit.isWhole(at: now) else {
            units[unit.name] = nil
            return
        }
        let principal = unit.name.principal ?? ""
        var places = departed[principal] ?? Departed()
        places.places.append((unit, now))
        places.unitCount += 1
        places.ledgerCount += unit.ledgerCount
        while places.first < places.places.count, places.ledgerCount > Self.departedLimit || isOver(places, at: now) {
            let (first, since) = places.places[places.first]
            places.first += 1
            guard first.connectionCount == 0, first.departedAt == since, units[first.name] === first else { continue }
            places.unitCount -= 1
            places.ledgerCount -= first.ledgerCount
            units[first.name] = nil
        }
        // Places of devices that came back, or are forgotten, are dropped when they are more than the others.
        if places.places.count > 2 * places.unitCount + 16 {
            places.places = places.places[places.first...].filter { unit, since in
                unit.connectionCount == 0 && unit.departedAt == since && units[unit.name] === unit
            }
            places.first = 0
        }
        departed[principal] = places.places.count == places.first ? nil : places
    }

    private func isOver(_ places: Departed, at now: MonotonicTime) -> Bool {
        places.places[places.first].since + Self.memory <= now
    }

    // MARK: Taps

    /// A session of a device has tapped a control.
    mutating func noteTap(of control: Key, by session: SessionID) { tappers[control, default: []].insert(session) }

    /// The sessions that began an operation of a control that changed now.
    ///
    /// - Parameter endsOperation: It is over, and they are not told again.
    mutating func takeTappers(of control: Key, endsOperation: Bool) -> [SessionID] {
        guard let sessions = tappers[control] else { return [] }
        if endsOperation { tappers[control] = nil }
        return sessions.sorted { $0.number < $1.number }
    }

    private mutating func returned(_ unit: BudgetUnit) {
        let principal = unit.name.principal ?? ""
        departed[principal]?.unitCount -= 1
        departed[principal]?.ledgerCount -= unit.ledgerCount
    }
}
