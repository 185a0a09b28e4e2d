internal import TelltaleModel
internal import TelltaleStatechart

extension MachineDrawing {
    /// A tree of box-drawing characters for a terminal: one state a line, its transitions below it.
    ///
    /// `▶` marks an initial state, `■` a final one, `★` a milestone, `!` an alert, `H` history, `∥` parallel children.
    public func text() -> String {
        var lines = ["\(name): \(title)"]
        appendEdges(of: 0, prefix: nodes[0].children.isEmpty ? "   " : "│  ", to: &lines)
        appendChildren(of: 0, prefix: "", to: &lines)
        return lines.joined(separator: "\n") + "\n"
    }

    private func appendChildren(of node: Int, prefix: String, to lines: inout [String]) {
        let children = nodes[node].children
        for (position, child) in children.enumerated() {
            let isLast = position == children.count - 1
            lines.append(prefix + (isLast ? "└─" : "├─") + heading(child))
            let inner = prefix + (isLast ? "   " : "│  ")
            appendEdges(of: child, prefix: inner + (nodes[child].isComposite ? "│  " : "   "), to: &lines)
            appendChildren(of: child, prefix: inner, to: &lines)
        }
    }

    private func heading(_ index: Int) -> String {
        let node = nodes[index]
        var marks = node.isInitial ? "▶ " : "─ "
        switch node.state.kind {
        case .final: marks += "■ "
        case .history(let deep, _): marks += deep ? "H* " : "H "
        case .parallel: marks += "∥ "
        case .atomic, .compound: break
        }
        var heading = marks + node.state.key
        if node.title != node.state.key { heading += "  “\(node.title)”" }
        if let progress = node.notes.progress { heading += "  \(DecimalText.percent(of: progress) ?? 0)%" }
        if let rank = node.state.rank { heading += "  rank \(rank)" }
        if node.notes.isMilestone { heading += "  ★" }
        if node.notes.alert != nil { heading += "  !" }
        if !node.state.deferred.isEmpty { heading += "  defers \(node.state.deferred.joined(separator: ", "))" }
        return heading
    }

    private func appendEdges(of node: Int, prefix: String, to lines: inout [String]) {
        for edge in edges where edge.source == node {
            let targets = edge.targets.map { nodes[$0].path }.joined(separator: " + ")
            let label = edge.label.isEmpty ? "default" : edge.label
            lines.append("\(prefix)   \(label)\(targets.isEmpty ? "" : " → \(targets)")")
        }
    }
}
