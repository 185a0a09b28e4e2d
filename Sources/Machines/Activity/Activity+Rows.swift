public import Kinds
public import TelltaleModel
internal import TelltaleStatechart

extension Activity {
    /// The paths of all active states, outermost first.
    public var configuration: [String] { machine.configuration(in: kind.statechart).map { path(of: $0) } }

    /// The paths of the innermost active states, in the order of regions.
    public var statePaths: [String] { machine.leaves(in: kind.statechart).map { path(of: $0) } }

    /// `state=` of a reply and of the full row: the innermost active paths, joined by commas.
    public var statePath: String {
        if let leaf = machine.loneLeaf(in: kind.statechart) { return path(of: leaf) }
        return statePaths.joined(separator: ",")
    }

    /// The values that templates can read.
    public var templateContext: TemplateContext {
        let leaf = machine.firstLeaf(in: kind.statechart)
        let state = leaf.map { kind.statechart.states[$0.rawValue].key } ?? ""
        var context = TemplateContext(
            key: key, attributes: attributes, content: content, stateKey: state, stateTitle: state, progress: progress)
        guard let leaf else { return context }
        // Both are read before either is set: a title reads neither.
        let title = title(of: titledState(at: leaf), in: context)
        if !kind.regions.isEmpty { context.regions = activeRegions(in: context) }
        context.stateTitle = title
        return context
    }

    /// The values that views read: those of templates, and the state if a view depends on it.
    public var viewContext: TemplateContext {
        var context = templateContext
        if kind.viewsReadState {
            context.subject = guardSubject(MachineValues(attributes: attributes, content: content))
        }
        return context
    }

    /// The circumstances of a device that its views depend on now.
    public var viewCircumstances: PresentationCircumstances {
        guard kind.circumstancesFollowState else { return kind.circumstances }
        return PresentationCircumstances(
            kind.views, for: guardSubject(MachineValues(attributes: attributes, content: content)))
    }

    private func title(of state: StateIndex, in context: TemplateContext) -> String {
        traits(of: state).title.rendered(in: context)
    }

    /// The state whose title the activity has: the innermost active state; if there are several, the parallel state around them
    /// if it has a name.
    private func titledState(at leaf: StateIndex) -> StateIndex {
        guard !kind.regions.isEmpty, machine.loneLeaf(in: kind.statechart) == nil else { return leaf }
        let paths = machine.leaves(in: kind.statechart).map { ancestors(of: $0) }
        guard paths.count > 1, let first = paths.first else { return leaf }
        // Ancestors begin with the root, so the common ancestors are a prefix of each list.
        let common = first.prefix { state in paths.allSatisfy { $0.contains(state) } }
        guard let parallel = common.last, parallel.rawValue > 0 || !traits(of: parallel).title.text.isEmpty else {
            return leaf
        }
        return parallel
    }

    private func activeRegions(in context: TemplateContext) -> [TemplateContext.Region] {
        let paths = machine.leaves(in: kind.statechart).map { ancestors(of: $0) + [$0] }
        return kind.regions.compactMap { region in
            guard let leaf = paths.first(where: { $0.contains(region) })?.last else { return nil }
            let information = kind.statechart.states[region.rawValue]
            var own = context
            own.stateKey = kind.statechart.states[leaf.rawValue].key
            return TemplateContext.Region(
                name: information.key, path: information.path, stateKey: own.stateKey,
                stateTitle: title(of: leaf, in: own))
        }
    }

    /// The states around a state, the root first.
    private func ancestors(of state: StateIndex) -> [StateIndex] {
        var ancestors: [StateIndex] = []
        var next = kind.statechart.states[state.rawValue].parent
        while let parent = next {
            ancestors.append(parent)
            next = kind.statechart.states[parent.rawValue].parent
        }
        return ancestors.reversed()
    }

    /// Appends the body of a `view=full` row (Protocols/Line/line-protocol.md §6) as one object.
    ///
    /// While the activity is pending, `startedAt` is the time at which it will start.
    public func writeFullRow(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", String(key.kind))
        writer.member("state", statePath)
        writer.name("configuration")
        writer.beginArray()
        for state in machine.configuration(in: kind.statechart) { writer.value(path(of: state)) }
        writer.endArray()
        writer.member("lifecycle", lifecycle.rawValue)
        writer.member("attributes", attributes)
        writer.member("content", content)
        writer.name("progress")
        if let progress { writer.value(progress) } else { writer.null() }
        writer.member("startedAt", startedAt.milliseconds)
        writer.member("updatedAt", updatedAt.milliseconds)
        if let staleAt { writer.member("staleAt", staleAt.milliseconds) }
        if let endedAt { writer.member("endedAt", endedAt.milliseconds) }
        if let removeAt { writer.member("removeAt", removeAt.milliseconds) }
        if let score { writer.member("score", score) }
        if machine.hasTimers, lifecycle != .pending { writeTimers(to: &writer) }
        writer.endObject()
    }

    /// The first timers of the machine. While the activity is pending its machine's clock stands still.
    private func writeTimers(to writer: inout JSONWriter) {
        writer.name("timers")
        writer.beginArray()
        var count = 0
        machine.forEachTimer(in: kind.statechart) { timer in
            guard count < Self.timerLimit else { return }
            count += 1
            writer.beginObject()
            switch timer {
            case .after(let state, let delay, let deadline):
                writer.member("state", path(of: state))
                writer.member("after", delay.count)
                writer.member("at", (deadline + machineDelay).milliseconds)
            case .event(let name, let deadline):
                writer.member("event", name)
                writer.member("at", (deadline + machineDelay).milliseconds)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    /// More timers would make a row long only for a drawing.
    private static let timerLimit = 16
}
