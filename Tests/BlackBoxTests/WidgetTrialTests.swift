import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale kinds run` of a kind of widget.
struct WidgetTrialTests {
    private func run(_ kind: String, _ arguments: [String], input: String) throws -> (
        lines: [String], error: String, status: Int32?
    ) {
        let file = repository.appending(path: "Protocols/Kinds/widgets/\(kind).json").path
        let program = try RunningProgram(program("telltale"), ["kinds", "run", file] + arguments, input: input)
        let lines = program.readToEnd()
        return (lines, program.standardError, program.waitForExit())
    }

    @Test func `a schedule tells each family that the surface shows`() async throws {
        try await onOwnThread {
            let hours = try run("shop-hours", ["--view", "watch", "--json"], input: "")
            let first = try JSONParser.parse(try #require(hours.lines.first))
            #expect(first["phase"] == "fresh" && hours.status == 0)
            let families = first["rows"]?.array?.map { $0["presentation"]?.string }
            #expect(families == ["accessoryRectangular", "accessoryInline"])
        }
    }

    @Test func `a posted timeline is drawn as time passes, and a faulty one is told with its line`() async throws {
        try await onOwnThread {
            let input = """
                timeline {"entries":[{"date":1,"content-state":{"sold":"4"}}]}
                after 30m
                timeline {"entries":[]}
                end
                """
            let sales = try run("sales", [], input: input)
            #expect(sales.lines.first == "start applied placeholder")
            #expect(sales.lines.contains("timeline applied exhausted"))
            #expect(sales.lines.contains { $0.hasPrefix("    +30m (stale)") })
            #expect(sales.lines.contains { $0.hasPrefix("    now (stale)") })
            #expect(sales.error.contains("line 3: entries in the JSON tail is to be an array of 1 to 64 entries"))
            #expect(sales.lines.last == "end applied gone" && sales.status == 1)
        }
    }
}
