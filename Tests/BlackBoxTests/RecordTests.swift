import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// `telltale-sim record` at one daemon, and `replay` at a fresh one.
@Suite(.serialized, .nightly)
struct RecordTests {
    /// Orders without controls, so that nothing depends on when it is said.
    private static let scenario = """
        { "title": "A little of everything", "seed": 3,
          "population": { "producers": 2, "screens": 2, "fingers": 0, "providers": 0, "inputs": 120,
            "kinds": { "coffee-order": 1, "flight": 1 } },
          "faults": { "disorder": 200, "duplicates": 50 } }
        """

    @Test func `a replay of a recording gives the same verdicts and the same views`() async throws {
        try await onOwnThread {
            let (daemon, fresh) = (try DaemonProcess(), try DaemonProcess())
            let (scenario, file) = (
                daemon.folder.appending(path: "s.json").path, daemon.folder.appending(path: "r.jsonl").path
            )
            try Self.scenario.write(toFile: scenario, atomically: true, encoding: .utf8)
            for name in [scenario, "coffee-in-the-car"] {
                let run = try Self.sim(["run", name, "--speed", "20"], daemon)
                #expect(run.status == 0, "\(run.text) \(run.errors)")
            }
            let peer = try daemon.greetedPeer()
            let soon = Int(Date().timeIntervalSince1970) + 300
            _ = try peer.ask(
                #"EVT flight/LH1 type=start {"content-state":{"eta":\#(soon)},"stale-date":\#(soon),"relevance-score":7}"#
            )
            try Self.switchLight(daemon, peer)
            let record = try Self.sim(["record", file, "--once"], daemon)
            #expect(record.status == 0, "\(record.errors)")
            #expect(record.errors.contains(" deeds of "))
            let recording = try String(contentsOfFile: file, encoding: .utf8)
            #expect(!recording.contains("\(soon)"), "no absolute times")
            let replay = try Self.sim(["replay", file], fresh)
            #expect(replay.text.hasSuffix("The same verdicts, and the same views."), "\(replay.text)")
            #expect(replay.status == 0)
        }
    }

    @Test func `a difference is reported, and the exit code says so`() async throws {
        try await onOwnThread {
            let (daemon, fresh) = (try DaemonProcess(), try DaemonProcess())
            let file = daemon.folder.appending(path: "r.jsonl").path
            let peer = try daemon.greetedPeer()
            for type in ["start", "confirm", "brew"] { _ = try peer.ask("EVT coffee-order/1 type=\(type)") }
            #expect(try Self.sim(["record", file, "--for", "100ms"], daemon).status == 0)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacingOccurrences(of: #""event":"confirm""#, with: #""event":"cancel""#).write(
                toFile: file, atomically: true, encoding: .utf8)
            let replay = try Self.sim(["replay", file, "--json"], fresh)
            #expect(replay.status == 1)
            let json = try JSONParser.parse(replay.text)
            #expect(json["same"] == false)
            #expect(
                json["differences"]?.array?.first
                    == "coffee-order/1, deed 2: cancel applied, active queued, and then cancel applied, ended cancelled"
            )
            #expect(
                try Self.sim(["replay", "/nowhere.jsonl"], fresh).errors
                    == "telltale-sim: /nowhere.jsonl cannot be read: No such file or directory\n")
        }
    }

    /// A tap that is done, and one that is not.
    private static func switchLight(_ daemon: DaemonProcess, _ person: Peer) throws {
        let setup = try daemon.greetedPeer()
        _ = try setup.ask("SERVE porch-light")
        _ = try setup.ask("REPORT porch-light/front value=off")
        for (value, answer) in [("on", "DONE"), ("off", "FAIL")] {
            _ = try person.ask("SET porch-light/front value=\(value)")
            let action = try setup.receive()
            let operation = try #require(action.verb == "DO" ? action["op"] : nil)
            _ = try setup.ask(
                "\(answer) op=\(operation)" + (answer == "FAIL" ? " code=jammed {\"message\":\"stuck\"}" : ""))
        }
    }

    private static func sim(
        _ arguments: [String], _ daemon: DaemonProcess
    ) throws -> (text: String, status: Int32?, errors: String) {
        let run = try RunningProgram(
            program("telltale-sim"), arguments + ["--connect", "127.0.0.1:\(daemon.port)"])
        let text = run.readToEnd().joined(separator: "\n")
        return (text, run.waitForExit(), run.standardError)
    }
}
