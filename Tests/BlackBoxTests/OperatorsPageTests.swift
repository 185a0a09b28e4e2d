import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// The commands of the operators' pages, as they stand there.
@Suite(.serialized, .nightly)
struct OperatorsPageTests {
    @Test func `a car on TLS with a token, in ten lines`() async throws {
        try await onOwnThread {
            let commands = try commands("car", of: "operate")
            #expect(commands.split(separator: "\n").count <= 10)
            let folder = try TemporaryFolder()
            for name in ["Tools", "Protocols"] {
                try FileManager.default.createSymbolicLink(
                    at: folder.url.appending(path: name), withDestinationURL: repository.appending(path: name))
            }
            let probe = try RunningProgram(
                URL(filePath: "/usr/bin/env"),
                ["python3", "-c", "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])"])
            let port = try #require(probe.readLine(), "\(probe.standardError)")
            let script = commands.replacingOccurrences(of: "7879", with: "\(port)")
            let tools = DaemonProcess.executable.deletingLastPathComponent().path
            let program = try RunningProgram(
                URL(filePath: "/bin/sh"),
                ["-ec", "umask 022; cd '\(folder.url.path)'; \(script)\nkill $!; wait $! || true"],
                environment: ["PATH": "\(tools):/usr/bin:/bin"])
            let lines = program.readToEnd()
            #expect(program.waitForExit() == 0, "\(program.standardError)")
            #expect(lines.first?.hasPrefix("ready tls=127.0.0.1:\(port) ") == true, "\(lines)")
            for name in ["pos.token", "car.token"] {
                let mode =
                    try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(name)")
            }
            #expect(lines.contains { $0.contains("applied") }, "\(lines)")
            #expect(lines.contains { $0.hasPrefix("coffee-order/1042 rev=") }, "\(lines)")
        }
    }

    @Test func `the recipe of a menu bar on Linux`() async throws {
        try await withDaemon { daemon in
            let tools = DaemonProcess.executable.deletingLastPathComponent().path
            let program = try RunningProgram(
                URL(filePath: "/bin/sh"), ["-ec", commands("bar", of: "recipes")],
                environment: ["PATH": "\(tools):/usr/bin:/bin", "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            let lines = program.readToEnd()
            #expect(program.waitForExit() == 0, "\(program.standardError)")
            let block = try #require(lines.last)
            #expect(block.hasPrefix("{") && block.contains("\"class\":\"active\""), "\(lines)")
        }
    }

    @Test func `the commands of a backup`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("EVT coffee-order/1 type=start")
            let folder = try TemporaryFolder()
            let script = try commands("backup", of: "production")
                .replacingOccurrences(of: "/var/lib/telltale", with: daemon.folder.path + "/data")
                .replacingOccurrences(of: "/var/backups/telltale", with: folder.path("backups"))
            let tools = DaemonProcess.executable.deletingLastPathComponent().path
            let date = folder.url.appending(path: "date")
            let days = ["2026-11-28", "2026-11-29"]
            var lines: [String] = []
            for day in days {
                try makeExecutable(date, holding: "#!/bin/sh\nTZ=UTC exec /bin/date -d \(day) \"$@\"\n")
                let program = try RunningProgram(
                    URL(filePath: "/bin/sh"), ["-ec", script],
                    environment: ["PATH": "\(folder.url.path):\(tools):/usr/bin:/bin"])
                lines = program.readToEnd()
                #expect(program.waitForExit() == 0, "\(program.standardError)")
                _ = try peer.ask("EVT coffee-order/1 type=confirm")
            }
            let copies = try FileManager.default.contentsOfDirectory(atPath: folder.path("backups")).sorted()
            #expect(copies == days.map { $0 + "T0000" })
            let moved = folder.url.appending(path: "data")
            try FileManager.default.moveItem(at: folder.url.appending(path: "backups/\(copies[1])"), to: moved)
            try FileManager.default.copyItem(
                at: daemon.folder.appending(path: "kinds"), to: folder.url.appending(path: "kinds"))
            let restored = try DaemonProcess(in: folder.url)
            let reader = try restored.greetedPeer()
            #expect(try reader.ask("GET coffee-order/1").verb == "OK", "\(lines)")
        }
    }

    /// Each line that the programs log stands on the page, but for those that are an error's own text.
    @Test func `the page of production explains each log line`() throws {
        let page = try String(
            contentsOf: repository.appending(path: "Protocols/Guide/production.md"),
            encoding: .utf8)
        let line = /\blog(?:ger)?\.(?:info|notice|warning|error|critical)\(\s*"([^"\\:;]+)/
        var count = 0
        for folder in ["Sources/telltaled", "Tools/telltale-gateway/Sources", "Tools/telltale-push/Sources"] {
            let files = FileManager.default.enumerator(
                at: repository.appending(path: folder), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift" else { continue }
                for match in try String(contentsOf: file, encoding: .utf8).matches(of: line) {
                    count += 1
                    #expect(page.contains("`\(match.output.1)"), "\(file.lastPathComponent) logs \"\(match.output.1)\"")
                }
            }
        }
        #expect(count > 15)
    }

    private func commands(_ name: String, of page: String) throws -> String {
        let page = try String(
            contentsOf: repository.appending(path: "Protocols/Guide/\(page).md"),
            encoding: .utf8)
        let start = try #require(page.range(of: "<!-- \(name) -->\n"))
        let end = try #require(page.range(of: "<!-- /\(name) -->"))
        return String(page[start.upperBound..<end.lowerBound])
    }
}
