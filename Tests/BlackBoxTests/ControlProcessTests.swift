import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// Controls across the death of the real daemon: an acknowledged tap acts once, and no operation stays pending.
@Suite(.serialized)
struct ControlProcessTests {
    @Test func `after SIGKILL a retried tap acts once, and a pending operation is reverted or asked for again`()
        async throws
    {
        try await withDaemon { daemon in
            let (provider, phone) = (try Peer(port: daemon.port), try Peer(port: daemon.port))
            for kind in ["porch-light", "store-open"] { #expect(try provider.ask("SERVE \(kind)").verb == "OK") }
            for key in ["porch-light/front", "porch-light/back", "store-open/main"] {
                #expect(try provider.ask("REPORT \(key) value=off").verb == "OK")
            }
            #expect(try phone.ask("HELLO account=alice").verb == "OK")
            // One operation is confirmed. Two are pending, of kinds with different rules for a restart.
            let confirmed = try #require(try phone.ask("SET porch-light/back value=on eid=1")["op"])
            #expect(try provider.receive()["op"] == confirmed)
            #expect(try provider.ask("DONE op=\(confirmed) value=on")["verdict"] == "applied")
            let reverted = try #require(try phone.ask("SET porch-light/front value=on eid=2")["op"])
            let reissued = try #require(try phone.ask("SET store-open/main value=on eid=3")["op"])
            #expect(try provider.receive()["op"] == reverted)
            #expect(try provider.receive()["op"] == reissued)
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()

            let again = try DaemonProcess(in: daemon.folder)
            let (newProvider, newPhone) = (try Peer(port: again.port), try Peer(port: again.port))
            #expect(try newPhone.ask("HELLO account=alice").verb == "OK")
            var row = try newPhone.ask("GET porch-light/front")
            #expect(row.tail?["phase"] == "settled" && row.tail?["value"] == false)
            #expect(row.tail?["last"]?["op"] == .string(reverted) && row.tail?["last"]?["reason"] == "unavailable")
            #expect(try newPhone.ask("GET store-open/main").tail?["phase"] == "pending")

            try newProvider.send("SERVE porch-light")
            try newProvider.send("SERVE store-open")
            var asked: [String?] = []
            for _ in 0..<4 {
                let line = try newProvider.receive()
                if line.verb == "DO" { asked.append(line["op"]) }
                if asked.count == 1, line.verb == "OK" { break }
            }
            #expect(asked == [reissued])
            for (key, eid, operation) in [
                ("porch-light/back", "1", confirmed), ("porch-light/front", "2", reverted),
                ("store-open/main", "3", reissued),
            ] {
                let reply = try newPhone.ask("SET \(key) value=on eid=\(eid)")
                #expect(reply["op"] == operation && reply["verdict"] == "duplicate")
            }
            // Answers to operations of the dead daemon change nothing.
            try newProvider.send("DONE op=\(reverted) value=on id=late")
            try newProvider.send("DONE op=\(reissued) value=on id=now")
            var answers: [String: String] = [:]
            while answers.count < 2 {
                let line = try newProvider.receive()
                if let id = line["id"] { answers[id] = line["verdict"] }
            }
            #expect(answers == ["late": "ignored", "now": "applied"])
            #expect(try newPhone.ask("GET porch-light/front").tail?["value"] == false)
            row = try newPhone.ask("GET store-open/main")
            #expect(row.tail?["value"] == true && row.tail?["last"]?["result"] == "confirmed")
        }
    }

    @Test func `telltale serve acts by a command, and reports the outcome`() async throws {
        try await withDaemon { daemon in
            let telltale = DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale")
            let program = try RunningProgram(
                telltale,
                [
                    "serve", "porch-light", "--connect", "127.0.0.1:\(daemon.port)", "--report", "front=off", "--exec",
                    #"case $TELLTALE_VALUE in on) echo on;; *) echo "stuck at $TELLTALE_KEY" >&2; exit 3;; esac"#,
                ])
            defer { program.kill() }
            let phone = try daemon.greetedPeer()
            try phone.send("SUB porch-light/front")
            func settled(_ operation: String?) throws -> ServerLine {
                while true {
                    let line = try phone.receive()
                    guard line.verb == "UPD" || line.verb == "SNAP" else { continue }
                    if line.tail?["phase"] != "settled" { continue }
                    if operation == nil || line.tail?["last"]?["op"]?.string == operation { return line }
                }
            }
            _ = try settled(nil)
            var row = try settled(try phone.ask("SET porch-light/front value=on")["op"])
            #expect(row.tail?["value"] == true && row.tail?["assumed"] == false)
            row = try settled(try phone.ask("SET porch-light/front value=off")["op"])
            #expect(row.tail?["value"] == true && row.tail?["last"]?["message"] == "stuck at porch-light/front")
        }
    }

    @Test func `a command has its kind's real time, however fast the daemon's clock runs`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--clock-speed", "600"])
            let telltale = DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale")
            let program = try RunningProgram(
                telltale,
                [
                    "serve", "porch-light", "--connect", "127.0.0.1:\(daemon.port)", "--report", "front=off", "--exec",
                    "sleep 0.5; echo on",
                ])
            defer { program.kill() }
            let phone = try daemon.greetedPeer()
            try phone.send("SUB porch-light/front")
            var row = try phone.receive()
            while row.tail?["value"] != false { row = try phone.receive() }
            let operation = try #require(try phone.ask("SET porch-light/front value=on")["op"])
            while row.tail?["last"]?["op"]?.string != operation { row = try phone.receive() }
            #expect(row.tail?["last"]?["result"] == "confirmed", "\(row.tail?["last"] ?? .null)")
        }
    }

    @Test func `slow commands, and processes that they leave behind, delay no other command`() async throws {
        try await withDaemon { daemon in
            let telltale = DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale")
            let leftBehind = daemon.folder.appending(path: "left-behind")
            let program = try RunningProgram(
                telltale,
                ["serve", "porch-light", "--connect", "127.0.0.1:\(daemon.port)"]
                    + ["1", "2", "3", "front", "back"].flatMap { ["--report", "\($0)=off"] } + [
                        "--exec",
                        """
                        case $TELLTALE_KEY in
                        */back) sleep 600 </dev/null >/dev/null 2>&1 & ;;
                        *) sleep 600 & ;;
                        esac
                        echo $! >>'\(leftBehind.path)'
                        case $TELLTALE_KEY in
                        */back|*/front) echo on;;
                        *) wait;;
                        esac
                        """,
                    ])
            defer {
                let processes = (try? String(contentsOf: leftBehind, encoding: .utf8)) ?? ""
                for process in processes.split(separator: "\n").compactMap({ pid_t($0) }) { kill(process, SIGKILL) }
                program.kill()
            }
            let phone = try daemon.greetedPeer()
            try phone.send("SUB porch-light/*")
            var known: Set<String> = []
            while known.count < 5 {
                if let key = try phone.receive()["key"] { known.insert(key) }
            }
            for key in ["1", "2", "3"] { #expect(try phone.ask("SET porch-light/\(key) value=on").verb == "OK") }
            for key in ["front", "back"] {
                let operation = try #require(try phone.ask("SET porch-light/\(key) value=on")["op"])
                var last: JSON?
                while last?["op"]?.string != operation { last = try phone.receive().tail?["last"] }
                #expect(last?["result"] == "confirmed", "\(key)")
            }
        }
    }

    @Test func `the lamp of the documentation is a provider`() async throws {
        try await withDaemon { daemon in
            let file = daemon.folder.appending(path: "lamp")
            let script = repository.appending(path: "Protocols/Controls/lamp.py")
            let lamp = try RunningProgram(
                URL(filePath: "/usr/bin/env"), ["python3", script.path, "127.0.0.1:\(daemon.port)", file.path])
            defer { lamp.kill() }
            let phone = try daemon.greetedPeer()
            try phone.send("SUB porch-light/front")
            // The control exists with its kind file, and has a value when the lamp has reported it.
            while try phone.receive().tail?["value"] != false {}
            let operation = try #require(try phone.ask("SET porch-light/front value=on")["op"])
            while try phone.receive().tail?["last"]?["op"]?.string != operation {}
            #expect(try phone.ask("GET porch-light/front").tail?["value"] == true)
            #expect(try String(contentsOf: file, encoding: .utf8) == "on\n")
        }
    }
}
