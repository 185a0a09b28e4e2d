import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale context`: daemons under names, and what goes before what.
@Suite(.serialized)
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
            #expect(rows.map { $0[0] } == ["0", "1", "2", "69"])
            for row in rows { #expect(help.contains { $0 == "\(row[0])  \(row[1])" }, "\(row)") }
        }
    }
}
