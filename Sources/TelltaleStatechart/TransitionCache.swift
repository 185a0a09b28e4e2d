internal import TelltaleModel

/// The steps that nothing decides but the states that are active and the event: each is computed once, by the step itself.
///
/// Most events of an ordinary machine lead from one state to the next, or nowhere, and what one of them does is the same
/// every time: it is looked up where a step copies everything that it may change, and throws the copies away. A step that
/// asks a guard, carries out an action, arms or cancels a timer, parks an event or remembers a history is not plain.
struct TransitionCache: Sendable {
    struct Outcome: Sendable {
        /// The states active after it, a bit each.
        var configuration: UInt64
        /// The states entered, as ``StateList/packed`` has them.
        var entries: UInt64
        var entryCount: UInt8
        var verdict: Verdict
        var isDone: Bool
    }

    /// By the one leaf that is active, and by the event, the unknown one first; empty where the machine is too large.
    private var outcomes: [Outcome?] = []
    private var eventCount = 0

    /// A hundred kilobytes of outcomes. No machine that somebody draws has as many.
    private static let sizeLimit = 4_096

    init() {}

    /// - Parameter chart: It has none yet.
    init(of chart: Statechart) {
        let stateCount = chart.tables.stateCount
        let names = chart.tables.events.names
        eventCount = names.count + 1
        guard stateCount <= 64, stateCount * eventCount <= Self.sizeLimit else { return }
        outcomes = [Outcome?](repeating: nil, count: stateCount * eventCount)
        for leaf in chart.tables.leaves {
            var configuration = StateSet(stateCount: stateCount)
            var state = leaf
            while state >= 0 {
                configuration.insert(state)
                state = chart.tables.parents[state]
            }
            // Of several regions each has a leaf of its own.
            guard chart.tables.tree.isLegal(configuration, within: 0), !chart.isDone(configuration) else { continue }
            let instance = MachineInstance(configuration: configuration)
            for event in -1..<names.count where event < 0 || !Statechart.isReserved(names[event]) {
                outcomes[leaf * eventCount + event + 1] = Self.outcome(
                    of: event, named: event < 0 ? "" : names[event], instance, chart)
            }
        }
    }

    /// What `event` does while `leaf` alone is active, and what is around it; `nil` where that is not all that decides.
    ///
    /// - Parameter event: −1 for one that the machine does not know.
    func outcome(of event: Int, in leaf: Int) -> Outcome? {
        outcomes.isEmpty ? nil : outcomes[leaf * eventCount + event + 1]
    }

    private static func outcome(
        of event: Int, named name: String, _ instance: MachineInstance, _ chart: Statechart
    ) -> Outcome? {
        // Neither time nor values nor limit matter to a step that is plain; one that is not has room for nothing.
        var step = Step(
            chart: chart, instance: instance, values: MachineValues(), time: Timestamp(milliseconds: 0),
            contentLimit: 0, isTrial: true)
        do throws(MachineError) {
            try step.take(event: event, name: name, content: [:])
        } catch {
            return nil
        }
        guard step.isPlain, let configuration = step.instance.configuration.word,
            let entries = step.result.entries.packed
        else { return nil }
        return Outcome(
            configuration: configuration, entries: entries.word, entryCount: entries.count,
            verdict: step.result.verdict, isDone: step.result.isDone)
    }
}
