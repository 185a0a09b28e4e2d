internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// Connects requests and commits to the budgets of devices.
extension Hub {
    /// Assigns a connection to the device that its `HELLO` names or named before.
    ///
    /// - Parameter principal: The principal that the `HELLO` was accepted as.
    mutating func joinUnit(_ hello: Hello, of session: Session, principal: String?, at now: HubTime) {
        guard let word = hello.unit ?? session.unit?.name.word else { return }
        let name = UnitName(principal: principal, account: session.account, word: word)
        guard session.unit?.name != name else { return }
        // Join first, so that a device whose name is taken again is not forgotten in between.
        let former = session.unit
        session.unit = budgets.join(name, session.id, at: now.monotonic)
        if let former { budgets.leave(former, session.id, at: now.monotonic) }
        reconsiderHeld(of: session)
    }

    /// Re-examines each row that is held back by a budget.
    private mutating func reconsiderHeld(of session: Session) {
        for index in session.subscriptions { subscriptions.change(index) { $0.backlog?.reconsidersHeld = true } }
        sessions.makeReady(session)
    }

    /// The taps of a batch are durable, so their effects are free for their devices (W30). This releases rows that show changes
    /// of controls whose operations they began.
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
