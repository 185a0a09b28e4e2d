import Glibc

/// A chart: lines in SVG that fill any width, and labels in HTML beside them, so that a label is never scaled or cut.
struct Chart {
    struct Series {
        var name: String
        /// The number of its colour.
        var color: Int
        /// From 0 to 1 on both axes; `nil` is a gap.
        var points: [(x: Double, y: Double)?]
        /// Whether the room below the line is filled.
        var isFilled = false
    }

    /// A label and its place on the axis, from 0 to 1.
    struct Tick {
        var at: Double
        var text: String
    }

    var title: String
    var series: [Series]
    var yTicks: [Tick]
    var xTicks: [Tick]

    private static let (width, height) = (1_000.0, 300.0)

    var html: HTML {
        let grid = yTicks.map { tick -> HTML in
            let y = Self.text((1 - tick.at) * Self.height)
            return "<line class=\"grid\" x1=\"0\" y1=\"\(y)\" x2=\"1000\" y2=\"\(y)\"/>"
        }.joined()
        let labels = yTicks.map { tick -> HTML in
            "<span style=\"top:\(Self.text((1 - tick.at) * 100))%\">\(tick.text)</span>"
        }.joined()
        let below = xTicks.map { tick -> HTML in
            // A label at an end of the axis stays within it.
            let side: HTML = tick.at < 0.04 ? " class=\"first\"" : tick.at > 0.9 ? " class=\"last\"" : ""
            return "<span\(side) style=\"left:\(Self.text(tick.at * 100))%\">\(tick.text)</span>"
        }.joined()
        let legend = series.map { each -> HTML in
            "<span class=\"key c\(each.color)\">\(each.name)</span>"
        }.joined()
        return """
            <figure class="chart"><figcaption>\(title)<span class="legend">\(legend)</span></figcaption>
            <div class="plot"><div class="y">\(labels)</div>
            <svg viewBox="0 0 1000 300" preserveAspectRatio="none" role="img" aria-label="\(title)">\(grid)\
            \(series.map(lines).joined())</svg>
            <div class="x">\(below)</div></div></figure>

            """
    }

    private func lines(_ series: Series) -> HTML {
        var html: HTML = ""
        for run in series.points.split(whereSeparator: { $0 == nil }) {
            let points = run.compactMap(\.self)
            guard let first = points.first, let last = points.last else { continue }
            let path = points.map { "\(Self.x($0)),\(Self.y($0))" }.joined(separator: " ")
            if series.isFilled {
                html +=
                    "<polygon class=\"area c\(series.color)\" points=\"\(Self.x(first)),300 \(path) \(Self.x(last)),300\"/>"
            }
            // A point alone is a line of no length, which its round ends make a dot.
            let line = points.count == 1 ? "\(path) \(path)" : path
            html += "<polyline class=\"curve c\(series.color)\" points=\"\(line)\"/>"
        }
        return html
    }

    private static func x(_ point: (x: Double, y: Double)) -> String { text(point.x * width) }
    private static func y(_ point: (x: Double, y: Double)) -> String { text((1 - point.y) * height) }

    /// A number with one decimal.
    private static func text(_ value: Double) -> String {
        let tenths = Int((min(max(value, -10_000), 10_000) * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }
}

/// The scale of an axis: values to places from 0 to 1, and the values that have a label.
struct Scale {
    private let low: Double
    private let high: Double
    private let isLogarithmic: Bool
    let ticks: [(value: Double, at: Double)]

    /// From 0 to a round number that `most` fits below.
    init(upTo most: Double) {
        let step = Self.roundStep(max(most, 1) / 4)
        let steps = max(1, (max(most, 1) / step).rounded(.up))
        (low, high, isLogarithmic) = (0, step * steps, false)
        ticks = (0...Int(steps)).map { (Double($0) * step, Double($0) / steps) }
    }

    /// Whole powers of ten around the values, which are above 0.
    init(from least: Double, upTo most: Double) {
        let first = Self.decade(max(1, least)).rounded(.down)
        let last = max(first + 1, Self.decade(max(1, most)).rounded(.up))
        (low, high, isLogarithmic) = (first, last, true)
        ticks = (0...Int(last - first)).map { (Self.power(first + Double($0)), Double($0) / (last - first)) }
    }

    func place(of value: Double) -> Double {
        let value = isLogarithmic ? Self.decade(max(1, value)) : value
        return min(1, max(0, (value - low) / (high - low)))
    }

    /// 1, 2 or 5 times a power of ten, at least `step`; whole.
    private static func roundStep(_ step: Double) -> Double {
        var unit = 1.0
        while unit * 10 <= step { unit *= 10 }
        return [1.0, 2, 5, 10].map { $0 * unit }.first { $0 >= step } ?? unit * 10
    }

    private static func power(_ exponent: Double) -> Double {
        (0..<max(0, Int(exponent))).reduce(1.0) { power, _ in power * 10 }
    }

    private static func decade(_ value: Double) -> Double { log10(value) }
}
