/// Places, in pixels of a drawing at its own scale; y grows downward.
extension LayeredLayout {
    struct Point: Hashable, Sendable {
        var x: Double
        var y: Double
    }

    struct Frame: Hashable, Sendable {
        var x = 0.0
        var y = 0.0
        var width = 0.0
        var height = 0.0
        var maxX: Double { x + width }
        var maxY: Double { y + height }
    }
}
