import Foundation
import Glibc
import TestSupport
import Testing

/// The commands of the operators' page, as they stand there.
@Suite(.serialized)
struct OperatorsPageTests {
    @Test func `a car on TLS with a token, in ten lines`() async throws {
        try await onOwnThread {
            let page = try String(
                contentsOf: repository.appending(path: "Sources/TelltaleClient/TelltaleClient.docc/Operating.md"),
                encoding: .utf8)
            let start = try #require(page.range(of: "<!-- car -->\n"))
            let end = try #require(page.range(of: "<!-- /car -->"))
            let commands = page[start.upperBound..<end.lowerBound]
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
            let script = String(commands).replacingOccurrences(of: "7879", with: "\(port)")
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
        try await onOwnThread {
            let page = try String(
                contentsOf: repository.appending(path: "Sources/TelltaleClient/TelltaleClient.docc/Recipes.md"),
                encoding: .utf8)
            let start = try #require(page.range(of: "<!-- bar -->\n"))
            let end = try #require(page.range(of: "<!-- /bar -->"))
            let daemon = try DaemonProcess()
            let tools = DaemonProcess.executable.deletingLastPathComponent().path
            let program = try RunningProgram(
                URL(filePath: "/bin/sh"), ["-ec", String(page[start.upperBound..<end.lowerBound])],
                environment: ["PATH": "\(tools):/usr/bin:/bin", "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            let lines = program.readToEnd()
            #expect(program.waitForExit() == 0, "\(program.standardError)")
            let block = try #require(lines.last)
            #expect(block.hasPrefix("{") && block.contains("\"class\":\"active\""), "\(lines)")
        }
    }
}
