import Foundation
import TestSupport
import Testing

/// The parts of `Tools/demo`, against a real daemon and faster than a viewer could follow.
@Suite(.serialized, .nightly)
struct DemoTests {
    @Test func `every case ends as the data says, on the server and on three screens`() async throws {
        try await onOwnThread {
            // At ten times this speed an ended case leaves a screen that is 3 s behind before it is looked at.
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            try FileManager.default.copyItem(
                at: repository.appending(path: "Protocols/Kinds/widgets/dispatch.json"),
                to: folder.appending(path: "kinds/dispatch.json"))
            let daemon = try DaemonProcess(["--clock-speed", "240"], in: folder)
            let demo = try Self.demo(["--seconds", "4"], daemon)
            let lines = demo.readToEnd()
            #expect(demo.waitForExit() == 0, "\(lines) \(demo.standardError)")
            #expect(lines.first == "Telltale: 500 real orders and 500 real flights, on three screens")
            #expect(
                lines.contains(
                    "  cases          1000 of 1000 ended as the data says, on the server and on all three screens"))
            #expect(lines.contains { $0.hasPrefix("  events         3471 posted: 3471 applied; ") })
            #expect(lines.contains { $0.hasPrefix("  porch light    ") && $0.contains(" confirmed, ") })
            #expect(
                lines.contains("  widget         carplay 6 to pack, 5 on their way; watch 6 to pack, 5 on their way"))
            #expect(lines.contains { $0.hasPrefix("100%  3471/3471 events, ") })
            #expect(lines.last == "Everything agrees.")
            #expect(lines.allSatisfy { !$0.contains("\u{1B}") }, "no terminal, no codes for one")
        }
    }

    @Test func `each screen is at a node of a cluster, and the kill of the leader concerns one of them`() async throws {
        try await inFolder { folder in
            try FileManager.default.copyItem(
                at: repository.appending(path: "Protocols/Kinds/widgets/dispatch.json"),
                to: folder.appending(path: "kinds/dispatch.json"))
            let screens = ["n1": "carplay", "n2": "watch", "n3": "desktop"]
            var nodes: [String: RunningProgram] = [:]
            defer { for node in nodes.values { node.kill() } }
            var addresses: [String] = []
            for name in screens.keys.sorted() {
                // A port that is free now.
                let address = "127.0.0.1:\(try ScriptedDaemon().port)"
                let node = try DaemonProcess.launch([
                    "--data", folder.appending(path: name).path, "--kinds", folder.appending(path: "kinds").path,
                    "--listen", address, "--cluster", "demo", "--node", name, "--advertise", address, "--engine",
                    "file:\(folder.appending(path: "log").path)", "--lease", "3s", "--give-up", "9s", "--clock-speed",
                    "240",
                ])
                nodes[name] = node
                addresses.append(address)
                try Data("\(node.identifier)\n".utf8).write(to: folder.appending(path: "\(name).pid"))
                while let line = node.readLine(), !line.hasPrefix("leading"), !line.hasPrefix("standby") {}
            }
            let demo = try RunningProgram(
                program("telltale-sim"),
                [
                    "demo", "--connect", addresses.joined(separator: ","), "--seconds", "4", "--kill-leader",
                    folder.path,
                ])
            let lines = demo.readToEnd()
            #expect(demo.waitForExit() == 0, "\(lines) \(demo.standardError)")
            #expect(lines.contains("Each screen is at a node: carplay at n1, watch at n2, desktop at n3"))
            // On a busy machine another node than the first may lead by now.
            let killed = try #require(
                screens.keys.first { name in lines.contains { $0.contains("Now \(name), which leads, is killed") } },
                "\(lines)")
            let process = try #require(nodes[killed]).identifier
            #expect(
                lines.contains {
                    $0.hasSuffix(
                        " of 3471 events are answered. Now \(killed), which leads, is killed: kill -9 \(process)")
                })
            let (moved, kept) = (screens[killed] ?? "", screens.filter { $0.key != killed }.keys.sorted())
            let names = kept.map { "\(screens[$0] ?? "") (at \($0))" }.joined(separator: " and ")
            #expect(lines.contains("\(names) kept their connections, and no screen was told RESET"), "\(lines)")
            #expect(lines.contains { $0.hasPrefix("  takeover       \(killed), which led, was killed after ") })
            #expect(lines.contains { $0.contains("\(moved) was at \(killed): it went on at n") }, "\(lines)")
            #expect(lines.contains { $0.hasSuffix("  no screen was told RESET: none had to begin again") })
            #expect(
                lines.contains(
                    "  cases          1000 of 1000 ended as the data says, on the server and on all three screens"))
            #expect(lines.last == "Everything agrees.")
        }
    }

    @Test func `a leader that cannot be killed ends the demo`() async throws {
        try await withDaemon { daemon in
            let demo = try Self.demo(["--seconds", "1", "--kill-leader", "/nowhere"], daemon)
            #expect(demo.waitForExit() == 1)
            #expect(demo.standardError.contains("the daemon is no node of a cluster, so there is no leader to kill"))
        }
    }

    @Test func `a daemon with a past of its own does not agree, and the exit says so`() async throws {
        try await withDaemon { daemon in
            // It has no kind of widget: that is no fault.
            let peer = try daemon.greetedPeer()
            // A delivered order is set back by another source with a newer version.
            let key = "parcel/b9a6c5f5df52c7226ac85aee7524c27f"
            _ = try peer.ask("EVT \(key) type=start ver=99")
            let demo = try Self.demo(["--seconds", "1"], daemon)
            let lines = demo.readToEnd()
            #expect(lines.contains("  ✗ \(key): the data says delivered, the daemon says announced"))
            #expect(lines.contains("  widget         not shown: the daemon has no kind dispatch"))
            #expect(lines.last == "Something disagrees.")
            #expect(demo.waitForExit() == 1)
        }
    }

    @Test func `without a daemon it says so`() async throws {
        try await onOwnThread {
            let demo = try RunningProgram(
                program("telltale-sim"), ["demo", "--connect", "127.0.0.1:1"])
            #expect(demo.readToEnd() == [])
            #expect(demo.waitForExit() == 69)
            #expect(demo.standardError.hasPrefix("no daemon at 127.0.0.1:1: "))
        }
    }

    @Test func `on ctrl-Z the shell gets its screen back, and then the demo`() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(width: 120, height: 40)
            let demo = try Self.demo(["--seconds", "600"], daemon, writingTo: terminal.end)
            defer { demo.kill() }
            let (begin, end) = ("\u{1B}[?1049h", "\u{1B}[?1049l")
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "CarPlay") != nil)
            demo.send(SIGTSTP)
            #expect(terminal.read(until: end) != nil)
            #expect(demo.waitUntilStopped())
            demo.send(SIGCONT)
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "CarPlay") != nil, "the whole picture is drawn again")
            demo.send(SIGINT)
            #expect(terminal.read(until: end) != nil)
            #expect(demo.waitForExit() != nil)
        }
    }

    private static func demo(
        _ arguments: [String], _ daemon: DaemonProcess, writingTo end: FileHandle? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            program("telltale-sim"), ["demo", "--connect", "127.0.0.1:\(daemon.port)"] + arguments,
            environment: end == nil ? [:] : ["TERM": "xterm", "NO_COLOR": "1"], writingTo: end)
    }
}
