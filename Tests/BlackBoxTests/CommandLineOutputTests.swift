import Foundation
import TelltaleModel
import TestSupport
import Testing

/// Where `telltale` reads and writes: terminals, pipes whose reader has gone, and files that cannot be read or written.
@Suite(.serialized)
struct CommandLineOutputTests {
    @Test func `output that cannot be written is a failure, and a closed pipe is none`() async throws {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/parcel.json").path
            let drawing = ["kinds", "draw", kind]
            for arguments in [drawing, drawing + ["--format", "svg"], ["surfaces"], ["kinds", "run", kind]] {
                func outcome(_ redirection: String) throws -> (status: Int32?, error: String) {
                    let program = try RunningProgram(
                        URL(filePath: "/bin/sh"),
                        ["-c", "exec \"$0\" \"$@\" \(redirection)", program("telltale").path] + arguments)
                    return (program.waitForExit(), program.standardError)
                }
                let full = try outcome(">/dev/full")
                #expect(full.status == 1)
                #expect(
                    full.error
                        == "telltale: not all of it could be written to standard output: No space left on device\n")
                #expect(try outcome(">&-").status == 1)
                #expect(try outcome("| :").status == 0)
            }
        }
    }

    @Test func `control characters in an alert or an event move no cursor and make no line`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            let watch = try shell.start("watch", "--count", "3")
            defer { watch.kill() }
            var peer = try daemon.introduce()
            try peer.answer("SUB", "OK sub=1")
            try peer.send(#"ALERT sub=1 key=a/b rev=2 {"title":"\u001b[2J","body":"ready\na/c rev=9 gone: \u009b"}"#)
            try peer.send("DEL sub=1 key=a/b rev=3 why=\u{9B}2J")
            try peer.send("MILE sub=1 key=a/b rev=4 state=\u{9B}2J at=5")
            #expect(
                watch.readToEnd() == [
                    "a/b rev=2 alert:  [2J ready a/c rev=9 gone:  ", "a/b rev=3 gone:  2J", "a/b rev=4 milestone:  2J",
                ])
            let history = try shell.start("history", "a/b")
            defer { history.kill() }
            peer = try daemon.introduce()
            let id = try #require(try peer.request("HISTORY").split(separator: " ").last)
            try peer.send(
                #"HIST key=a/b rev=1 at=0 heard=0 type=start verdict=applied {"state":"\u001b[2J","src":"me\nyou"}"#)
            try peer.send("OK \(id) count=1")
            #expect(
                history.readToEnd() == [
                    "1970-01-01T00:00:00.000Z  start            applied   rev=1   [2J  from me you"
                ])
        }
    }

    @Test func `into a pipe the tiles of a board are lines or objects, without a code of a terminal`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            let body = #"""
                {"presentation":"systemSmall","order":2,"widget":"kitchen/Hoegi","stack":"left","position":1,"top":true,\#
                "entries":[{"date":0,"view":{"title":"\u001b[2J7 waiting"}}]}
                """#
            func output(_ arguments: String...) throws -> [String] {
                let watch = try shell.start(["watch", "@alice-car/*", "--view", "carplay", "--count", "1"] + arguments)
                defer { watch.kill() }
                let peer = try daemon.introduce()
                try peer.answer("SUB", "OK sub=1")
                try peer.send("SNAP sub=1 key=@alice-car/t1 rev=7 cur=e:7:1 \(body)")
                return watch.readToEnd()
            }
            #expect(try output() == ["@alice-car/t1 rev=7 systemSmall:  [2J7 waiting (place 2; top of left)"])
            let object = try JSONParser.parse(try #require(try output("--json").last))
            #expect(object["key"] == "@alice-car/t1" && object["event"] == "snapshot")
            #expect(object["row"] == (try JSONParser.parse(body)))
        }
    }

    @Test func `on a terminal a long line is cut, and ctrl-Z gives the screen back`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let terminal = try PseudoTerminal(width: 40, height: 10)
            let watch = try RunningProgram(
                program("telltale"), ["watch", "--view", "carplay"],
                environment: ["TELLTALE_CONNECT": daemon.address, "TERM": "xterm", "NO_COLOR": "1"],
                writingTo: terminal.end)
            defer { watch.kill() }
            // No other connection is accepted, so the foot shows the reason: a long sentence.
            let peer = try daemon.introduce()
            try peer.answer("SUB", "OK sub=1")
            try peer.send("LIVE sub=1 cur=x")
            #expect(terminal.read(until: "ctrl-c ends") != nil)
            try peer.send(#"ERR code=slow retry=now fatal=1 {"msg":"\#(String(repeating: "so slow ", count: 20))"}"#)
            peer.close()
            #expect(terminal.read(until: "not connected: ") != nil)
            let rest = try #require(terminal.read(until: "\u{1B}[K"))
            #expect(rest.count - "\u{1B}[K".count + "not connected: ".count == 39)

            let (begin, end) = ("\u{1B}[?1049h", "\u{1B}[?1049l")
            watch.send(SIGTSTP)
            #expect(terminal.read(until: end)?.contains("\u{1B}[?25h") == true)
            #expect(watch.waitUntilStopped())
            watch.send(SIGCONT)
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "CarPlay") != nil, "the whole picture is drawn again")
            watch.send(SIGINT)
            #expect(terminal.read(until: end) != nil)
            #expect(watch.waitForExit() == 0)
        }
    }

    @Test(
        "A terminal without UTF-8 gets ASCII, and JSON that is the same",
        arguments: [["list", "--json"], ["list"], ["history", "errand/1"], ["get", "errand/1"], ["surfaces"]])
    func ascii(arguments: [String]) async throws {
        try await withDaemon { daemon in
            let posted = try Shell(daemon).run("post", "errand/1", "start", "--content", #"{"a":"Café 茶"}"#)
            #expect(posted.status == 0)
            // Higher than the list, or it would go through a pager.
            let terminal = try PseudoTerminal(width: 400, height: 200)
            let program = try RunningProgram(
                program("telltale"), arguments,
                environment: [
                    "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)", "LC_ALL": "C", "TERM": "xterm", "NO_COLOR": "1",
                ],
                at: terminal)
            defer { program.kill() }
            // A picture has a mark for a letter that the terminal has not, JSON an escape.
            let last =
                switch arguments {
                case ["surfaces"]: "Measures"
                case ["get", "errand/1"]: "+\r\n"
                case ["list"]: "Caf? ??"
                case _: #"Caf\u00e9 \u8336"#
                }
            let shown = try #require(terminal.read(until: last))
            #expect(shown.utf8.allSatisfy { $0 < 0x80 }, "\(shown)")
        }
    }

    @Test func `on a terminal nothing in an answer's JSON is obeyed, and it stays the same JSON`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let terminal = try PseudoTerminal(width: 80, height: 10)
            let row = "{\"n\":\"\u{9B}2J \u{202E}é\"}"
            for (isTerminal, text) in [(true, #"{"n":"\u009b2J \u202eé"}"#), (false, row)] {
                let get = try RunningProgram(
                    program("telltale"), ["get", "a/b", "--json"], environment: ["TELLTALE_CONNECT": daemon.address],
                    writingTo: isTerminal ? terminal.end : nil)
                defer { get.kill() }
                let peer = try daemon.introduce()
                try peer.answer("GET", "OK key=a/b rev=2 \(row)")
                let line = isTerminal ? terminal.read(until: "}}") : get.readToEnd().first
                #expect(line?.hasSuffix("\"row\":\(text)}") == true)
            }
        }
    }

    @Test(
        "A reader who has gone is no failure, of whatever command",
        arguments: [["surfaces"], ["kinds", "draw"], ["kinds", "check"], ["--help"], ["watch", "--help"]])
    func goneReader(arguments: [String]) async throws {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/parcel.json").path
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            // A child inherits the ignored signals of this process, unless they are reset.
            let program = try RunningProgram(
                URL(filePath: "/usr/bin/env"),
                ["--default-signal=PIPE", program("telltale").path] + arguments
                    + (arguments[0] == "kinds" ? [kind] : []), writingTo: pipe.fileHandleForWriting)
            #expect(program.waitForExit() == 0)
        }
    }

    @Test(
        "Standard input that cannot be read is told in one line",
        arguments: [("</", "Is a directory"), ("<&-", "Bad file descriptor")])
    func unreadableInput(_ example: (redirection: String, cause: String)) async throws {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/parcel.json").path
            let program = try RunningProgram(
                URL(filePath: "/bin/sh"),
                ["-c", "exec \"$0\" kinds run \"$1\" \(example.redirection)", program("telltale").path, kind])
            #expect(program.waitForExit() == 1)
            #expect(program.standardError == "telltale: standard input cannot be read: \(example.cause)\n")
        }
    }

    @Test func `a line that a machine cannot be tried with is reported with its number, and is a failure`() async throws
    {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/coffee-order.json").path
            func tried(_ input: String) throws -> (lines: [String], error: String, status: Int32?) {
                let program = try RunningProgram(program("telltale"), ["kinds", "run", kind], input: input)
                let lines = program.readToEnd()
                return (lines, program.standardError, program.waitForExit())
            }
            let good = try tried("confirm\nno-such-event\n")
            #expect(good.status == 0 && good.error.isEmpty)
            let bad = try tried("# one\nconfirm now\nconfirm\n")
            #expect(bad.lines == ["placed", "confirm now bad_line placed", "confirm applied queued"])
            #expect(
                bad.error
                    == "telltale: line 2: \"confirm now\" is neither an event's name, nor one with a JSON object behind it\n"
            )
            #expect(bad.status == 1)
        }
    }

    @Test func `a reader that has enough ends the program quietly`() async throws {
        try await withDaemon { daemon in
            let shell = Shell(daemon)
            for id in 1...3 { _ = try shell.run("post", "coffee-order/\(id)", "start") }
            let pipeline = try RunningProgram(
                URL(filePath: "/bin/sh"),
                [
                    "-c", "\"$0\" watch 'coffee-order/*' | head -n 2 && \"$0\" list | head -n 1",
                    program("telltale").path,
                ],
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            var lines: [String] = []
            while lines.count < 2, let line = pipeline.readLine() { lines.append(line) }
            // The program notices the closed pipe with its next write.
            _ = try shell.run("post", "coffee-order/1", "CONFIRMED")
            lines += pipeline.readToEnd()
            #expect(lines.count == 3)
            #expect(pipeline.waitForExit() == 0)
            #expect(pipeline.standardError == "")
        }
    }
}
