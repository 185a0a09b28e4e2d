/// Lays out a diagram: first from the outside in (the side at which an edge leaves its state), then from the inside out (sizes).
///
/// An edge crosses the border of a composite state at a port: the layout inside begins or ends there, and the layout outside
/// continues from there.
struct DiagramPlacement {
    typealias Vertex = LayeredLayout.Vertex
    typealias Edge = LayeredLayout.Edge
    typealias Point = LayeredLayout.Point

    private enum Side: Hashable { case top, bottom }

    /// An edge at the border of a container, and the child inside where it begins or ends.
    private struct Port {
        var link: Int
        var child: Int
        var side: Side
        /// The line runs inward.
        var isInward: Bool
        var label: Bool
    }

    /// An edge between two children of a container, or a child and a port.
    private struct Hop {
        var link: Int
        var upper: Int?
        var lower: Int?
        var isForward: Bool
        var hasLabel: Bool
    }

    private(set) var boxes: [Diagram.Box]
    private(set) var links: [Diagram.Link]
    private var ports: [[Port]]
    private var hops: [[Hop]]
    private var ranks: [Int]
    private var own: [[Int]]
    private var portOffsets: [[Int: Double]]
    private var pieces: [[(key: Int, container: Int, points: [Point])]]
    private var labelOwner: [Int: Int] = [:]
    private var spans = 0
    private let spanLimit: Int

    init(boxes: [Diagram.Box], links: [Diagram.Link], spanLimit: Int) {
        self.spanLimit = spanLimit
        (self.boxes, self.links) = (boxes, links)
        ports = Array(repeating: [], count: boxes.count)
        hops = Array(repeating: [], count: boxes.count)
        ranks = Array(repeating: 2, count: boxes.count)
        own = Array(repeating: [], count: boxes.count)
        portOffsets = Array(repeating: [:], count: boxes.count)
        pieces = Array(repeating: [], count: links.count)
    }

    /// Whether the diagram is small enough.
    mutating func place() -> Bool {
        for link in links.indices { own[container(of: links[link])].append(link) }
        let containers = boxes.indices.filter { boxes[$0].isContainer }.sorted {
            (boxes[$0].depth, $0) < (boxes[$1].depth, $1)
        }
        for container in containers { decide(container) }
        guard spans <= spanLimit else { return false }
        for index in boxes.indices where !boxes[index].isContainer { measure(index) }
        for container in containers.reversed() { layOut(container) }
        boxes[0].frame.x = Metric.margin
        boxes[0].frame.y = Metric.margin
        for container in containers { shift(container) }
        join()
        return true
    }

    private func child(of container: Int, holding box: Int) -> Int? {
        var box = box
        while box != container {
            guard let parent = boxes[box].parent else { return nil }
            if parent == container { return box }
            box = parent
        }
        return nil
    }

    private func container(of link: Diagram.Link) -> Int {
        var (left, right) = (link.source, link.target)
        while left != right {
            if boxes[left].depth >= boxes[right].depth, let parent = boxes[left].parent {
                left = parent
            } else if let parent = boxes[right].parent {
                right = parent
            } else {
                break
            }
        }
        return left
    }

    // MARK: - Which way

    private mutating func decide(_ container: Int) {
        let children = boxes[container].children
        var inside: [(link: Int, from: Int, to: Int)] = []
        for link in own[container] {
            if let from = child(of: container, holding: links[link].source),
                let to = child(of: container, holding: links[link].target)
            {
                inside.append((link, from, to))
            }
        }
        rank(children, inside.map { ($0.from, $0.to) })
        let last = (children.map { ranks[$0] }.max() ?? 2) + 2
        for (link, from, to) in inside {
            let isForward = ranks[from] < ranks[to]
            let (upper, lower) = isForward ? (from, to) : (to, from)
            hops[container].append(
                Hop(link: link, upper: upper, lower: lower, isForward: isForward, hasLabel: !links[link].labels.isEmpty)
            )
            spans += ranks[lower] - ranks[upper]
            continueInside(link, upper, side: .bottom, isInward: !isForward)
            continueInside(link, lower, side: .top, isInward: isForward)
        }
        for link in own[container] {
            let isInward = links[link].source == container
            guard isInward || links[link].target == container,
                let child = child(of: container, holding: isInward ? links[link].target : links[link].source)
            else { continue }
            ports[container].append(
                Port(
                    link: link, child: child, side: ranks[child] * 2 > last ? .bottom : .top, isInward: isInward,
                    label: !links[link].labels.isEmpty))
        }
        for port in ports[container] {
            let isTop = port.side == .top
            hops[container].append(
                Hop(
                    link: port.link, upper: isTop ? nil : port.child, lower: isTop ? port.child : nil,
                    isForward: isTop == port.isInward, hasLabel: port.label))
            spans += isTop ? ranks[port.child] : last - ranks[port.child]
            continueInside(port.link, port.child, side: port.side, isInward: port.isInward)
        }
    }

