import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Scenarios/scenario.schema.json`, checked by a validator that is not ours.
struct ScenarioSchemaTests {
    @Test(
        "The schema takes every scenario that ships",
        .enabled(if: ScenarioValidator.isThere, "python3-jsonschema is not installed"))
    func takes() throws {
        let names = try ShippedScenarios.names
        let files = try names.map { try ShippedScenarios.json(ShippedScenarios.folder.appending(path: "\($0).json")) }
        #expect(try ScenarioValidator.verdicts(on: files) == names.map { _ in true })
    }

    @Test(
        "The schema refuses what the program refuses",
        .enabled(if: ScenarioValidator.isThere, "python3-jsonschema is not installed"))
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
        for (each, isValid) in zip(wrong, try ScenarioValidator.verdicts(on: files)) { #expect(!isValid, "\(each.0)") }
    }
}

/// Python's `jsonschema`, where it is installed.
private enum ScenarioValidator {
    static let isThere: Bool = (try? verdicts(on: [])) != nil

    struct Failed: Error {}

    static func verdicts(on files: [JSON]) throws -> [Bool] {
        let program = """
            import json, sys
            from jsonschema import Draft202012Validator
            schema = json.load(open(sys.argv[1]))
            Draft202012Validator.check_schema(schema)
            validator = Draft202012Validator(schema)
            print(json.dumps([validator.is_valid(file) for file in json.load(sys.stdin)]))
            """
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c", program, repositoryRoot.appending(path: "Protocols/Scenarios/scenario.schema.json").path,
        ]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        input.fileHandleForWriting.write(Data(JSON.array(files).text))
        try input.fileHandleForWriting.close()
        let answer = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0, let verdicts = try JSONParser().parse(answer.span).array else {
            throw Failed()
        }
        return verdicts.compactMap(\.bool)
    }
}
