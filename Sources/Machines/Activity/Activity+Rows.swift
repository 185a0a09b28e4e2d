public import Kinds
public import Model
internal import Statechart

extension Activity {
    /// Every active state's path, outermost first.
    public var configuration: [String] { machine.configuration(in: kind.statechart).compactMap { path(of: $0) } }

    /// The paths of the innermost active states, in the order of regions.
    public var statePaths: [String] { machine.leaves(in: kind.statechart).compactMap { path(of: $0) } }

    /// `state=` of a reply, and of the full row: the innermost active path, several joined by a comma.
    public var statePath: String {
        let leaves = machine.leaves(in: kind.statechart)
        guard leaves.count == 1, let path = path(of: leaves[0]) else { return statePaths.joined(separator: ",") }
        return path
    }

    /// What templates can read of it.
    public var templateContext: TemplateContext {
        let leaf = machine.firstLeaf(in: kind.statechart)
        let states = kind.statechart.states
        let state = leaf.flatMap { states.indices.contains($0.rawValue) ? states[$0.rawValue].key : nil } ?? ""
        return TemplateContext(
            key: key, attributes: attributes, content: content, stateKey: state,
            stateTitle: leaf.flatMap { traits(of: $0)?.title } ?? state, progress: progress)
    }

    /// Appends the body of a `view=full` row (protocol.md §8): one object.
    ///
    /// While pending, `startedAt` is the moment at which it will start.
    public func writeFullRow(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", String(key.kind))
        writer.member("state", statePath)
        writer.name("configuration")
        writer.beginArray()
        for state in machine.configuration(in: kind.statechart) {
            if let path = path(of: state) { writer.value(path) }
        }
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
        writer.endObject()
    }
}