    private mutating func continueInside(_ link: Int, _ box: Int, side: Side, isInward: Bool) {
        guard box != (isInward ? links[link].target : links[link].source), boxes[box].isContainer,
            let inner = child(of: box, holding: isInward ? links[link].target : links[link].source)
        else { return }
        ports[box].append(Port(link: link, child: inner, side: side, isInward: isInward, label: false))
    }

    /// Even ranks by the longest path, after reversing the edges that close a cycle.
    private mutating func rank(_ children: [Int], _ edges: [(from: Int, to: Int)]) {
        var next: [Int: [Int]] = [:]
        for edge in edges { next[edge.from, default: []].append(edge.to) }
        var finished: [Int] = []
        var state: [Int: Bool] = [:]
        var forward: [Int: [Int]] = [:]
        let entered = Set(edges.map(\.to))
        let roots =
            children.filter { boxes[$0].form == .initial } + children.filter { !entered.contains($0) } + children
        let place = Dictionary(uniqueKeysWithValues: children.enumerated().map { ($1, $0) })
        for root in roots where state[root] == nil {
            var stack: [(box: Int, at: Int)] = [(root, 0)]
            state[root] = false
            while let (box, at) = stack.last {
                let targets = (next[box] ?? [])
                guard at < targets.count else {
                    state[box] = true
                    finished.append(box)
                    stack.removeLast()
                    continue
                }
                if at == 0 { next[box] = targets.sorted { (place[$0] ?? 0) < (place[$1] ?? 0) } }
                stack[stack.count - 1].at += 1
                let target = (next[box] ?? [])[at]
                if state[target] == false {
                    forward[target, default: []].append(box)
                } else {
                    forward[box, default: []].append(target)
                    if state[target] == nil {
                        state[target] = false
                        stack.append((target, 0))
                    }
                }
            }
        }
        for box in children { ranks[box] = boxes[box].form == .initial ? 0 : 2 }
        for box in finished.reversed() {
            for target in forward[box] ?? [] { ranks[target] = max(ranks[target], ranks[box] + 2) }
        }
        let last = children.map { ranks[$0] }.max() ?? 2
        for box in children where !entered.contains(box) {
            if boxes[box].form == .final { ranks[box] = last }
            if boxes[box].form == .initial || boxes[box].form == .history {
                guard let target = (forward[box] ?? []).map({ ranks[$0] }).min() else { continue }
                ranks[box] = max(boxes[box].form == .initial ? 0 : 2, target - 2)
            }
        }
    }

    // MARK: - Sizes

    private func nameWidth(_ box: Diagram.Box) -> Double {
        let texts =
            [TextWidth.of(box.name, size: Metric.nameSize) * 1.08, TextWidth.of(box.subtitle, size: Metric.labelSize)]
            + box.inner.map { TextWidth.of($0.text, size: Metric.labelSize) }
        return min(texts.max() ?? 0, Metric.nameLimit)
    }

    private func headHeight(_ box: Diagram.Box) -> Double {
        18 + (box.subtitle.isEmpty ? 0 : Metric.line) + Double(box.inner.count) * Metric.line
    }

    private mutating func measure(_ index: Int) {
        switch boxes[index].form {
        case .initial: boxes[index].frame = .init(width: 12, height: 12)
        case .history: boxes[index].frame = .init(width: 28, height: 28)
        default:
            boxes[index].frame = .init(
                width: max(nameWidth(boxes[index]) + 28, 84), height: headHeight(boxes[index]) + 18)
        }
        addLoop(index)
    }

    private mutating func addLoop(_ index: Int) {
        let labels = boxes[index].loops.map { TextWidth.of($0.text, size: Metric.labelSize) }
        let loop = labels.isEmpty ? 0 : Metric.loop + 6 + (labels.max() ?? 0)
        boxes[index].cellWidth = boxes[index].frame.width + loop
        boxes[index].frame.height = max(boxes[index].frame.height, Double(labels.count) * Metric.line + 8)
    }

