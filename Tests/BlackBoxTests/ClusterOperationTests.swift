import Foundation
import Glibc
import TestSupport
import Testing

/// `telltale cluster init`, `leave`, `restore`, `handover` and `drain`, over a log that is a file.
@Suite(.serialized)
struct ClusterOperationTests {
    private let folder: URL
    private let port: UInt16

    init() throws {
        folder = try DaemonProcess.makeFolder()
        port = try freePort()
    }

    private var data: String { folder.appending(path: "data").path }
    private var log: String { "file:\(folder.appending(path: "log").path)" }

    private func remove() { try? FileManager.default.removeItem(at: folder) }

    private func cluster(_ words: String..., logStore: [String]? = nil) throws -> (
        status: Int32?, out: [String], error: String
    ) {
        let program = try RunningProgram(
            program("telltale"),
            ["cluster"] + words + (logStore ?? ["--cluster", "shop", "--node", "n1", "--engine", log]),
            environment: ["NO_COLOR": "1"])
        let lines = program.readToEnd()
        return (program.waitForExit(), lines, program.standardError)
    }

    private func telltale(_ arguments: [String], at nodes: [ClusterProcess]) throws -> RunningProgram {
        let list = nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return try RunningProgram(
            program("telltale"), arguments, environment: ["TELLTALE_CONNECT": list, "NO_COLOR": "1"])
    }

    private func node(_ data: String? = nil) throws -> RunningProgram {
        let program = try DaemonProcess.launch([
            "--data", data ?? self.data, "--kinds", folder.appending(path: "kinds").path, "--listen",
            "127.0.0.1:\(port)", "--cluster", "shop", "--node", "n1", "--advertise", "127.0.0.1:\(port)", "--engine",
            log, "--lease", "1500ms", "--give-up", "12s",
        ])
        while let line = program.readLine() { if line.hasPrefix("leading ") { return program } }
        throw DaemonProcess.StartFailure(description: program.standardError)
    }

    /// Follows all, from a cursor or anew.
    ///
    /// - Returns: The lines, and the cursor behind them.
    private func follow(_ cursor: String? = nil) throws -> (lines: [String], cursor: String) {
        let peer = try Peer(port: port)
        _ = peer.next()
        try peer.send("SUB * \(cursor.map { "from=\($0) " } ?? "")id=1")
        var lines: [String] = []
        while case .line(let line) = peer.next() {
            lines.append(line)
            guard line.hasPrefix("LIVE ") else { continue }
            let word = try #require(line.split(separator: " ").first { $0.hasPrefix("cur=") })
            return (lines, String(word.dropFirst("cur=".count)))
        }
        return (lines, "")
    }

    private func post(_ key: String) throws {
        let peer = try Peer(port: port)
        _ = peer.next()
        try peer.send("EVT \(key) type=start")
        guard case .line(let reply) = peer.next() else { return }
        #expect(reply.hasPrefix("OK verdict=applied"), "\(reply)")
    }

    private func stop(_ program: RunningProgram) {
        program.send(SIGTERM)
        #expect(program.waitForExit() == 0, "\(program.standardError)")
    }

