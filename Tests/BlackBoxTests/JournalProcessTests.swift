import Foundation
import Glibc
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The promises of the daemon that depend on its journal, seen from outside (promises P1, P6, P8, P9, P10).
@Suite(.serialized, .endsOneDay)
struct JournalProcessTests {
    @Test(
        "A repeated event is a duplicate with its first rev, and another one under its id is refused, after a restart",
        arguments: [SIGKILL, SIGTERM])
    func repeats(signal: CInt) async throws {
        try await onOwnThread {
            var daemon = try DaemonProcess()
            let folder = daemon.folder
            var peer = try daemon.greetedPeer()
            let first = try peer.ask(#"EVT errand/1 type=start src=pos eid=a {"attributes":{"n":1,"m":2}}"#)
            #expect(first["verdict"] == "applied")
            #expect(
                try peer.ask(#"EVT errand/1 type=update src=pos eid=b {"content-state":{"x":1}}"#)["rev"]
                    != first["rev"])
            daemon.send(signal)
            _ = daemon.waitForExit()
            let again = try DaemonProcess(in: folder)
            peer = try again.greetedPeer()
            // The order of names is no difference.
            let repeated = try peer.ask(#"EVT errand/1 type=start src=pos eid=a {"attributes":{"m":2,"n":1}}"#)
            #expect(repeated["verdict"] == "duplicate")
            #expect(repeated["rev"] == first["rev"])
            for other in [
                #"EVT errand/1 type=start src=pos eid=a {"attributes":{"n":1}}"#,
                "EVT errand/2 type=start src=pos eid=a",
                #"EVT errand/1 type=end src=pos eid=a {"attributes":{"n":1,"m":2}}"#,
            ] {
                let refused = try peer.ask(other)
                #expect(refused.verb == "ERR" && refused["code"] == "dup_mismatch")
            }
            #expect(try peer.ask("EVT errand/2 type=start src=till eid=a")["verdict"] == "applied")
            daemon = again
        }
    }

    @Test func `ids are forgotten beyond the newest of a source, and by age`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--event-ids-per-source", "3"])
            let peer = try daemon.greetedPeer()
            for number in 1...5 { _ = try peer.ask("EVT errand/\(number) type=start src=pos eid=\(number)") }
            #expect(try peer.ask("EVT errand/3 type=start src=pos eid=3")["verdict"] == "duplicate")
            #expect(try peer.ask("EVT errand/2 type=start src=pos eid=2")["verdict"] == "ignored")
        }
    }

    @Test func `a history of newer rules is served with an older --rules, by its own and with a warning`() async throws
    {
        try await withDaemon { daemon in
            daemon.send(SIGTERM)
            _ = daemon.waitForExit()
            let again = try DaemonProcess(["--rules", "1"], in: daemon.folder)
            try again.waitUntilLogged("this history does not go back to --rules 1")
            #expect(try again.greetedPeer().ask("STATS").tail?["rules"] == 2)
        }
    }

