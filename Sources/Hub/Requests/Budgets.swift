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
        session.unit = budgets.join(name, at: now.monotonic)
        if let former { budgets.leave(former, at: now.monotonic) }
        reconsiderHeld(of: session)
    }

    /// Looks again at each row that waits for a budget.
    private mutating func reconsiderHeld(of session: Session) {
        for index in session.subscriptions { subscriptions.change(index) { $0.backlog?.reconsidersHeld = true } }
        sessions.makeReady(session)
    }

    /// A connection tapped a control: what changes by that costs its device nothing (W30).
    mutating func noteTap(of control: Key, by session: Session) {
        guard let unit = session.unit else { return }
        unit.noteTap(of: control, in: store.sequence)
        budgets.noteTap(of: control, by: session.id)
    }

    /// Controls changed of which a device with a budget has begun operations: rows that stand for that may leave.
    mutating func noteChangesOfTapped(_ changes: [Change]) {
        for change in changes {
            guard store.isControl(change.entity), let key = store[change.entity].key else { continue }
            let isOver = !store.isUnderWay(change.entity)
            for id in budgets.takeTappers(of: key, endsOperation: isOver) {
                guard let session = sessions[id], let unit = session.unit,
                    unit.noteChange(of: key, in: store.sequence, endsOperation: isOver)
                else { continue }
                reconsiderHeld(of: session)
            }
        }
    }
}