    @Test(.nightly) func `a single daemon's history goes into a cluster and out of it, and a cursor of before is good`()
        async throws
    {
        try await onOwnThread {
            defer { remove() }
            var cursor = ""
            do {
                let alone = try DaemonProcess(in: folder, port: port)
                try post("errand/1")
                cursor = try follow().cursor
                try post("errand/2")
                let busy = try cluster("init", data)
                #expect(busy.status == 78)
                #expect(busy.error.contains("is in use by"), "\(busy.error)")
                alone.send(SIGTERM)
                #expect(alone.waitForExit() == 0)
            }
            let entry = try cluster("init", data, "--json")
            #expect(entry.status == 0, "\(entry.error)")
            #expect(entry.out.first?.hasPrefix(#"{"cluster":"shop","epoch":""#) == true, "\(entry.out)")
            #expect(entry.out.first?.hasSuffix(#","node":"n1","ok":true}"#) == true, "\(entry.out)")
            let twice = try cluster("init", data)
            #expect(twice.status == 78)
            #expect(twice.error.contains("is a node's copy of a log already"), "\(twice.error)")

            let member = try node()
            let resumed = try follow(cursor)
            #expect(!resumed.lines.contains { $0.hasPrefix("RESET ") }, "\(resumed.lines)")
            #expect(resumed.lines.contains { $0.contains("key=errand/2") })
            #expect(!resumed.lines.contains { $0.contains("key=errand/1") })
            try post("errand/3")
            stop(member)

            let exit = try cluster("leave", data)
            #expect(exit.status == 0, "\(exit.error)")
            #expect(exit.out.last?.contains("the log of shop is sealed") == true, "\(exit.out)")
            let alone = try DaemonProcess(in: folder, port: port)
            let last = try follow(resumed.cursor)
            #expect(!last.lines.contains { $0.hasPrefix("RESET ") }, "\(last.lines)")
            #expect(last.lines.contains { $0.contains("key=errand/3") })
            #expect(!last.lines.contains { $0.contains("key=errand/2") })
            alone.send(SIGTERM)
            #expect(alone.waitForExit() == 0)
            // A sealed log takes nothing more.
            let sealed = try cluster("init", data)
            #expect(sealed.status == 78)
            #expect(sealed.error.contains("n1 has left with the history of this log"), "\(sealed.error)")
            // Another one does, and its terms count on: clients would leave a leader of a lower one.
            try FileManager.default.removeItem(atPath: folder.appending(path: "log").path)
            let back = try cluster("init", data)
            #expect(back.status == 0, "\(back.error)")
            let again = try node()
            let peer = try Peer(port: port)
            guard case .line(let greeting) = peer.next() else { return }
            #expect(greeting.contains(" term=5"), "\(greeting)")
            stop(again)
        }
    }

