import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Scenarios/scenario.schema.json`, checked by a validator that is not ours.
struct ScenarioSchemaTests {
    private static let validator = SchemaValidator("Scenarios/scenario.schema.json")

    @Test(
        "The schema takes every scenario that ships",
        .enabled(if: SchemaValidator.isThere, "python3-jsonschema is not installed"))
    func takes() throws {
        let names = try ShippedScenarios.names
        let files = try names.map { try ShippedScenarios.json(ShippedScenarios.folder.appending(path: "\($0).json")) }
        #expect(try Self.validator.verdicts(on: files) == names.map { _ in true })
    }

    @Test(
        "The schema refuses what the program refuses",
        .enabled(if: SchemaValidator.isThere, "python3-jsonschema is not installed"))
    func refuses() throws {
        // A schema cannot express a rule about two members.
        let beyond = [
            "screens[1].name", "steps[1].at", "lock is phone", "@soon", "nobody", "needs its road", "steps[0] does",
            "steps[0].key", "arrivals takes",
        ]
        let wrong = ScenarioTests.wrong.filter { each in !beyond.contains { each.1.contains($0) } }
        #expect(wrong.count >= 18)
        let files = try wrong.map {
            try JSONParser.parse("{\($0.0.contains("\"title\"") ? "" : "\"title\":\"t\",")\($0.0)}")
        }
        for (each, isValid) in zip(wrong, try Self.validator.verdicts(on: files)) { #expect(!isValid, "\(each.0)") }
    }
}
