import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Kinds/kind.schema.json`, checked by a validator that is not ours.
struct SchemaTests {
    private static let validator = SchemaValidator("Kinds/kind.schema.json")

    @Test(
        "The schema takes every shipped kind, and every kind that only gives a warning",
        .enabled(if: SchemaValidator.isThere, SchemaValidator.reason))
    func takes() throws {
        let shipped = try Shipped.files().map { try JSONParser().parse($0.bytes.span) }
        let kinds =
            try [goodKind, goodToggle, goodButton, goodWidget, goodMember, goodAggregate] + shipped
            + [goodWidget.merging(["views": ["systemSmall": ["fontSize": 10]]])]
            + LintCase.all().filter { $0.found == .warning }.map { try $0.kind }
        let verdicts = try Self.validator.verdicts(on: kinds)
        for (kind, isValid) in zip(kinds, verdicts) { #expect(isValid, "\(kind)") }
    }

    @Test(
        "The schema refuses the faults of schema that the lint finds",
        .enabled(if: SchemaValidator.isThere, SchemaValidator.reason)
    )
    func refuses() throws {
        let cases = try LintCase.all().filter { $0.found == .schema }
        let verdicts = try Self.validator.verdicts(on: cases.map { try $0.kind })
        for (rule, isValid) in zip(cases, verdicts) { #expect(!isValid, "\(rule.name)") }
    }
}
