internal import Kinds
internal import TelltaleModel
internal import TelltaleStatechart

/// Properties that the kind gives to the active states.
extension Activity {
    /// The kind's traits of a state. Read single members through this accessor, so that only they are copied.
    func traits(of state: StateIndex) -> StateTraits { kind.states[state.rawValue] }

    func path(of state: StateIndex) -> String { kind.statechart.states[state.rawValue].path }

    /// The shortest value among the innermost active states.
    private func shortest(_ value: (StateIndex) -> Milliseconds?) -> Milliseconds? {
        // Nearly every machine has a single leaf, which needs no list.
        if let leaf = machine.loneLeaf(in: kind.statechart) { return value(leaf) }
        return machine.leaves(in: kind.statechart).lazy.compactMap(value).min()
    }

    var ownStale: Milliseconds? { shortest { kind.states[$0.rawValue].stale } }
    var ownDismiss: Milliseconds? { shortest { kind.states[$0.rawValue].dismiss } }

    /// Keeps the last progress if no active state gives one.
    mutating func updateProgress() {
        if let leaf = machine.loneLeaf(in: kind.statechart) {
            progress = kind.states[leaf.rawValue].progress ?? progress
            return
        }
        for leaf in machine.leaves(in: kind.statechart) {
            guard let fraction = kind.states[leaf.rawValue].progress else { continue }
            progress = fraction
            return
        }
    }

    /// The rendered alert of the innermost state that was entered last.
    func stateAlert(of entered: StateList) -> ActivityAlert? {
        if entered.isEmpty { return nil }
        for state in entered.reversed() {
            guard let alert = traits(of: state).alert else { continue }
            let context = templateContext
            return ActivityAlert(
                title: alert.title.rendered(in: context), body: alert.body.rendered(in: context), sound: alert.sound)
        }
        return nil
    }

    /// The summary of a private alert; `nil` if the alert is not private. An event's own alert is as private as that of the states
    /// that it enters, else of the active ones (E11).
    func summary(of entered: StateList) -> String? {
        let active = machine.configuration(in: kind.statechart)
        let alert =
            entered.reversed().lazy.compactMap { kind.states[$0.rawValue].alert }.first
            ?? active.reversed().lazy.compactMap { kind.states[$0.rawValue].alert }.first
        guard kind.isPrivacySensitive || alert?.isPrivate == true else { return nil }
        return alert?.summary?.rendered(in: templateContext) ?? ""
    }
}