    @Test(.nightly) func `a log that was lost begins anew from a copy, and every cursor is of before`() async throws {
        try await onOwnThread {
            defer { remove() }
            var cursor = ""
            do {
                let member = try node()
                try post("errand/1")
                cursor = try follow().cursor
                stop(member)
            }
            let early = try cluster("restore", data)
            #expect(early.status == 78)
            #expect(
                early.error.contains("if it was restored already, start telltaled; else the log is to be empty"),
                "\(early.error)")
            try FileManager.default.removeItem(atPath: folder.appending(path: "log").path)
            let restored = try cluster("restore", data)
            #expect(restored.status == 0, "\(restored.error)")
            #expect(restored.out.last?.contains("under a new epoch") == true)
            let member = try node()
            let lines = try follow(cursor).lines
            #expect(lines.contains { $0.hasPrefix("RESET ") }, "\(lines)")
            #expect(lines.contains { $0.contains("key=errand/1") })
            stop(member)
        }
    }

    @Test func `an operator lets another node lead, and the leader goes on as a standby`() async throws {
        try await onOwnThread {
            defer { remove() }
            let first = try ClusterProcess("n1", in: folder)
            _ = first.line("leading")
            // Nobody would lead.
            let early = try telltale(["cluster", "handover"], at: [first])
            #expect(early.waitForExit() == 1)
            #expect(early.standardError.contains("no standby keeps up"), "\(early.standardError)")
            let others = try ["n2", "n3"].map { try ClusterProcess($0, in: folder) }
            for other in others { #expect(other.line("standby") == "standby term=1") }
            let (peer, _) = try first.greet()
            try peer.send("EVT errand/1 type=start")
            _ = peer.next()
            let handover = try telltale(["cluster", "handover", "n3", "--json"], at: [first] + others)
            let lines = handover.readToEnd()
            #expect(handover.waitForExit() == 0, "\(handover.standardError)")
            #expect(lines.first?.hasPrefix(#"{"from":"n1","milliseconds":"#) == true, "\(lines)")
            #expect(lines.first?.hasSuffix(#","term":2,"to":"n3"}"#) == true, "\(lines)")
            #expect(first.line("standby") == "standby term=2")
            #expect(others[1].line("leading").hasPrefix("leading term=2"))
            // Who is connected stays.
            try peer.send("PING id=1")
            while case .line(let line) = peer.next(), line != "PONG id=1" { #expect(line.hasPrefix("MARK ")) }
            // Through the one that led, and back to it.
            let back = try telltale(["cluster", "handover", "n1"], at: [first])
            let words = back.readToEnd()
            #expect(back.waitForExit() == 0, "\(back.standardError)")
            #expect(words.first?.hasPrefix("n1 leads in term 3, ") == true, "\(words)")
            let again = try telltale(["post", "errand/2", "start", "--json"], at: others)
            #expect(again.waitForExit() == 0, "\(again.standardError)")
        }
    }

    /// Follows all, and gives the cursor behind what there is.
    private func follow(at port: UInt16, from cursor: String? = nil) throws -> (peer: Peer, cursor: String) {
        let peer = try Peer(port: port)
        _ = peer.next()
        try peer.send("SUB * \(cursor.map { "from=\($0) " } ?? "")id=1")
        while case .line(let line) = peer.next() {
            #expect(!line.hasPrefix("RESET "), "\(line)")
            guard line.hasPrefix("LIVE ") else { continue }
            let word = try #require(line.split(separator: " ").first { $0.hasPrefix("cur=") })
            return (peer, String(word.dropFirst(4)))
        }
        throw DaemonProcess.StartFailure(description: "no LIVE")
    }

    @Test func `an operator takes a node out of service, and its clients go on at the others`() async throws {
        try await onOwnThread {
            defer { remove() }
            let first = try ClusterProcess("n1", in: folder)
            _ = first.line("leading")
            let early = try telltale(["cluster", "drain", "--over", "1s"], at: [first])
            #expect(early.waitForExit() == 1)
            #expect(early.standardError.contains("no other node serves the clients of n1"), "\(early.standardError)")
            let others = try ["n2", "n3"].map { try ClusterProcess($0, in: folder) }
            for other in others { #expect(other.line("standby") == "standby term=1") }
            let nodes = [first] + others
            let unnamed = try telltale(["cluster", "drain"], at: nodes)
            #expect(unnamed.waitForExit() == 1)
            #expect(unnamed.standardError.contains("say which one is meant"), "\(unnamed.standardError)")
            let post = try telltale(["post", "errand/1", "start"], at: [first])
            #expect(post.waitForExit() == 0, "\(post.standardError)")

            let watch = try telltale(["watch", "--json"], at: [others[0]])
            while let line = watch.readLine(), !line.contains(#""event":"live""#) {}
            let screens = try (0..<8).map { _ in try follow(at: others[0].port) }
            let drain = try telltale(["cluster", "drain", "n2", "--over", "1s", "--json"], at: nodes)
            let lines = drain.readToEnd()
            #expect(drain.waitForExit() == 0, "\(drain.standardError)")
            #expect(lines.first?.hasPrefix(#"{"connections":9,"draining":true,"milliseconds":"#) == true, "\(lines)")
            // Each screen goes on where it was told to.
            var moved: [Peer] = []
            var ports: [UInt16: Int] = [:]
            for screen in screens {
                var farewell = ""
                while case .line(let line) = screen.peer.next() { farewell = line }
                #expect(farewell.hasPrefix("BYE code=shutting_down wait=0-0 to=127.0.0.1:"), "\(farewell)")
                let port = try #require(farewell.split(separator: ":").last.flatMap { UInt16($0) })
                ports[port, default: 0] += 1
                moved.append(try follow(at: port, from: screen.cursor).peer)
            }
            // On a busy machine one of them may not be heard for a moment, and the other gets more.
            #expect(Set(ports.keys).isSubset(of: [first.port, others[1].port]), "\(ports)")

            let status = try telltale(["cluster", "status"], at: [first])
            let table = status.readToEnd()
            #expect(status.waitForExit() == 0, "\(status.standardError)")
            #expect(table.contains { $0.hasPrefix("n2 ") && $0.contains("standby, draining") }, "\(table)")
            #expect(table.contains { $0.hasPrefix("n2 has sent its clients to the other nodes, and takes none.") })
            // A client that has several addresses is served, whichever comes first.
            let again = try telltale(["post", "errand/2", "start"], at: [others[0], first])
            #expect(again.waitForExit() == 0, "\(again.standardError)")
            for peer in moved {
                while case .line(let line) = peer.next(), !line.contains("key=errand/2") {
                    #expect(line.hasPrefix("MARK "), "\(line)")
                }
            }
            var seen: [String] = []
            while let line = watch.readLine() {
                seen.append(line)
                if line.contains("errand/2") { break }
            }
            #expect(seen.last?.contains(#""event":"update""#) == true, "\(seen)")
            #expect(!seen.contains { $0.contains("reset") || $0.contains("snapshot") }, "\(seen)")
            watch.kill()

            let back = try telltale(["cluster", "drain", "n2", "--stop"], at: nodes)
            #expect(back.readToEnd() == ["n2 takes clients again."])
            #expect(back.waitForExit() == 0, "\(back.standardError)")
            _ = try follow(at: others[0].port)
            others[0].program.send(SIGTERM)
            #expect(others[0].program.waitForExit() == 0)
        }
    }

    @Test(.nightly) func `what is not given stands in the configuration file of the node`() async throws {
        try await onOwnThread {
            defer { remove() }
            let alone = try DaemonProcess(in: folder, port: port)
            try post("errand/1")
            alone.send(SIGTERM)
            #expect(alone.waitForExit() == 0)
            let file = folder.appending(path: "node.json")
            let words = ["--config", file.path]
            try #"{ "cluster": "shop", "engine": ["\#(log)"], "retention": 5 }"#.write(
                to: file, atomically: true, encoding: .utf8)
            let nameless = try cluster("init", data, logStore: words)
            #expect(nameless.status == 78)
            #expect(nameless.error.contains("--node is missing, and \(file.path) has no node"), "\(nameless.error)")
            let named = try cluster("init", data, "--json", logStore: words + ["--node", "n1"])
            #expect(named.status == 0, "\(named.error)")
            #expect(named.out.first?.hasPrefix(#"{"cluster":"shop","#) == true, "\(named.out)")
            let absent = try cluster("leave", data, logStore: ["--config", "/nowhere"])
            #expect(absent.status == 78)
            #expect(absent.error.contains("--config /nowhere: the file cannot be read"), "\(absent.error)")
        }
    }

    @Test(
        "What cannot be done is refused with 78, and nothing is changed", .nightly,
        arguments: [
            (["init"], ["--engine", "http://127.0.0.1:1"], "address 1 of the engine does not begin with nats://"),
            (["init"], ["--engine", "nats://127.0.0.1:1"], "the engine's monitors are not named"),
            (
                ["init"], ["--engine", "nats://127.0.0.1:1", "--engine-monitor", "127.0.0.1:8222"],
                "monitor 1 is no address"
            ),
            (["leave"], [], "the folder is no copy of a log"),
            (["restore"], [], "is no node's copy of a log; for a single daemon's there is telltale cluster init"),
        ])
    func refused(_ example: (words: [String], engine: [String], fault: String)) async throws {
        try await onOwnThread {
            defer { remove() }
            do {
                let alone = try DaemonProcess(in: folder, port: port)
                alone.send(SIGTERM)
                #expect(alone.waitForExit() == 0)
            }
            let logStore = example.engine.isEmpty ? ["--engine", log] : example.engine
            let end = try cluster(example.words[0], data, logStore: ["--cluster", "shop", "--node", "n1"] + logStore)
            #expect(end.status == 78)
            #expect(end.error.contains(example.fault), "\(end.error)")
            let again = try DaemonProcess(in: folder, port: port)
            #expect(again.standardError.contains("new epoch") == false)
        }
    }

    @Test(.nightly) func `wrong usage, and a folder that is not there`() async throws {
        try await onOwnThread {
            defer { remove() }
            #expect(try cluster("init", data, logStore: []).status == 2)
            let name = try cluster("init", data, logStore: ["--cluster", "a b", "--node", "n1", "--engine", log])
            #expect(name.status == 2)
            #expect(name.error.contains("--cluster is to be 1 to 32 letters"), "\(name.error)")
            let absent = try cluster("leave", data + "x", "--json")
            #expect(absent.status == 1)
            #expect(absent.out.first?.hasSuffix(#","ok":false}"#) == true, "\(absent.out)")
            #expect(!FileManager.default.fileExists(atPath: data + "x"))
        }
    }
}
