import Foundation
import Glibc
import TestSupport
import Testing

/// Three daemons over one log, which is a file: real processes, sockets and disks, and no log store.
@Suite(.serialized)
struct ClusterProcessTests {
    private typealias Node = ClusterProcess

    private func list(_ nodes: [Node]) -> String { nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ",") }

    private func telltale(_ arguments: [String], at nodes: [Node]) throws -> RunningProgram {
        try RunningProgram(
            program("telltale"), arguments, environment: ["TELLTALE_CONNECT": list(nodes), "NO_COLOR": "1"])
    }

    @Test func `the next node leads when the leader is killed, and nothing acknowledged is lost`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            #expect(first.line("leading").hasPrefix("leading term=1 after_ms="))
            let second = try Node("n2", in: folder)
            #expect(second.line("standby") == "standby term=1")

            try waitUntilForwarding(second)
            let (standby, greeting) = try second.greetNamingLeader()
            #expect(greeting.hasSuffix(" node=n2 role=standby leader=127.0.0.1:\(first.port) serves=1"), "\(greeting)")
            // A client leaves a server that is silent for three of these.
            #expect(greeting.contains(" hb=5000 "))
            // It answers reads itself, and a write when it has read what the leader decided.
            try standby.send("EVT errand/2 type=start id=7\nGET errand/2 id=8\nHANDOVER id=9")
            var replies: [String] = []
            while replies.count < 3, case .line(let line) = standby.next() { replies.append(line) }
            #expect(replies.first?.hasPrefix("OK id=7 verdict=applied ") == true, "\(replies)")
            #expect(replies.dropFirst().first?.hasPrefix("OK id=8 key=errand/2 ") == true, "\(replies)")
            #expect(replies.last?.hasPrefix("ERR id=9 code=not_leader retry=now {") == true, "\(replies)")

            // The command line goes from the standby to the leader.
            let post = try telltale(["post", "errand/1", "start", "--eid", "e1"], at: [second, first])
            #expect(post.waitForExit() == 0, "\(post.standardError)")
            let watch = try telltale(["watch", "errand/*", "--once", "--json"], at: [second, first])
            #expect(watch.readToEnd().joined().contains("errand/1"), "\(watch.standardError)")
            #expect(watch.waitForExit() == 0)
            let bar = try telltale(["bar", "waybar", "errand/*", "--once"], at: [second, first])
            #expect(!bar.readToEnd().joined().contains("not connected"))
            let epoch = try first.greet().greeting.split(separator: " ").first { $0.hasPrefix("epoch=") }

            first.program.send(SIGKILL)
            _ = first.program.waitForExit()
            #expect(second.line("leading").hasPrefix("leading term=2 after_ms="))
            #expect(try second.greet().greeting.split(separator: " ").contains { $0 == epoch ?? "" })
            let again = try telltale(["post", "errand/1", "start", "--eid", "e1"], at: [first, second])
            #expect(again.readToEnd().joined().contains("duplicate"), "\(again.standardError)")
            #expect(again.waitForExit() == 0)

            // The one that was killed reads on where its copy ends, and is no leader by itself.
            try first.startAgain()
            #expect(first.line("standby") == "standby term=2")
            let status = try telltale(["cluster", "status"], at: [first, second])
            let lines = status.readToEnd()
            #expect(status.waitForExit() == 0, "\(lines)")
            #expect(lines.first?.hasPrefix("NODE  ADDRESS") == true)
            #expect(lines.contains { $0.hasPrefix("n2 ") && $0.contains("leader") })
            #expect(lines.last == "One node leads, and another one can take over.")

            // A name of the machine, where the node advertises its address.
            let named = try RunningProgram(
                program("telltale"), ["cluster", "status"],
                environment: ["TELLTALE_CONNECT": "localhost:\(second.port)", "NO_COLOR": "1"])
            let rows = named.readToEnd()
            #expect(named.waitForExit() == 0, "\(rows)")
            #expect(rows.count { $0.hasPrefix("n2 ") } == 1 && rows.count { $0.hasPrefix("n1 ") } == 1, "\(rows)")
        }
    }

    @Test func `an observer shows what the leader decides, and does not make a cluster redundant`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let leader = try Node("n1", in: folder)
            #expect(leader.line("leading").hasPrefix("leading term=1 after_ms="))
            let observer = try Node("n2", in: folder, options: ["--role", "observer"])
            #expect(observer.line("standby") == "standby term=1")
            let (screen, _) = try observer.greetNamingLeader()
            try screen.send("SUB errand/*\nPING id=1")
            var lines: [String] = []
            while case .line(let line) = screen.next(), line != "PONG id=1" { lines.append(line) }
            #expect(lines.first?.hasPrefix("OK sub=1 ") == true, "\(lines)")
            let post = try telltale(["post", "errand/1", "start"], at: [leader])
            #expect(post.waitForExit() == 0, "\(post.standardError)")
            while case .line(let line) = screen.next(), !line.hasPrefix("UPD ") { lines.append(line) }
            let status = try telltale(["cluster", "status"], at: [leader, observer])
            let rows = status.readToEnd()
            #expect(
                status.waitForExit() == 1 && rows.contains { $0.hasPrefix("n2 ") && $0.contains(" observer ") },
                "\(rows)")
        }
    }

    @Test(.nightly) func `a leader that sends clients to where nothing listens is warned, and cluster status names it`()
        async throws
    {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let nowhere = try freePort()
            let first = try Node("n1", in: folder, advertising: nowhere)
            _ = first.line("leading")
            let text =
                "--advertise 127.0.0.1:\(nowhere): no --listen fits it, so clients reach this node there only where"
            #expect(first.program.standardError.contains(text), "\(first.program.standardError)")
            let second = try Node("n2", in: folder)
            _ = second.line("standby")
            #expect(!second.program.standardError.contains("no --listen fits it"))
            let status = try telltale(["cluster", "status"], at: [first, second])
            let lines = status.readToEnd()
            #expect(status.waitForExit() == 0, "\(lines)")
            #expect(
                lines.last
                    == "n1 answers at 127.0.0.1:\(first.port). At 127.0.0.1:\(nowhere), where it sends clients, nothing answers from here: see its --advertise and --listen.",
                "\(lines)")
        }
    }

    @Test(.nightly) func `a leader that closes connections at once is not asked again at once`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let door = try ScriptedDaemon()
            let first = try Node("n1", in: folder, advertising: door.port)
            _ = first.line("leading")
            let second = try Node("n2", in: folder)
            _ = second.line("standby")
            var start = ContinuousClock.now
            for number in 0..<5 {
                // The node that begins may have come first.
                if number == 1 { start = .now }
                try door.accept().close()
            }
            // Four after the start. The first of them may have waited for this test, and the second comes at once then.
            #expect(ContinuousClock.now - start >= .milliseconds(2 * 240))
        }
    }

    /// Waits until a node forwards writes.
    private func waitUntilForwarding(_ node: Node) throws {
        let deadline = Date.now.addingTimeInterval(patience)
        while try !node.greet().greeting.hasSuffix(" serves=1"), Date.now < deadline { usleep(10_000) }
        #expect(try node.greet().greeting.hasSuffix(" serves=1"))
    }

    @Test func `clients write and serve at a node that follows, and stay there when the leader dies`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            _ = first.line("leading")
            let followers = [try Node("n2", in: folder), try Node("n3", in: folder)]
            for follower in followers {
                _ = follower.line("standby")
                try waitUntilForwarding(follower)
            }
            // A leader that was named is not in their lists, so a client that left would say so.
            let screens = try followers.map { try telltale(["watch", "errand/*", "--json"], at: [$0]) }
            func post(_ event: String, at node: Node) throws {
                let post = try telltale(["post", "errand/1", event, "--json"], at: [node])
                let lines = post.readToEnd().joined()
                #expect(post.waitForExit() == 0 && lines.contains("applied"), "\(lines) \(post.standardError)")
                for screen in screens {
                    while let line = screen.readLine(), !line.contains(#""key":"errand/1""#) {
                        #expect(!line.contains("disconnected"), "\(line)")
                    }
                }
            }
            try post("start", at: followers[0])
            let (provider, _) = try followers[1].greet()
            try provider.send("SERVE porch-light\nREPORT porch-light/front value=off")
            #expect(provider.next() == .line("OK"))
            guard case .line(let report) = provider.next(), report.hasPrefix("OK") else { return }

            first.program.send(SIGKILL)
            _ = first.program.waitForExit()
            try post("go", at: followers[1])
            for screen in screens {
                #expect(!screen.standardError.contains("connection"), "\(screen.standardError)")
                screen.kill()
            }
            let tap = try telltale(["set", "porch-light/front", "on"], at: [followers[0]])
            var asked = provider.next()
            while case .line(let line) = asked, line.hasPrefix("MARK ") { asked = provider.next() }
            guard case .line(let line) = asked else { return #expect(Bool(false), "\(asked)") }
            #expect(line.contains("key=porch-light/front action=set value=on") && line.hasSuffix(" term=2"), "\(line)")
            #expect(tap.waitForExit() == 0, "\(tap.standardError)")
        }
    }

    @Test func `SIGTERM hands over, with BYE to who is connected`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            _ = first.line("leading")
            let second = try Node("n2", in: folder)
            _ = second.line("standby")
            let (peer, _) = try first.greet()
            try peer.send("EVT errand/1 type=start")
            guard case .line(let reply) = peer.next() else { return }
            #expect(reply.hasPrefix("OK verdict=applied"))
            first.program.send(SIGTERM)
            guard case .line(let farewell) = peer.next() else { return }
            // It may not have heard the other one yet.
            let known = "BYE code=shutting_down wait=0-0 to=127.0.0.1:\(second.port)"
            #expect([known, "BYE code=shutting_down wait=0-500"].contains(farewell), "\(farewell)")
            #expect(first.program.waitForExit() == 0, "\(first.program.standardError)")
            #expect(second.line("leading").hasPrefix("leading term=2"))
            let (other, _) = try second.greet()
            try other.send("GET errand/1")
            guard case .line(let row) = other.next() else { return }
            #expect(row.contains("key=errand/1"))
            second.program.send(SIGTERM)
            #expect(second.program.waitForExit() == 0, "\(second.program.standardError)")
        }
    }

    @Test func `a leader that was stopped decides nothing when it goes on, and keeps its screens`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            _ = first.line("leading")
            let second = try Node("n2", in: folder)
            _ = second.line("standby")
            let (screen, _) = try first.greet()
            try screen.send("SUB *")
            while case .line(let line) = screen.next(), !line.hasPrefix("LIVE ") {}
            first.program.send(SIGSTOP)
            try screen.send("EVT errand/1 type=start")
            _ = second.line("leading")
            first.program.send(SIGCONT)
            #expect(first.line("standby") == "standby term=2")
            // What was sent to it meanwhile had no effect, or went to the next leader. What is sent now goes there.
            func reply() -> String {
                while case .line(let line) = screen.next() {
                    if line.hasPrefix("OK ") || line.hasPrefix("ERR ") { return line }
                }
                return ""
            }
            let fate = reply()
            #expect(fate.hasPrefix("ERR code=not_leader") || fate.hasPrefix("OK verdict=applied"), "\(fate)")
            try waitUntilForwarding(first)
            try screen.send("EVT errand/2 type=start")
            let answer = reply()
            #expect(answer.hasPrefix("OK verdict=applied"), "\(answer)")
        }
    }

    /// Options that are right as far as they go.
    private static let whole = [
        "--cluster", "shop", "--node", "n1", "--advertise", "127.0.0.1:1", "--listen", "127.0.0.1:0",
    ]

    // PreparationTests has those that only a log store reports: replicas, sync, version, another cluster, another epoch.
    @Test(.nightly) func `of two nodes with one name the later ends with 1 and one line`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            _ = first.line("leading")
            let later = try Node("n1", in: folder, data: "other")
            #expect(later.program.waitForExit() == 1)
            let lines = later.program.standardError.split(separator: "\n").filter { $0.hasPrefix("telltaled: ") }
            #expect(
                lines == [
                    "telltaled: --node n1: another process, at 127.0.0.1:\(first.port), has this name, and began before; each node has a name of its own"
                ], "\(later.program.standardError)")
            // The first one has noticed nothing.
            let (peer, greeting) = try first.greet()
            #expect(greeting.hasSuffix("role=leader term=1"), "\(greeting)")
            try peer.send("EVT errand/1 type=start")
            guard case .line(let reply) = peer.next() else { return }
            #expect(reply.hasPrefix("OK verdict=applied"))
        }
    }

    @Test(.nightly) func `kinds in force are the log's, until a leader is sent SIGHUP`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let first = try Node("n1", in: folder)
            _ = first.line("leading")
            let kind =
                #"{"kind":"walk","type":"activity","version":1,"app":"com.example.walk","title":"Walk","#
                + #""machine":{"initial":"on","states":{"on":{"on":{"stop":"off"}},"off":{"type":"final"}}}}"#
            try Data(kind.utf8).write(to: folder.appending(path: "kinds/walk.json"))
            let second = try Node("n2", in: folder)
            _ = second.line("standby")
            first.program.send(SIGTERM)
            #expect(first.program.waitForExit() == 0)
            _ = second.line("leading")
            // The warning comes behind the line on standard output.
            try second.waitUntilLogged("kind walk is here alone")
            let before = try telltale(["post", "walk/1", "start"], at: [second])
            #expect(before.waitForExit() != 0)
            second.program.send(SIGHUP)
            try second.waitUntilLogged("kinds reloaded")
            let after = try telltale(["post", "walk/1", "start"], at: [second])
            #expect(after.readToEnd().joined().contains("applied"), "\(after.standardError)")
        }
    }

    @Test(
        "A wrong configuration is refused with 78", .nightly,
        arguments: [
            (["--node", "n1"], "--node: belongs to --cluster NAME"),
            (["--cluster", "shop"], "--cluster: needs --node NAME"),
            (["--cluster", "shop", "--node", "n1"], "--cluster: needs --advertise HOST:PORT"),
            (["--cluster", "a b"], "--cluster: takes a name of 1 to 32 letters"),
            (["--cluster", "shop", "--advertise", "0.0.0.0:7878"], "--advertise: takes HOST:PORT"),
            (["--cluster", "shop", "--lease", "3"], "--lease: takes a span such as 1500ms"),
            (["--cluster", "shop", "--lease=-9223372036854775808s"], "--lease: takes a span such as 1500ms"),
            (["--cluster", "shop", "--give-up", "9223372036854775807s"], "--give-up: takes a span such as 1500ms"),
            (
                ["--cluster", "shop", "--lease", "1m", "--give-up", "1m30s"],
                "--give-up: is to be at least twice --lease, which is 60000 ms, not 90000 ms"
            ),
            (["--cluster", "shop", "--lease", "5s", "--give-up", "9s"], "--give-up: is to be at least twice --lease"),
            (["--cluster", "shop", "--engine-sync", "maybe"], "--engine-sync: takes proven or trusted"),
            (["--cluster", "shop", "--role", "leader"], "--role: takes member or observer"),
            (["--role", "observer"], "--role: belongs to --cluster NAME"),
            (["--cluster", "shop", "--sync", "off"], "--sync: belongs to a daemon by itself"),
            (["--cluster", "shop", "--node", "a/b"], "--node: takes a name of 1 to 32 letters"),
            (["--cluster", "shop", "--advertise", "n1"], "--advertise: takes HOST:PORT"),
            (["--engine-monitor", "http://127.0.0.1:1"], "--engine-monitor: belongs to --cluster NAME"),
            (
                ["--cluster", "shop", "--node", "n1", "--advertise", "127.0.0.1:1"],
                "--cluster: needs --engine URL[,URL…]"
            ),
            (whole + ["--engine", "http://127.0.0.1:1"], "address 1 of the engine does not begin with nats://"),
            (whole + ["--engine", "nats://127.0.0.1:1"], "the engine's monitors are not named"),
            (
                whole + ["--engine", "nats://127.0.0.1:1", "--engine-monitor", "https://127.0.0.1:1"],
                "monitor 1 is no address of a monitor"
            ),
            (
                whole + [
                    "--engine", "nats://127.0.0.1:1", "--engine-sync", "trusted", "--engine-creds", "/nowhere.creds",
                ], "the engine's credentials /nowhere.creds cannot be read"
            ),
        ])
    func wrong(_ example: (options: [String], fault: String)) async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let program = try DaemonProcess.launch(
                ["--data", folder.appending(path: "data").path, "--kinds", folder.appending(path: "kinds").path]
                    + example.options)
            #expect(program.waitForExit() == 78)
            let lines = program.standardError.split(separator: "\n").filter { $0.contains(example.fault) }
            #expect(lines.count == 1, "\(program.standardError)")
        }
    }

    @Test(.nightly) func `a folder of another cluster is refused`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            do {
                let member = try Node("n1", in: folder)
                _ = member.line("leading")
                member.program.send(SIGTERM)
                #expect(member.program.waitForExit() == 0)
            }
            let node = try DaemonProcess.launch([
                "--data", folder.appending(path: "n1").path, "--kinds", folder.appending(path: "kinds").path,
                "--listen", "127.0.0.1:0", "--cluster", "bank", "--node", "n1", "--advertise", "127.0.0.1:1",
                "--engine", "file:\(folder.appending(path: "log").path)",
            ])
            #expect(node.waitForExit() == 78)
            #expect(node.standardError.contains("is a copy of the log of the cluster shop, not of bank"))
        }
    }

    @Test(.nightly) func `a folder that is another history is refused, either way`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let alone = try DaemonProcess(in: folder)
            alone.send(SIGTERM)
            #expect(alone.waitForExit() == 0)
            let options = [
                "--data", folder.appending(path: "data").path, "--kinds", folder.appending(path: "kinds").path,
                "--listen",
                "127.0.0.1:0", "--cluster", "shop", "--node", "data", "--advertise", "127.0.0.1:1", "--engine",
                "file:\(folder.appending(path: "log").path)",
            ]
            let node = try DaemonProcess.launch(options)
            #expect(node.waitForExit() == 78)
            #expect(node.standardError.contains("has a history of its own"), "\(node.standardError)")
            // And a daemon by itself takes no node's copy.
            do {
                let member = try Node("n1", in: folder)
                _ = member.line("leading")
                member.program.send(SIGTERM)
                #expect(member.program.waitForExit() == 0)
            }
            try DaemonProcess.expectRefusal(
                of: [
                    "--data", folder.appending(path: "n1").path, "--kinds", folder.appending(path: "kinds").path,
                    "--listen", "127.0.0.1:0",
                ], telling: "it is a copy of the log of a cluster")
        }
    }
}
