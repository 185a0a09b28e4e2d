internal import TelltaleModel
internal import TelltaleStatechart

/// A machine's states and transitions with their places, for a drawing.
///
/// Pure and deterministic: the same kind file gives the same places.
public struct Diagram: Sendable {
    typealias Frame = LayeredLayout.Frame
    typealias Point = LayeredLayout.Point

    /// The size up to which a machine is laid out. The time of a layout grows faster than the machine.
    public struct Limits: Hashable, Sendable {
        public var states: Int
        public var transitions: Int
        /// How many layers all lines cross in total.
        var spans: Int

        /// For a command that a person runs: takes seconds.
        public static let standard = Limits(states: 1000, transitions: 20_000, spans: 60_000)
        /// For a request that delays others: takes about a tenth of a second.
        public static let interactive = Limits(states: 200, transitions: 400, spans: 3000)
    }

    struct Box: Sendable {
        enum Form: Hashable, Sendable { case machine, leaf, composite, region, final, history, initial }

        var form: Form
        /// The index of the state in the drawing; `nil` for the dot of an initial state.
        var node: Int?
        var parent: Int?
        var children: [Int] = []
        var name = ""
        var subtitle = ""
        /// Transitions without a target: they run actions only.
        var inner: [Label] = []
        /// Transitions to the state itself.
        var loops: [Label] = []
        /// From the left of the box to the end of the labels of its loops.
        var cellWidth = 0.0
        var frame = Frame()
        var depth = 0

        var isContainer: Bool { form == .machine || form == .composite || form == .region }
    }

    struct Label: Hashable, Sendable {
        var text: String
        var full: String
        var event: String
        var delay: Int64?
    }

    /// Transitions from one state to another: one line, and a label for each.
    struct Link: Sendable {
        var source: Int
        var target: Int
        var labels: [Label] = []
        var labelFrame: Frame?
        var points: [Point] = []
    }

    private(set) var boxes: [Box] = []
    private(set) var links: [Link] = []
    let drawing: MachineDrawing

    var size: (width: Double, height: Double) {
        (boxes[0].frame.maxX + Metric.margin, boxes[0].frame.maxY + Metric.margin)
    }

    /// `nil` for a machine that is too large to draw.
    public init?(_ drawing: MachineDrawing, limits: Limits = .standard) {
        self.drawing = drawing
        guard drawing.nodes.count <= limits.states, drawing.edges.count <= limits.transitions else { return nil }
        collectBoxes()
        collectLinks()
        var placement = DiagramPlacement(boxes: boxes, links: links, spanLimit: limits.spans)
        guard placement.place() else { return nil }
        (boxes, links) = (placement.boxes, placement.links)
    }

    private mutating func collectBoxes() {
        for (index, node) in drawing.nodes.enumerated() {
            let parent = node.parent
            let isRegion = parent.map { drawing.nodes[$0].state.kind == .parallel } ?? false
            let form: Box.Form =
                switch node.state.kind {
                case _ where index == 0: .machine
                case .history: .history
                case .final: .final
                case _ where node.isComposite: isRegion ? .region : .composite
                case .atomic, .compound, .parallel: .leaf
                }
            var box = Box(form: form, node: index, parent: parent, children: node.children)
            box.name = index == 0 ? drawing.title : node.state.key
            if index > 0, node.title != node.state.key, form != .history { box.subtitle = node.title }
            if case .history(let deep, _) = node.state.kind { box.name = deep ? "H*" : "H" }
            box.depth = parent.map { boxes[$0].depth + 1 } ?? 0
            boxes.append(box)
        }
        for index in drawing.nodes.indices {
            guard case .compound(let initial) = drawing.nodes[index].state.kind else { continue }
            let targets = initial.compactMap { drawing.find($0) }.filter { drawing.isInside($0, index) }
            guard !targets.isEmpty else { continue }
            let dot = boxes.count
            boxes.append(Box(form: .initial, parent: index, depth: boxes[index].depth + 1))
            boxes[index].children.insert(dot, at: 0)
            for target in targets { links.append(Link(source: dot, target: target)) }
        }
    }

    private mutating func collectLinks() {
        var known: [[Int]: Int] = [:]
        for edge in drawing.edges {
            let text = TextWidth.cut(edge.label, size: Metric.labelSize, to: Metric.labelLimit)
            let label = Label(text: text, full: edge.label, event: edge.event, delay: edge.delay?.count)
            if edge.targets.isEmpty {
                boxes[edge.source].inner.append(label)
            } else if edge.targets == [edge.source] {
                boxes[edge.source].loops.append(label)
            }
            for (place, target) in edge.targets.enumerated() where target != edge.source {
                let link = known[[edge.source, target]] ?? links.count
                if link == links.count {
                    known[[edge.source, target]] = link
                    links.append(Link(source: edge.source, target: target))
                }
                if place == 0, !edge.label.isEmpty { links[link].labels.append(label) }
            }
        }
    }
}

/// Sizes in pixels of a drawing at its own scale.
enum Metric {
    static let margin = 12.0
    static let padding = 14.0
    static let nameSize = 13.0
    static let labelSize = 11.0
    static let nameLimit = 190.0
    static let labelLimit = 190.0
    static let line = 15.0
    static let loop = 22.0
}
