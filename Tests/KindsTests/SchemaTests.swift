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
            + (warningCases + widgetWarningCases).map { try $0.kind }
        let verdicts = try Self.validator.verdicts(on: kinds)
        for (kind, isValid) in zip(kinds, verdicts) { #expect(isValid, "\(kind)") }
    }

    @Test(
        "The schema refuses the faults of schema that the lint finds",
        .enabled(if: SchemaValidator.isThere, SchemaValidator.reason)
    )
    func refuses() throws {
        // A schema cannot look into texts.
        let beyond: Set = [
            "broken template", "broken template in url", "timer that is no date", "a time of day twice",
            "recommended without a parameter", "recommended with an unknown parameter", "default that is no choice",
            "each with parameters", "by without its parameter", "parameter without its by",
            "tally with an own audience",
            "where that does not parse", "where that reads an event", "one of no parameter",
            "score of a member", "suggestion of a member",
            "dates and situations",
        ]
        let all = schemaCases + machineSchemaCases + controlCases + widgetCases
        let cases = all.filter { !beyond.contains($0.name) }
        #expect(cases.count == all.count - beyond.count)
        let verdicts = try Self.validator.verdicts(on: cases.map { try $0.kind })
        for (rule, isValid) in zip(cases, verdicts) { #expect(!isValid, "\(rule.name)") }
    }
}