    @Test func `a failed sync ends the daemon at once, with a clear message, and nothing is acknowledged after it`()
        async throws
    {
        try await onOwnThread {
            let library = try TemporaryFolder()
            let shim = library.path("failing_sync.so")
            let compiler = try RunningProgram(
                URL(filePath: "/usr/bin/env"),
                [
                    "clang", "-shared", "-fPIC", "-O1", "-o", shim,
                    repository.appending(path: "Tests/FailingSync/failing_sync.c").path,
                ])
            try #require(compiler.waitForExit() == 0, "\(compiler.standardError)")
            let flag = library.path("fail")
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let daemon = try DaemonProcess(in: folder, limits: "export LD_PRELOAD='\(shim)' FAILING_SYNC='\(flag)'")
            let (peer, screen) = (try daemon.greetedPeer(), try daemon.greetedPeer())
            try screen.send("SUB errand/* view=full")
            for number in 1...5 { #expect(try peer.ask("EVT errand/\(number) type=start")["verdict"] == "applied") }
            try Data().write(to: URL(filePath: flag))
            try peer.send("EVT errand/6 type=start")
            #expect(daemon.waitForExit() == 1)
            // It is notified that it has to send it again, and when.
            #expect(
                peer.receiveRest().map { $0.prefix { $0 != "{" } } == ["ERR code=storage_failed retry=later fatal=1 "])
            #expect(screen.receiveRest().allSatisfy { !$0.contains("errand/6") })
            #expect(daemon.standardError.contains("nothing more is acknowledged; check the disk, then start again"))
            let again = try DaemonProcess(in: folder)
            let reader = try again.greetedPeer()
            for number in 1...5 { #expect(try reader.ask("GET errand/\(number) view=full").verb == "OK") }
        }
    }

    @Test("The epoch tells whether history is whole", .nightly, arguments: ["full", "normal", "off"])
    func epoch(sync: String) async throws {
        try await inFolder { folder in
            var epochs: [String] = []
            for signal in [SIGTERM, SIGKILL, SIGTERM] {
                let daemon = try DaemonProcess(["--sync", sync], in: folder)
                epochs.append(daemon.ready["epoch"] ?? "")
                let event = "EVT errand/\(epochs.count) type=start"
                #expect(try daemon.greetedPeer().ask(event)["verdict"] == "applied")
                daemon.send(signal)
                _ = daemon.waitForExit()
            }
            #expect(epochs[1] == epochs[0])
            // Without full syncs a daemon that was killed may have lost acknowledged commits.
            #expect((epochs[2] == epochs[1]) == (sync == "full"))
        }
    }

    @Test("A start that fails costs no epoch", .nightly, arguments: ["full", "normal", "off"])
    func failedStart(sync: String) async throws {
        try await onOwnThread {
            let other = try DaemonProcess()
            let daemon = try DaemonProcess(["--sync", sync])
            #expect(try daemon.greetedPeer().ask("EVT errand/1 type=start")["verdict"] == "applied")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            // Its address is in use, which it finds out when it has the journal, and has written there of a new kind.
            let kind =
                #"{"kind":"walk","type":"activity","version":1,"app":"com.example.walk","title":"Walk","#
                + #""machine":{"initial":"on","states":{"on":{"on":{"stop":"off"}},"off":{"type":"final"}}}}"#
            try Data(kind.utf8).write(to: daemon.folder.appending(path: "kinds/walk.json"))
            #expect(throws: DaemonProcess.StartFailure.self) {
                try DaemonProcess(["--sync", sync], in: daemon.folder, port: other.port)
            }
            let again = try DaemonProcess(["--sync", sync], in: daemon.folder)
            #expect(again.ready["epoch"] == daemon.ready["epoch"])
        }
    }

    @Test(.nightly) func `a copy that is put in the folder of a stopped daemon begins another epoch`() async throws {
        try await withDaemon { daemon in
            let (data, copy) = (daemon.folder.path + "/data", daemon.folder.path + "/copy")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            try run("cp -r \(data) \(copy)")
            let next = try DaemonProcess(in: daemon.folder)
            #expect(next.ready["epoch"] == daemon.ready["epoch"])
            #expect(try next.greetedPeer().ask("EVT errand/1 type=start")["verdict"] == "applied")
            next.send(SIGTERM)
            #expect(next.waitForExit() == 0)
            try run("cp -r \(copy)/. \(data)")
            let restored = try DaemonProcess(in: daemon.folder)
            #expect(restored.ready["epoch"] != daemon.ready["epoch"])
            restored.send(SIGTERM)
            #expect(restored.waitForExit() == 0)
            // The file system may give the numbers of the removed files away again.
            try run("rm -r \(data) && cp -a \(copy) \(data)")
            #expect(try DaemonProcess(in: daemon.folder).ready["epoch"] != daemon.ready["epoch"])
        }
    }

