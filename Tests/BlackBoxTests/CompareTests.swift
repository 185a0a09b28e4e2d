import Foundation
import TestSupport
import Testing

/// `telltale-sim compare`.
@Suite(.serialized)
struct CompareTests {
    private func compare(_ arguments: String...) throws -> (status: Int32?, text: String) {
        let running = try RunningProgram(program("telltale-sim"), ["compare"] + arguments)
        let text = running.readToEnd().joined(separator: "\n")
        return (running.waitForExit(), text + running.standardError)
    }

    private static func report(p99: Int, faults: String = "", regressions: Int = 0) -> String {
        """
        {"scenario":"rush","faults":[\(faults)],"regressions":\(regressions),"inputs":10,
         "event_to_view_us":{"carplay":{"p50":1000,"p90":2000,"p95":2500,"p99":\(p99),"max":90000,"rows":10}}}
        """
    }

    @Test func `a slower or faulty report is named, and is a failure`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            func file(_ name: String, _ text: String) throws -> String {
                try Data(text.utf8).write(to: URL(filePath: folder.path(name)))
                return folder.path(name)
            }
            let before = try file("before", Self.report(p99: 10_000))
            #expect(try compare(before, before).status == 0)
            let slower = try compare(before, try file("slower", Self.report(p99: 12_500)))
            #expect(slower.status == 1)
            #expect(slower.text.contains("+25 %       11 ms  worse"))
            #expect(slower.text.contains("Worse than is allowed: carplay p99."))
            #expect(try compare(before, folder.path("slower"), "--percent", "30").status == 0)
            #expect(try compare(before, folder.path("slower"), "--least", "3").status == 0)
            #expect(try compare(folder.path("slower"), before).status == 0, "quicker is no failure")
            #expect(try compare(before, try file("wrong", Self.report(p99: 1, faults: #""a""#))).status == 1)
            #expect(try compare(before, try file("back", Self.report(p99: 1, regressions: 1)), "--json").status == 1)
            let other = try compare(
                before, try file("other", Self.report(p99: 1).replacing("rush", with: "train")))
            #expect(other.status == 2 && other.text.contains("compare reports of one scenario"))
            let none = try compare(before, try file("none", "{}"))
            #expect(none.status == 2 && none.text.contains("is no report"))
            #expect(try compare(before, folder.path("missing")).status == 2)
        }
    }
}
