internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// Where requests and commits meet the budgets of devices.
extension Hub {
    /// Lets a connection be the device's that its `HELLO` names, or named before.
    ///
    /// - Parameter principal: The one that the `HELLO` was let in as.
    mutating func joinUnit(_ hello: Hello, of session: Session, principal: String?, at now: HubTime) {
        guard let word = hello.unit ?? session.unit?.name.word else { return }
        let name = UnitName(principal: principal, account: session.account, word: word)
        guard session.unit?.name != name else { return }
        // First the new one: a name that is taken again is not forgotten in between.
        let former = session.unit
        session.unit = budgets.join(name, session.id, at: now.monotonic)
        if let former { budgets.leave(former, session.id, at: now.monotonic) }
        reconsiderHeld(of: session)
    }

    /// Looks again at each row that waits for a budget.
    private mutating func reconsiderHeld(of session: Session) {
        for index in session.subscriptions { subscriptions.change(index) { $0.backlog?.reconsidersHeld = true } }
        sessions.makeReady(session)
    }

    /// The taps of a batch are durable: what changes by them costs their devices nothing (W30). So may rows leave that stand
    /// for changes of controls whose operations they began.
    mutating func noteTaps(_ taps: [DecidedTap], changes: [Change]) {
        for tap in taps {
            guard let unit = sessions[tap.session]?.unit else { continue }
            budgets.noteTap(of: tap.control, by: unit, in: tap.commit)
        }
        guard budgets.hasTaps else { return }
        for change in changes {
            guard store.isControl(change.entity), let key = store[change.entity].key else { continue }
            let isOver = !store.isUnderWay(change.entity)
            for unit in budgets.takeTappers(of: key, endsOperation: isOver)
            where unit.noteChange(of: key, in: store.sequence, endsOperation: isOver) {
                for id in unit.sessions.sorted(by: { $0.number < $1.number }) {
                    if let session = sessions[id] { reconsiderHeld(of: session) }
                }
            }
        }
    }
}
