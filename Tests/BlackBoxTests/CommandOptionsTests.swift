import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// Options of `telltale` for interactive use: hints, bulk input, figures, new kind files.
@Suite(.serialized, .endsOneDay)
struct CommandOptionsTests {
    private struct Outcome {
        var status: Int32?
        var lines: [String]
        var error: String
    }

    private func telltale(
        _ daemon: DaemonProcess?, _ arguments: String..., input: String? = nil
    ) throws -> Outcome {
        let address = daemon.map { "127.0.0.1:\($0.port)" } ?? "127.0.0.1:1"
        let running = try RunningProgram(
            program("telltale"), arguments, input: input, environment: ["TELLTALE_CONNECT": address])
        let lines = running.readToEnd()
        return Outcome(status: running.waitForExit(), lines: lines, error: running.standardError)
    }

    private func row(_ key: String, _ daemon: DaemonProcess) throws -> JSON {
        let text = try telltale(daemon, "get", key, "--json").lines.first ?? ""
        return try JSONParser.parse(text)["row"] ?? .null
    }

    @Test func `content and attributes have options of their own, and dropped members are named`() async throws {
        try await withDaemon { daemon in
            let started = try telltale(
                daemon, "post", "errand/1", "start", "--attributes", #"{"who":"Ana"}"#, "--content", #"{"a":1,"b":2}"#)
            #expect(started.status == 0 && started.error.isEmpty)
            _ = try telltale(daemon, "post", "errand/1", "go", "--content", #"{"b":null,"c":3}"#)
            #expect(try row("errand/1", daemon)["attributes"] == ["who": "Ana"])
            #expect(try row("errand/1", daemon)["content"] == ["a": 1, "c": 3], "an event's content is merged")
            _ = try telltale(daemon, "post", "errand/1", "update", "--content", #"{"d":4}"#)
            #expect(try row("errand/1", daemon)["content"] == ["d": 4], "an update's content replaces")

            let past = try telltale(daemon, "history", "errand/1").lines
            #expect(past.first?.hasSuffix(#"  attributes={"who":"Ana"}  content={"a":1,"b":2}"#) == true, "\(past)")
            #expect(past.last?.hasSuffix(#"  content={"d":4}"#) == true)

            let lost = try telltale(
                daemon, "post", "errand/1", "arrive", "--data", #"{"rider":"Ana","content":{"eta":1}}"#)
            #expect(lost.status == 0)
            #expect(lost.error.hasPrefix("telltale: an event has no content, rider, so that is dropped"))
            let timeline = try telltale(daemon, "post", "errand/1", "timeline", "--data", #"{"entries":[]}"#)
            #expect(timeline.error == "", "the members of a widget's timeline are known")
            let twice = try telltale(
                daemon, "post", "errand/1", "note", "--content", "{}", "--data", #"{"content-state":{}}"#)
            #expect(twice.status == 2)
            let broken = try telltale(daemon, "post", "errand/1", "note", "--data", #"{"content-state":{"a":'b'}}"#)
            #expect(broken.status == 2)
            #expect(broken.error.contains("--data is no JSON: column 23: a text in single quotes"))
        }
    }

    @Test func `an ignored event is a failure where that is asked for, and seconds are hinted at`() async throws {
        try await withDaemon { daemon in
            _ = try telltale(daemon, "post", "errand/1", "start")
            let ignored = try telltale(daemon, "post", "errand/1", "gone")
            #expect(ignored.status == 0)
            let hint = "no state of errand handles gone"
            #expect(ignored.lines.first?.hasSuffix(" (\(hint))") == true, "\(ignored.lines)")
            let object = try JSONParser.parse(
                try telltale(daemon, "post", "errand/1", "gone", "--json").lines.first ?? "")
            #expect(object["msg"] == .string(hint) && object["row"] == nil)
            let strict = try telltale(daemon, "post", "errand/1", "gone", "--strict")
            #expect(strict.status == 1)
            #expect(strict.lines.first?.hasPrefix("ignored") == true)
            #expect(strict.error == "telltale: the event changed nothing (--strict)\n")
            let seconds = try telltale(daemon, "post", "errand/2", "start", "--at", "1763719200")
            #expect(seconds.error.contains("seconds would be at=1763719200000"))
        }
    }

    @Test func `events are posted in bulk, in order, and each that is refused is reported with its line`() async throws
    {
        try await withDaemon { daemon in
            var lines = (1...1_500).map { #"errand/\#($0) start eid=e\#($0) {"content-state":{"n":\#($0)}}"# }
            lines[3] = "errand/4"
            lines[5] = "errand/6 start eid=a eid=b"
            lines[7] = "nothing/8 start"
            lines.insert("# a comment", at: 0)
            let posted = try telltale(daemon, "post", "-", input: lines.joined(separator: "\n"))
            #expect(posted.status == 1)
            #expect(posted.lines.count == 1_497)
            #expect(posted.lines.first?.hasPrefix("errand/1 applied rev=") == true)
            #expect(posted.lines.last?.hasPrefix("errand/1500 applied rev=") == true)
            let errors = posted.error.split(separator: "\n")
            #expect(errors.map { $0.prefix(17) } == ["telltale: line 5:", "telltale: line 7:", "telltale: line 9:"])
            #expect(errors.last?.contains("unknown_kind") == true)
            #expect(try row("errand/1500", daemon)["content"] == ["n": 1500])
            #expect(try telltale(daemon, "post", "-", "--content", "{}", input: "").status == 2)
        }
    }

    @Test func `events are posted in bulk though the reader of the verdicts has gone`() async throws {
        try await withDaemon { daemon in
            let folder = try TemporaryFolder()
            let lines = (1...1_500).map { "errand/\($0) start" } + ["nothing/1 start"]
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: folder.path("events")))
            let shell = try RunningProgram(
                URL(filePath: "/bin/sh"),
                [
                    "-c", "{ \"$0\" post - <\"$1\"; echo $? >\"$1.status\"; } | head -n 1", program("telltale").path,
                    folder.path("events"),
                ],
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            #expect(shell.readToEnd().count == 1)
            #expect(shell.waitForExit() == 0)
            #expect(try String(contentsOfFile: folder.path("events.status"), encoding: .utf8) == "1\n")
            #expect(shell.standardError.contains("line 1501: unknown_kind"))
            #expect(try telltale(daemon, "get", "errand/1500").status == 0)
        }
    }

    @Test func `a byte order mark before the first event is named, and the others are posted`() async throws {
        try await withDaemon { daemon in
            let posted = try telltale(daemon, "post", "-", input: "\u{FEFF}errand/1 start\nerrand/2 start\n")
            #expect(posted.status == 1)
            #expect(posted.lines.map { $0.prefix(9) } == ["errand/2 "])
            #expect(
                posted.error
                    == "telltale: line 1: it begins with a byte order mark; save the file as UTF-8 without one\n")
        }
    }

    @Test func `the daemon's figures, and the newest of a history`() async throws {
        try await withDaemon { daemon in
            _ = try telltale(daemon, "post", "-", input: "errand/1 start\nerrand/1 go\nerrand/1 arrive\n")
            let figures = try telltale(daemon, "stats").lines
            #expect(figures.contains { $0.hasPrefix("connections ") && $0.hasSuffix(" 1") })
            let json = try JSONParser.parse(try telltale(daemon, "stats", "--json").lines.first ?? "")
            #expect(json["connections"] == 1)
            let newest = try telltale(daemon, "history", "errand/1", "--last", "2").lines
            #expect(newest.count == 2)
            #expect(newest.first?.contains("  go ") == true && newest.last?.contains("  arrive ") == true)
        }
    }

    @Test func `a long history goes through the pager of a terminal`() async throws {
        try await withDaemon { daemon in
            _ = try telltale(
                daemon, "post", "-", input: "errand/1 start\n" + String(repeating: "errand/1 update\n", count: 20))
            let terminal = try PseudoTerminal(width: 100, height: 10)
            let history = try RunningProgram(
                program("telltale"), ["history", "errand/1"],
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "PAGER": "sed s/^/paged:/"],
                at: terminal)
            #expect(terminal.read(until: "paged:") != nil)
            #expect(terminal.read(until: "start") != nil)
            #expect(history.waitForExit() == 0)
        }
    }

    @Test func `a watch goes on behind a cursor`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("EVT errand/1 type=start")
            #expect(try peer.ask("SUB errand/*").verb == "OK")
            var line = try peer.receive()
            while line.verb != "LIVE" { line = try peer.receive() }
            let cursor = try #require(line["cur"])
            _ = try peer.ask("EVT errand/2 type=start")
            let watched = try telltale(daemon, "watch", "errand/*", "--from", cursor, "--count", "1")
            #expect(watched.lines.map { $0.prefix(9) } == ["errand/2 "])
            #expect(try telltale(daemon, "watch", "--from", "yesterday").status == 2)
        }
    }

    @Test func `a change is printed by a template`() async throws {
        try await withDaemon { daemon in
            _ = try telltale(daemon, "post", "errand/1", "start", "--content", #"{"n":"a\u001bb"}"#)
            let watched = try telltale(
                daemon, "watch", "errand/*", "--once", "--format", #"{{event}}\t{{key}} [{{row.content.n}}]"#)
            #expect(watched.lines == ["snapshot\terrand/1 [a b]"])
            let wrong = try telltale(daemon, "watch", "--format", "{{key")
            #expect(wrong.status == 2 && wrong.error.contains("--format: a {{ has no }}"))
            #expect(try telltale(daemon, "watch", "--format", "x", "--json").status == 2)
        }
    }

    @Test func `on a terminal a table of more lines than it has is scrolled`() async throws {
        try await withDaemon { daemon in
            let events = (10...29).map { "errand/\($0) start" }.joined(separator: "\n")
            #expect(try telltale(daemon, "post", "-", input: events).status == 0)
            let terminal = try PseudoTerminal(width: 60, height: 12)
            let watch = try RunningProgram(
                program("telltale"), ["watch", "errand/*"],
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "TERM": "xterm", "NO_COLOR": "1"],
                at: terminal)
            defer { watch.kill() }
            let first = try #require(terminal.read(until: "lines 1-11 of "))
            #expect(first.contains("errand/10") && !first.contains("errand/29"))
            terminal.press("G")
            #expect(terminal.read(until: "errand/29") != nil)
            terminal.press("\u{1B}[5~")
            #expect(terminal.read(until: "errand/12") != nil)
            terminal.press("g")
            #expect(terminal.read(until: "errand/10") != nil)
            terminal.press("q")
            #expect(watch.waitForExit() == 0)
            #expect(terminal.isPlain)
        }
    }

    @Test func `a kind is tried as a surface shows it`() async throws {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/coffee-order.json").path
            let input = #"""
                start {"attributes":{"item":"Flat white","shop":"Hoegi"}}
                confirm
                # nothing
                after 1m30s
                """#
            let drawn = try telltale(nil, "kinds", "run", kind, "--view", "carplay", input: input)
            #expect(drawn.status == 0)
            #expect(drawn.lines.filter { $0.hasPrefix("┏━ CarPlay") }.count == 3)
            #expect(drawn.lines.contains { $0.contains("In the queue") })
            let rows = try telltale(nil, "kinds", "run", kind, "--view", "watch", "--json", input: input).lines
                .map { try JSONParser.parse($0) }
            #expect(rows.map { $0["event"] } == ["start", "confirm", "after 1m30s"])
            #expect(rows.map { $0["verdict"] } == ["applied", "applied", "noop"])
            #expect(rows[1]["row"]?["view"]?["title"] == "In the queue")
            let bad = try telltale(nil, "kinds", "run", kind, "--view", "full", input: "start\nno way\nready {\"x\":1}")
            #expect(bad.status == 1)
            #expect(bad.error.contains("line 2: \"no way\"") && bad.error.contains("line 3: an event has no x"))
            let gone = try telltale(nil, "kinds", "run", kind, "--view", "carplay", "--json", input: "cancel")
            #expect(gone.lines.last?.contains(#""row":null"#) == true, "a car shows nothing that has ended")
        }
    }

    @Test("A new kind is without a fault", arguments: ["activity", "toggle", "button"])
    func new(type: String) async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let made = try telltale(nil, "kinds", "new", "table-order", "--type", type)
            #expect(made.status == 0)
            let file = folder.path("table-order.json")
            try Data((made.lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
            let checked = try telltale(nil, "kinds", "check", file, "--strict")
            #expect(checked.lines == ["1 file, 0 errors, 0 warnings"])
            #expect(try telltale(nil, "kinds", "new", "table order").status == 2)
        }
    }

    @Test func `a record of the journal is exported in the words of the history`() async throws {
        try await withDaemon { daemon in
            _ = try telltale(
                daemon, "post", "errand/1", "start", "--attributes", #"{"who":"Ana"}"#, "--src", "pos", "--eid", "e1")
            let data = daemon.folder.appending(path: "data").path
            let lines = try telltale(nil, "journal", "export", data, "--key", "errand/1", "--readable").lines
            let record = try JSONParser.parse(lines.first ?? "")
            #expect(lines.count == 1)
            #expect(record["type"] == "start" && record["verdict"] == "applied" && record["key"] == "errand/1")
            #expect(record["body"]?["attributes"] == ["who": "Ana"] && record["body"]?["eid"] == "e1")
            #expect(record["time"]?.string?.hasSuffix("Z") == true && record["time"]?.string?.count == 24)
            let kinds = try telltale(nil, "journal", "export", data, "--readable").lines.map {
                try JSONParser.parse($0)
            }
            #expect(kinds.first { $0["type"] == "kinds" }?["body"]?["kinds"]?.array?.contains("errand 1") == true)
        }
    }

    @Test func `a span is written as in kind files`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            #expect(try telltale(daemon, "ping", "--wait", "1m30s").status == 0)
            #expect(try telltale(daemon, "ping", "--wait", "soon").status == 2)
            let file = folder.path("principals.json")
            let add = ["token", "add", "x", "--scope", "stats", "--auth", file, "--expires"]
            #expect(try RunningProgram(program("telltale"), add + ["1h30m"]).waitForExit() == 0)
            #expect(try RunningProgram(program("telltale"), add + ["0s"]).waitForExit() == 2)
        }
    }

    @Test("Colours are for terminals whose user wants them", arguments: ["NO_COLOR", "CLICOLOR", ""])
    func colors(variable: String) async throws {
        try await withDaemon { daemon in
            _ = try telltale(daemon, "post", "errand/1", "start")
            let terminal = try PseudoTerminal(width: 80, height: 24)
            let values = ["NO_COLOR": "1", "CLICOLOR": "0"]
            var environment = ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "TERM": "xterm", "NO_COLOR": ""]
            if let value = values[variable] { environment[variable] = value }
            let get = try RunningProgram(
                program("telltale"), ["get", "errand/1"], environment: environment, writingTo: terminal.end)
            let text = try #require(terminal.read(until: "╯"))
            #expect(text.contains("\u{1B}[") == variable.isEmpty)
            #expect(get.waitForExit() == 0)
        }
    }

    @Test func `every program names the same release`() async throws {
        try await onOwnThread {
            let releases = try ["telltale", "telltaled", "telltale-sim", "telltale-bench"].map { name in
                let running = try RunningProgram(program(name), ["--version"])
                return running.readToEnd()
            }
            #expect(releases[0].count == 1)
            #expect(releases == Array(repeating: releases[0], count: releases.count))
        }
    }
}
