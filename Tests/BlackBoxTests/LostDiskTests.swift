import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// A daemon on a full disk, or without its files, seen from outside.
@Suite(.serialized, .endsOneDay)
struct LostDiskTests {
    @Test func `on a full disk it starts, serves readers, and stops in order`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for number in 1...300 { _ = try peer.ask("EVT errand/\(number) type=start") }
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()

            // 32 KiB a file: SQLite's index of the log has room, and the records that wait in the log have not.
            let full = try DaemonProcess(in: daemon.folder, limits: "ulimit -S -f 64")
            #expect(full.ready["epoch"] == daemon.ready["epoch"])
            let reader = try full.greetedPeer()
            #expect(try reader.ask("GET errand/300").verb == "OK")
            #expect(try reader.ask("EVT errand/301 type=start")["code"] == "storage_full")
            full.send(SIGTERM)
            #expect(full.waitForExit() == 0)

            let roomy = try DaemonProcess(in: daemon.folder)
            let sender = try roomy.greetedPeer()
            #expect(try sender.ask("GET errand/300").verb == "OK")
            #expect(try sender.ask("EVT errand/301 type=start")["verdict"] == "applied")
        }
    }

    @Test func `without its folder it notifies the next sender that the disk failed, and ends`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            #expect(try peer.ask("EVT errand/1 type=start")["verdict"] == "applied")
            try FileManager.default.removeItem(at: daemon.folder.appending(path: "data"))
            let refused = try peer.ask("EVT errand/2 type=start")
            #expect(refused["code"] == "storage_failed" && refused["fatal"] == "1")
            #expect(daemon.waitForExit() == 1)
            #expect(daemon.standardError.contains("journal.sqlite was removed or renamed"))
        }
    }
}
