import Foundation
import Glibc
import TelltaleModel
import TestSupport
import Testing

/// `telltale context`: daemons under names, and what goes before what.
@Suite(.serialized, .nightly)
struct ContextTests {
    private struct Home {
        let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        func telltale(
            _ arguments: [String], input: String? = nil, environment: [String: String] = [:]
        ) throws -> (status: Int32?, lines: [String], error: String) {
            var all = ["TELLTALE_CONNECT": "", "XDG_CONFIG_HOME": folder.url.path(), "TELLTALE_CONTEXT": ""]
            all.merge(environment) { $1 }
            let running = try RunningProgram(program("telltale"), arguments, input: input, environment: all)
            let lines = running.readToEnd()
            return (running.waitForExit(), lines, running.standardError)
        }

        var contexts: URL { folder.url.appending(path: "telltale/context") }

        func mode(_ name: String) throws -> Int? {
            let attributes = try FileManager.default.attributesOfItem(atPath: contexts.appending(path: name).path())
            return attributes[.posixPermissions] as? Int
        }
    }

    @Test func `the daemon of a context is spoken to, and a flag goes before the environment, which goes before it`()
        async throws
    {
        try await onOwnThread {
            let (home, daemon, other) = (try Home(), try DaemonProcess(), try DaemonProcess())
            let (here, there) = ("127.0.0.1:\(daemon.port)", "127.0.0.1:\(other.port)")
            #expect(try home.telltale(["context", "add", "here", "--connect", here, "--use"]).status == 0)
            #expect(try home.telltale(["context", "add", "there", "--connect", there]).status == 0)
            func epoch(_ more: [String] = [], _ environment: [String: String] = [:]) throws -> String? {
                let ping = try home.telltale(["ping", "--json"] + more, environment: environment)
                return try JSONParser.parse(ping.lines.first ?? "{}")["epoch"]?.string
            }
            let (ours, theirs) = (daemon.ready["epoch"], other.ready["epoch"])
            #expect(try epoch() == ours)
            #expect(try epoch([], ["TELLTALE_CONTEXT": "there"]) == theirs)
            #expect(try epoch([], ["TELLTALE_CONNECT": there]) == theirs)
            #expect(try epoch([], ["TELLTALE_CONNECT": here, "TELLTALE_CONTEXT": "there"]) == ours)
            #expect(try epoch(["--context", "here"], ["TELLTALE_CONNECT": there]) == ours)
            #expect(try epoch(["--context", "here", "--connect", there]) == theirs)
            #expect(try home.telltale(["context", "list"]).lines == ["* here  \(here)", "  there  \(there)"])
            #expect(try home.telltale(["context", "select", "there"]).status == 0)
            #expect(try epoch() == theirs)
            #expect(try home.telltale(["context", "remove", "there"]).status == 0)
            #expect(try home.telltale(["context", "show"]).error == "telltale: no context is in use\n")
            let unknown = try home.telltale(["list", "--context", "there"])
            #expect(unknown.status == 1)
            #expect(unknown.error == "telltale: there is no context 'there'; there are here\n")
        }
    }

    @Test func `a token is kept for its owner alone, is sent to its own daemon, and is never printed`() async throws {
        try await onOwnThread {
            let home = try Home()
            let file = home.folder.path("principals.json")
            let secret = try #require(
                try home.telltale([
                    "token", "add", "ops", "--scope", "read:*", "--account", "*", "--auth", file,
                ]).lines.first)
            let daemon = try DaemonProcess(["--auth", file])
            let added = try home.telltale(
                [
                    "context", "add", "shop", "--connect", "127.0.0.1:\(daemon.port)", "--token", "-", "--account",
                    "ana",
                ],
                input: secret + "\n")
            #expect(added.status == 0 && added.error.isEmpty)
            #expect(try home.mode("shop.json") == 0o600)
            #expect(try home.telltale(["list", "--context", "shop"]).status == 0)
            #expect(try home.telltale(["list", "--connect", "127.0.0.1:\(daemon.port)"]).status == 1)
            var said = ""
            for command in [
                ["context", "show", "shop"], ["context", "show", "shop", "--json"], ["context", "list", "--json"],
                ["context", "add", "shop", "--connect", "[::1]:1"],
            ] {
                let outcome = try home.telltale(command)
                said += outcome.lines.joined() + outcome.error
            }
            #expect(said.contains("kept here") && said.contains(#""has_token":true"#))
            #expect(said.contains("--replace writes over it"))
            #expect(!said.contains(secret) && !said.contains(secret.suffix(43)))

            // In use, it gives its token to its own daemon, and to none that a flag or the environment names.
            #expect(try home.telltale(["context", "use", "shop"]).status == 0)
            #expect(try home.telltale(["list"]).status == 0)
            for (arguments, environment) in [
                (["list", "--connect", "127.0.0.1:\(daemon.port)"], [:]),
                (["list"], ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"]),
            ] {
                let refused = try home.telltale(arguments, environment: environment)
                #expect(refused.status == 1 && refused.error.contains("wants a token"), "\(refused)")
            }
            let path = home.contexts.appending(path: "shop.json").path()
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            let open = try home.telltale(["list"])
            #expect(open.status == 1 && open.error.contains("others can read it"))
        }
    }

