public import Foundation

/// One file of `Protocols/`: rows of cells between bars, with named inputs above them.
///
///     state NAME = INPUTS        the inputs that lead to a state
///     skipped CASE REASON        a case that does not apply
///     CASE | cell | cell …
///
/// Empty lines, and lines that begin with `#`, are for readers.
public struct TableFile: Sendable {
    public struct Row: Sendable, CustomStringConvertible {
        public var cells: [String]
        /// Of the file, from 1.
        public var line: Int

        public var description: String { "line \(line): " + cells.joined(separator: " | ") }
        public subscript(index: Int) -> String { index < cells.count ? cells[index] : "" }
    }

    public var states: [String: String] = [:]
    public var skipped: [String: String] = [:]
    public var rows: [Row] = []

    /// - Parameter path: From `Protocols/`.
    public init(_ path: String) throws {
        let text = try String(contentsOf: repositoryRoot.appending(path: "Protocols/\(path)"), encoding: .utf8)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true).map(String.init)
            if words[0] == "state" {
                states[words[1]] = words.dropFirst(2).joined().drop { $0 == "=" || $0 == " " }.description
            } else if words[0] == "skipped" {
                skipped[words[1]] = words.dropFirst(2).joined()
            } else {
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                    .map { $0.trimmingCharacters(in: .whitespaces) }
                rows.append(Row(cells: cells, line: index + 1))
            }
        }
    }
}

/// The folder that holds `Package.swift`.
public let repositoryRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
