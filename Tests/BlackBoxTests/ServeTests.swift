import Foundation
import Glibc
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// `telltale serve`: what it reports, and what it reports of its work.
@Suite(.serialized)
struct ServeTests {
    @Test func `a provider reports again on a new connection, with the values of its commands, and prints each action`()
        async throws
    {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try RunningProgram(
                program("telltale"), ["serve", "light", "--exec", "true", "--report", "a=off"],
                environment: ["TELLTALE_CONNECT": daemon.address])
            defer { provider.kill() }
            let now: Int64 = 1_000_000
            var peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.answer("SUB light/*", "OK sub=1")
            try peer.answer("REPORT light/a value=off", "OK")
            try peer.send("DO op=o1 key=light/a action=set value=on deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o1"))
            peer.close()
            peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.answer("SUB light/*", "OK sub=1")
            try peer.answer("REPORT light/a value=on", "OK")
            // The answer shows that the earlier lines were received.
            try peer.send("DO op=o2 key=light/a action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2"))
            #expect(provider.standardError.contains("telltale: light/a on: done\n"))
            #expect(provider.standardError.contains("telltale: serving light again\n"))
        }
    }

    @Test func `a widget shows the timeline that a command gives, is in the gallery, and is asked for anew`()
        async throws
    {
        try await inFolder { folder in
            let weather = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "Protocols/Kinds/widgets/weather.json")
            try FileManager.default.copyItem(at: weather, to: folder.appending(path: "kinds/weather.json"))
            let daemon = try DaemonProcess(in: folder)
            let shell = Shell(daemon)
            #expect(try shell.run("gallery", "--view", "phone").lines.contains { $0.hasPrefix("weather ") })
            #expect(try shell.run("reload", "weather/main").text.hasPrefix("deferred "))
            let peer = try daemon.greetedPeer()
            #expect(try peer.ask("SUB weather/main view=phone ahead=0").verb == "OK")
            let provider = try shell.start(
                "serve", "weather", "--exec",
                #"echo '{"entries":[{"date":1,"content-state":{"degrees":"18"}}],"policy":"never"}'"#)
            defer { provider.kill() }
            var row = ""
            while case .line(let line) = peer.next(), !row.contains("18°") { row = line }
            #expect(row.hasPrefix("UPD sub=1 key=weather/main"))
            #expect(try shell.run("reload", "weather/main").text.hasPrefix("deferred "))
            #expect(try shell.run("reload", "coffee-order/1").error.contains("unknown_key"))
        }
    }

    @Test func `a provider reports again when its kind comes back`() async throws {
        try await withDaemon { daemon in
            let kind = daemon.folder.appending(path: "kinds/porch-light.json")
            let away = daemon.folder.appending(path: "porch-light.json")
            let provider = try RunningProgram(
                program("telltale"), ["serve", "porch-light", "--exec", "true", "--report", "back=off"],
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            defer { provider.kill() }
            let peer = try daemon.greetedPeer()
            #expect(try peer.ask("SUB porch-light/back").verb == "OK")
            func wait(for beginning: String) -> Bool {
                while case .line(let line) = peer.next() { if line.hasPrefix(beginning) { return true } }
                return false
            }
            #expect(wait(for: "UPD "))
            try FileManager.default.moveItem(at: kind, to: away)
            daemon.send(SIGHUP)
            #expect(wait(for: "DEL sub=1 key=porch-light/back"))
            try FileManager.default.moveItem(at: away, to: kind)
            daemon.send(SIGHUP)
            #expect(wait(for: "UPD sub=1 key=porch-light/back"))
            #expect(try Shell(daemon).run("get", "porch-light/back").status == 0)
        }
    }

    @Test func `a widget is given the last line of the command, and a line that is no timeline fails`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try RunningProgram(
                program("telltale"),
                [
                    "serve", "weather", "--exec",
                    #"""
                    case $TELLTALE_ACTION-$TELLTALE_REASON in
                    timeline-first) echo fetching; echo '{"entries":[{"date":1,"content-state":{"n":"°"}}]}';;
                    *) echo on;; esac
                    """#,
                ],
                environment: ["TELLTALE_CONNECT": daemon.address])
            defer { provider.kill() }
            let peer = try daemon.introduce(now: 1_000_000)
            try peer.answer("SERVE weather", "OK")
            try peer.send("DO op=o1 key=weather/main action=timeline reason=first deadline=1600000")
            let done = try peer.request("DONE op=o1")
            #expect(done.hasSuffix(#" {"entries":[{"content-state":{"n":"°"},"date":1}]}"#))
            try peer.send("DO op=o2 key=weather/main action=timeline reason=atEnd deadline=1600000")
            let fail = try peer.request("FAIL op=o2")
            #expect(fail.hasSuffix(#" {"message":"the command's last line is no JSON object with entries"}"#))
        }
    }

    @Test func `with --json each action, each outcome and each connection is an object`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try RunningProgram(
                program("telltale"),
                [
                    "serve", "light", "--json", "--exec",
                    "case $TELLTALE_OP in o1) echo on;; o2) echo 'no \u{1B}[2J lamp' >&2; exit 1;; o3) sleep 600;; esac",
                ],
                environment: ["TELLTALE_CONNECT": daemon.address])
            defer { provider.kill() }
            let deadline: Int64 = 1_600_000
            func next() throws -> JSON { try JSONParser.parse(#require(provider.readLine())) }
            func asked(_ operation: String, _ more: JSON, again: Bool = false) -> JSON {
                var object = JSONObject()
                object["event"] = "do"
                object["key"] = "light/a"
                object["op"] = .string(operation)
                for member in more.object ?? JSONObject() { object[member.name] = member.value }
                object["deadline"] = .integer(deadline)
                object["again"] = .bool(again)
                return .object(object)
            }
            let on = ["action": "set", "value": true] as JSON
            var peer = try daemon.introduce(now: 1_000_000)
            try peer.answer("SERVE light", "OK")
            #expect(try next() == ["event": "serving", "kind": "light", "again": false])
            try peer.send("DO op=o1 key=light/a action=set value=on deadline=\(deadline)")
            #expect(try next() == asked("o1", on))
            try peer.answer("DONE op=o1", "OK")
            #expect(
                try next() == ["event": "done", "key": "light/a", "op": "o1", "value": true, "assumed": false])
            try peer.send("DO op=o2 key=light/a action=press deadline=\(deadline)")
            #expect(try next() == asked("o2", ["action": "press"]))
            try peer.answer("FAIL op=o2", "OK")
            #expect(
                try next() == ["event": "failed", "key": "light/a", "op": "o2", "message": "no \u{1B}[2J lamp"])
            try peer.send("DO op=o3 key=light/a action=set value=on deadline=\(deadline)")
            #expect(try next() == asked("o3", on))
            try peer.send("DO op=o4 key=light/a action=set value=on deadline=\(deadline)")
            #expect(try next() == ["event": "replaced", "key": "light/a", "op": "o3"])
            #expect(try next() == asked("o4", on))
            try peer.answer("DONE op=o4", "OK")
            #expect(try next() == ["event": "done", "key": "light/a", "op": "o4", "value": true, "assumed": true])
            peer.close()
            #expect(try next()["event"] == "disconnected")
            peer = try daemon.introduce(now: 1_000_000)
            try peer.answer("SERVE light", "OK")
            try peer.send("DO op=o4 key=light/a action=set value=on deadline=\(deadline)")
            #expect(try next() == asked("o4", on, again: true))
            // The PING before it is answered too, which reports that SERVE was accepted.
            try peer.answer("DONE op=o4", "OK")
            #expect(try next() == ["event": "serving", "kind": "light", "again": true])
            #expect(provider.standardError == "no \u{1B}[2J lamp\n", "the command's own, and nothing else")
        }
    }

    @Test func `a reader that has stopped reading holds up no command, and is sent what it missed`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let output = Pipe()
            // F_SETPIPE_SZ
            let size = fcntl(output.fileHandleForWriting.fileDescriptor, 1_031, 4_096)
            try #require(size == 4_096)
            let provider = try RunningProgram(
                program("telltale"), ["serve", "light", "--json", "--exec", "true"],
                environment: ["TELLTALE_CONNECT": daemon.address], writingTo: output.fileHandleForWriting)
            defer { provider.kill() }
            let peer = try daemon.introduce(now: 1_000_000)
            try peer.answer("SERVE light", "OK")
            func act(_ number: Int) throws {
                try peer.send("DO op=o\(number) key=light/a action=press deadline=1600000")
                try peer.request("DONE op=o\(number)")
            }
            for number in 1...40 { try act(number) }
            let before = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            #expect(before.hasSuffix("}\n"), "no object is cut")
            try act(41)
            let lines = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
                .split(separator: "\n").map { try? JSONParser.parse(String($0)) }
            #expect(lines.first??["event"] == "skipped")
            let reported = before.split(separator: "\n").count
            #expect(lines.first??["count"] == .integer(Int64(1 + 80 - reported)), "serving, and two objects an action")
        }
    }
}
