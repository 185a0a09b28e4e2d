import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The daemon as a process: how it begins, is sent things, and ends (Programs/README.md).
@Suite(.serialized)
struct ProcessTests {
    @Test func `ready is reported once it serves`() async throws {
        try await withDaemon { daemon in
            #expect(daemon.ready["entities"] == "3")
            #expect(daemon.ready["epoch"]?.count == 16)
            #expect(Int(daemon.ready["recovered_ms"] ?? "") != nil)
            let peer = try Peer(port: daemon.port)
            #expect(try peer.receive()["epoch"] == daemon.ready["epoch"])
        }
    }

    @Test func `many are written to at once, and each gets its own lines`() async throws {
        try await withDaemon { daemon in
            let shop = try daemon.greetedPeer()
            let note = String(repeating: "n", count: 3_800)
            for number in 0..<100 {
                let event = "EVT errand/\(number) type=start {\"content-state\":{\"note\":\"\(note)\"}}"
                #expect(try shop.ask(event)["verdict"] == "applied")
            }
            // More than one batch of them: one that reads nothing, one that wants more than a write takes, one that leaves.
            let screens = try (0..<40).map { number in
                let peer = try Peer(port: daemon.port, receiveBufferByteCount: number == 0 ? 4_096 : nil)
                _ = try peer.receive()
                try peer.send("SUB errand/\(number)")
                while try peer.receive().verb != "LIVE" {}
                return peer
            }
            for _ in 0..<8 { try screens[0].send("LIST errand/*") }
            try screens[1].send("LIST errand/*\nPING")
            try screens[2].send("PING\nBYE")
            let events = (0..<40).map { "EVT errand/\($0) type=update {\"content-state\":{\"note\":\"\($0)\"}}" }
            try shop.send(events.joined(separator: "\n"))
            for number in 3..<40 {
                let row = try screens[number].receive()
                #expect(row.verb == "UPD" && row["key"] == "errand/\(number)")
            }
            let answer = screens[1].receive(until: "PONG")
            #expect(answer.filter { $0.hasPrefix("SNAP sub=0 ") }.count == 100)
            try expectOwnRow(1, behind: answer, to: screens[1])
            #expect(screens[2].receiveRest().contains("PONG"))
            // In the end the one that did not read has all of its own, too.
            try screens[0].send("PING")
            let late = screens[0].receive(until: "PONG")
            #expect(late.filter { $0.hasPrefix("SNAP sub=0 ") }.count == 800)
            try expectOwnRow(0, behind: late, to: screens[0])
        }
    }

    /// The one row of `errand/number` is among `lines`, or comes next.
    private func expectOwnRow(_ number: Int, behind lines: [String], to peer: Peer) throws {
        let rows = lines.filter { $0.hasPrefix("UPD ") }
        #expect(rows.count <= 1 && rows.allSatisfy { $0.contains(" key=errand/\(number) ") })
        guard rows.isEmpty else { return }
        let row = try peer.receive()
        #expect(row.verb == "UPD" && row["key"] == "errand/\(number)")
    }

    @Test func `with its journal in memory it answers, shows and ends as with one on disk`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(limits: "export TELLTALE_JOURNAL=memory")
            let (shop, screen) = (try Peer(port: daemon.port), try Peer(port: daemon.port))
            _ = try shop.receive()
            _ = try screen.receive()
            try screen.send("SUB errand/*")
            while try screen.receive().verb != "LIVE" {}
            // More than one part of a batch, were it handed over in parts.
            let events = (0..<600).map { "EVT errand/\($0) type=start id=\($0)" }
            try shop.send(events.joined(separator: "\n"))
            for number in 0..<600 { #expect(try shop.receive()["id"] == "\(number)") }
            for number in 0..<600 { #expect(try screen.receive()["key"] == "errand/\(number)") }
            try shop.send("HISTORY errand/599")
            #expect(try shop.receive()["key"] == "errand/599")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
        }
    }

