import Foundation
import TestSupport
import Testing

/// `Tools/ci/run-parts`: commands beside each other, each with its output whole.
@Suite(.serialized)
struct PartsTests {
    private static let tool = repository.appending(path: "Tools/ci/run-parts").path

    private func start(_ arguments: [String], _ parts: String) throws -> RunningProgram {
        try RunningProgram(URL(filePath: "/usr/bin/env"), ["python3", Self.tool] + arguments, input: parts)
    }

    /// A part that goes on until it is ended, and leaves the number of its process in a file.
    private func endless(_ file: String) -> String { "echo $$ >\(file).new; mv \(file).new \(file); exec sleep 1000" }

    private func isRunning(_ file: String) throws -> Bool {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let number = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        return Glibc.kill(number, 0) == 0
    }

    @Test func `a part begins when those that it names have ended, and its output is shown whole`() async throws {
        try await onOwnThread {
            let run = try start(
                [],
                """
                # A comment.
                one: echo first; echo second >&2
                two after one: echo third
                three waits after one two: echo fourth
                """)
            let lines = run.readToEnd().filter { !$0.isEmpty && !$0.hasPrefix("==") }
            #expect(lines.prefix(4) == ["first", "second", "third", "fourth"])
            #expect(lines.last == "3 passed, 0 failed, 0 skipped")
            #expect(run.waitForExit() == 0)
        }
    }

    @Test(arguments: [["--at-once", "2"], ["--at-once", "1"]])
    func `two parts of one lock, or more than may compute, never run at once`(_ arguments: [String]) async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let (place, go) = (folder.path("place"), folder.path("go"))
            let lock = arguments[1] == "2" ? " lock place" : ""
            let run = try start(
                arguments,
                """
                one\(lock): mkdir \(place); until [ -e \(go) ]; do sleep 0.01; done; rmdir \(place)
                two\(lock): mkdir \(place); rmdir \(place)
                beside waits: touch \(go)
                """)
            #expect(run.waitForExit() == 0, "\(run.readToEnd())")
        }
    }

    @Test func `the last line adds up the tests that the parts count, each in its runner's way`() async throws {
        try await onOwnThread {
            let run = try start(
                [],
                """
                pytest: echo '=== 10 passed, 2 skipped in 3.45s ==='; echo '5 passed in 61.02s (0:01:01)'
                ours: echo '100 passed, 0 failed, 3 skipped'
                swift: echo '✔ Test run with 1000 tests in 20 suites passed after 1.234 seconds.'
                other: echo 'passed by 7 passed cars'
                """)
            #expect(run.readToEnd().last { !$0.isEmpty } == "1116 passed, 0 failed, 5 skipped")
            #expect(run.waitForExit() == 0)
        }
    }

    @Test func `a part is left out while what it reads is as it was when it passed`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let count = folder.path("count")
            func write(_ text: String, _ file: String) throws {
                try text.write(toFile: folder.path(file), atomically: true, encoding: .utf8)
            }
            /// How many parts ran; 0 = one failed.
            func run(_ command: String) throws -> Int {
                try write("", "count")
                let place = "cd '\(folder.path("."))' && { [ -e .git ] || git init -q; }"
                let script = "\(place) && '\(Self.tool)' --passed passed"
                let run = try RunningProgram(
                    URL(filePath: "/bin/sh"), ["-c", script],
                    input: "one reads source: \(command)\ntwo after one: echo two >>\(count)")
                _ = run.readToEnd()
                guard run.waitForExit() == 0 else { return 0 }
                return try String(contentsOfFile: count, encoding: .utf8).split(separator: "\n").count
            }
            let command = "echo one >>\(count)"
            for file in ["source", "other"] { try write("as it was", file) }
            #expect(try [run(command), run(command)] == [2, 1])
            try write("changed", "other")
            #expect(try run(command) == 1)
            try write("changed", "source")
            #expect(try [run(command + "; exit 1"), run(command), run(command)] == [0, 2, 1])
            for word in ["Skipping it", "SKIPPED [1] a.py:1: no curl", "Going on without curl"] {
                #expect(try [run("\(command); echo '\(word)'"), run("\(command); echo '\(word)'")] == [2, 2])
            }
        }
    }

    @Test func `a failure ends the other parts, and is shown last`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let file = folder.path("pid")
            let run = try start(
                ["--at-once", "2"],
                """
                endless: \(endless(file))
                bad: until [ -e \(file) ]; do sleep 0.01; done; echo why; exit 7
                never after bad: touch \(folder.path("never"))
                """)
            let end = run.readToEnd().suffix(2)
            #expect(end.first?.hasPrefix("== bad: failed (7) after ") == true && end.last == "why", "\(end)")
            #expect(run.waitForExit() == 7)
            #expect(try !isRunning(file))
            #expect(!FileManager.default.fileExists(atPath: folder.path("never")))
        }
    }

    @Test func `Ctrl-C ends every part, also where it is ignored by whoever began the run`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let file = folder.path("pid")
            let run = try RunningProgram(
                URL(filePath: "/bin/sh"), ["-c", "trap '' INT; exec python3 \"$0\" --every 0.05", Self.tool],
                input: "endless: \(endless(file))")
            // It says now and then what runs.
            while let line = run.readLine(), !FileManager.default.fileExists(atPath: file) {
                #expect(line.contains("endless"))
            }
            run.send(SIGINT)
            #expect(run.waitForExit() == 130)
            #expect(try !isRunning(file))
        }
    }

    @Test(arguments: [
        "one", "one: ", "one after two: true\ntwo: true", "one: true\none: true", "one two: true", ": true",
    ])
    func `a list that cannot be run is refused`(_ parts: String) async throws {
        try await onOwnThread {
            let run = try start([], parts)
            #expect(run.waitForExit() == 2)
            #expect(run.standardError.contains("line "))
        }
    }
}
