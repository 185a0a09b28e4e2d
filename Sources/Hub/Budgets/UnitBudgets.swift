internal import FanOut
internal import TelltaleModel

/// The devices that have a budget: those with a connection, and those that had one within a day.
///
/// Memory is bounded per client: a connected device has at most ``BudgetUnit/keyLimit`` ledgers, and the disconnected devices of
/// one principal have ``departedLimit`` together. Beyond that, the device that left first is forgotten; it has full credit when
/// it returns, as after a restart. So one principal's devices never evict another's.
struct UnitBudgets {
    /// `nil` = there is no budget.
    let budget: RowBudget?
    private var units: [UnitName: BudgetUnit] = [:]
    private var departed: [String: Departed] = [:]
    /// For each control with an operation in progress: the devices with a budget that began it, in the order of their taps.
    private var tappers: [Key: [BudgetUnit]] = [:]

    /// The most ledgers that one principal's disconnected devices may have.
    static let departedLimit = 65_536
    /// A device that stays away longer than this is forgotten.
    static let memory = Milliseconds.days(1)

    /// The disconnected devices of one principal, oldest departure first. A device that returned keeps its place until it reaches
    /// the front.
    private struct Departed {
        var places: [Place] = []
        var first = 0
        var unitCount = 0
        var ledgerCount = 0
    }

    private struct Place {
        let unit: BudgetUnit
        let since: MonotonicTime
        /// The number of the departure that this place is for.
        let departure: Int

        /// It has not returned since.
        var isAway: Bool { unit.sessions.isEmpty && unit.departureCount == departure }
    }

    init(_ budget: RowBudget?) { self.budget = budget }

    var unitCount: Int { units.count }
    /// Ledgers of disconnected devices.
    var departedLedgerCount: Int { departed.values.reduce(0) { $0 + $1.ledgerCount } }
    /// Whether an operation begun by a device with a budget may be in progress. Rare.
    var hasTaps: Bool { !tappers.isEmpty }

    /// Adds a connection to a device.
    ///
    /// - Parameter session: The connection's session.
    /// - Returns: `nil` if there is no budget.
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

    /// Removes a connection from its device.
    mutating func leave(_ unit: BudgetUnit, _ session: SessionID, at now: MonotonicTime) {
        unit.leaveBudget(session, at: now)
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
        // Taken out, so that it is changed in place.
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
        // Places of returned or forgotten devices are dropped when they outnumber the others.
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

    /// Records a durable tap of a device.
    ///
    /// - Parameter commit: The record of the tap.
    mutating func noteTap(of control: Key, by unit: BudgetUnit, in commit: Int64) {
        unit.noteTap(of: control, in: commit)
        if tappers[control]?.contains(where: { $0 === unit }) != true { tappers[control, default: []].append(unit) }
    }

    /// The devices that began the operation of a control that just changed.
    ///
    /// - Parameter endsOperation: The operation is over, so they are forgotten.
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
