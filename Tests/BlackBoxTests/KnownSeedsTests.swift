import Foundation
import TestSupport
import Testing

/// `telltale-sim … --bugs --known FILE`.
struct KnownSeedsTests {
    private func hunt(_ lines: String) throws -> (status: Int32?, text: String) {
        let folder = try TemporaryFolder()
        try Data(lines.utf8).write(to: folder.url.appending(path: "known"))
        let run = try RunningProgram(
            program("telltale-sim"),
            [
                "pushes", "--bugs", "--bug", "lanesForgotten", "--from", "900", "--seeds", "1", "--known",
                folder.path("known"),
            ])
        defer { run.kill() }
        let text = run.readToEnd().joined(separator: "\n")
        return (run.waitForExit(), text + run.standardError)
    }

    @Test(.nightly) func `a search begins with the seed that found the bug before`() async throws {
        try await onOwnThread {
            let run = try hunt("# Seeds.\nswarm lanesForgotten 7\npushes lanesForgotten 1\n")
            #expect(run.status == 0 && run.text.contains(" — seed 1: "), "\(run.text)")
        }
    }

    @Test func `a line that names no seed is reported`() async throws {
        try await onOwnThread {
            let run = try hunt("\npushes lanesForgotten -1\n")
            #expect(run.status == 2 && run.text.contains("line 2 of "), "\(run.text)")
        }
    }
}
