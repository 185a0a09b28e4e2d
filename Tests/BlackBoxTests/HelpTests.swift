import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `--help` of every command, on a terminal of 80 columns.
@Suite(.serialized)
struct HelpTests {
    @Test(
        "Help is ASCII, its paragraphs fill the lines, and its examples fit", arguments: ["telltale", "telltale-sim"])
    func help(name: String) async throws {
        try await onOwnThread {
            let running = try RunningProgram(program(name), ["--experimental-dump-help"])
            let dump = try JSONParser.parse(running.readToEnd().joined(separator: "\n"))
            try #require(running.waitForExit() == 0)
            var count = 0
            func visit(_ command: JSON) {
                count += 1
                let title = command["commandName"]?.string ?? "?"
                let text = command["discussion"]?.string ?? ""
                let all = "\(command)".unicodeScalars.filter { !$0.isASCII }
                #expect(all.isEmpty, "\(title): \(String(String.UnicodeScalarView(all)))")
                var isText = false
                for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                    if line.hasPrefix(" ") { #expect(line.count <= 80, "\(title): \(line)") }
                    // The parser fills lines itself; a line end of the source would be one more.
                    let isNext = !line.isEmpty && !line.hasPrefix(" ")
                    #expect(!(isText && isNext), "\(title): a paragraph is cut before: \(line)")
                    isText = isNext
                }
                for child in command["subcommands"]?.array ?? [] { visit(child) }
            }
            visit(dump["command"] ?? .null)
            #expect(count > 8)
        }
    }

    @Test func `the help of the daemon begins with what a first start needs, and ends with limits`() async throws {
        try await onOwnThread {
            let running = try RunningProgram(program("telltaled"), ["--help"])
            let text = running.readText()
            #expect(running.waitForExit() == 0)
            let wanted = [
                "telltaled --data", "USAGE:", "--data <DIR>", "--kinds <DIR>", "--listen <", "--auth <", "--dev",
                "--sync <",
                "--config <", "A NODE OF A CLUSTER:", "--cluster <", "LIMITS AND SWITCHES:", "--max-line <",
                "--version",
            ]
            var rest = text[...]
            for word in wanted {
                let found = try #require(rest.firstRange(of: word), "\(word) stands elsewhere in\n\(text)")
                rest = rest[found.upperBound...]
            }
        }
    }
}
