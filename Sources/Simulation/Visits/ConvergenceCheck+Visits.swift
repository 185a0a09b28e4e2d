import TelltaleModel

// At rest, each watch shows what comes by itself on its board, and each reload of all has met every key.
extension ConvergenceCheck {
    func checkVisits() {
        guard let visits = world.records.visits else { return }
        if let fault = visits.reloads.fault(of: SimulatedVisits.townKeys) { return violated(fault) }
        for case let screen as VisitScreen in world.clients where world.ledger.violations.isEmpty {
            check(screen, visits)
        }
    }

    private func check(_ screen: VisitScreen, _ visits: VisitHistory) {
        let lines = ask(screen.introduction + [screen.subscription])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            return violated("nudges-\(screen.index) would not get a snapshot")
        }
        func isVisit(_ key: String) -> Bool { SuggestionNames.isID(SimulatedBoards.parts(of: key).id) }
        let fresh = Verdicts.snapshot(in: lines, where: isVisit)
        let table = screen.table.filter { isVisit($0.key) }
        for key in Set(fresh.keys).union(table.keys).sorted() where fresh[key]?.rev != table[key]?.rev {
            let name = visits.order(ofID: SimulatedBoards.parts(of: key).id) ?? "nothing that it knows"
            let revs = [table[key], fresh[key]].map { $0.map { "at \($0.rev)" } ?? "not at all" }
            return violated("nudges-\(screen.index) shows \(name) \(revs[0]), and it is told \(revs[1])")
        }
        if let fault = screen.fault(in: screen.look(visits, isAtRest: true)) {
            violated("nudges-\(screen.index) \(fault)")
        }
    }

    private func violated(_ what: String) { world.violated("visits", what) }
}
