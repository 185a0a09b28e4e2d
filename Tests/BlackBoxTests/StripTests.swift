import Foundation
import TestSupport
import Testing

/// `Tools/package/strip`: programs without symbols.
@Suite(.serialized)
struct StripTests {
    @Test func `a stripped program is smaller and runs, and its symbols are kept`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let bin = program("telltale").deletingLastPathComponent().path()
            let strip = try RunningProgram(
                repository.appending(path: "Tools/package/strip"), ["--bin", bin, folder.url.path(), "telltale"])
            #expect(strip.readToEnd().first?.hasSuffix(" without symbols") == true)
            try #require(strip.waitForExit() == 0, "\(strip.standardError)")
            let stripped = folder.url.appending(path: "bin/telltale")
            func size(_ file: URL) throws -> Int {
                try FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path())[.size] as? Int
                    ?? 0
            }
            #expect(try size(stripped) * 3 < size(program("telltale")) * 2)
            let version = try RunningProgram(stripped, ["--version"])
            #expect(version.readToEnd().count == 1)
            let symbols = try RunningProgram(
                URL(filePath: "/usr/bin/nm"), [folder.path("debug/telltale.debug")])
            #expect(symbols.readToEnd().count > 1_000)
        }
    }
}
