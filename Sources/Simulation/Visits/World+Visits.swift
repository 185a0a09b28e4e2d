import Hub
import Kinds

// Watches with boards on which widgets come and go by themselves, and operators who reload all widgets.
extension World {
    /// In worlds without people who arrange boards, whose models have no place for them.
    var hasVisits: Bool { climate.visits > 0 && hasWidgets && !hasBoards }

    /// - Parameter first: The number of the first one.
    func makeVisitClients(after first: Int) -> [any SimulatedClient] {
        guard hasVisits else { return [] }
        var made: [any SimulatedClient] = []
        for number in 0..<2 {
            made.append(ReloadClient(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        for number in 0..<climate.visits {
            made.append(VisitScreen(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        return made
    }

    /// The kinds of an edition, which is how often those of widgets were edited.
    func kinds(edition: Int) throws(SimulatedKinds.KindFault) -> [Kind] {
        let widgets = SimulatedWidgets.Edition(
            number: edition, hasBoards: hasBoards, hasVisits: hasVisits, hasWeeklyHours: hasWeeklyHours)
        return try SimulatedKinds.load(for: setting, bug: bug, edition: hasWidgets ? widgets : nil)
    }

    /// In worlds of small steps, views of accounts leave activities out.
    var activitiesPerView: Int { hasSmallSteps ? 3 : Limits().activitiesPerView }

    /// Of a view of an account with more activities, a cursor from before more changes than these is not resumed.
    var keysFilledAtOnce: Int {
        var limits = Limits()
        if hasSmallSteps { limits.makeSmallSteps() }
        return limits.keysFilledAtOnce
    }

    /// The number of keys that a batch takes of a walk differs from world to world: a run has few keys.
    func setSteps(of limits: inout Limits) {
        if hasSmallSteps { limits.makeSmallSteps() }
        limits.activitiesPerView = activitiesPerView
        guard hasVisits else { return }
        limits.keysPerWalk = 1 + Int(climate.seed % 8)
        limits.boardsPerBatch = 1 + Int(climate.seed % 2)
    }
}
