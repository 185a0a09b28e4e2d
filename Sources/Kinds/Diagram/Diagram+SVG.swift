internal import TelltaleModel

extension Diagram {
    /// The diagram as SVG without scripts and without links.
    ///
    /// - Parameter isStandalone: Whether it includes a style, light and dark. Without it the drawing has elements and attributes
    ///   only, for pages whose policy forbids inline styles: `data-state` and `data-active` on states, `data-event`, `data-to`
    ///   and `data-after` (milliseconds) on transitions.
    public func svg(isStandalone: Bool) -> String {
        let (width, height) = size
        var out = SVGText()
        let measures = "width=\"\(out.number(width))\" height=\"\(out.number(height))\""
        out.raw(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"statechart\" viewBox=\"0 0 \(out.number(width)) "
                + "\(out.number(height))\" \(measures) role=\"img\" font-family=\"system-ui, sans-serif\" "
                + "font-size=\"11\" fill=\"#222\">\n")
        if isStandalone { out.raw(Self.style) }
        out.raw("<title>")
        out.text("\(drawing.title): states and transitions")
        out.raw("</title>\n")
        for index in boxes.indices.sorted(by: { (boxes[$0].depth, $0) < (boxes[$1].depth, $1) }) { append(index, &out) }
        for link in links { append(link, &out) }
        for index in boxes.indices { appendLoops(of: index, &out) }
        out.raw("</svg>\n")
        return out.result
    }

    private func path(_ box: Int) -> String { boxes[box].node.map { drawing.nodes[$0].path } ?? "" }

    private func append(_ index: Int, _ out: inout SVGText) {
        let box = boxes[index]
        let frame = box.frame
        if box.form == .initial {
            out.raw(
                "<circle class=\"initial\" cx=\"\(out.number(frame.x + 6))\" cy=\"\(out.number(frame.y + 6))\" r=\"6\"/>\n"
            )
            return
        }
        let isMachine = box.form == .machine
        out.raw("<g class=\"\(isMachine ? "machine" : "state \(box.form)")\"")
        if !isMachine {
            out.attribute("data-state", path(index))
            out.raw(" data-active=\"false\" data-testid=\"diagram-state\"")
        }
        out.raw("><title>")
        out.text(box.subtitle.isEmpty ? (isMachine ? box.name : path(index)) : "\(path(index)): \(box.subtitle)")
        out.raw("</title>")
        let radius = box.form == .history ? 14.0 : box.isContainer ? 14 : 10
        out.raw(
            "<rect x=\"\(out.number(frame.x))\" y=\"\(out.number(frame.y))\" width=\"\(out.number(frame.width))\" "
                + "height=\"\(out.number(frame.height))\" rx=\"\(out.number(radius))\" fill=\"#fff\" stroke=\"#999\""
                + (box.form == .region ? " stroke-dasharray=\"5 4\"" : "") + "/>")
        if box.form == .final {
            out.raw(
                "<rect class=\"ring\" x=\"\(out.number(frame.x + 3))\" y=\"\(out.number(frame.y + 3))\" "
                    + "width=\"\(out.number(frame.width - 6))\" height=\"\(out.number(frame.height - 6))\" rx=\"7.5\" "
                    + "fill=\"none\" stroke=\"#999\"/>")
        }
        let isLeft = box.isContainer
        let x = isLeft ? frame.x + Metric.padding : frame.x + frame.width / 2
        let anchor = isLeft ? "start" : "middle"
        let lines = 1 + (box.subtitle.isEmpty ? 0 : 1) + box.inner.count
        var y = isLeft ? frame.y + 26 : frame.y + frame.height / 2 - Double(lines - 1) * Metric.line / 2 + 4.5
        func line(_ kind: String, _ text: String, size: Double, weight: String, _ extra: String = "") {
            out.raw(
                "<text class=\"\(kind)\" x=\"\(out.number(x))\" y=\"\(out.number(y))\" text-anchor=\"\(anchor)\" "
                    + "font-size=\"\(out.number(size))\" font-weight=\"\(weight)\"\(extra)>")
            out.text(TextWidth.cut(text, size: size, to: Metric.nameLimit))
            out.raw("</text>")
            y += Metric.line
        }
        line("name", box.name, size: Metric.nameSize, weight: "600")
        if !box.subtitle.isEmpty { line("subtitle", box.subtitle, size: Metric.labelSize, weight: "400") }
        for label in box.inner { line("inner", label.text, size: Metric.labelSize, weight: "400") }
        out.raw("</g>\n")
    }

