import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale` as people and scripts use it: the real program against the real daemon.
@Suite(.serialized)
struct CommandLineTests {
    @Test func `an order's whole life, from the shell`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            _ = try shell.run("post", "coffee-order/6", "start")
            let watch = try shell.start("watch", "coffee-order/*", "--view", "carplay", "--count", "3")
            #expect(watch.readLine()?.hasPrefix("coffee-order/6 rev=") == true)
            let order = #"{"attributes":{"item":"Flat white","shop":"Hoegi"}}"#
            let started = try shell.run("post", "coffee-order/7", "start", "--data", order, "--for", "alice")
            #expect(started.lines.count == 1)
            #expect(started.lines.first?.hasPrefix("applied rev=") == true)
            #expect(started.lines.first?.hasSuffix(" state=placed") == true)
            #expect(watch.readLine()?.contains(" small: Order placed") == true)
            #expect(try shell.run("post", "coffee-order/7", "CONFIRMED", "--eid", "e1").text.hasPrefix("applied "))
            #expect(watch.readLine()?.contains(" small: In the queue") == true)
            #expect(try shell.run("post", "coffee-order/7", "CONFIRMED", "--eid", "e1").text.hasPrefix("duplicate "))
            #expect(watch.readLine() == nil, "three were wanted")
            #expect(watch.waitForExit() == 0)

            let row = try shell.run("get", "coffee-order/7")
            #expect(row.text.hasPrefix("coffee-order/7 rev="))
            let body = try JSONParser.parse(String(row.text.drop { $0 != "{" }))
            #expect(body["attributes"]?["item"] == "Flat white")
            let json = try JSONParser.parse(try shell.run("get", "coffee-order/7", "--view", "watch", "--json").text)
            #expect(json["key"] == "coffee-order/7")
            #expect(json["row"]?["presentation"] == "small")

            let listed = try shell.run("list", "coffee-order/*").lines.map { String($0.prefix(15)) }
            #expect(listed == ["coffee-order/6 ", "coffee-order/7 "])
            #expect(try shell.run("list", "parcel/*").lines == [])
            #expect(try shell.run("watch", "coffee-order/*", "--once").lines.count == 2)
            #expect(try shell.run("watch", "coffee-order/7", "--count", "1").lines.count == 1)

            let past = try shell.run("history", "coffee-order/7", "--json").lines.map { try JSONParser.parse($0) }
            #expect(past.map { $0["type"] } == ["start", "CONFIRMED"])
            #expect(past.allSatisfy { $0["verdict"] == "applied" })
            #expect(try shell.run("history", "coffee-order/7").lines.allSatisfy { $0.contains("  from telltale/") })

            let opened = try JSONParser.parse(
                try shell.run("open", "coffee-order/7", "--account", "alice", "--json").text)
            #expect(opened["row"]?["presentation"] == "lockScreen")
            let dismissed = try shell.run("dismiss", "coffee-order/7", "--account", "alice")
            #expect(dismissed.text.hasPrefix("applied rev="))
            #expect(try shell.run("list", "coffee-order/7").lines == [])
        }
    }

    @Test func `a light is served, switched, and switched in vain`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            let unserved = try shell.run("set", "porch-light/front", "on")
            #expect(unserved.status == 1)
            #expect(unserved.error.hasPrefix("telltale: unavailable: "))
            let watch = try shell.start("watch", "porch-light/front", "--json")
            defer { watch.kill() }
            let provider = try shell.start(
                "serve", "porch-light", "--report", "front=off", "--exec", #"[ "$TELLTALE_VALUE" = on ]"#)
            func nextRow(_ isWanted: (JSON) -> Bool) throws -> JSON? {
                while let line = watch.readLine() {
                    if let row = try JSONParser.parse(line)["row"], isWanted(row) { return row }
                }
                return nil
            }
            #expect(try nextRow { $0["value"] == false && $0["available"] == true } != nil)
            #expect(try shell.run("set", "porch-light/front", "on").text.contains(" phase=pending "))
            #expect(try nextRow { $0["last"]?["result"] == "confirmed" }?["value"] == true)
            #expect(try shell.run("set", "porch-light/front", "off").status == 0)
            let reverted = try nextRow { $0["last"]?["result"] == "reverted" }
            #expect(reverted?["value"] == true)
            #expect(reverted?["last"]?["reason"] == "failed")
            let late = try shell.run("set", "porch-light/front", "off", "--if", "1")
            #expect(late.status == 1)
            #expect(late.error.hasPrefix("telltale: stale_rev: "))
            provider.send(SIGINT)
            #expect(provider.waitForExit() == 0)
            #expect(provider.standardError.hasPrefix("telltale: serving porch-light"))
            // A button that raises an event needs no provider.
            #expect(try shell.run("press", "log-coffee/espresso").text.hasPrefix("op="))
            #expect(try shell.run("list", "coffee-order/*").lines.count == 1)
            watch.send(SIGINT)
            #expect(watch.waitForExit() == 0)
        }
    }

    @Test func `a command's processes end with telltale serve`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            let note = daemon.folder.appending(path: "pid")
            let provider = try shell.start(
                "serve", "porch-light", "--report", "front=off", "--exec", "echo $$ >'\(note.path)'; sleep 600; true")
            let end = Date.now.addingTimeInterval(patience)
            while Date.now < end, try shell.run("set", "porch-light/front", "on").status != 0 {}
            var group: pid_t?
            while Date.now < end, group == nil {
                group = try? pid_t(
                    String(contentsOf: note, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
            }
            let command = try #require(group)
            provider.send(SIGINT)
            #expect(provider.waitForExit() == 0)
            while Date.now < end, kill(0 - command, 0) == 0 {}
            #expect(kill(0 - command, 0) != 0)
        }
    }

    @Test func `a refusal is one line on standard error, and exit 1`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            let long = try shell.run(
                "post", "coffee-order/1", "start", "--data", #"{"note":"\#(String(repeating: "x", count: 70_000))"}"#)
            #expect(long.status == 1)
            #expect(long.error.hasPrefix("telltale: too_large: the request is a line of "))
            for (arguments, code) in [
                (["get", "coffee-order/none"], "unknown_key"), (["post", "nothing/1", "start"], "unknown_kind"),
                (["post", "coffee-order/none", "brew"], "unknown_key"), (["press", "porch-light/front"], "bad_action"),
                (["dismiss", "coffee-order/none"], "forbidden"), (["history", "coffee-order/none"], "unknown_key"),
                (["serve", "parcel", "--exec", "true"], "bad_action"), (["open", "coffee-order/none"], "unknown_key"),
            ] {
                let result = try shell.run(arguments)
                #expect(result.status == 1, "\(arguments)")
                #expect(result.lines == [], "\(arguments)")
                #expect(result.error.hasPrefix("telltale: \(code): "), "\(arguments): \(result.error)")
                #expect(result.error.split(separator: "\n").count == 1, "\(arguments): \(result.error)")
            }
            // The remedy is one of the command line.
            #expect(try shell.run("dismiss", "coffee-order/none").error.contains("this is with --account NAME"))
        }
    }

    @Test(
        "A wrong usage is told, and exit 2",
        arguments: [
            ["get"], ["get", "no-slash"], ["list", "a/b/c"], ["post", "coffee-order/1"],
            ["post", "coffee-order/1", "two words"], ["post", "coffee-order/1", "start", "--data", "{"],
            ["post", "coffee-order/1", "start", "--data", "[]"], ["post", "coffee-order/1", "start", "--at", "-1"],
            ["set", "porch-light/front", "maybe"], ["watch", "--view", "sofa"], ["watch", "--trait", "foo=bar"],
            ["watch", "--trait", "locked=maybe"], ["watch", "--count", "0"], ["serve", "porch-light"],
            ["serve", "a b", "--exec", "true"], ["list", "--connect", "nowhere"], ["sing"],
            ["post", "coffee-order/1", "start", "--for", ","], ["post", "coffee-order/1", "start", "--for", "a,,b"],
            ["post", "coffee-order/1", "start", "--for", "a,a"], ["list", "--account", "a b"],
            ["list", "--account", ""],
            ["dismiss", "coffee-order/1", "--account", "é"], ["watch", "--trait", "foreground=a b"],
            ["watch", "--placement", "a b"], ["journal", "export", "nowhere", "--key", "bad"],
            ["watch", "--trait", "locked=yes", "--trait", "locked=no"],
        ])
    func usage(arguments: [String]) async throws {
        try await onOwnThread {
            let result = try Shell("127.0.0.1:1").run(arguments)
            #expect(result.status == 2)
            #expect(result.lines == [])
            #expect(result.error.hasPrefix("Error: "))
            #expect(result.error.contains("Usage: telltale "))
        }
    }

    @Test(
        "Where no daemon is, that is said, and exit 69",
        arguments: [
            ["get", "a/b"], ["list"], ["history", "a/b"], ["kinds"], ["watch"], ["watch", "--once"],
            ["post", "a/b", "start"], ["set", "a/b", "on"], ["press", "a/b"], ["open", "a/b"], ["dismiss", "a/b"],
            ["serve", "a", "--exec", "true"],
        ])
    func noDaemon(arguments: [String]) async throws {
        try await onOwnThread {
            let result = try Shell("unix:/nonexistent/telltale.sock").run(arguments)
            #expect(result.status == 69)
            #expect(result.lines == [])
            #expect(
                result.error
                    == """
                    telltale: cannot connect to unix:/nonexistent/telltale.sock: no such file or directory (ENOENT). \
                    Is telltaled running there? --connect or TELLTALE_CONNECT names it.

                    """)
        }
    }

    /// The verbs and attributes of the protocol are for those who type it.
    private static var wireWord: Regex<Substring> {
        /\b(?:HELLO|EVT|SUB|UNSUB|GET|LIST|KINDS|TRAIT|OPEN|SET|PRESS|TILE|SERVE|DONE|FAIL|REPORT|BYE|EPROTO)\b/
    }

    @Test(
        "A refusal speaks of the command line's own options and commands",
        arguments: [
            (["post", "porch-light/front", "start"], "`telltale set` or `telltale press`"),
            (["post", "nothing/1", "start"], "`telltale kinds` lists"), (["get", "errand/9"], "`telltale list` shows"),
            (["post", "@alice-car/t1", "start"], "`telltale tile` arranges it"),
            (["dismiss", "errand/1"], "--account NAME"),
        ])
    func refusal(arguments: [String], remedy: String) async throws {
        try await withDaemon { daemon in
            _ = try Shell(daemon).run("post", "errand/1", "start")
            let result = try Shell(daemon).run(arguments)
            #expect(result.status != 0)
            #expect(result.error.contains(remedy), "\(result.error)")
            #expect(try Self.wireWord.firstMatch(in: result.error) == nil, "\(result.error)")
        }
    }

    @Test(
        "A daemon that wants a token is told of by the option that gives one",
        arguments: [
            ["list"], ["watch"], ["watch", "--once"], ["post", "errand/1", "start"], ["stats"],
            ["tile", "@a/b", "pin"],
            ["serve", "errand", "--exec", "true"],
        ])
    func token(arguments: [String]) async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let file = folder.path("principals.json")
            let add = try RunningProgram(
                program("telltale"), ["token", "add", "ops", "--scope", "stats", "--auth", file])
            try #require(add.waitForExit() == 0)
            let daemon = try DaemonProcess(["--auth", file])
            let result = try Shell(daemon).run(arguments)
            #expect(result.status != 0)
            #expect(result.error.contains("--token-file FILE"), "\(result.error)")
            #expect(try Self.wireWord.firstMatch(in: result.error) == nil, "\(result.error)")
        }
    }

    @Test func `commands that need no daemon work without one, and help is no failure`() async throws {
        try await onOwnThread {
            let shell = Shell("127.0.0.1:1")
            #expect(try JSONParser.parse(try shell.run("surfaces", "--json").text)["devices"] != nil)
            let kinds = repository.appending(path: "Protocols/Kinds/examples").path
            #expect(try shell.run("kinds", "check", kinds).status == 0)
            for arguments in [["--help"], ["watch", "--help"], ["post", "--help"]] {
                let help = try shell.run(arguments)
                #expect(help.status == 0)
                #expect(help.text.contains("USAGE: telltale"))
            }
        }
    }
}
