import Foundation
import TelltaleModel
import TestSupport
import Testing

/// What commands show on a terminal, and that a pipe has the same lines as ever.
@Suite(.serialized)
struct OutputForPeopleTests {
    /// The output of a command on a terminal, without colours and without blanks at the ends of lines.
    private func shown(
        _ arguments: [String], _ daemon: DaemonProcess, width: UInt16 = 100, until last: String
    ) throws -> String {
        let terminal = try PseudoTerminal(width: width, height: 60)
        let program = try RunningProgram(
            program("telltale"), arguments,
            environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "TERM": "xterm", "NO_COLOR": "1"],
            at: terminal)
        defer { program.kill() }
        let text = try #require(terminal.read(until: last), "\(arguments): \(terminal.text)")
        return text.replacing("\r\n", with: "\n").replacing(/\ +\n/, with: "\n")
    }

    /// Posts an order that is being made.
    private func brew(_ daemon: DaemonProcess) throws -> Shell {
        let shell = Shell(daemon)
        let eta = Int64(Date().timeIntervalSince1970) + 180
        for arguments in [
            ["confirm", "--attributes", #"{"item":"Flat white"}"#, "--content", "{\"eta\":\(eta)}", "--for", "alice"],
            ["brew"],
        ] {
            let posted = try shell.run(["post", "coffee-order/7"] + arguments)
            try #require(posted.status == 0, "\(posted.error)")
        }
        return shell
    }

    @Test func `on a terminal list is a table with titles, times and minutes; a pipe has keys and JSON`() async throws {
        try await withDaemon { daemon in
            let shell = try brew(daemon)
            let table = try shown(["list", "coffee-order/*"], daemon, until: "Flat white")
            #expect(table.hasPrefix("KEY               STATE    DONE  CHANGED"), "\(table)")
            #expect(table.contains("\nCoffee order\n  coffee-order/7  Brewing  60% "))
            #expect(table.contains("eta in 3 min · item Flat white"))
            let line = try #require(try shell.run("list", "coffee-order/*").lines.first)
            #expect(line.hasPrefix(#"coffee-order/7 rev="#) && line.contains(#""state":"brewing""#))
            #expect(try shown(["list", "coffee-tip/*"], daemon, until: "Tip]").contains("  coffee-tip/7  [♥ Tip]"))
            let car = try shown(["list", "--view", "carplay"], daemon, until: "coffee-tip/7")
            #expect(
                car.hasPrefix("KEY  ") && car.contains("[☕ Log coffee]") && car.contains("small: Brewing"), "\(car)")
            #expect(try shown(["get", "coffee-order/7"], daemon, until: "60%").contains("eta in 3 min"))
        }
    }

    @Test func `open draws the panel and names the link; ping says the round trip; stats is a table`() async throws {
        try await withDaemon { daemon in
            let shell = try brew(daemon)
            let panel = try shown(["open", "coffee-order/7"], daemon, until: "orders/7")
            #expect(panel.contains("│ Brewing") && panel.contains("[♥ Tip]"))
            #expect(panel.hasSuffix("\nopens https://example.com/orders/7"))
            #expect(try shell.run("open", "coffee-order/7").text.contains(#" {"app":"com.example.coffee","#))
            #expect(
                try shown(["ping"], daemon, until: " ms").contains(
                    "telltaled 0.1.0 at 127.0.0.1:\(daemon.port) answered in "))
            #expect(try shell.run("ping").text == "")
            let figures = try shown(["stats"], daemon, until: "stale 0")
            #expect(figures.hasPrefix("FIGURE") && figures.contains("\nverdicts         applied "))
            #expect(try shown(["kinds"], daemon, until: "Coffee order").hasPrefix("NAME "))
            #expect(try shell.run("kinds").lines.contains("coffee-order             activity  v3   Coffee order"))
            #expect(try shell.run("stats").lines.contains { $0.hasPrefix(#"verdicts         {"applied":"#) })
        }
    }

    @Test func `watch without a view is a table by kind, and a card for one key`() async throws {
        try await withDaemon { daemon in
            _ = try brew(daemon)
            let table = try shown(["watch"], daemon, until: "ctrl-c ends")
            #expect(table.contains("KEY ") && table.contains("Coffee order") && table.contains("Brewing"))
            #expect(try shown(["watch", "coffee-order/7"], daemon, until: "60%").contains("╭─ coffee-order/7"))
        }
    }

    @Test func `token list says how long a token lasts, and a pipe has the date alone`() async throws {
        try await withDaemon { daemon in
            let file = daemon.folder.appending(path: "p.json").path
            let shell = Shell(daemon)
            let added = try shell.run(
                "token", "add", "car", "--scope", "read:*", "--account", "alice", "--expires", "90d", "--auth", file)
            try #require(added.status == 0, "\(added.error)")
            #expect(
                try shown(["token", "list", "--auth", file], daemon, until: "read:*").contains("Z (in 90 d)  alice"))
            #expect(try shell.run("token", "list", "--auth", file).text.contains("Z  alice"))
        }
    }

    @Test func `--wait returns when it is done, and fails when it cannot come or is late`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            let provider = try daemon.greetedPeer()
            _ = try provider.ask("SERVE porch-light")
            _ = try provider.ask("REPORT porch-light/front value=off")
            func operation() throws -> Substring {
                while case .line(let line) = provider.next() {
                    if line.hasPrefix("DO ") {
                        return try #require(line.split(separator: " ").first { $0.hasPrefix("op=") })
                    }
                }
                throw ScriptedDaemon.Failure(description: "a DO was due, and nothing came")
            }
            let set = try shell.start("set", "porch-light/front", "on", "--wait", "done")
            _ = try provider.ask("DONE \(try operation()) value=on")
            let lines = set.readToEnd()
            #expect(set.waitForExit() == 0, "\(set.standardError)")
            #expect(lines.count == 2 && lines.last?.hasSuffix("toggle on settled") == true, "\(lines)")
            let failing = try shell.start("set", "porch-light/front", "off", "--wait", "off", "--json")
            _ = try provider.ask(#"FAIL \#(try operation()) {"message":"no bulb"}"#)
            #expect(failing.waitForExit() == 1)
            #expect(failing.standardError == "telltale: porch-light/front: failed: no bulb\n")
            let waiting = try shell.start("post", "coffee-order/7", "confirm", "--wait", "ready")
            #expect(waiting.readLine()?.hasPrefix("applied ") == true)
            for event in ["brew", "ready"] { _ = try shell.run("post", "coffee-order/7", event) }
            #expect(waiting.readLine()?.hasSuffix("ready active 100%") == true)
            #expect(waiting.waitForExit() == 0)
            let late = try shell.run("post", "coffee-order/7", "update", "--wait", "done", "--timeout", "100ms")
            #expect(late.status == 1)
            #expect(
                late.error
                    == "telltale: coffee-order/7: the time of --wait is over; it is ready active 100%\n")
            #expect(
                try shell.run("post", "coffee-order/7", "collect", "--wait", "ready").error.contains(
                    "it ended as collected"))
            #expect(try shell.run("press", "nothing/1", "--wait", "done").status == 1)
            #expect(try Shell("127.0.0.1:1").run("press", "a/b", "--wait", "done").status == 69)
            #expect(try shell.run("press", "a/b", "--timeout", "1s").error.contains("--timeout goes with --wait"))
        }
    }

    /// Of waybar, because its line stands first in the guide.
    @Test func `the bar of the guide has titles, and no key, with every kind that ships`() async throws {
        try await withDaemon { daemon in
            let shell = try brew(daemon)
            for (key, event) in [
                ("flight/LH400", "scheduled_departure"), ("parcel/9", "purchased"), ("bistro-order/3", "ordered"),
            ] { #expect(try shell.run("post", key, event).status == 0) }
            let guide = try String(
                contentsOf: repository.appending(path: "Protocols/Guide/status-bars.md"), encoding: .utf8)
            let command = try #require(guide.firstMatch(of: /"exec": "telltale ([^"]+)"/)).1
            for arguments in [command.split(separator: " ").map(String.init), ["bar", "waybar"]] {
                let bar = try JSONParser.parse(try shell.run(arguments + ["--once"]).text)
                let (text, tooltip) = (try #require(bar["text"]?.string), try #require(bar["tooltip"]?.string))
                for title in ["☕ Coffee order · ", "✈ Flight · ", "📦 Parcel · ", "🍴 Bistro order · "] {
                    #expect(text.contains(title), "\(text)")
                }
                #expect(tooltip.contains("\nTip") && tooltip.contains("Store: unavailable"), "\(tooltip)")
                #expect(!(text + tooltip).contains("/") && !text.contains("unknown"), "\(text) \(tooltip)")
            }
        }
    }
}
