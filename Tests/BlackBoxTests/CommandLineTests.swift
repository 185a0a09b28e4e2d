import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale` as people and scripts use it: the real program against the real daemon.
@Suite(.serialized)
struct CommandLineTests {
    @Test func `an order's whole life, from the shell`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess()
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

    @Test func `what cannot be written is told, and what nobody reads is no fault`() async throws {
        try await onOwnThread {
            let kind = repository.appending(path: "Protocols/Kinds/examples/parcel.json").path
            for arguments in [["kinds", "draw", kind], ["surfaces"], ["kinds", "run", kind]] {
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

    @Test func `a light is served, switched, and switched in vain`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess()
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
            // A button that a press raises an event from needs nobody.
            #expect(try shell.run("press", "log-coffee/espresso").text.hasPrefix("op="))
            #expect(try shell.run("list", "coffee-order/*").lines.count == 1)
            watch.send(SIGINT)
            #expect(watch.waitForExit() == 0)
        }
    }

    @Test func `what a command has begun ends with whoever serves`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess()
            let shell = Shell(daemon)
            let note = daemon.folder.appending(path: "pid")
            let provider = try shell.start(
                "serve", "porch-light", "--report", "front=off", "--exec", "echo $$ >'\(note.path)'; sleep 600; true")
            let end = Date.now.addingTimeInterval(30)
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
        try await onOwnThread {
            let daemon = try DaemonProcess()
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

    @Test func `what needs no daemon works without one, and help is no failure`() async throws {
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

    // MARK: Daemons that have their troubles

    @Test(
        "Who is sent away is told why, once",
        arguments: [["get", "a/b"], ["watch"], ["serve", "a", "--exec", "true"]])
    func sentAway(arguments: [String]) async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            func outcome(_ said: (Peer) throws -> Void) throws -> (status: Int32?, error: String) {
                let program = try shell.start(arguments)
                // It ends with this.
                try said(try daemon.accept())
                return (program.waitForExit(), program.standardError)
            }
            let full = try outcome { try $0.send(#"ERR code=limit_conns retry=later fatal=1 {"msg":"it is full"}"#) }
            #expect(full.status == 1)
            #expect(full.error == "telltale: it is full\n")
            let refused = try outcome { peer in
                try peer.send("\(ScriptedDaemon.greeting) now=1")
                try peer.answer("HELLO", #"ERR code=auth_required retry=auth {"msg":"who are \u001byou?"}"#)
                _ = peer.next()
            }
            #expect(refused.status == 1)
            #expect(refused.error == "telltale: who are  you?\n")
            let other = try outcome { peer in
                try peer.send("TELLTALE 2 epoch=1 hb=1")
                _ = peer.next()
            }
            #expect(other.status == 1)
            #expect(other.error.hasSuffix("the daemon speaks version 2 of the protocol, this client 1\n"))
            #expect(other.error.split(separator: "\n").count == 1)
        }
    }

    @Test func `a command runs on while the connection is lost, and its operation is answered once`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let folder = try TemporaryFolder()
            let (gate, runs) = (folder.path("gate"), folder.path("runs"))
            try #require(unsafe mkfifo(gate, 0o600) == 0)
            // For both at once, so that opening it never waits.
            let opener = unsafe open(gate, O_RDWR | O_CLOEXEC)
            defer { close(opener) }
            let provider = try Shell(daemon.address).start(
                "serve", "light", "--exec",
                "echo $TELLTALE_OP >>\(runs); [ $TELLTALE_KEY != light/slow ] || read go <\(gate); echo $TELLTALE_VALUE"
            )
            defer { provider.kill() }
            // A clock that is decades off: a deadline is not to be measured by any other.
            let now: Int64 = 1_000_000
            let slow = "DO op=o1 key=light/slow action=set value=on deadline=\(now + 600_000)"
            var peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send(slow)
            try peer.send("DO op=o2 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 value=off"))

            peer.close()
            peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send(slow)
            // Done already, and only the answer went astray.
            try peer.send("DO op=o2 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 value=off"))
            _ = unsafe write(opener, "go\n", 3)
            #expect(try peer.request("DONE").hasPrefix("DONE op=o1 value=on"))
            try peer.send("DO op=o3 key=light/quick action=set value=on deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o3 value=on"))
            let begun = try String(contentsOfFile: runs, encoding: .utf8).split(separator: "\n")
            #expect(begun.sorted() == ["o1", "o2", "o3"])

            // In another history the same name is another operation's.
            peer.close()
            peer = try daemon.introduce(now: now, epoch: "00000000000000bb")
            try peer.answer("SERVE light", "OK")
            try peer.send("DO op=o3 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o3 value=off"))
        }
    }

    @Test func `a command makes room for another, and ends at its deadline`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try Shell(daemon.address).start(
                "serve", "light", "--exec", "[ $TELLTALE_VALUE = off ] || sleep 600")
            defer { provider.kill() }
            // Its clock is far ahead: by this machine's the deadline would be centuries away.
            let now: Int64 = 9_000_000_000_000
            let peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send("DO op=o1 key=light/a action=set value=on deadline=\(now + 600_000)")
            try peer.send("DO op=o2 key=light/a action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 "))
            try peer.send("DO op=o3 key=light/b action=set value=on deadline=\(now + 1)")
            // Nothing was said of o1.
            let failure = try peer.request("FAIL")
            #expect(failure.hasPrefix("FAIL op=o3 code=failed "))
            #expect(failure.hasSuffix(#" {"message":"it was not done by its deadline"}"#))
        }
    }

    @Test func `a service that is taken away ends who serves, with the reason`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try Shell(daemon.address).start("serve", "light", "--exec", "true")
            defer { provider.kill() }
            let first = try daemon.introduce()
            try first.answer("SERVE light", "OK")
            first.close()
            let again = try daemon.introduce()
            try again.answer("SERVE light", #"ERR code=unknown_kind retry=no {"msg":"there is no light"}"#)
            #expect(provider.waitForExit() == 1)
            #expect(provider.standardError.hasSuffix("trying again\ntelltale: unknown_kind: there is no light\n"))
        }
    }

    @Test func `a situation that is not taken is told`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let watch = try Shell(daemon.address).start("watch", "--view", "watch", "--trait", "locked=yes", "--once")
            defer { watch.kill() }
            let peer = try daemon.introduce()
            try peer.answer("TRAIT locked=yes", #"ERR code=bad_request retry=no {"msg":"not that"}"#)
            try peer.answer("SUB *", "OK sub=1")
            try peer.send("LIVE sub=1 cur=x")
            #expect(watch.waitForExit() == 0)
            #expect(watch.standardError == "telltale: --trait: bad_request: not that\n")
        }
    }

    @Test func `a long answer is taken whole while nobody reads what is printed of it`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            // More than all buffers on the way hold, in lines that are long enough to be quick.
            let count = 200
            let text = String(repeating: "x", count: 60_000)
            func row(_ number: Int) -> String { #"key=a/\#(number) rev=1 {"text":"\#(text)"}"# }

            let list = try shell.start("list")
            defer { list.kill() }
            var peer = try daemon.introduce()
            let id = try #require(try peer.request("LIST").split(separator: " ").last)
            for number in 1...count { try peer.send("SNAP sub=0 \(row(number))") }
            try peer.send("OK \(id) count=\(count)")
            #expect(list.readToEnd().count == count)
            #expect(list.waitForExit() == 0)

            let watch = try shell.start("watch", "--once")
            defer { watch.kill() }
            peer = try daemon.introduce()
            try peer.answer("SUB", "OK sub=1")
            for number in 1...count { try peer.send("SNAP sub=1 \(row(number))") }
            // What changes meanwhile is printed as it is in the end.
            try peer.send("UPD sub=1 key=a/1 rev=2 {}")
            try peer.send("DEL sub=1 key=a/2 rev=3 why=dismissed")
            try peer.send("LIVE sub=1 cur=x")
            let printed = watch.readToEnd().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
            #expect(printed.first == "a/1 rev=2" && printed.count == count - 1)
            #expect(Set(printed).count == printed.count)
            #expect(watch.waitForExit() == 0)
        }
    }

    // MARK: Terminals

    @Test func `what somebody wrote into an alert or an event moves no cursor and makes no line`() async throws {
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

    @Test func `on a terminal, what is longer than a line is cut, and ctrl-Z gives the screen back`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let terminal = try PseudoTerminal(width: 40, height: 10)
            let watch = try RunningProgram(
                program("telltale"), ["watch", "--view", "carplay"],
                environment: ["TELLTALE_CONNECT": daemon.address, "TERM": "xterm", "NO_COLOR": "1"],
                writingTo: terminal.end)
            defer { watch.kill() }
            // Taken by nobody from now on, so that the foot says why: a long sentence.
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
            let deadline = Date.now.addingTimeInterval(patience)
            while !watch.isStopped, Date.now < deadline {}
            #expect(watch.isStopped)
            watch.send(SIGCONT)
            #expect(terminal.read(until: begin) != nil)
            #expect(terminal.read(until: "CarPlay") != nil, "the whole picture is drawn again")
            watch.send(SIGINT)
            #expect(terminal.read(until: end) != nil)
            #expect(watch.waitForExit() == 0)
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
            // What this process ignores its children ignore too, where nobody changes that.
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

    @Test func `a line that a machine cannot be tried with is told with its number, and is a failure`() async throws {
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
        try await onOwnThread {
            let daemon = try DaemonProcess()
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
            // It hears that nobody reads when there is something to say.
            _ = try shell.run("post", "coffee-order/1", "CONFIRMED")
            lines += pipeline.readToEnd()
            #expect(lines.count == 3)
            #expect(pipeline.waitForExit() == 0)
            #expect(pipeline.standardError == "")
        }
    }
}

/// Runs `telltale` as a shell would, and waits for it.
private struct Shell {
    struct Result {
        var status: Int32
        var lines: [String]
        var error: String
        var text: String { lines.joined(separator: "\n") }
    }

    let address: String

    init(_ address: String) { self.address = address }
    init(_ daemon: DaemonProcess) { address = "127.0.0.1:\(daemon.port)" }

    func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }

    func start(_ arguments: [String]) throws -> RunningProgram {
        try RunningProgram(program("telltale"), arguments, environment: ["TELLTALE_CONNECT": address])
    }

    func run(_ arguments: String...) throws -> Result { try run(arguments) }

    func run(_ arguments: [String]) throws -> Result {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = program("telltale")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TELLTALE_CONNECT": address]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let error = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus,
            lines: String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init),
            error: String(decoding: error, as: UTF8.self))
    }
}
