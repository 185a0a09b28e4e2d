import Foundation
import TestSupport
import Testing

/// `Tools/ci/swift-tests`, with a program in the place of `swift`.
@Suite(.serialized)
struct SwiftTestsTests {
    /// - Parameters:
    ///   - lines: Of the event stream.
    ///   - rest: What the program does then, in sh.
    private func run(
        _ lines: [String], then rest: String = "", environment: [String: String] = [:]
    ) throws -> (lines: [String], status: Int32?) {
        let folder = try TemporaryFolder()
        try lines.map { $0 + "\n" }.joined().write(toFile: folder.path("lines"), atomically: false, encoding: .utf8)
        try makeExecutable(
            URL(filePath: folder.path("swift")),
            holding: """
                #!/bin/sh
                while [ "$1" != --event-stream-output-path ]; do shift; done
                cp '\(folder.path("lines"))' "$2"
                echo "◇ Test one() started."; echo "a word of the program"
                \(rest)

                """)
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let program = try RunningProgram(
            URL(filePath: "/usr/bin/env"), ["python3", repository.appending(path: "Tools/ci/swift-tests").path],
            environment: environment.merging(["PATH": "\(folder.url.path):\(path)"]) { own, _ in own })
        let text = program.readToEnd().filter { !$0.isEmpty }
        return (text, program.waitForExit())
    }

    private static func test(_ id: String) -> String {
        #"{"kind":"test","version":0,"payload":{"kind":"function","id":"\#(id)"}}"#
    }

    private static func event(_ kind: String, _ id: String? = nil, _ more: String = "") -> String {
        let test = id.map { #","testID":"\#($0)""# } ?? ""
        return #"{"kind":"event","version":0,"payload":{"kind":"\#(kind)"\#(test)\#(more)}}"#
    }

    private static let (one, two) = ("ATests.One/one()/One.swift:1:1", "ATests.Two/`it's $2`(_:)/Two.swift:2:2")

    private static func issue(_ id: String, symbol: String) -> String {
        event(
            "issueRecorded", id,
            #","messages":[{"symbol":"\#(symbol)","text":"1 is not 2"},{"symbol":"details","text":"why"}],"#
                + #""_testCase":{"displayName":"2"},"_sourceLocation":{"fileID":"ATests/Two.swift","line":7}"#)
    }

    private static let begun = [test(one), test(two), event("runStarted"), event("testStarted", two)]

    @Test func `a failure is shown with its place, its argument and its command, and the last line counts`()
        async throws
    {
        try await onOwnThread {
            let (lines, status) = try run(
                Self.begun + [
                    Self.issue(Self.two, symbol: "passWithKnownIssue"), Self.issue(Self.two, symbol: "fail"),
                    Self.event("testEnded", Self.two), Self.event("testSkipped", Self.one), Self.event("runEnded"),
                ], then: "exit 1", environment: [Lane.variable: "all"])
            #expect(
                lines == [
                    "✘ ATests.Two/`it's $2`(_:)", "    ATests/Two.swift:7: 1 is not 2 (with 2)", "      why",
                    "    alone: TELLTALE_LANE=all Tools/test --filter 'ATests.Two/.it.s .2..'",
                    "0 passed, 1 failed, 1 skipped",
                ])
            #expect(status == 1)
        }
    }

    @Test func `of a run without failures the counts are all that is shown`() async throws {
        try await onOwnThread {
            let (lines, status) = try run(
                Self.begun + [
                    Self.event("testEnded", Self.two), Self.event("testSkipped", Self.one), Self.event("runEnded"),
                ])
            #expect(lines == ["1 passed, 0 failed, 1 skipped"] && status == 0)
        }
    }

    @Test(arguments: [("exit 3", "✘ swift test ended with 3"), ("exec sleep 1000", "✘ Nothing was heard for 1 s")])
    func `tests that die or hang are reported with what they were at`(_ example: (rest: String, why: String))
        async throws
    {
        try await onOwnThread {
            let (lines, status) = try run(Self.begun, then: example.rest, environment: ["SILENT_SECONDS": "1"])
            #expect(
                lines == [
                    "a word of the program", example.why, "✘ ATests.Two/`it's $2`(_:)", "    was running",
                    "    alone: Tools/test --filter 'ATests.Two/.it.s .2..'", "0 passed, 1 failed, 0 skipped",
                ])
            #expect(status == 1)
        }
    }

    @Test func `where nothing ran, or a run without a failure fails, that is a failure`() async throws {
        try await onOwnThread {
            let none = try run([Self.event("runStarted"), Self.event("runEnded")])
            #expect(none.lines == ["✘ No test ran", "0 passed, 0 failed, 0 skipped"] && none.status == 1)
            let odd = try run(
                Self.begun + [Self.event("testEnded", Self.two), Self.event("runEnded")], then: "exit 9")
            #expect(odd.lines.contains("✘ swift test ended with 9") && odd.status == 1)
        }
    }
}
