import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `Tools/fuzz/lines`, with few lines.
@Suite(.serialized, .nightly)
struct FuzzTests {
    private func fuzz(_ arguments: [String]) throws -> (status: Int32?, text: String, errors: String) {
        let run = try RunningProgram(
            URL(filePath: "/usr/bin/env"), ["python3", repository.appending(path: "Tools/fuzz/lines").path] + arguments)
        defer { run.kill() }
        let text = run.readToEnd().joined(separator: "\n")
        return (run.waitForExit(), text, run.standardError)
    }

    @Test func `most lines of the fuzzer are processed, each is answered, and fatal ones are few`() async throws {
        try await onOwnThread {
            let run = try fuzz(["--lines", "10000", "--seed", "5", "--json", "--daemon", DaemonProcess.executable.path])
            #expect(run.status == 0, "\(run.errors)")
            let counts = try JSONParser.parse(run.text)
            func count(_ name: String) -> Int64 { counts[name]?.integer ?? -1 }
            let lines = count("lines")
            #expect(lines >= 10_000)
            #expect(["processed", "refused", "fatal", "silent", "cut"].reduce(0) { $0 + count($1) } == lines)
            #expect(count("processed") * 2 > lines)
            #expect(count("refused") * 10 > lines)
            #expect((1...lines / 200).contains(count("fatal")))
            #expect(counts["verdicts"]?["applied"]?.integer ?? 0 > 1_000)
            for verb in [
                "EVT", "GET", "SUB", "SET", "PRESS", "SERVE", "REPORT", "HELLO", "TRAIT", "LIST", "HISTORY", "PING",
            ] {
                #expect(counts["verbs"]?[verb]?["processed"]?.integer ?? 0 > 0, "\(verb)")
            }
        }
    }

    /// A server that understands nothing and dies of one line.
    private static let mortal = """
        #!/usr/bin/env python3
        import os, signal, socket
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        listener = socket.create_server(("127.0.0.1", 0))
        print(f"ready tcp=127.0.0.1:{listener.getsockname()[1]}", flush=True)
        while True:
            connection, _ = listener.accept()
            lines = connection.makefile("rb")
            connection.sendall(b"TELLTALE 1\\n")
            try:
                for line in lines:
                    if line.startswith(b"SET") and b"value=off" in line: os._exit(3)
                    if line.startswith(b"PING id=barrier"): connection.sendall(b"PONG id=barrier\\n")
                    elif line.strip() and not line.startswith(b"#"): connection.sendall(b'OK verdict=applied\\n')
            except OSError: pass
            connection.close()

        """

    @Test func `a failure is reported with its seed and case, and shrunk to the line that it needs`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let daemon = folder.path("mortal")
            try makeExecutable(URL(filePath: daemon), holding: Self.mortal)
            let saved = folder.path("lines.txt")
            let first = try fuzz(["--seed", "3", "--daemon", daemon, "--save", saved])
            #expect(first.status == 1)
            #expect(first.errors.contains("fuzz: FAILED in case "))
            #expect(first.errors.contains("the daemon ended with 3"))
            #expect(first.errors.contains("fuzz: 1 lines of 1 connections are enough: "), "\(first.errors)")
            let lines = try String(contentsOfFile: saved, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 2 && lines[1].hasPrefix("SET ") && lines[1].contains("value=off"), "\(lines)")
            // The same seed fails in the same case, and that case alone fails too.
            let reported = first.errors.split(separator: "\n").first { $0.contains("plays it again") }
            let number = try #require(reported?.firstMatch(of: #/--case ([0-9]+)/#)?.1)
            let again = try fuzz(["--seed", "3", "--case", String(number), "--daemon", daemon, "--save", saved])
            #expect(again.errors.contains("FAILED in case \(number) of seed 3"))
        }
    }
}
