import Foundation
import Testing

/// A short run of `Tools/fuzz/statechart`: our engine and another one, on machines made of random numbers.
struct EngineComparisonTests {
    @Test(
        .enabled(if: Comparison.isPossible, "python-statemachine, or a built telltale-bench, is not there: Tools/test"))
    func `both engines agree, or it is known why not`() throws {
        let (status, output) = try Comparison.run(["Tools/fuzz/statechart", "--charts", "60", "--seed", "20000"])
        #expect(status == 0, "\(output)")
        #expect(output.contains("the same"))
    }
}

private enum Comparison {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL

    /// Where the tool finds the engine: it takes a release build before a debug one.
    static let isPossible: Bool = {
        let isBuilt = ["release", "debug"].contains {
            FileManager.default.isExecutableFile(atPath: root.appending(path: ".build/\($0)/telltale-bench").path)
        }
        return isBuilt && (try? run(["-c", "import statemachine"]))?.status == 0
    }()

    static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = root
        process.arguments = ["python3"] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // A hung engine fails this test, and not the whole run.
        let identifier = process.processIdentifier
        let guardian = DispatchWorkItem { kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 180, execute: guardian)
        defer { guardian.cancel() }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
