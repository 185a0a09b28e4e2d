import Foundation
import TestSupport
import Testing

/// `telltale connect`: the line protocol by hand.
@Suite(.serialized)
struct ConnectTests {
    private func connect(
        _ address: String, _ arguments: String..., input: String? = nil, at terminal: PseudoTerminal? = nil,
        environment: [String: String] = [:]
    ) throws -> RunningProgram {
        var all = ["TELLTALE_CONNECT": address, "TERM": "xterm", "NO_COLOR": "1"]
        all.merge(environment) { $1 }
        return try RunningProgram(
            program("telltale"), ["connect"] + arguments, input: input, environment: all, at: terminal)
    }

    @Test func `into a pipe it is plain, and an error is its exit code`() async throws {
        try await withDaemon { daemon in
            let address = "127.0.0.1:\(daemon.port)"
            let good = try connect(address, input: "EVT errand/1 type=start\nGET errand/1")
            let lines = good.readToEnd()
            #expect(lines.count == 3 && lines.first?.hasPrefix("TELLTALE 1 ") == true)
            #expect(lines.dropFirst().first?.hasPrefix("OK verdict=applied ") == true)
            #expect(lines.last?.hasPrefix("OK key=errand/1 rev=") == true)
            #expect(good.waitForExit() == 0 && good.standardError.isEmpty)
            let bad = try connect(address, input: "PING\nNONSENSE\n")
            #expect(bad.readToEnd().last?.contains("unknown_verb") == true)
            #expect(bad.waitForExit() == 1)
            #expect(try connect("127.0.0.1:1", input: "PING\n").waitForExit() == 69)
        }
    }

    @Test func `a token is sent without being shown, and not to a daemon that wants none`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            for auth in ["token", "none"] {
                let program = try connect(
                    daemon.address, "--account", "ana", input: "STATS\n", environment: ["TELLTALE_TOKEN": "tt_a_b"])
                let peer = try daemon.accept()
                try peer.send(ScriptedDaemon.greeting.replacing("auth=none", with: "auth=\(auth)"))
                let hello = try peer.request("HELLO")
                #expect(hello.contains("account=ana") && hello.contains("token=tt_a_b") == (auth == "token"))
                try peer.send("OK conn=c1")
                try peer.answer("STATS", "OK {}")
                peer.close()
                #expect(program.readToEnd().map { $0.prefix(4) } == ["TELL", "OK {"])
            }
        }
    }

    @Test func `a prompt completes verbs, kinds and keys, keeps a history, and gives the terminal back`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("EVT errand/first type=start")
            let terminal = try PseudoTerminal(width: 100, height: 24)
            let environment = ["XDG_STATE_HOME": folder.url.path()]
            let first = try connect("127.0.0.1:\(daemon.port)", at: terminal, environment: environment)
            defer { first.kill() }
            #expect(terminal.read(until: "> ") != nil)
            // The answers to its own questions are not shown: the list of kinds would be the first line.
            terminal.press("PING\r")
            let until = try #require(terminal.read(until: "PONG"))
            #expect(!until.contains("KIND "))
            #expect(!terminal.isPlain)
            terminal.press("ge\t")
            #expect(terminal.read(until: "> get ") != nil)
            terminal.press("err\t")
            #expect(terminal.read(until: "> get errand/") != nil)
            terminal.press("\t")
            #expect(terminal.read(until: "> get errand/first ") != nil)
            terminal.press("\r")
            #expect(terminal.read(until: "OK key=errand/first rev=") != nil)
            terminal.press("HELLO token=tt_a_b\r")
            #expect(terminal.read(until: "OK conn=") != nil)
            terminal.press("\u{04}")
            #expect(first.waitForExit() == 0)
            #expect(terminal.isPlain)

            let file = folder.path("telltale/history")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "PING\nget errand/first\n")
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let second = try connect("127.0.0.1:\(daemon.port)", at: terminal, environment: environment)
            defer { second.kill() }
            #expect(terminal.read(until: "> ") != nil)
            terminal.press("\u{1B}[A\r")
            #expect(terminal.read(until: "OK key=errand/first rev=") != nil)
            // A link to nowhere turns the history off, and stays.
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/null")
            terminal.press("BYE\r")
            #expect(second.waitForExit() == 0)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file) == "/dev/null")
        }
    }

    @Test func `a dumb terminal gets plain lines, without a prompt, and nothing that it would obey`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try ScriptedDaemon(), try TemporaryFolder())
            let terminal = try PseudoTerminal(width: 100, height: 24)
            let program = try connect(
                daemon.address, at: terminal, environment: ["TERM": "dumb", "XDG_STATE_HOME": folder.url.path()])
            defer { program.kill() }
            let peer = try daemon.accept()
            try peer.send(ScriptedDaemon.greeting)
            var shown = try #require(terminal.read(until: "server=0.1.0"))
            terminal.press("SUB a/*\n")
            // No question of its own comes first: completion would ask for the kinds.
            try peer.answer("SUB a/*", "OK sub=1")
            try peer.send("MARK now=5")
            try peer.send("UPD sub=1 key=a/b rev=2 {\"n\":\"\u{1B}[2J\u{9B}2J\u{202E}\"}")
            shown += try #require(terminal.read(until: #"rev=2 {"n":"\u001b[2J\u009b2J\u202e"}"#))
            #expect(shown.contains("OK sub=1") && shown.contains("MARK now=5"))
            #expect(!shown.contains("\u{1B}") && !shown.contains("> "))
            #expect(terminal.isPlain)
            // ctrl-D, by the terminal itself.
            terminal.press("\u{04}")
            #expect(peer.next() == .end)
            peer.close()
            #expect(program.waitForExit() == 0)
            #expect(!FileManager.default.fileExists(atPath: folder.path("telltale/history")))
        }
    }

    @Test func `rows come above the line that is being typed, and nothing in them is obeyed`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let folder = try TemporaryFolder()
            let terminal = try PseudoTerminal(width: 100, height: 24)
            let program = try connect(
                daemon.address, at: terminal, environment: ["XDG_STATE_HOME": folder.url.path()])
            defer { program.kill() }
            let peer = try daemon.accept()
            try peer.send(ScriptedDaemon.greeting)
            try peer.answer("KINDS", "OK count=0")
            try peer.answer("STATS", "OK {}")
            #expect(terminal.read(until: "> ") != nil)
            terminal.press("GET a")
            #expect(terminal.read(until: "> GET a") != nil)
            try peer.send("MARK now=5")
            try peer.send("UPD sub=1 key=a/b rev=2 {\"n\":\"\u{9B}2J\u{202E}\"}")
            let shown = try #require(terminal.read(until: "> GET a"))
            #expect(shown.contains(#"UPD sub=1 key=a/b rev=2 {"n":"\u009b2J\u202e"}"#))
            #expect(!shown.contains("MARK"))
            peer.close()
            #expect(program.waitForExit() == 69)
            #expect(terminal.isPlain)
        }
    }
}