    @Test func `an error of a command is an object with --json, and a line without`() async throws {
        try await inFolder { folder in
            let path = folder.path + "/my data"
            for command in [["info"], ["verify"], ["repair"], ["backup"]] {
                let rest = command + [path] + (command == ["backup"] ? [folder.path + "/copy"] : [])
                let failed = try telltale(["journal"] + rest + ["--json"])
                #expect(failed.status == 1)
                let error = try #require(try JSONParser.parse(failed.output)["error"]?.string)
                #expect(error.contains("there is no journal.sqlite in it"))
                let reported = try telltale(["journal"] + rest)
                #expect(reported.status == 1 && reported.output.isEmpty && reported.errors.contains(error))
            }
        }
    }

    /// A daemon that has ended in order, and left a journal of 300 activities.
    private func stoppedWithErrands() throws -> DaemonProcess {
        let daemon = try DaemonProcess()
        let peer = try daemon.greetedPeer()
        for number in 1...300 { _ = try peer.ask("EVT errand/\(number) type=start") }
        daemon.send(SIGTERM)
        #expect(daemon.waitForExit() == 0)
        return daemon
    }

    @Test(.nightly) func `an export of a damaged journal writes the whole records, and reports the damage`()
        async throws
    {
        try await onOwnThread {
            let daemon = try stoppedWithErrands()
            let data = daemon.folder.path + "/data"
            let whole = try telltale(["journal", "export", data])
            #expect(whole.status == 0)
            try run("truncate -s 81920 \(data)/journal.sqlite")
            let rest = try telltale(["journal", "export", data])
            #expect(rest.status == 1)
            #expect(rest.output.split(separator: "\n").count > 30)
            #expect(whole.output.hasPrefix(rest.output))
            #expect(rest.errors.contains("cannot be read"))
        }
    }

    @Test(.nightly) func `a limit on the size of files is a full disk at a start, a repair and a backup`()
        async throws
    {
        try await onOwnThread {
            let daemon = try stoppedWithErrands()
            let (data, copy) = (daemon.folder.path + "/data", daemon.folder.path + "/copy")
            func limited(_ program: URL, _ arguments: [String]) throws -> RunningProgram {
                // The test runner may ignore the signal already, and a child inherits that.
                try RunningProgram(
                    URL(filePath: "/usr/bin/env"),
                    ["--default-signal=XFSZ", "/bin/sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\"", program.path]
                        + arguments)
            }
            let start = try limited(
                DaemonProcess.executable,
                [
                    "--data", daemon.folder.path + "/new", "--kinds", daemon.folder.path + "/kinds",
                    "--listen", "127.0.0.1:0",
                ])
            let backup = try limited(Self.telltale, ["journal", "backup", data, copy])
            #expect(backup.waitForExit() == 1)
            #expect(backup.standardError.contains("free some space, then run it again"))
            let repair = try limited(Self.telltale, ["journal", "repair", data])
            #expect(repair.waitForExit() == 1)
            #expect(repair.standardError.contains("free some space, then run it again"))
            #expect(start.waitForExit() == 1)
            #expect(start.standardError.contains("free some space, then start again"))
            #expect(try DaemonProcess(in: daemon.folder).ready["epoch"] == daemon.ready["epoch"])
        }
    }

    private static let telltale = DaemonProcess.executable.deletingLastPathComponent().appending(path: "telltale")

    private func run(_ command: String) throws {
        let shell = try RunningProgram(URL(filePath: "/bin/sh"), ["-c", command])
        try #require(shell.waitForExit() == 0, "\(command): \(shell.standardError)")
    }

    private func telltale(_ arguments: [String]) throws -> (status: Int32?, output: String, errors: String) {
        let tool = try RunningProgram(Self.telltale, arguments)
        let output = tool.readToEnd().joined(separator: "\n")
        return (tool.waitForExit(), output, tool.standardError)
    }

