import Foundation
import TestSupport
import Testing

/// `Tools/package/manual`: man pages and completions from the argument parsers.
@Suite(.serialized, .nightly)
struct ManualTests {
    private func run(_ name: String, _ arguments: [String]) throws -> (status: Int32?, text: String) {
        let running = try RunningProgram(URL(filePath: "/usr/bin/env"), [name] + arguments)
        let lines = running.readToEnd()
        return (running.waitForExit(), lines.joined(separator: "\n") + running.standardError)
    }

    private func files(_ folder: URL) -> [URL] {
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        return (all?.compactMap { $0 as? URL } ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
        }
    }

    @Test func `every command has a page, and the shells take the completions`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let bin = program("telltale").deletingLastPathComponent().path()
            let made = try run(
                repository.appending(path: "Tools/package/manual").path(), ["--bin", bin, folder.url.path()])
            try #require(made.status == 0, "\(made.text)")
            let help = try run(program("telltale").path(), ["--help"]).text
            let commands = help.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
                .compactMap { $0.split(separator: " ").first }.filter {
                    $0.allSatisfy(\.isLowercase) && $0 != "telltale"
                }
            #expect(commands.count > 15)
            for command in commands {
                let page = folder.url.appending(path: "man/man1/telltale-\(command).1")
                let text = try String(contentsOf: page, encoding: .utf8)
                #expect(text.hasPrefix(".TH ") && text.contains("\n.SH SYNOPSIS\n"))
                #expect(text.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) })
            }
            for file in files(folder.url) {
                let path = file.path()
                if path.contains("/man/") {
                    try check(path, "groff", ["-man", "-ww", "-z", "-Tutf8", path])
                } else {
                    let shell = path.contains("/bash-") ? "bash" : path.contains("/zsh/") ? "zsh" : "fish"
                    try check(path, shell, ["-n", path])
                }
            }
        }
    }

    /// A program that is not installed does not check; its absence is printed.
    private func check(_ path: String, _ name: String, _ arguments: [String]) throws {
        let outcome = try run(name, arguments)
        if outcome.status == 127 {
            print("\(name) is not installed and does not check \(path)")
        } else {
            #expect(outcome.status == 0 && outcome.text.isEmpty, "\(path): \(outcome.text)")
        }
    }
}
