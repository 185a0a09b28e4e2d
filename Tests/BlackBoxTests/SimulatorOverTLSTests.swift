import Foundation
import TestSupport
import Testing

/// `telltale-sim` at a daemon with tokens and TLS.
@Suite(.serialized, .nightly)
struct SimulatorOverTLSTests {
    private static let crowd = """
        { "title": "A crowd", "seed": 3,
          "population": { "producers": 2, "screens": 3, "fingers": 1, "providers": 1, "inputs": 120,
            "kinds": { "coffee-order": 1, "flight": 1 }, "toggles": ["porch-light/a"] },
          "faults": { "disorder": 200, "duplicates": 50, "resets": 40, "slices": 300 } }
        """

    @Test func `a crowd, a replay and a recording are as in plain`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let principals = folder.path("principals.json")
            let add = try RunningProgram(
                program("telltale"),
                ["token", "add", "sim", "--scope", "admin", "--account", "*", "--auth", principals])
            let token = try #require(add.readToEnd().first, "\(add.standardError)")
            try token.write(toFile: folder.path("token"), atomically: true, encoding: .utf8)
            try Self.crowd.write(toFile: folder.path("crowd.json"), atomically: true, encoding: .utf8)
            let bridge = try TLSBridge("--auth", principals)
            let way = [
                "--connect", "tls://localhost:\(bridge.tlsPort)", "--ca", bridge.authority, "--token-file",
                folder.path("token"),
            ]
            func sim(_ arguments: [String]) throws -> (status: Int32?, text: String) {
                let process = try RunningProgram(program("telltale-sim"), arguments)
                let text = process.readToEnd().joined(separator: "\n")
                return (process.waitForExit(), text + process.standardError)
            }
            let run = try sim(["run", folder.path("crowd.json"), "--speed", "20"] + way)
            #expect(run.status == 0, "\(run.text)")
            let data = repository.appending(path: "Tools/telltale-sim/Scenarios/data/olist_orders_500.csv").path
            let replay = try sim(["replay", data, "--kind", "parcel", "--check"] + way)
            #expect(replay.status == 0 && replay.text.contains("500 of 500 cases"), "\(replay.text)")
            let record = try sim(["record", folder.path("r.jsonl"), "--once"] + way)
            #expect(record.status == 0 && record.text.contains(" deeds of "), "\(record.text)")
            let stranger = try sim(["record", folder.path("s.jsonl"), "--once"] + Array(way.prefix(4)))
            #expect(stranger.status != 0, "\(stranger.text)")
            #expect(!(run.text + replay.text + record.text).contains(token.suffix(43)))
        }
    }
}
