import Foundation
import TestSupport
import Testing

/// Text from outside, such as the name of a file, a title or an argument, does not control a terminal.
@Suite(.serialized)
struct HarmlessOutputTests {
    private static let escape = "\u{1B}[31m"

    private func output(_ name: String, _ arguments: [String], input: String? = nil) throws -> String {
        let running = try RunningProgram(program(name), arguments, input: input)
        let output = running.readToEnd().joined(separator: "\n")
        _ = running.waitForExit()
        return output + running.standardError
    }

    @Test(
        "A file's name and its titles are printed without what a terminal would obey",
        arguments: [
            ("telltale", ["kinds", "draw", "FILE", "--format", "text"]), ("telltale", ["kinds", "draw", "MISSING"]),
            ("telltale", ["kinds", "check", "FOLDER"]), ("telltale", ["kinds", "draw", "CONTROL"]),
            ("telltale", ["kinds", "draw", "FILE", "--format", "svg"]),
            ("telltale", ["kinds", "run", "CONTROL"]), ("telltale", ["journal", "info", "MISSING"]),
            ("telltale", ["post", "a/b", "\u{1B}[31m"]), ("telltale", ["list", "--connect", "\u{1B}[31m"]),
            ("telltale-sim", ["run", "MISSING"]), ("telltale-sim", ["replay", "MISSING"]),
            ("telltaled", ["--data", "DATA", "--kinds", "MISSING"]), ("telltaled", ["--pace", "\u{1B}[31m"]),
        ])
    func harmless(name: String, arguments: [String]) async throws {
        try await onOwnThread {
            let folder = FileManager.default.temporaryDirectory.appending(path: "\(Self.escape)-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "\(Self.escape).json")
            try Data(
                #"""
                {"kind":"a","type":"activity","version":1,"app":"com.example.a","title":"\u001b[31mred",
                 "machine":{"initial":"b","states":{"b":{"title":"\u001b[32mgreen","on":{"go":"c"}},"c":{"type":"final"}}},
                 "unknown":1}
                """#.utf8
            ).write(to: file)
            let control = folder.appending(path: "control\(Self.escape).json.txt")
            try FileManager.default.copyItem(
                at: repository.appending(path: "Protocols/Kinds/examples/porch-light.json"), to: control)
            let places = [
                "FILE": file.path, "FOLDER": folder.path, "MISSING": folder.path + "/missing", "CONTROL": control.path,
                "DATA": folder.path + "/data",
            ]
            let text = try output(name, arguments.map { places[$0] ?? $0 })
            #expect(!text.isEmpty)
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" }, "\(text.debugDescription)")
        }
    }
}
