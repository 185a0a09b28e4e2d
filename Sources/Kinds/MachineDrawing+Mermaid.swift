internal import TelltaleStatechart

extension MachineDrawing {
    /// A Mermaid `stateDiagram-v2`, as Markdown renderers draw it.
    public func mermaid() -> String {
        var lines = ["---", "title: \(Self.yaml(title))", "---", "stateDiagram-v2"]
        appendScope(of: 0, indent: "  ", to: &lines)
        for edge in edges { append(edge, to: &lines) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func appendScope(of index: Int, indent: String, to lines: inout [String]) {
        let isParallel = nodes[index].state.kind == .parallel
        for (position, child) in nodes[index].children.enumerated() {
            if isParallel, position > 0 { lines.append("\(indent)--") }
            append(child, indent: indent, to: &lines)
        }
        for child in nodes[index].children where nodes[child].isInitial { lines.append("\(indent)[*] --> s\(child)") }
        for child in nodes[index].children where nodes[child].state.kind == .final {
            lines.append("\(indent)s\(child) --> [*]")
        }
        if edges.contains(where: { $0.source == index && isDrawnFromInside($0) }) {
            lines.append("\(indent)state \"any state\" as any\(index)")
        }
    }

    private func append(_ index: Int, indent: String, to lines: inout [String]) {
        let node = nodes[index]
        var title = node.title
        if case .history(let deep, _) = node.state.kind { title = deep ? "H*" : "H" }
        lines.append("\(indent)state \"\(Self.escaped(title))\" as s\(index)")
        guard node.isComposite else { return }
        lines.append("\(indent)state s\(index) {")
        appendScope(of: index, indent: indent + "  ", to: &lines)
        lines.append("\(indent)}")
    }

    private func append(_ edge: Edge, to lines: inout [String]) {
        let tail = isDrawnFromInside(edge) ? "any\(edge.source)" : "s\(edge.source)"
        let label = edge.label.isEmpty ? "" : " : \(Self.escaped(edge.label))"
        if edge.targets.isEmpty { lines.append("  \(tail) --> \(tail)\(label)") }
        for target in edge.targets {
            // Mermaid cannot draw an arrow from a state to one of its ancestors either.
            let head = target == edge.source || isInside(edge.source, target) ? firstLeaf(of: target) : target
            lines.append("  \(tail) --> s\(head)\(label)")
        }
    }

    /// Escapes the characters that would end a label or a text by their codes, in Mermaid's syntax.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "#", ";", ":", "<", ">", "{", "}", "`", "\\", "%": result += "#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func yaml(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: " ") + "\""
    }
}
