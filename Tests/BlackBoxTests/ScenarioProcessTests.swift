import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale-sim run --connect`: scenarios against a real daemon, over real sockets.
@Suite(.serialized, .nightly)
struct ScenarioProcessTests {
    /// Everything that goes wrong on the side of clients and wires, at once and small.
    private static let rough = """
        { "title": "Rough", "about": "All that clients do wrong.", "seed": 6,
          "population": { "producers": 3, "screens": 8, "fingers": 2, "providers": 1, "inputs": 200,
            "kinds": { "coffee-order": 3, "flight": 1 }, "toggles": ["porch-light/a", "porch-light/b"] },
          "faults": { "duplicates": 80, "disorder": 200, "badLines": 50, "resets": 60, "halfCloses": 30, "slices": 300,
            "slowReaders": 200, "storms": 2, "reorderWindow": 4, "drops": 20, "slowestWire": 200,
            "providerFailures": 200 },
          "clients": { "surfaces": { "carplay": 2, "watch": 1, "full": 2 }, "doubleTaps": 200, "staleTaps": 100 },
          "expect": { "inputs": 200, "applied": 10, "refused": 1, "regressions": 0 } }
        """

    @Test func `a rough crowd at a live daemon sees no regression, twice, and the report holds its charts`()
        async throws
    {
        try await withDaemon { daemon in
            let file = daemon.folder.appending(path: "rough.json")
            let report = daemon.folder.appending(path: "report.html")
            try Self.rough.write(to: file, atomically: true, encoding: .utf8)
            // A second run at the same daemon meets the activities of the first.
            for _ in 0..<2 {
                let (text, status, errors) = try Self.run(
                    [file.path, "--speed", "20", "--json", "--report", report.path], daemon)
                #expect(status == 0, "\(text) \(errors)")
                let json = try JSONParser.parse(text)
                #expect(json["ok"] == true)
                #expect(json["regressions"] == 0)
                #expect(json["event_to_view_us"]?["carplay"]?["p99"]?.integer ?? 0 > 0)
                #expect(json["screens"]?["carplay"]?.integer ?? 0 > 0)
                #expect(json["screens"]?["phone"] == nil)
            }
            let html = try String(contentsOf: report, encoding: .utf8)
            #expect(html.contains("<svg") && html.contains("prefers-color-scheme: dark"))
            #expect(html.contains("telltale-sim 0.") && html.contains("<code>telltale-sim run --connect 127.0.0.1:"))
            #expect(html.contains("at a live daemon"))
            let suffixed = html.split(separator: "\n").filter { $0.contains("~") }
            #expect(suffixed.isEmpty, "keys are those of the file")
            for outside in ["http:", "https:", "<script", "<link", "src=", "@import", "url("] {
                #expect(!html.contains(outside), "the report needs nothing from elsewhere: \(outside)")
            }
        }
    }

    @Test("A script is green at a live daemon", arguments: ["coffee-in-the-car", "flight-with-a-delay"])
    func script(name: String) async throws {
        try await withDaemon { daemon in
            let (text, status, errors) = try Self.run([name, "--speed", "max"], daemon)
            #expect(status == 0, "\(text) \(errors)")
            #expect(text.hasSuffix("Everything is as it should be."))
            #expect(!text.contains("\u{1B}"), "no terminal, no codes for one")
        }
    }

    @Test("Ctrl-Z gives the shell its terminal back, and then the run", arguments: [true, false])
    func suspension(isKey: Bool) async throws {
        try await onOwnThread {
            let terminal = try PseudoTerminal(width: 120, height: 40)
            let run = try RunningProgram(
                program("telltale-sim"), ["run", "coffee-in-the-car", "--speed", "0.1"],
                environment: ["TERM": "xterm"], at: terminal)
            defer { run.kill() }
            let (begin, end) = ("\u{1B}[?1049h", "\u{1B}[?1049l")
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "q quits") != nil)
            #expect(!terminal.isPlain)
            if isKey { terminal.press("\u{1A}") } else { run.send(SIGTSTP) }
            #expect(terminal.read(until: end)?.contains("\u{1B}[?25h") == true)
            #expect(run.waitUntilStopped())
            #expect(terminal.isPlain)
            run.send(SIGCONT)
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "q quits") != nil, "the whole picture is drawn again")
            #expect(!terminal.isPlain)
            terminal.press("q")
            #expect(terminal.read(until: end) != nil)
            #expect(run.waitForExit() == 130)
            #expect(terminal.isPlain)
        }
    }

    @Test func `a scenario that cannot be played ends with the reason and its exit code`() async throws {
        try await withDaemon { daemon in
            let file = daemon.folder.appending(path: "parrots.json")
            try #"{"title":"t","population":{"kinds":{"parrot":{"road":["start"]}}}}"#.write(
                to: file, atomically: true, encoding: .utf8)
            let unknown = try Self.run([file.path], daemon)
            #expect(unknown.status == 1)
            #expect(unknown.errors.contains("the daemon does not know the kind parrot"))
            try #"{"title":"t","faults":{"rain":1}}"#.write(to: file, atomically: true, encoding: .utf8)
            let wrong = try Self.run([file.path], daemon)
            #expect(wrong.status == 2)
            #expect(wrong.errors.contains("parrots: $.faults.rain is unknown; there are crashes, "))
            let absent = try RunningProgram(
                program("telltale-sim"), ["run", "coffee-in-the-car", "--connect", "127.0.0.1:1"])
            _ = absent.readToEnd()
            #expect(absent.waitForExit() == 69)
            #expect(absent.standardError.hasPrefix("no daemon at 127.0.0.1:1: "))
        }
    }

    @Test(
        "On a terminal it draws, takes keys and gives the terminal back",
        arguments: [(["s", "q"], 130), (["s", " ", "++++++++++"], 0)] as [([String], Int32)])
    func terminal(keys: [String], status: Int32) async throws {
        try await onOwnThread {
            let terminal = try PseudoTerminal(width: 100, height: 40)
            // So slow that it cannot end before the keys arrive.
            let run = try RunningProgram(
                program("telltale-sim"), ["run", "flight-with-a-delay", "--speed", "0.1"],
                environment: ["TERM": "xterm", "NO_COLOR": "1"], at: terminal)
            defer { run.kill() }
            #expect(terminal.read(until: "\u{1B}[?1049h") != nil)
            #expect(terminal.read(until: "space pauses, s steps")?.contains("CarPlay · car") == true)
            for (key, shown) in [(" ", "paused"), (" ", "at 0.1 ×"), (" ", "paused")] {
                terminal.press(key)
                #expect(terminal.read(until: shown) != nil)
            }
            // It is paused, and goes on by these alone.
            for key in keys { terminal.press(key) }
            #expect(terminal.read(until: "\u{1B}[?1049l") != nil)
            if status == 0 { #expect(terminal.read(until: "Everything is as it should be.") != nil) }
            #expect(run.waitForExit() == status, "\(run.standardError)")
            #expect(terminal.isPlain)
        }
    }

    @Test(
        "Where the locale has no UTF-8 a terminal gets ASCII alone",
        arguments: [
            (["run", "flight-with-a-delay", "--speed", "max"], "Everything is as it should be."),
            (["run", "flight-with-a-delay", "--plain"], "Everything is as it should be."),
            (["swarm", "--seeds", "2", "--inputs", "200"], "refusals: "), (["compare", "--help"], "--percent"),
        ] as [([String], String)])
    func ascii(arguments: [String], last: String) async throws {
        try await onOwnThread {
            let terminal = try PseudoTerminal(width: 100, height: 40)
            let run = try RunningProgram(
                program("telltale-sim"), arguments,
                environment: ["TERM": "xterm", "LC_ALL": "C", "NO_COLOR": "1"], at: terminal, errorsToo: true)
            defer { run.kill() }
            let shown = try #require(terminal.read(until: last))
            #expect(run.waitForExit() == 0)
            #expect(shown.utf8.allSatisfy { $0 < 0x80 }, "\(shown)")
        }
    }

    private static func run(
        _ arguments: [String], _ daemon: DaemonProcess
    ) throws -> (text: String, status: Int32?, errors: String) {
        let run = try RunningProgram(
            program("telltale-sim"), ["run", "--connect", "127.0.0.1:\(daemon.port)"] + arguments)
        let text = run.readToEnd().joined(separator: "\n")
        return (text, run.waitForExit(), run.standardError)
    }
}
