/// Arranges boxes in horizontal layers, with the edges between them.
///
/// Sugiyama's method: an edge that spans several layers gets a position in each of them, so that no edge crosses a box. Its label
/// gets a separate position, so that no label covers a box. The order within layers follows barycentres; positions minimize the
/// squared lengths of edges under that order. It is deterministic.
struct LayeredLayout {
    struct Vertex {
        var width: Double
        var height: Double
        var rank: Int
        /// The part of the width that edges may touch.
        var body: Double
        /// Whether it is the first of its layer.
        var isFirst = false
        var x = 0.0
        var y = 0.0
        /// A position of an edge within a layer: the edge passes through it.
        var isThrough = false
        var order = 0.0
    }

    /// An edge from an upper vertex to a lower one.
    struct Edge {
        var upper: Int
        var lower: Int
        /// Where it touches the vertex, from the left; `nil` = not fixed.
        var upperOffset: Double?
        var lowerOffset: Double?
        var label: (width: Double, height: Double, rank: Int)?
        /// From the upper vertex to the lower one.
        var points: [Point] = []
        var labelFrame: Frame?
    }

    private struct Segment {
        var upper: Int
        var lower: Int
        var upperOffset: Double
        var lowerOffset: Double
        var isUpperFree = false
        var isLowerFree = false
    }

    private static let space = 22.0

    private(set) var vertices: [Vertex]
    private(set) var edges: [Edge]
    private(set) var width = 0.0
    private(set) var height = 0.0
    private var segments: [Segment] = []
    private var chains: [[Int]] = []
    private var labels: [Int?] = []
    private var layers: [[Int]] = []
    /// The segments that end at a vertex, and those that begin there.
    private var (above, below): ([[Int]], [[Int]]) = ([], [])
    /// For each layer.
    private var (tops, bottoms): ([Double], [Double]) = ([], [])

    /// - Parameter keepsOrder: Keep the boxes of one layer in the given order.
    init(_ vertices: [Vertex], _ edges: [Edge], keepsOrder: Bool) {
        self.vertices = vertices
        self.edges = edges
        closeGaps()
        split()
        order(keepsOrder: keepsOrder)
        placeX()
        attach()
        placeY()
        route()
    }