    @Test func `a relative path of a socket is kept as an absolute one`() async throws {
        try await onOwnThread {
            let home = try Home()
            let sockets = home.folder.path("run")
            try FileManager.default.createDirectory(atPath: sockets, withIntermediateDirectories: true)
            let daemon = try DaemonProcess(["--socket", sockets + "/s"])
            func add(_ connect: String, _ name: String) throws -> Int32? {
                let shell = "cd '\(sockets)' && exec \"$0\" context add \(name) --connect '\(connect)' --use"
                return try RunningProgram(
                    URL(filePath: "/bin/sh"), ["-c", shell, program("telltale").path],
                    environment: ["XDG_CONFIG_HOME": home.folder.url.path()]
                ).waitForExit()
            }
            #expect(try add("unix:s", "here") == 0)
            let here = try home.telltale(["ping", "--json"])
            let epoch = try #require(daemon.ready["epoch"])
            #expect(here.status == 0 && here.lines.first?.contains(epoch) == true)
            #expect(try add("unix:../run/./s", "there") == 0)
            #expect(try home.telltale(["ping"]).status == 0)
            let shown = try home.telltale(["context", "show", "there", "--json"]).lines.first ?? ""
            #expect(try JSONParser.parse(shown)["connect"]?.string?.hasPrefix("unix:/") == true)
        }
    }

    @Test func `a token file is read once, so a pipe is one too`() async throws {
        try await onOwnThread {
            let home = try Home()
            let file = home.folder.path("principals.json")
            let token = try #require(
                try home.telltale(["token", "add", "ops", "--scope", "stats", "--auth", file]).lines.first)
            let daemon = try DaemonProcess(["--auth", file])
            let piped = try home.telltale(
                ["stats", "--connect", "127.0.0.1:\(daemon.port)", "--token-file", "/dev/stdin"], input: token + "\n")
            #expect(piped.status == 0, "\(piped.error)")
        }
    }

    @Test func `a secret that is too long is refused, and not cut`() async throws {
        try await onOwnThread {
            let home = try Home()
            let add = ["context", "add", "x", "--connect", "127.0.0.1:1", "--token", "-"]
            let long = try home.telltale(add, input: String(repeating: "a", count: 4_097) + "\n")
            #expect(long.status == 1)
            #expect(long.error == "telltale: the token is longer than 4096 bytes, which no daemon takes\n")
            #expect(try home.telltale(["context", "list"]).lines.isEmpty)
            #expect(try home.telltale(add, input: String(repeating: "a", count: 4_096)).status == 0)
        }
    }

    @Test func `ctrl-C at the question for a secret gives the terminal its echo back`() async throws {
        try await onOwnThread {
            let home = try Home()
            func ask(at terminal: PseudoTerminal) throws -> RunningProgram {
                let add = try RunningProgram(
                    program("telltale"), ["context", "add", "x", "--connect", "127.0.0.1:1", "--token", "-"],
                    environment: ["XDG_CONFIG_HOME": home.folder.url.path()], at: terminal, errorsToo: true)
                // Keys from here on are an answer.
                #expect(terminal.read(until: "token: ") != nil && !terminal.isPlain)
                return add
            }
            for signal in [SIGINT, SIGTERM] {
                let terminal = try PseudoTerminal(width: 80, height: 24)
                let add = try ask(at: terminal)
                defer { add.kill() }
                add.send(signal)
                #expect(add.waitForExit() == 128 + signal)
                #expect(terminal.isPlain)
            }
            // A terminal drops what is longer than it can hold.
            let terminal = try PseudoTerminal(width: 80, height: 24)
            let add = try ask(at: terminal)
            defer { add.kill() }
            terminal.press(String(repeating: "a", count: 4_095) + "\n")
            #expect(add.waitForExit() == 1)
            #expect(terminal.read(until: "a line of a terminal has less than 4095 bytes") != nil)
            #expect(terminal.isPlain)
        }
    }

    @Test(
        "A wrong context is told, with the file and without its content",
        arguments: [
            (["context", "add", "../x", "--connect", "127.0.0.1:1"], "NAME is to be", 2),
            (["context", "add", "x", "--connect", "nowhere"], "--connect", 2),
            (["context", "add", "x", "--connect", "127.0.0.1:1", "--token", "tt_secret"], "--token takes - alone", 2),
            (["context", "add", "x", "--connect", "127.0.0.1:1", "--ca", "/nowhere"], "No such file", 1),
            (["context", "use"], "Give the name of a context", 2), (["context", "use", "x"], "no context 'x'", 1),
            (["context", "remove", "x"], "no context 'x'", 1), (["context", "show", "broken"], "it is no JSON", 1),
            (["context", "show", "wrong"], "unknown member \"tokn\"", 1),
        ])
    func wrong(arguments: [String], message: String, status: Int32) async throws {
        try await onOwnThread {
            let home = try Home()
            try FileManager.default.createDirectory(at: home.contexts, withIntermediateDirectories: true)
            for (name, text) in [("broken", "{tt_secret"), ("wrong", #"{"connect":"a:1","tokn":"tt_secret"}"#)] {
                try Data(text.utf8).write(to: home.contexts.appending(path: "\(name).json"))
            }
            let outcome = try home.telltale(arguments)
            #expect(outcome.status == status)
            #expect(outcome.error.contains(message), "\(outcome.error)")
            #expect(!outcome.error.contains("tt_secret"))
        }
    }

    @Test func `the exit codes of the contract are those of the program`() async throws {
        try await onOwnThread {
            let page = try String(
                contentsOf: repository.appending(path: "Protocols/Programs/README.md"), encoding: .utf8)
            let help = try Home().telltale(["--help"]).lines.map { $0.drop { $0 == " " } }
            let rows = page.split(separator: "\n").filter { $0.contains("`telltale`, `telltale-sim`") }
                .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            #expect(rows.map { $0[0] } == ["0", "1", "2", "69", "78"])
            for row in rows { #expect(help.contains { $0 == "\(row[0])  \(row[1])" }, "\(row)") }
        }
    }
}
