internal import TelltaleModel

/// The steps that the active states and the event alone determine. Each is computed once, by the step itself.
///
/// Most events of an ordinary machine lead from one state to the next, or have no effect, and have the same result
/// every time. A lookup avoids the copies that a full step makes. A step that evaluates a guard, runs an action, arms
/// or cancels a timer, defers an event or records history is not cacheable.
struct TransitionCache: Sendable {
    struct Outcome: Sendable {
        /// The states active after the step, one bit each.
        var configuration: UInt64
        /// The states entered, in the form of ``StateList/packed``.
        var entries: UInt64
        var entryCount: UInt8
        var verdict: Verdict
        var isDone: Bool
    }

    /// By the single active leaf and the event, the unknown event first; empty if the machine is too large.
    private var outcomes: [Outcome?] = []
    private var eventCount = 0

    /// The largest number of outcomes, which bounds the cache's memory. Hand-written machines have far fewer.
    private static let sizeLimit = 4_096

    init() {}

    /// - Parameter chart: A chart that has no cache yet.
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
            // A leaf inside a parallel region is never the only active leaf.
            guard chart.tables.tree.isLegal(configuration, within: 0), !chart.isDone(configuration) else { continue }
            let instance = MachineInstance(configuration: configuration)
            for event in -1..<names.count where event < 0 || !Statechart.isReserved(names[event]) {
                outcomes[leaf * eventCount + event + 1] = Self.outcome(
                    of: event, named: event < 0 ? "" : names[event], instance, chart)
            }
        }
    }

    /// The outcome of `event` while `leaf` is the only active leaf; `nil` if the step is not cacheable.
    ///
    /// - Parameter event: −1 for an event that the machine does not know.
    func outcome(of event: Int, in leaf: Int) -> Outcome? {
        outcomes.isEmpty ? nil : outcomes[leaf * eventCount + event + 1]
    }

    private static func outcome(
        of event: Int, named name: String, _ instance: MachineInstance, _ chart: Statechart
    ) -> Outcome? {
        // A cacheable step reads neither time nor values. The zero limit makes any other fail.
        var step = Step(
            chart: chart, instance: instance, values: MachineValues(), time: Timestamp(milliseconds: 0),
            contentLimit: 0, isDryRun: true)
        do throws(MachineError) {
            try step.performEvent(event: event, name: name, content: [:])
        } catch {
            return nil
        }
        guard step.isCacheable, let configuration = step.instance.configuration.word,
            let entries = step.result.entries.packed
        else { return nil }
        return Outcome(
            configuration: configuration, entries: entries.word, entryCount: entries.count,
            verdict: step.result.verdict, isDone: step.result.isDone)
    }
}
