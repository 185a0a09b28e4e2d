import Foundation
import TelltaleModel
import TestSupport
import Testing

/// Files in the folder of kinds that are no kind's.
struct KindFolderTests {
    @Test func `a pipe and a file that is too large are refused, and nothing is waited for`() async throws {
        try await onOwnThread {
            for isPipe in [true, false] {
                let folder = try TemporaryFolder()
                let path = folder.path("x.json")
                if isPipe {
                    #expect(unsafe mkfifo(path, 0o600) == 0)
                } else {
                    try Data(repeating: 0x20, count: 300_000).write(to: URL(filePath: path))
                }
                let program = try DaemonProcess.launch([
                    "--data", folder.path("data"), "--kinds", folder.url.path, "--listen", "127.0.0.1:0",
                ])
                #expect(program.waitForExit() == 78)
                #expect(
                    program.standardError.contains(
                        isPipe ? "x.json is no file" : "x.json has 300000 bytes; a kind has at most 262144"),
                    "\(program.standardError)")
            }
        }
    }

    @Test func `with --dev a saved kind is in force without a version, and a fault is told`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--dev"])
            let shell = Shell(daemon)
            let file = daemon.folder.appending(path: "kinds/errand.json")
            let text = try String(contentsOf: file, encoding: .utf8)
            /// What `STATS` tells of the reading after this many.
            func report(after readings: Int64) throws -> JSON {
                let deadline = Date.now.addingTimeInterval(patience)
                while Date.now < deadline {
                    let figures = try JSONParser.parse(try shell.run("stats", "--json").text)
                    if let report = figures["kindFolder"], (report["readings"]?.integer ?? 0) > readings {
                        return report
                    }
                }
                return .null
            }
            let kinds = try shell.run("kinds").lines
            let line = try #require(kinds.first { $0.hasPrefix("errand ") })
            let version = try #require(line.firstMatch(of: /v(\d+)/).flatMap { Int($0.1) })
            #expect(try report(after: -1)["inForce"] == true)
            try (text + " ").write(to: file, atomically: true, encoding: .utf8)
            #expect(try report(after: 0)["text"] == "nothing has changed")
            let title = try #require(try JSONParser.parse(text)["title"]?.string)
            try text.replacing("\"\(title)\"", with: "\"Changed\"").write(to: file, atomically: false, encoding: .utf8)
            #expect(try report(after: 1)["text"] == .string("errand version \(version + 1)"))
            #expect(
                try shell.run("kinds").lines.contains {
                    $0.hasPrefix("errand ") && $0.hasSuffix("v\(version + 1)   Changed")
                })
            try text.dropLast(5).write(to: file, atomically: true, encoding: .utf8)
            let fault = try report(after: 2)
            #expect(fault["inForce"] == false && fault["text"]?.string?.hasPrefix("errand.json:") == true, "\(fault)")
            try text.write(to: file, atomically: true, encoding: .utf8)
            #expect(try report(after: 3)["text"] == .string("errand version \(version)"))
        }
    }

    @Test func `a node of a cluster takes no --dev, and without it STATS has no report`() async throws {
        try await withDaemon { daemon in
            #expect(try !Shell(daemon).run("stats").text.contains("kindFolder"))
            let refused = try DaemonProcess.launch(["--dev", "--cluster", "x", "--check-config"])
            #expect(refused.waitForExit() == 78)
            #expect(refused.standardError.contains("--dev: belongs to a daemon by itself"), "\(refused.standardError)")
        }
    }
}
