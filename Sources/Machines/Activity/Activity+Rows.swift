public import Kinds
public import TelltaleModel
internal import TelltaleStatechart

extension Activity {
    /// Every active state's path, outermost first.
    public var configuration: [String] { machine.configuration(in: kind.statechart).map { path(of: $0) } }

    /// The paths of the innermost active states, in the order of regions.
    public var statePaths: [String] { machine.leaves(in: kind.statechart).map { path(of: $0) } }

    /// `state=` of a reply, and of the full row: the innermost active path, several joined by a comma.
    public var statePath: String {
        if let leaf = machine.loneLeaf(in: kind.statechart) { return path(of: leaf) }
        return statePaths.joined(separator: ",")
    }

    /// What templates can read of it.
    public var templateContext: TemplateContext {
        let leaf = machine.firstLeaf(in: kind.statechart)
        let state = leaf.map { kind.statechart.states[$0.rawValue].key } ?? ""
        return TemplateContext(
            key: key, attributes: attributes, content: content, stateKey: state,
            stateTitle: leaf.map { traits(of: $0).title } ?? state, progress: progress)
    }

    /// Appends the body of a `view=full` row (line-protocol.md §6): one object.
    ///
    /// While pending, `startedAt` is the moment at which it will start.
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
        writer.endObject()
    }
}
