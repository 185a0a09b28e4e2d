import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale bar` with a real daemon.
@Suite(.serialized, .endsOneDay, .nightly)
struct BarTests {
    /// The next line that asks a provider to act.
    private func order(to peer: Peer) throws -> String {
        while case .line(let line) = peer.next() { if line.hasPrefix("DO ") { return line } }
        throw ScriptedDaemon.Failure(description: "a DO was due, and nothing came")
    }

    /// Without a folder for what a bar notes: that of the machine is not for tests.
    private static func environment(_ address: String) -> [String: String] {
        ["TELLTALE_CONNECT": address, "XDG_RUNTIME_DIR": ""]
    }

    @Test func `a bar shows each change, is dim while the daemon is away, and its click switches the light`()
        async throws
    {
        try await withDaemon { daemon in
            let address = "127.0.0.1:\(daemon.port)"
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("SERVE porch-light")
            _ = try peer.ask("REPORT porch-light/front value=off")
            let bar = try RunningProgram(
                program("telltale"), ["bar", "waybar", "porch-light/*"], environment: Self.environment(address))
            defer { bar.kill() }
            func next(_ status: String) throws -> JSON {
                while let line = bar.readLine() {
                    let block = try JSONParser.parse(line)
                    if block["class"]?.string == status { return block }
                }
                return .null
            }
            #expect(try next("off")["text"]?.string?.hasSuffix(" off") == true)
            let click = try RunningProgram(
                program("telltale"), ["bar", "click", "porch-light/front"], environment: Self.environment(address))
            let request = try order(to: peer)
            #expect(request.contains("action=set value=on"))
            #expect(click.waitForExit() == 0)
            let operation = try #require(request.split(separator: " ").first { $0.hasPrefix("op=") })
            _ = try peer.ask("DONE \(operation)")
            #expect(try next("on")["tooltip"]?.string?.contains("on") == true)
            daemon.send(SIGKILL)
            #expect(try next("disconnected")["text"]?.string?.hasSuffix(" on") == true)
        }
    }

    @Test func `a click on a bar that is behind is refused, and does not toggle the newer state`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let environment = [
                "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "XDG_RUNTIME_DIR": folder.url.path(),
            ]
            let provider = try daemon.greetedPeer()
            _ = try provider.ask("SERVE porch-light")
            _ = try provider.ask("REPORT porch-light/front value=off")
            func start(_ arguments: String...) throws -> RunningProgram {
                try RunningProgram(program("telltale"), ["bar"] + arguments, environment: environment)
            }
            func wait(for status: String, _ bar: RunningProgram) throws {
                while let line = bar.readLine() {
                    if try JSONParser.parse(line)["class"]?.string == status { return }
                }
                throw ScriptedDaemon.Failure(description: "the bar does not show \(status)")
            }
            let bar = try start("waybar", "porch-light/*")
            defer { bar.kill() }
            try wait(for: "off", bar)
            bar.send(SIGSTOP)
            _ = try provider.ask("REPORT porch-light/front value=on")
            let late = try start("click", "porch-light/*")
            #expect(late.waitForExit() == 1)
            #expect(late.standardError.contains("stale_rev: "), "\(late.standardError)")
            bar.send(SIGCONT)
            try wait(for: "on", bar)
            let click = try start("click", "porch-light/*")
            #expect(try order(to: provider).contains("action=set value=off"), "the first order is that of this click")
            #expect(click.waitForExit() == 0)
            // Without the bar, a click is for the row that there is.
            bar.send(SIGTERM)
            #expect(bar.waitForExit() == 0)
            #expect(try memory(in: folder) == nil)
        }
    }

    @Test func `of two bars with the same words, the one that ends leaves what the other one shows`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let provider = try daemon.greetedPeer()
            _ = try provider.ask("SERVE porch-light")
            _ = try provider.ask("REPORT porch-light/front value=off")
            func start() throws -> RunningProgram {
                let bar = try RunningProgram(
                    program("telltale"), ["bar", "waybar", "porch-light/*"],
                    environment: [
                        "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "XDG_RUNTIME_DIR": folder.url.path(),
                    ])
                while let line = bar.readLine(), try JSONParser.parse(line)["class"]?.string != "off" {}
                return bar
            }
            let (first, second) = (try start(), try start())
            defer { second.kill() }
            first.send(SIGTERM)
            #expect(first.waitForExit() == 0)
            #expect(try memory(in: folder) != nil)
            second.send(SIGTERM)
            #expect(second.waitForExit() == 0)
            #expect(try memory(in: folder) == nil)
        }
    }

    @Test func `a click of a block that is started each time is for what it showed the last time`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let provider = try daemon.greetedPeer()
            _ = try provider.ask("SERVE porch-light")
            _ = try provider.ask("REPORT porch-light/front value=off")
            func block(button: String) throws -> (lines: [String], error: String) {
                let bar = try RunningProgram(
                    program("telltale"), ["bar", "i3blocks", "--once", "porch-light/*"],
                    environment: [
                        "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "XDG_RUNTIME_DIR": folder.url.path(),
                        "BLOCK_BUTTON": button,
                    ])
                let lines = bar.readToEnd()
                #expect(bar.waitForExit() == 0)
                return (lines, bar.standardError)
            }
            #expect(try block(button: "").lines.first?.hasSuffix(" off") == true)
            _ = try provider.ask("REPORT porch-light/front value=on")
            let late = try block(button: "1")
            #expect(late.error.contains("stale_rev: ") && late.lines.first?.hasSuffix(" on") == true)
            #expect(try block(button: "1").error.isEmpty)
            #expect(try order(to: provider).contains("action=set value=off"))
        }
    }

    /// The file in which a bar keeps what it shows.
    private func memory(in folder: TemporaryFolder) throws -> String? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path("telltale"))) ?? []
        return names.first { $0.hasPrefix("bar-") && !$0.contains(".") }.map { folder.path("telltale/\($0)") }
    }

    @Test func `a click opens the link of an activity by a program, and no file`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let environment = ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"]
            func telltale(_ arguments: String...) throws -> (status: Int32?, lines: [String], error: String) {
                let running = try RunningProgram(program("telltale"), arguments, environment: environment)
                let lines = running.readToEnd()
                return (running.waitForExit(), lines, running.standardError)
            }
            _ = try telltale("post", "coffee-order/7", "start")
            let opener = folder.path("opener")
            try makeExecutable(
                URL(filePath: opener), holding: "#!/bin/sh\nprintf '%s' \"$1\" >'\(folder.path("opened"))'\n")
            #expect(try telltale("bar", "click", "--opener", opener).status == 0)
            let opened = try String(contentsOfFile: folder.path("opened"), encoding: .utf8)
            #expect(opened.hasPrefix("https://") && opened.hasSuffix("7"))
            let failing = try telltale("bar", "click", "coffee-order/7", "--opener", "false")
            #expect(failing.status == 1 && failing.error == "telltale: false ended with 1\n")
            #expect(try telltale("bar", "click", "coffee-order/8").status == 1)

            let xbar = try telltale("bar", "xbar", "coffee-order/*")
            #expect(xbar.status == 0 && xbar.lines[1] == "---")
            #expect(xbar.lines.last?.contains("href=\"https://") == true)
        }
    }

    @Test func `without a daemon a bar says so and goes on`() async throws {
        try await onOwnThread {
            let bar = try RunningProgram(
                program("telltale"), ["bar", "i3blocks"], environment: Self.environment("127.0.0.1:1"))
            defer { bar.kill() }
            #expect(try JSONParser.parse(bar.readLine() ?? "")["color"] == "#888888")
            let once = try RunningProgram(
                program("telltale"), ["bar", "xbar"], environment: Self.environment("127.0.0.1:1"))
            #expect(once.readToEnd().contains("Not connected | color=#888888"))
            #expect(once.waitForExit() == 0)
        }
    }

    @Test func `i3blocks gives its clicks on standard input`() async throws {
        try await withDaemon { daemon in
            let address = "127.0.0.1:\(daemon.port)"
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("SERVE porch-light")
            _ = try peer.ask("REPORT porch-light/front value=on")
            let bar = try RunningProgram(
                program("telltale"), ["bar", "i3blocks", "porch-light/*"],
                input: "{\"name\":\"x\",\"button\":3}\n{\"name\":\"x\",\"button\":1}\n",
                environment: Self.environment(address))
            defer { bar.kill() }
            let request = try order(to: peer)
            #expect(request.contains("key=porch-light/front action=set value=off"))
        }
    }
}