    @Test func `SIGTERM drains: requests are answered, BYE is sent, the status is 0`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for number in 1...200 { try peer.send("EVT errand/\(number) type=start id=\(number)") }
            #expect(try peer.receive()["id"] == "1")
            daemon.send(SIGTERM)
            let rest = peer.receiveRest()
            let bye = rest.last ?? ""
            #expect(bye.wholeMatch(of: /BYE code=shutting_down wait=[0-9]+-[0-9]+/) != nil)
            #expect(daemon.waitForExit() == 0)

            // Everything that was acknowledged is there afterwards, in the same history.
            let again = try DaemonProcess(in: daemon.folder)
            let reader = try Peer(port: again.port)
            #expect(try reader.receive()["epoch"] == daemon.ready["epoch"])
            let acknowledged = 1 + rest.filter { $0.contains("verdict=applied") }.count
            #expect(again.ready["entities"] == "\(3 + acknowledged)")
        }
    }

    @Test(.nightly) func `producers that never pause do not keep it from stopping`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--pace", "50"])
            let events = (1...200).map { "EVT errand/\($0) type=start\n" }.joined()
            for _ in 1...8 {
                let socket = try Peer(port: daemon.port).socket
                Thread { while (try? socket.send(events)) != nil {} }.start()
                Thread { while let piece = try? socket.receive(), !piece.isEmpty {} }.start()
            }
            let peer = try daemon.greetedPeer()
            var count: Int64 = 0
            while count < 2_000 { count = try #require(try peer.ask("STATS").tail?["requests"]?.integer) }
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            // From its last snapshot an upgraded daemon starts: it holds everything.
            let tool = try RunningProgram(
                DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale"),
                ["journal", "info", "--json", daemon.folder.path + "/data"])
            let info = try JSONParser.parse(tool.readLine() ?? "")
            #expect(info["last"] != nil && info["snapshot"]?["seq"] == info["last"])
        }
    }

    /// A log whose reader is there and does not read, and that is full.
    private static let fullPipe =
        "p=$(mktemp -u); mkfifo $p; exec 2<>$p; dd if=/dev/zero of=$p bs=4096 oflag=nonblock 2>/dev/null; rm $p"

    @Test(
        "A log that nobody can write to stops nothing",
        arguments: ["exec 2>/dev/full", "exec 2>&-", fullPipe])
    func unwritableLog(_ redirection: String) async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(limits: redirection)
            let peer = try daemon.greetedPeer()
            daemon.send(SIGHUP)
            #expect(try peer.ask("EVT errand/1 type=start")["verdict"] == "applied")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            // Nor does it go into the first file that was opened instead.
            let lock = try String(contentsOf: daemon.folder.appending(path: "data/lock"), encoding: .utf8)
            #expect(lock.wholeMatch(of: /[0-9]+\n/) != nil, "\(lock)")
        }
    }

    @Test func `SIGKILL loses nothing that was acknowledged`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for number in 1...50 {
                #expect(try peer.ask("EVT errand/\(number) type=start eid=\(number)")["verdict"] == "applied")
            }
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()
            let again = try DaemonProcess(in: daemon.folder)
            let reader = try Peer(port: again.port)
            #expect(try reader.receive()["epoch"] == daemon.ready["epoch"])
            for number in 1...50 {
                #expect(try reader.ask("EVT errand/\(number) type=start eid=\(number)")["verdict"] == "duplicate")
            }
        }
    }

    @Test(.nightly) func `a start from a snapshot of many chunks has every activity as it was`() async throws {
        @Sendable func list(from daemon: DaemonProcess) throws -> [String] {
            let reader = try daemon.greetedPeer()
            try reader.send("LIST errand/* view=full\nPING id=over")
            return reader.receive(until: "PONG id=over").filter { $0.hasPrefix("SNAP ") }
        }
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            // Six chunks: so many that two threads decode them side by side.
            for batch in 0..<20 {
                let lines = (1...50).map { step in
                    let word = "\(batch * 50 + step) "
                    let filler = String(repeating: word, count: 3_000 / word.count)
                    return #"EVT errand/\#(batch * 50 + step) type=start {"content-state":{"filler":"\#(filler)"}}"#
                }
                try peer.send((lines + ["PING id=\(batch)"]).joined(separator: "\n"))
                #expect(peer.receive(until: "PONG id=\(batch)").count == 51)
            }
            let before = try list(from: daemon)
            #expect(before.count == 1_000)
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            let again = try DaemonProcess(in: daemon.folder)
            #expect(try list(from: again) == before)
        }
    }

    @Test func `SIGHUP reads the kinds again, all or none`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            #expect(try peer.ask("EVT walk/1 type=start").errorCode == .unknownKind)
            let kind =
                #"{"kind":"walk","type":"activity","version":1,"app":"com.example.walk","title":"Walk","#
                + #""machine":{"initial":"on","states":{"on":{"on":{"stop":"off"}},"off":{"type":"final"}}}}"#
            let file = daemon.folder.appending(path: "kinds/walk.json")
            let broken = daemon.folder.appending(path: "kinds/broken.json")
            try Data(kind.utf8).write(to: file)
            try Data("{".utf8).write(to: broken)
            daemon.send(SIGHUP)
            try daemon.waitUntilLogged("the old ones stay")
            #expect(try peer.ask("EVT walk/1 type=start").errorCode == .unknownKind)
            #expect(daemon.standardError.contains(" error broken.json:1:2: "))
            // An editor's temporary file is no kind file.
            try FileManager.default.moveItem(at: broken, to: daemon.folder.appending(path: "kinds/.#walk.json"))
            daemon.send(SIGHUP)
            try daemon.waitUntilLogged("kinds reloaded")
            #expect(try peer.ask("EVT walk/1 type=start")["verdict"] == "applied")
            // While one of it lives, its kind cannot leave.
            try FileManager.default.removeItem(at: file)
            daemon.send(SIGHUP)
            try daemon.waitUntilLogged("kind walk is gone, but 1 of it exist")
            #expect(try peer.ask("EVT walk/1 type=stop")["state"] == "off")
        }
    }

    @Test func `a port in use is one clear line`() async throws {
        try await withDaemon { daemon in
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            try DaemonProcess.expectRefusal(
                of: [
                    "--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen",
                    "127.0.0.1:\(daemon.port)",
                ],
                telling: "\(daemon.port)")
        }
    }

    @Test func `a data folder in use is one clear line, and its lock dies with the process`() async throws {
        try await withDaemon { daemon in
            let arguments = ["--data", daemon.folder.path + "/data", "--kinds", daemon.folder.path + "/kinds"]
            try DaemonProcess.expectRefusal(of: arguments + ["--listen", "127.0.0.1:0"], telling: "data")
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()
            _ = try DaemonProcess(in: daemon.folder)
        }
    }

    @Test func `a connection beyond the limit is notified`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(limits: "ulimit -n 128")
            var peers: [Peer] = []
            var refusal: String?
            for _ in 0..<128 where refusal == nil {
                let peer = try Peer(port: daemon.port)
                guard case .line(let line) = peer.next() else { break }
                if line.hasPrefix("ERR ") { refusal = line }
                peers.append(peer)
            }
            #expect(refusal?.hasPrefix("ERR code=limit_conns retry=later ") == true)
            // Descriptors of the server itself count too.
            #expect((128 - 64 - 32...128 - 64).contains(peers.count - 1))
            #expect(peers.last?.next() == .end)
            #expect(try peers[0].ask("STATS").tail?["refused"] == 1)

            #expect(daemon.standardError.contains("no room for more connections: limit_conns; raise the limit"))
            #expect(daemon.standardError.contains("refused=1"))

            // Room is there again as soon as one leaves.
            peers.removeSubrange(10..<20)
            #expect(try peers[0].ask("PING").verb == "PONG")
            let late = try Peer(port: daemon.port)
            guard case .line(let line) = late.next() else { return #expect(Bool(false), "no greeting") }
            #expect(line.hasPrefix("TELLTALE "))
        }
    }
}
