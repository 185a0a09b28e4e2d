internal import TelltaleStatechart

extension MachineDrawing {
    /// Graphviz DOT: `telltale kinds draw FILE --format dot | dot -Tsvg`.
    public func dot() -> String {
        var lines = [
            "digraph \(Self.dotQuoted(name)) {",
            "  compound=true; rankdir=LR; fontname=\"Helvetica\"; label=\(Self.dotQuoted(title)); labelloc=t;",
            "  node [shape=box, style=rounded, fontname=\"Helvetica\"];",
            "  edge [fontname=\"Helvetica\", fontsize=10];",
        ]
        for child in nodes[0].children { append(child, indent: "  ", to: &lines) }
        appendScope(of: 0, indent: "  ", to: &lines)
        for edge in edges { append(edge, to: &lines) }
        lines.append("}")
        return lines.joined(separator: "\n") + "\n"
    }

    private func append(_ index: Int, indent: String, to lines: inout [String]) {
        let node = nodes[index]
        guard node.isComposite else {
            let look =
                switch node.state.kind {
                case .final: ", peripheries=2"
                case .history(let deep, _): ", shape=circle, label=\"H\(deep ? "*" : "")\""
                case .atomic, .compound, .parallel: ""
                }
            let label = node.isHistory ? "" : "label=\(Self.dotQuoted(node.title))"
            lines.append("\(indent)n\(index) [\((label + look).trimmingCommas)];")
            return
        }
        lines.append("\(indent)subgraph cluster_\(index) {")
        let isRegion = node.parent.map { nodes[$0].state.kind == .parallel } ?? false
        lines.append("\(indent)  label=\(Self.dotQuoted(node.title)); style=\(isRegion ? "dashed" : "rounded");")
        for child in node.children { append(child, indent: indent + "  ", to: &lines) }
        appendScope(of: index, indent: indent + "  ", to: &lines)
        lines.append("\(indent)}")
    }

    /// Appends a dot for the initial state, and a node that represents the composite state if its own transitions lead
    /// inside it.
    private func appendScope(of index: Int, indent: String, to lines: inout [String]) {
        for child in nodes[index].children where nodes[child].isInitial {
            lines.append("\(indent)i\(child) [shape=point, width=0.12];")
            lines.append(
                "\(indent)i\(child) -> n\(firstLeaf(of: child))\(attributes(head: child, tail: nil, label: ""));")
        }
        if edges.contains(where: { $0.source == index && isDrawnFromInside($0) }) {
            lines.append("\(indent)any\(index) [label=\"any state\", shape=plaintext, fontcolor=gray40];")
        }
    }

    private func append(_ edge: Edge, to lines: inout [String]) {
        let isFromInside = isDrawnFromInside(edge)
        let tail = isFromInside ? "any\(edge.source)" : "n\(firstLeaf(of: edge.source))"
        for target in edge.targets.isEmpty ? [edge.source] : edge.targets {
            let look = attributes(head: target, tail: isFromInside ? nil : edge.source, label: edge.label)
            let head = edge.targets.isEmpty ? tail : "n\(firstLeaf(of: target))"
            lines.append("  \(tail) -> \(head)\(look);")
        }
    }

    /// Whether the edge leads from a composite state into itself, which Graphviz cannot draw from a cluster.
    func isDrawnFromInside(_ edge: Edge) -> Bool {
        edge.source == 0
            || nodes[edge.source].isComposite
                && (edge.targets.isEmpty || edge.targets.contains { $0 == edge.source || isInside($0, edge.source) })
    }

    private func attributes(head: Int, tail: Int?, label: String) -> String {
        var parts: [String] = []
        if !label.isEmpty { parts.append("label=\(Self.dotQuoted(label))") }
        // An arrow ends at a cluster's border only if it starts outside.
        if nodes[head].isComposite, let tail, head != tail, !isInside(tail, head) {
            parts.append("lhead=cluster_\(head)")
        }
        if let tail, nodes[tail].isComposite, head != tail, !isInside(head, tail) {
            parts.append("ltail=cluster_\(tail)")
        }
        return parts.isEmpty ? "" : " [\(parts.joined(separator: ", "))]"
    }

    private static func dotQuoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: " ")
        return "\"\(escaped)\""
    }
}

extension String {
    /// The text without the comma and space that an empty first part leaves.
    fileprivate var trimmingCommas: String { hasPrefix(", ") ? String(dropFirst(2)) : self }
}
