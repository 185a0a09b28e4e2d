import Foundation
import Kinds
import TelltaleModel
import Testing

/// `Protocols/Kinds/kind.schema.json`, checked by a validator that is not ours.
struct SchemaTests {
    @Test(
        "The schema takes every shipped kind, and every kind that only gives a warning",
        .enabled(if: Validator.isThere, Validator.reason))
    func takes() throws {
        let shipped = try Shipped.files().map { try JSONParser().parse($0.bytes.span) }
        let kinds = try [goodKind, goodToggle, goodButton] + shipped + warningCases.map { try $0.kind }
        let verdicts = try Validator.verdicts(on: kinds)
        for (kind, isValid) in zip(kinds, verdicts) { #expect(isValid, "\(kind)") }
    }

    @Test(
        "The schema refuses the faults of schema that the lint finds", .enabled(if: Validator.isThere, Validator.reason)
    )
    func refuses() throws {
        // A schema cannot look into texts.
        let beyond: Set = ["broken template", "broken template in url", "timer that is no date"]
        let cases = (schemaCases + controlCases).filter { !beyond.contains($0.name) }
        #expect(cases.count == schemaCases.count + controlCases.count - beyond.count)
        let verdicts = try Validator.verdicts(on: cases.map { try $0.kind })
        for (rule, isValid) in zip(cases, verdicts) { #expect(!isValid, "\(rule.name)") }
    }
}

/// Python's `jsonschema`, where it is installed.
private enum Validator {
    static let reason: Comment = "python3-jsonschema is not installed"

    static let isThere: Bool = (try? verdicts(on: [])) != nil

    struct Failed: Error {
        var status: Int32
    }

    /// Whether each of `kinds` is valid.
    static func verdicts(on kinds: [JSON]) throws -> [Bool] {
        let program = """
            import json, sys
            from jsonschema import Draft202012Validator
            schema = json.load(open(sys.argv[1]))
            Draft202012Validator.check_schema(schema)
            validator = Draft202012Validator(schema)
            print(json.dumps([validator.is_valid(kind) for kind in json.load(sys.stdin)]))
            """
        let process = Process()
        let input = Pipe()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program, Shipped.folder.appending(path: "kind.schema.json").path]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        input.fileHandleForWriting.write(Data(JSON.array(kinds).text))
        try input.fileHandleForWriting.close()
        let answer = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(status: process.terminationStatus) }
        return try JSONParser().parse(answer.span).array?.compactMap(\.bool) ?? []
    }
}