    /// Removes the ranks that contain neither a box nor a label.
    private mutating func closeGaps() {
        let used = Set(vertices.map(\.rank) + edges.compactMap { $0.label?.rank }).sorted()
        let ranks = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($1, $0) })
        for index in vertices.indices { vertices[index].rank = ranks[vertices[index].rank] ?? 0 }
        for index in edges.indices {
            if let rank = edges[index].label?.rank { edges[index].label?.rank = ranks[rank] ?? 0 }
        }
        layers = Array(repeating: [], count: used.count)
    }

    private mutating func split() {
        for index in edges.indices {
            let edge = edges[index]
            var chain: [Int] = []
            var labelVertex: Int?
            var last = edge.upper
            var offset = edge.upperOffset
            for rank in stride(from: vertices[edge.upper].rank + 1, to: vertices[edge.lower].rank, by: 1) {
                let isLabel = edge.label?.rank == rank
                let width = isLabel ? (edge.label?.width ?? 0) : 4
                vertices.append(
                    Vertex(
                        width: width, height: isLabel ? (edge.label?.height ?? 0) : 0, rank: rank, body: 0,
                        isThrough: true))
                let next = vertices.count - 1
                if isLabel { labelVertex = next }
                chain.append(segment(last, next, offset, 2))
                (last, offset) = (next, 2)
            }
            chain.append(segment(last, edge.lower, offset, edge.lowerOffset))
            chains.append(chain)
            labels.append(labelVertex)
        }
        above = Array(repeating: [], count: vertices.count)
        below = above
        for (index, segment) in segments.enumerated() {
            below[segment.upper].append(index)
            above[segment.lower].append(index)
        }
        for index in vertices.indices { layers[vertices[index].rank].append(index) }
    }

    private mutating func segment(_ upper: Int, _ lower: Int, _ upperOffset: Double?, _ lowerOffset: Double?) -> Int {
        segments.append(
            Segment(
                upper: upper, lower: lower, upperOffset: upperOffset ?? vertices[upper].body / 2,
                lowerOffset: lowerOffset ?? vertices[lower].body / 2, isUpperFree: upperOffset == nil,
                isLowerFree: lowerOffset == nil))
        return segments.count - 1
    }

    // MARK: - Order

    private mutating func order(keepsOrder: Bool) {
        func number() {
            for layer in layers {
                for (place, vertex) in layer.enumerated() { vertices[vertex].order = Double(place) }
            }
        }
        number()
        var best = layers
        var fewest = crossings()
        for round in 0..<12 where fewest > 0 {
            let isDown = round % 2 == 0
            for rank in isDown ? Array(layers.indices.dropFirst()) : layers.indices.dropLast().reversed() {
                let layer = layers[rank]
                var wishes: [Int: Double] = [:]
                for vertex in layer {
                    let near = isDown ? above[vertex] : below[vertex]
                    let sum = near.reduce(0.0) { sum, index in
                        let segment = segments[index]
                        let other = isDown ? segment.upper : segment.lower
                        let offset = isDown ? segment.upperOffset : segment.lowerOffset
                        return sum + vertices[other].order + offset / (vertices[other].width + 1) * 0.9
                    }
                    wishes[vertex] = near.isEmpty ? vertices[vertex].order : sum / Double(near.count)
                    if vertices[vertex].isFirst { wishes[vertex] = -1 }
                }
                if keepsOrder, layer.contains(where: { vertices[$0].body > 0 && !vertices[$0].isFirst }) { continue }
                layers[rank] = layer.enumerated().sorted {
                    let (left, right) = (wishes[$0.element] ?? 0, wishes[$1.element] ?? 0)
                    return left == right ? $0.offset < $1.offset : left < right
                }.map(\.element)
                for (place, vertex) in layers[rank].enumerated() { vertices[vertex].order = Double(place) }
            }
            let count = crossings()
            if count < fewest { (fewest, best) = (count, layers) }
        }
        layers = best
        number()
    }

    /// The number of crossings between segments.
    private func crossings() -> Int {
        var total = 0
        for layer in layers.dropLast() {
            let ends = layer.flatMap { vertex in
                below[vertex].sorted { segments[$0].upperOffset < segments[$1].upperOffset }
                    .map { vertices[segments[$0].lower].order }
            }
            var sorted: [Double] = []
            for end in ends {
                var low = 0
                var high = sorted.count
                while low < high {
                    let middle = (low + high) / 2
                    if sorted[middle] <= end { low = middle + 1 } else { high = middle }
                }
                total += sorted.count - low
                sorted.insert(end, at: low)
            }
        }
        return total
    }

    // MARK: - Positions

    private mutating func placeX() {
        for layer in layers {
            var x = 0.0
            for vertex in layer {
                vertices[vertex].x = x
                x += vertices[vertex].width + Self.space
            }
        }
        for round in 0..<14 {
            let isDown = round % 2 == 0
            for rank in isDown ? Array(layers.indices) : layers.indices.reversed() {
                placeLayer(layers[rank], isDown: isDown, isLast: round > 11)
            }
        }
        for vertex in vertices.indices where vertices[vertex].isFirst {
            // Leftmost like all others, or further right if a neighbour needs the room.
            let (rank, room) = (vertices[vertex].rank, vertices[vertex].width + Self.space)
            let others = vertices.indices.filter { $0 != vertex }
            vertices[vertex].x = others.map { vertices[$0].x - (vertices[$0].rank == rank ? room : 0) }.min() ?? 0
        }
        let left = vertices.map(\.x).min() ?? 0
        for vertex in vertices.indices { vertices[vertex].x -= left }
        width = vertices.map { $0.x + $0.width }.max() ?? 0
    }

    /// Moves the vertices of a layer as close to their preferred positions as their order allows: pooled adjacent violators.
    private mutating func placeLayer(_ layer: [Int], isDown: Bool, isLast: Bool) {
        var blocks: [(wish: Double, weight: Double, count: Int)] = []
        var shift = 0.0
        var shifts: [Double] = []
        for vertex in layer {
            var (sum, weight) = (0.0, 0.0)
            for (isAbove, list) in [(true, above[vertex]), (false, below[vertex])] where isLast || isAbove == isDown {
                for index in list {
                    let segment = segments[index]
                    let other = isAbove ? segment.upper : segment.lower
                    let strength = vertices[vertex].isThrough && vertices[other].isThrough ? 8.0 : 1.0
                    let far = vertices[other].x + (isAbove ? segment.upperOffset : segment.lowerOffset)
                    sum += strength * (far - (isAbove ? segment.lowerOffset : segment.upperOffset))
                    weight += strength
                }
            }
            if weight == 0 { (sum, weight) = (vertices[vertex].x * 0.01, 0.01) }
            blocks.append((sum / weight - shift, weight, 1))
            shifts.append(shift)
            shift += vertices[vertex].width + Self.space
            while blocks.count > 1, blocks[blocks.count - 2].wish > blocks[blocks.count - 1].wish {
                let last = blocks.removeLast()
                let other = blocks.removeLast()
                let weight = other.weight + last.weight
                blocks.append(
                    ((other.wish * other.weight + last.wish * last.weight) / weight, weight, other.count + last.count))
            }
        }
        var place = 0
        for block in blocks {
            for _ in 0..<block.count {
                vertices[layer[place]].x = block.wish + shifts[place]
                place += 1
            }
        }
    }

    /// Distributes the edges that are not fixed along the border of a box.
    private mutating func attach() {
        for vertex in vertices.indices where vertices[vertex].body > 0 {
            for isBelow in [true, false] {
                let free = (isBelow ? below[vertex] : above[vertex]).filter {
                    isBelow ? segments[$0].isUpperFree : segments[$0].isLowerFree
                }
                func far(_ index: Int) -> Double {
                    let segment = segments[index]
                    return isBelow
                        ? vertices[segment.lower].x + segment.lowerOffset
                        : vertices[segment.upper].x + segment.upperOffset
                }
                let sorted = free.sorted { (far($0), $0) < (far($1), $1) }
                for (place, index) in sorted.enumerated() {
                    let offset = vertices[vertex].body * Double(place + 1) / Double(sorted.count + 1)
                    if isBelow { segments[index].upperOffset = offset } else { segments[index].lowerOffset = offset }
                }
            }
        }
        straighten()
    }

    /// Makes the only edge at a border vertical if the boxes overlap horizontally.
    private mutating func straighten() {
        for index in segments.indices {
            let segment = segments[index]
            let (upper, lower) = (vertices[segment.upper], vertices[segment.lower])
            let (from, to) = (upper.x + segment.upperOffset, lower.x + segment.lowerOffset)
            let margin = 10.0
            if segment.isUpperFree, below[segment.upper].count == 1, to > upper.x + margin,
                to < upper.x + upper.body - margin
            {
                segments[index].upperOffset = to - upper.x
            } else if segment.isLowerFree, above[segment.lower].count == 1, from > lower.x + margin,
                from < lower.x + lower.body - margin
            {
                segments[index].lowerOffset = from - lower.x
            }
        }
    }

    private mutating func placeY() {
        var y = 0.0
        for (rank, layer) in layers.enumerated() {
            let tallest = layer.map { vertices[$0].height }.max() ?? 0
            for vertex in layer {
                // An edge runs through its layer from top to bottom.
                vertices[vertex].y = y + (vertices[vertex].isThrough ? 0 : (tallest - vertices[vertex].height) / 2)
            }
            tops.append(y)
            bottoms.append(y + tallest)
            y += tallest
            guard rank < layers.count - 1 else { break }
            let widest =
                layer.flatMap { below[$0] }.map { index in
                    let segment = segments[index]
                    return abs(
                        vertices[segment.upper].x + segment.upperOffset - vertices[segment.lower].x
                            - segment.lowerOffset)
                }.max() ?? 0
            y += min(14 + widest * 0.16, 46)
        }
        height = y
    }

    private mutating func route() {
        for index in edges.indices {
            var points: [Point] = []
            for piece in chains[index] {
                let segment = segments[piece]
                let (upper, lower) = (vertices[segment.upper], vertices[segment.lower])
                let (from, to) = (upper.x + segment.upperOffset, lower.x + segment.lowerOffset)
                points.append(Point(x: from, y: upper.isThrough ? tops[upper.rank] : upper.y + upper.height))
                points.append(Point(x: from, y: bottoms[upper.rank]))
                points.append(Point(x: to, y: tops[lower.rank]))
                if !lower.isThrough { points.append(Point(x: to, y: lower.y)) }
            }
            edges[index].points = points
            if let label = labels[index] {
                let vertex = vertices[label]
                edges[index].labelFrame = Frame(
                    x: vertex.x + 6, y: vertex.y, width: vertex.width - 6, height: vertex.height)
            }
        }
    }
}