    private mutating func layOut(_ container: Int) {
        let children = boxes[container].children
        let last = (children.map { ranks[$0] }.max() ?? 2) + 2
        let isParallel = children.contains { boxes[$0].form == .region }
        if isParallel {
            let tallest = children.map { boxes[$0].frame.height }.max() ?? 0
            for child in children where boxes[child].form == .region { boxes[child].frame.height = tallest }
        }
        let headWidth = nameWidth(boxes[container])
        var vertices = [
            Vertex(width: headWidth, height: headHeight(boxes[container]), rank: 0, body: 0, isFirst: true)
        ]
        var place: [Int: Int] = [:]
        for child in children {
            place[child] = vertices.count
            vertices.append(
                Vertex(
                    width: boxes[child].cellWidth, height: boxes[child].frame.height, rank: ranks[child],
                    body: boxes[child].frame.width))
        }
        var edges: [Edge] = []
        var portVertex: [Int: Int] = [:]
        for hop in hops[container] {
            func end(_ box: Int?, isTop: Bool) -> (Int, Double?) {
                if let box { return (place[box] ?? 0, portOffsets[box][hop.link]) }
                vertices.append(Vertex(width: 8, height: 0, rank: isTop ? 0 : last, body: 8))
                portVertex[hop.link] = vertices.count - 1
                return (vertices.count - 1, 4)
            }
            let (upper, upperOffset) = end(hop.upper, isTop: true)
            let (lower, lowerOffset) = end(hop.lower, isTop: false)
            var edge = Edge(upper: upper, lower: lower, upperOffset: upperOffset, lowerOffset: lowerOffset)
            if hop.hasLabel {
                let labels = links[hop.link].labels
                edge.label = (
                    (labels.map { TextWidth.of($0.text, size: Metric.labelSize) }.max() ?? 0) + 8,
                    Double(labels.count) * Metric.line,
                    hop.isForward ? vertices[upper].rank + 1 : vertices[lower].rank - 1
                )
                labelOwner[hop.link] = container
            }
            edges.append(edge)
        }
        let layout = LayeredLayout(vertices, edges, keepsOrder: isParallel)
        boxes[container].frame = .init(
            width: layout.width + 2 * Metric.padding, height: layout.height + 2 * Metric.padding)
        addLoop(container)
        for child in children {
            let vertex = layout.vertices[place[child] ?? 0]
            boxes[child].frame.x = vertex.x + Metric.padding
            boxes[child].frame.y = vertex.y + Metric.padding
        }
        for (hop, edge) in zip(hops[container], layout.edges) {
            if let port = portVertex[hop.link] {
                portOffsets[container][hop.link] = layout.vertices[port].x + 4 + Metric.padding
            }
            route(hop, along: edge, in: container)
        }
    }

    /// Adds the piece of a link that lies in a container which has been laid out.
    private mutating func route(_ hop: Hop, along edge: Edge, in container: Int) {
        var points = edge.points.map { Point(x: $0.x + Metric.padding, y: $0.y + Metric.padding) }
        if hop.upper == nil { points.insert(Point(x: points[0].x, y: 0), at: 0) }
        if hop.lower == nil { points.append(Point(x: points[points.count - 1].x, y: boxes[container].frame.height)) }
        if !hop.isForward { points.reverse() }
        let link = links[hop.link]
        let ownDepth = boxes[self.container(of: link)].depth
        let isSourceSide = child(of: container, holding: link.source) != nil || link.source == container
        let depth = boxes[container].depth - ownDepth
        let key: Int = isSourceSide && depth > 0 ? -depth : depth
        pieces[hop.link].append((key: key, container: container, points: points))
        if let frame = edge.labelFrame {
            links[hop.link].labelFrame = .init(
                x: frame.x + Metric.padding, y: frame.y + Metric.padding, width: frame.width, height: frame.height)
        }
    }

    // MARK: - Places

    private mutating func shift(_ container: Int) {
        for child in boxes[container].children {
            boxes[child].frame.x += boxes[container].frame.x
            boxes[child].frame.y += boxes[container].frame.y
        }
    }

    private mutating func join() {
        for index in links.indices {
            var points: [Point] = []
            for piece in pieces[index].sorted(by: { $0.key < $1.key }) {
                let frame = boxes[piece.container].frame
                var moved = piece.points.map { Point(x: $0.x + frame.x, y: $0.y + frame.y) }
                // A region is as high as its neighbours, so its ports at the bottom move with its border.
                if let last = points.last, let first = moved.first, abs(last.x - first.x) < 0.01 { moved[0].y = last.y }
                points += moved
            }
            links[index].points = points.enumerated().filter { $0 == 0 || points[$0 - 1] != $1 }.map(\.element)
            if let owner = labelOwner[index] {
                links[index].labelFrame?.x += boxes[owner].frame.x
                links[index].labelFrame?.y += boxes[owner].frame.y
            }
        }
    }
}
