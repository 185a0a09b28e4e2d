/// A metric with all of its series, in Prometheus' terms.
public struct MetricFamily: Sendable {
    public enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    public typealias Label = (name: String, value: String)

    public struct Sample: Sendable {
        /// Follows the family's name: `_bucket`, `_sum`, `_count`, or nothing.
        public var suffix = ""
        public var labels: [Label]
        public var value: Double

        public init(suffix: String = "", labels: [Label] = [], value: Double) {
            self.suffix = suffix
            self.labels = labels
            self.value = value
        }

        /// - Parameter counts: The count of each bucket alone; one more than `bounds`, because the last bucket is above
        ///   all of them.
        public static func histogram(
            _ labels: [Label], bounds: [Double], counts: [Int], sum: Double
        ) -> [Sample] {
            var samples: [Sample] = []
            var total = 0
            for (index, count) in counts.enumerated() {
                total += count
                let bound = index < bounds.count ? MetricFamily.number(bounds[index]) : "+Inf"
                samples.append(Sample(suffix: "_bucket", labels: labels + [("le", bound)], value: Double(total)))
            }
            samples.append(Sample(suffix: "_sum", labels: labels, value: sum))
            samples.append(Sample(suffix: "_count", labels: labels, value: Double(total)))
            return samples
        }
    }

    /// A counter's ends in `_total`.
    public var name: String
    public var kind: Kind
    public var help: String
    public var samples: [Sample] = []

    public init(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.samples = samples
    }

    /// Prometheus' text.
    public enum Format: Sendable {
        /// Text 0.0.4.
        case text
        case openMetrics

        public var contentType: String {
            switch self {
            case .text: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    public static func render(_ families: [MetricFamily], _ format: Format) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty { family.write(to: &text, format) }
        if case .openMetrics = format { text += "# EOF\n" }
        return text
    }

    private func write(to text: inout String, _ format: Format) {
        // OpenMetrics names a counter without its `_total`, which belongs to the sample.
        var familyName = name
        if case .openMetrics = format, kind == .counter, name.hasSuffix("_total") {
            familyName = String(name.dropLast("_total".count))
        }
        text += "# HELP \(familyName) \(Self.escaped(help, quotes: format == .openMetrics))\n"
        text += "# TYPE \(familyName) \(kind.rawValue)\n"
        for sample in samples {
            text += name + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
                text += "{\(labels.joined(separator: ","))}"
            }
            text += " \(Self.number(sample.value))\n"
        }
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    static func number(_ value: Double) -> String {
        if let integer = Int64(exactly: value) { return String(integer) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return String(value)
    }
}
