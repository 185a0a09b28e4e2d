import TelltaleModel
import Testing

/// One change to a good kind, and the one diagnostic that it gives.
struct LintCase: CustomTestStringConvertible, Sendable {
    var name: String
    var base: JSON = goodKind
    /// A merge patch.
    var patch: String
    var severity: Diagnostic.Severity = .error
    var path: String
    /// A part of the message.
    var says: String

    var testDescription: String { name }

    var kind: JSON { get throws { base.merging(try json(patch)) } }
}

/// Where the states of a kind stand.
let machinePath = "machine.states"

/// A name of 64 bytes that begins with `letter`.
func key(_ letter: String) -> String { letter + String(repeating: "k", count: 63) }

/// A text of `count` letters of two bytes each.
func long(_ count: Int) -> String { String(repeating: "é", count: count) }
