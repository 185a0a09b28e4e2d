import Foundation
import TelltaleModel

/// Some measurements of one figure.
struct Sample {
    var values: [Double] = []

    var median: Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var least: Double { values.min() ?? .nan }
    var most: Double { values.max() ?? .nan }

    /// Median, then least and most in brackets.
    func text(_ digits: Int = 0) -> String {
        "\(Self.text(median, digits)) [\(Self.text(least, digits))-\(Self.text(most, digits))]"
    }

    static func text(_ value: Double, _ digits: Int) -> String {
        value.isNaN ? "-" : String(format: "%.\(digits)f", value)
    }

    var json: JSON {
        var object = JSONObject()
        object["median"] = Self.json(median)
        object["least"] = Self.json(least)
        object["most"] = Self.json(most)
        return .object(object)
    }

    static func json(_ value: Double) -> JSON {
        value.isFinite ? JSON((value * 1_000).rounded() / 1_000) : .null
    }
}

/// Text in columns, the first to the left and the others to the right.
struct TextTable {
    private var rows: [[String]] = []

    mutating func add(_ row: [String]) { rows.append(row) }

    var text: String {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
