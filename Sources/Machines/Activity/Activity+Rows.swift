public import Kinds
public import Model
internal import Statechart

extension Activity {
    /// Every active state's path, outermost first.
    public var configuration: [String] { machine.configuration(in: kind.statechart).compactMap { path(of: $0) } }

    /// The paths of the innermost active states, in the order of regions.
    public var statePaths: [String] { machine.leaves(in: kind.statechart).compactMap { path(of: $0) } }

    /// `state=` of a reply, and of the full row: the innermost active path, several joined by a comma.
    public var statePath: String { statePaths.joined(separator: ",") }

    /// What templates can read of it.
    public var templateContext: TemplateContext {
        let leaf = machine.leaves(in: kind.statechart).first
        let states = kind.statechart.states
        let state = leaf.flatMap { states.indices.contains($0.rawValue) ? states[$0.rawValue].key : nil } ?? ""
        return TemplateContext(
            kind: String(key.kind), id: String(key.id), attributes: attributes, content: content, stateKey: state,
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
        for path in configuration { writer.value(path) }
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