    @Test(.nightly) func `a backup of a running daemon, and a repair, begin another epoch with the same state`()
        async throws
    {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for number in 1...20 { _ = try peer.ask("EVT errand/\(number) type=start src=pos eid=\(number)") }
            let cursor = try peer.ask("SUB errand/*")
            #expect(cursor.verb == "OK")
            let restored = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: restored) }
            let (data, copy) = (daemon.folder.path + "/data", restored.path + "/data")
            try journal(["backup", data, copy])
            _ = try peer.ask("EVT errand/21 type=start")

            // The same journal gives the same state every time.
            let hashes = try (0..<2).map { _ in try journal(["verify", copy, "--replay", "--json"]) }
            #expect(hashes[0].contains("\"state\""))
            #expect(hashes[0] == hashes[1])

            let second = try DaemonProcess(in: restored)
            let epoch = second.ready["epoch"]
            #expect(epoch != daemon.ready["epoch"])
            let reader = try second.greetedPeer()
            #expect(try reader.ask("EVT errand/20 type=start src=pos eid=20")["verdict"] == "duplicate")
            #expect(try reader.ask("GET errand/21 view=full")["code"] == "unknown_key")
            second.send(SIGTERM)
            #expect(second.waitForExit() == 0)

            try journal(["repair", copy])
            let third = try DaemonProcess(in: restored)
            #expect(third.ready["epoch"] != epoch)
            #expect(third.ready["entities"] == second.ready["entities"])
        }
    }

    @Test(.nightly) func `under steady load the files stop growing`() async throws {
        try await inFolder { folder in
            let filler = String(repeating: "x", count: 3_000)
            var sizes: [Int] = []
            for life in 0..<2 {
                let daemon = try DaemonProcess(
                    ["--retention", "1", "--event-id-age", "1"], in: folder,
                    limits: "export TELLTALE_SNAPSHOT_RECORDS=100")
                let peer = try daemon.greetedPeer()
                var forgotten: Int64 = 0
                for round in 0..<6 {
                    for number in 0..<100 {
                        let key = "errand/\(life)-\(round)-\(number)"
                        try peer.send("EVT \(key) type=start {\"attributes\":{\"f\":\"\(filler)\"}}")
                        try peer.send("EVT \(key) type=end {\"dismissal-date\":1}")
                    }
                    var last: Int64 = 0
                    for _ in 0..<200 {
                        let reply = try peer.receive()
                        #expect(reply["verdict"] == "applied")
                        last = reply["rev"].flatMap { Int64($0) } ?? last
                    }
                    // By the daemon's own progress and not by the clock, however busy the machine is. A round writes
                    // the snapshot that lets the records of the one before it go.
                    try waitUntil("what was forgotten is pruned in round \(round)") {
                        // Some time of the daemon's between two checks: each is a program, and one that is being started
                        // holds the locks that other tests have open.
                        for _ in 0..<1_000 { _ = try peer.ask("PING") }
                        return try prunedThrough(in: folder) >= forgotten
                    }
                    try waitUntil("round \(round) is forgotten") {
                        try peer.ask("GET errand/\(life)-\(round)-99 view=full")["code"] == "unknown_key"
                    }
                    forgotten = last
                }
                // A running daemon keeps the newest records in the log; a stop brings everything into the file.
                daemon.send(SIGTERM)
                #expect(daemon.waitForExit() == 0)
                sizes.append(size(of: folder.appending(path: "data/journal.sqlite")))
            }
            // Twelve rounds brought 4 MB, and as much again in each of their two snapshots. There may be two rounds and
            // two snapshots of them at a time: the file has room for these, and uses it again.
            #expect(sizes.allSatisfy { $0 < 2_200_000 }, "\(sizes)")
        }
    }

    private func prunedThrough(in folder: URL) throws -> Int64 {
        let info = try journal(["info", folder.path + "/data", "--json"])
        return try #require(try JSONParser.parse(info)["pruned_through"]?.integer)
    }

    /// Asks until it is so.
    private func waitUntil(_ what: Comment, _ isSo: () throws -> Bool) throws {
        let end = Date.now.addingTimeInterval(patience)
        while Date.now < end { if try isSo() { return } }
        let isSo = try isSo()
        try #require(isSo, what)
    }

    @discardableResult
    private func journal(_ arguments: [String]) throws -> String {
        let done = try telltale(["journal"] + arguments)
        #expect(done.status == 0, "\(arguments): \(done.errors)")
        return done.output
    }

    private func size(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
    }
}
