import ArgumentParser
import Kinds
import TelltaleModel
import ToolSupport

/// `telltale kinds check`.
struct KindsCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Say what is wrong with kind files, where, and what to do.",
        discussion: "Exits 1 when there is an error; with --strict, when there is a warning.")

    @Argument(help: "A folder of kind files, or one file.") var path: String
    @Flag(help: "Take warnings for errors.") var strict = false
    @Flag(help: "Print one JSON object a diagnostic.") var json = false

    func run() throws {
        let files: [(name: String, bytes: [UInt8])]
        do {
            files = try KindFiles.read(path)
        } catch {
            throw ExitCode.failed("\(error)")
        }
        var (_, diagnostics) = KindSet.load(files: files)
        if strict {
            for index in diagnostics.indices { diagnostics[index].severity = .error }
        }
        for diagnostic in diagnostics { Output.line(json ? Self.json(diagnostic) : "\(diagnostic)".harmless) }
        let errors = diagnostics.count { $0.severity == .error }
        if !json {
            let warnings = diagnostics.count - errors
            Output.line(
                [(files.count, "file"), (errors, "error"), (warnings, "warning")]
                    .map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: ", "))
        }
        if errors > 0 { throw ExitCode.failure }
    }

    private static func json(_ diagnostic: Diagnostic) -> String {
        let object: JSON = [
            "severity": .string(diagnostic.severity.rawValue), "file": .string(diagnostic.file),
            "path": .string(diagnostic.path), "message": .string(diagnostic.message),
            "advice": .string(diagnostic.advice),
        ]
        return object.description
    }
}
