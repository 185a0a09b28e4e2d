import Foundation
import TelltaleModel
import TestSupport
import Testing

/// Real orders and flights through the real daemon: each case ends as the data says.
///
/// The shipped slices. `Tools/ci/replay` does the same with a folder of larger traces.
@Suite(.serialized)
struct ReplayTests {
    @Test("Every case ends as the data says, once", .nightly, arguments: [nil, 7] as [UInt64?])
    func replay(seed: UInt64?) async throws {
        try await withDaemon { daemon in
            for (file, kind, counts) in [
                (
                    "olist_orders_500.csv", "parcel",
                    "484 delivered, 6 approved, 5 handed_to_carrier, 3 canceled, 2 unavailable"
                ), ("nycflights13_500.csv", "flight", "491 arrived, 7 canceled, 2 diverted"),
            ] {
                let arguments = ["--kind", kind, "--check"] + (seed.map { ["--rough", "\($0)"] } ?? [])
                let text = try Self.replay(file, arguments, daemon)
                #expect(text.contains("500 of 500 cases ended as the data says: \(counts)"))
                guard seed != nil else { continue }
                #expect(text.contains("8 connections cut"))
                // The same events again, as rough: nothing is new, and nothing changes.
                let again = try JSONParser.parse(try Self.replay(file, arguments + ["--json"], daemon))
                #expect(again["agreed"] == 500)
                #expect(again["verdicts"]?.object?.map(\.name) == ["duplicate"])
                #expect((again["retried"]?.integer ?? 0) > 100)
                #expect((again["repeated"]?.integer ?? 0) > 100)
            }
        }
    }

    @Test(.nightly) func `a killed daemon that comes back is waited for, and no order is lost`() async throws {
        try await inFolder { folder in
            var daemon = try DaemonProcess(in: folder)
            let port = daemon.port
            let replay = try RunningProgram(
                program("telltale-sim"),
                ["replay", Self.data("olist_orders_500.csv"), "--kind", "parcel", "--check", "--connect"]
                    + ["127.0.0.1:\(port)", "--speed", "100000000"])
            let peer = try Peer(port: port)
            _ = try peer.receive()
            _ = try peer.ask("SUB parcel/*")
            for _ in 0..<300 { _ = try peer.receive() }
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()
            daemon = try DaemonProcess(in: folder, port: port)
            let text = replay.readToEnd().joined(separator: "\n")
            #expect(text.contains("500 of 500 cases ended as the data says"))
            #expect(replay.waitForExit() == 0)
        }
    }

    @Test func `a difference from the data is reported, and the exit says so`() async throws {
        try await withDaemon { daemon in
            let csv = """
                case_id,event,timestamp,other
                a,purchased,2018-01-01T00:00:00,"{""final_status"":""delivered""}"
                b,purchased,2018-01-01T00:00:00,
                b,delivered,2018-01-01T00:00:01,

                """
            let replay = try RunningProgram(
                program("telltale-sim"),
                ["replay", "-", "--kind", "parcel", "--check", "--connect", "127.0.0.1:\(daemon.port)"], input: csv)
            let lines = replay.readToEnd()
            #expect(
                lines.dropFirst() == [
                    "1 of 2 cases ended as the data says: 2 delivered",
                    "parcel/a: the data says delivered, the daemon says ordered",
                ])
            #expect(replay.waitForExit() == 1)
        }
    }

    private static func replay(_ file: String, _ arguments: [String], _ daemon: DaemonProcess) throws -> String {
        let program = try RunningProgram(
            program("telltale-sim"),
            ["replay", data(file), "--connect", "127.0.0.1:\(daemon.port)"] + arguments)
        let text = program.readToEnd().joined(separator: "\n")
        #expect(program.waitForExit() == 0, "\(text) \(program.standardError)")
        return text
    }

    private static func data(_ name: String) -> String {
        repository.appending(path: "Tools/telltale-sim/Scenarios/data/\(name)").path
    }
}

/// A program of this build, beside the daemon.
func program(_ name: String) -> URL {
    DaemonProcess.executable.deletingLastPathComponent().appending(path: name)
}
