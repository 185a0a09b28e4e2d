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
    /// Of each control whose operation devices with a budget have begun: these devices, in the order of their taps.
    private var tappers: [Key: [BudgetUnit]] = [:]

    /// Ledgers of one principal's devices that have no connection.
    static let departedLimit = 65_536
    /// A device that stays away longer is forgotten.
    static let memory = Milliseconds.days(1)

    /// The devices of one principal that have no connection, those that left first in front. One that came back stays in
    /// its place until that comes up.
    private struct Departed {
        var places: [Place] = []
        var first = 0
        var unitCount = 0
        var ledgerCount = 0
    }

    private struct Place {
        let unit: BudgetUnit
        let since: MonotonicTime
        /// Which of its departures it is.
        let departure: Int

        /// It has not come back since.
        var isAway: Bool { unit.sessions.isEmpty && unit.departureCount == departure }
    }

    init(_ budget: RowBudget?) { self.budget = budget }

    var unitCount: Int { units.count }
    /// Ledgers of devices that have no connection.
    var departedLedgerCount: Int { departed.values.reduce(0) { $0 + $1.ledgerCount } }
    /// Whether an operation that such a device began may be under way. Hardly ever.
    var hasTaps: Bool { !tappers.isEmpty }

    /// A connection is a device's from now on.
    ///
    /// - Parameter session: Of the connection.
    /// - Returns: `nil` where there is no budget.
    mutating func join(_ name: UnitName, _ session: SessionID, at now: MonotonicTime) -> BudgetUnit? {
        guard let budget else { return nil }
        if let known = units[name] {
            if known.sessions.isEmpty { returned(known) }
            if !known.sessions.isEmpty || now < known.departedAt + Self.memory {
                known.join(session)
                return known
            }
        }
        let unit = BudgetUnit(name, budget)
        unit.join(session)
        units[name] = unit
        return unit
    }

    /// A connection is not the device's any more.
    mutating func leave(_ unit: BudgetUnit, _ session: SessionID, at now: MonotonicTime) {
        unit.leave(session, at: now)
        guard unit.sessions.isEmpty else { return }
        for control in unit.takeTaps() {
            tappers[control]?.removeAll { $0 === unit }
            if tappers[control]?.isEmpty == true { tappers[control] = nil }
        }
        unit.dropWhole(at: now)
        guard unit.hasSpent(at: now) else {
            units[unit.name] = nil
            return
        }
        let principal = unit.name.principal ?? ""
        // Taken out, so that it is changed in its place.
        var places = departed.removeValue(forKey: principal) ?? Departed()
        places.places.append(Place(unit: unit, since: now, departure: unit.departureCount))
        places.unitCount += 1
        places.ledgerCount += unit.ledgerCount
        while places.first < places.places.count, places.ledgerCount > Self.departedLimit || isOver(places, at: now) {
            let first = places.places[places.first]
            places.first += 1
            guard first.isAway, units[first.unit.name] === first.unit else { continue }
            places.unitCount -= 1
            places.ledgerCount -= first.unit.ledgerCount
            units[first.unit.name] = nil
        }
        // Places of devices that came back, or are forgotten, are dropped when they are more than the others.
        if places.places.count > 2 * places.unitCount + 16 {
            places.places = places.places[places.first...].filter { $0.isAway && units[$0.unit.name] === $0.unit }
            places.first = 0
        }
        if places.places.count > places.first { departed[principal] = places }
    }

    private func isOver(_ places: Departed, at now: MonotonicTime) -> Bool {
        places.places[places.first].since + Self.memory <= now
    }

    // MARK: Taps

    /// A device has tapped a control, and that is durable.
    ///
    /// - Parameter commit: The record of the tap.
    mutating func noteTap(of control: Key, by unit: BudgetUnit, in commit: Int64) {
        unit.noteTap(of: control, in: commit)
        if tappers[control]?.contains(where: { $0 === unit }) != true { tappers[control, default: []].append(unit) }
    }

    /// The devices that began an operation of a control that changed now.
    ///
    /// - Parameter endsOperation: It is over, and they are not told again.
    mutating func takeTappers(of control: Key, endsOperation: Bool) -> [BudgetUnit] {
        guard let units = tappers[control] else { return [] }
        if endsOperation { tappers[control] = nil }
        return units
    }

    private mutating func returned(_ unit: BudgetUnit) {
        let principal = unit.name.principal ?? ""
        departed[principal]?.unitCount -= 1
        departed[principal]?.ledgerCount -= unit.ledgerCount
    }
}
