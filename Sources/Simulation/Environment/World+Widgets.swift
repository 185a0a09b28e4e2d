import Hub
import TelltaleModel

// The clients of widgets.
extension World {
    /// Only the simulation's own cast has kinds of widgets.
    var hasWidgets: Bool { climate.widgets > 0 && setting.cast == .simulated }

    /// In every seventh world.
    var hasWeeklyHours: Bool { climate.seed % 7 == 6 }

    /// A shop and screens, and people with boards; nothing where there are no widgets.
    func makeWidgetClients() -> [any SimulatedClient] {
        guard hasWidgets else { return [] }
        let first = clients.count
        let source = WidgetSource(world: self, index: first, random: random.fork())
        widgetSource = source
        var made: [any SimulatedClient] = [source.client]
        for number in 0..<climate.widgets {
            made.append(
                WidgetScreen(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        for number in 0..<2 {
            made.append(
                NoticeReader(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        for number in 0..<2 {
            made.append(
                WeatherStation(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        return made + makeBoardClients(after: first + made.count) + makeVisitClients(after: first + made.count)
    }

    /// A budget of minutes, which a run of minutes uses up, and a floor between two asks that is as short.
    func setBudget(of configuration: inout HubConfiguration) {
        configuration.decisions.widgetFloor = Milliseconds(bug == .askFloorUnread ? 5_000 : ReferenceForecast.floor)
        configuration.widgetRowsPerDay = BudgetCheck.rowsPerDay
        configuration.widgetBurst = BudgetCheck.burst
        setBoards(of: &configuration)
        switch bug {
        case .burstMisread: configuration.widgetBurst *= 3
        case .budgetOff: configuration.widgetRowsPerDay = nil
        case _: break
        }
    }

    /// Looks at what leaves for a device that has a budget.
    func checkBudget(_ bytes: [UInt8], of unit: String, _ name: String, on link: Link) {
        // Where a walk goes in small steps, what waits comes behind it.
        let isSlow = link.wasBlocked || hasSmallSteps
        let fault = budgets.fault(in: bytes, unit: unit, on: link, isSlow: isSlow, at: now)
        if let fault { violated("widgets", "\(name) \(fault)") }
    }
}
