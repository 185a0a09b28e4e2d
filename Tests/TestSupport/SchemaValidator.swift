import Foundation
public import TelltaleModel
public import Testing

/// A JSON Schema of `Protocols/`, checked by Python's `jsonschema` where that is installed.
public struct SchemaValidator: Sendable {
    public struct Failed: Error {
        public var status: Int32
    }

    public static let reason: Comment = "python3-jsonschema is not installed"

    /// Whether the validator is installed.
    public static let isThere: Bool =
        (try? SchemaValidator("Kinds/kind.schema.json").verdicts(on: [])) != nil

    private let path: String

    /// - Parameter path: From `Protocols/`.
    public init(_ path: String) { self.path = repositoryRoot.appending(path: "Protocols/\(path)").path }

    /// Whether each of `values` is valid.
    public func verdicts(on values: [JSON]) throws -> [Bool] {
        let program = """
            import json, sys
            from jsonschema import Draft202012Validator
            schema = json.load(open(sys.argv[1]))
            Draft202012Validator.check_schema(schema)
            validator = Draft202012Validator(schema)
            print(json.dumps([validator.is_valid(value) for value in json.load(sys.stdin)]))
            """
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program, path]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        input.fileHandleForWriting.write(Data(JSON.array(values).text))
        try input.fileHandleForWriting.close()
        let answer = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(status: process.terminationStatus) }
        return try JSONParser().parse(answer.span).array?.compactMap(\.bool) ?? []
    }
}
