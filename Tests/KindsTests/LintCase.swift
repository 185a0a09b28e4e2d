import Foundation
import TelltaleModel
import TestSupport
import Testing

/// One change to a good kind, and the one diagnostic that it gives.
struct LintCase: CustomTestStringConvertible, Sendable {
    enum Found: String {
        /// A fault that the schema finds too.
        case schema
        /// A fault that is beyond a schema.
        case lint
        case warning
    }

    var name: String
    var base: JSON = goodKind
    /// A merge patch.
    var patch: String
    var found = Found.lint
    var path: String
    /// A part of the message.
    var says: String

    var testDescription: String { name }

    var kind: JSON { get throws { base.merging(try json(patch)) } }

    private static let bases = [
        "activity": goodKind, "toggle": goodToggle, "button": goodButton, "widget": goodWidget, "member": goodMember,
        "aggregate": goodAggregate,
    ]

    /// `Protocols/Kinds/lint.table`, and what no line holds.
    static func all() throws -> [LintCase] {
        try TableFile("Kinds/lint.table").rows.map { row in
            // A patch may have bars of its own.
            let patch = row.cells.dropFirst(5).joined(separator: " | ")
            return LintCase(
                name: row[1], base: try #require(bases[row[0]], "\(row)"), patch: repeated(patch),
                found: try #require(Found(rawValue: row[2]), "\(row)"), path: row[3], says: row[4])
        } + longCases
    }

    /// With `é×3` as `ééé`.
    private static func repeated(_ text: String) -> String {
        text.replacing(/(.)×(\d+)/) { match in String(repeating: String(match.1), count: Int(match.2) ?? 1) }
    }

    private static let longCases = [
        LintCase(
            name: "an initial of too many states",
            patch: #"{"machine":{"initial":[STATES]}}"#
                .replacing(
                    "STATES",
                    with: (["placed"] + (0..<15_000).map { "s\($0)" }).map { "\"\($0)\"" }.joined(separator: ",")),
            path: "machine.initial", says: "names 15001 states"),
        LintCase(
            name: "path too long",
            patch: """
                {"machine":{"states":{"placed":{"on":{"x":"\(key("a"))"}},"\(key("a"))":{"initial":"\(key("b"))","states":{
                  "\(key("b"))":{"initial":"\(key("c"))","states":{"\(key("c"))":{"initial":"\(key("d"))","states":{
                    "\(key("d"))":{"on":{"y":"done"}}}}}}}}}}}
                """,
            path: ("machine" + ["a", "b", "c", "d"].map { ".states.\(key($0))" }.joined()).prefix(255) + "\u{2026}",
            says: "path is 259 bytes, 256 are the limit"),
        LintCase(
            name: "view with too many texts",
            patch: #"{"views":{"lockScreen":{"progress":true,"buttons":[KEYS]}}}"#
                .replacing("KEYS", with: (0..<65).map { "\"tip/\($0)\"" }.joined(separator: ",")),
            path: "views.lockScreen", says: "texts, 64 are the limit"),
        LintCase(
            name: "seventeen values", base: goodAggregate,
            patch: #"{"source":{"values":{"# + (0..<16).map { #""v\#($0)":"count""# }.joined(separator: ",") + "}}}",
            found: .schema, path: "source.values", says: "17"),
    ]
}

/// A name of 64 bytes that begins with `letter`.
private func key(_ letter: String) -> String { letter + String(repeating: "k", count: 63) }

/// A text of `count` letters of two bytes each.
func long(_ count: Int) -> String { String(repeating: "é", count: count) }