    private func append(_ link: Link, _ out: inout SVGText) {
        guard let first = link.points.first, let tip = link.points.last, link.points.count > 1 else { return }
        var line = "M\(out.number(first.x)) \(out.number(first.y))"
        for (from, to) in zip(link.points, link.points.dropFirst()) {
            let middle = out.number((from.y + to.y) / 2)
            if abs(from.x - to.x) < 0.05 {
                line += "L\(out.number(to.x)) \(out.number(to.y))"
            } else {
                line +=
                    "C\(out.number(from.x)) \(middle) \(out.number(to.x)) \(middle) \(out.number(to.x)) \(out.number(to.y))"
            }
        }
        // Lines end vertically, so the arrowhead points up or down.
        let before = link.points.last { $0.y != tip.y } ?? first
        let back = before.y < tip.y ? -8.0 : 8.0
        let head =
            "M\(out.number(tip.x)) \(out.number(tip.y))L\(out.number(tip.x - 4)) \(out.number(tip.y + back))"
            + "L\(out.number(tip.x + 4)) \(out.number(tip.y + back))Z"
        let labels = link.labels.isEmpty ? [Label(text: "", full: "", event: "")] : link.labels
        for (row, label) in labels.enumerated() {
            begin(label, source: link.source, target: link.target, &out)
            out.raw("<path class=\"line\" d=\"\(line)\" fill=\"none\" stroke=\"#777\" stroke-width=\"1.4\"/>")
            out.raw("<path class=\"head\" d=\"\(head)\" fill=\"#777\"/>")
            if let frame = link.labelFrame {
                text(label, x: frame.x, y: frame.y + Double(row) * Metric.line + 11, &out)
            }
            out.raw("</g>\n")
        }
    }

    private func appendLoops(of index: Int, _ out: inout SVGText) {
        let box = boxes[index]
        guard !box.loops.isEmpty else { return }
        let (x, middle) = (box.frame.maxX, box.frame.y + box.frame.height / 2)
        let far = out.number(x + Metric.loop)
        let (up, down) = (out.number(middle - 9), out.number(middle + 9))
        for (row, label) in box.loops.enumerated() {
            begin(label, source: index, target: index, &out)
            out.raw(
                "<path class=\"line\" d=\"M\(out.number(x)) \(up)C\(far) \(out.number(middle - 16)) \(far) "
                    + "\(out.number(middle + 16)) \(out.number(x + 6)) \(down)\" fill=\"none\" stroke=\"#777\" stroke-width=\"1.4\"/>"
            )
            out.raw(
                "<path class=\"head\" d=\"M\(out.number(x)) \(down)L\(out.number(x + 8)) \(out.number(middle + 6))"
                    + "L\(out.number(x + 7)) \(out.number(middle + 14))Z\" fill=\"#777\"/>")
            let top = middle - Double(box.loops.count) * Metric.line / 2
            text(label, x: x + Metric.loop, y: top + Double(row) * Metric.line + 11, &out)
            out.raw("</g>\n")
        }
    }

    private func begin(_ label: Label, source: Int, target: Int, _ out: inout SVGText) {
        out.raw("<g class=\"edge\"")
        if !label.event.isEmpty { out.attribute("data-event", label.event) }
        out.attribute("data-from", path(source))
        out.attribute("data-to", path(target))
        if let delay = label.delay { out.attribute("data-after", String(delay)) }
        out.raw(">")
        if label.text != label.full {
            out.raw("<title>")
            out.text(label.full)
            out.raw("</title>")
        }
    }

    private func text(_ label: Label, x: Double, y: Double, _ out: inout SVGText) {
        out.raw("<text class=\"label\" x=\"\(out.number(x))\" y=\"\(out.number(y))\">")
        out.text(label.text)
        out.raw("</text>")
    }

    private static let style = """
        <style>
        .statechart { color-scheme: light dark; background: #fff; }
        .statechart text { fill: #1d1d1f; } .statechart .subtitle, .statechart .inner, .statechart .label { fill: #515156; }
        .machine rect { fill: #f5f5f7; stroke: none; } .state rect { fill: #fff; stroke: #b5b5bb; }
        .composite rect, .region rect { fill: #ececef; } .final .ring { fill: none; }
        .line { stroke: #77777d; } .head, .initial { fill: #55555a; }
        @media (prefers-color-scheme: dark) {
        .statechart { background: #000; } .statechart text { fill: #f5f5f7; }
        .statechart .subtitle, .statechart .inner, .statechart .label { fill: #a9a9b0; }
        .machine rect { fill: #161618; } .state rect { fill: #2c2c2e; stroke: #5b5b60; } .final .ring { fill: none; }
        .composite rect, .region rect { fill: #1f1f22; } .line { stroke: #8e8e93; } .head, .initial { fill: #b5b5bb; }
        }
        </style>

        """
}

/// An SVG document under construction. Texts and attribute values are escaped. Characters that XML 1.0 forbids, or that would
/// change the direction of the surrounding text, become spaces.
private struct SVGText {
    private(set) var result = ""

    mutating func raw(_ text: String) { result += text }

    mutating func attribute(_ name: String, _ value: String) {
        result += " \(name)=\""
        text(value)
        result += "\""
    }

    mutating func text(_ text: String) {
        for scalar in text.harmless.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\u{FFFE}", "\u{FFFF}": result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// With one decimal.
    func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
