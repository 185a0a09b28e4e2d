import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// A node with an empty folder begins with a checkpoint: real processes over one log, which is a file.
@Suite(.serialized, .nightly)
struct ClusterCheckpointTests {
    private func telltale(_ arguments: [String], at nodes: [ClusterProcess]) throws -> RunningProgram {
        let list = nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return try RunningProgram(
            program("telltale"), arguments, environment: ["TELLTALE_CONNECT": list, "NO_COLOR": "1"])
    }

    private func post(_ key: String, at nodes: [ClusterProcess]) throws {
        let post = try telltale(["post", key, "start"], at: nodes)
        #expect(post.waitForExit() == 0, "\(post.standardError)")
    }

    @Test func `a node that joins by a checkpoint has the state of before it, and leads`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let options = ["--base-every", "1s", "--log-level", "info"]
            let first = try ClusterProcess("n1", in: folder, options: options)
            _ = first.line("leading")
            let second = try ClusterProcess("n2", in: folder, options: options)
            try post("errand/1", at: [first])
            try second.waitUntilLogged("this node has stored a base")
            try post("errand/2", at: [first])

            let third = try ClusterProcess("n3", in: folder, options: options)
            try third.waitUntilLogged("this node begins with a base")
            try third.waitUntilLogged("this node has its base, and follows the log")
            try post("errand/3", at: [first])
            let (peer, _) = try third.greet()
            try peer.send("STATS")
            guard case .line(let stats) = peer.next() else { return }
            #expect(stats.contains("\"historySince\""), "\(stats)")

            let handover = try telltale(["cluster", "handover", "n3"], at: [first, second, third])
            #expect(handover.waitForExit() == 0, "\(handover.standardError)")
            let list = try telltale(["list", "errand/*", "--json"], at: [third])
            let rows = list.readToEnd().joined()
            #expect(list.waitForExit() == 0, "\(list.standardError)")
            for key in ["errand/1", "errand/2", "errand/3"] { #expect(rows.contains(key), "\(rows)") }
        }
    }

    /// Makes records of which the first are pruned, as a daemon's that has run for longer than its retention.
    private func fill(_ folder: URL) throws {
        let daemon = try DaemonProcess(
            ["--retention", "1", "--event-id-age", "1"], in: folder, limits: "export TELLTALE_SNAPSHOT_RECORDS=20")
        let peer = try Peer(port: daemon.port)
        _ = peer.next()
        #expect(try peer.ask("EVT errand/kept type=start")["verdict"] == "applied")
        var prunedThrough: Int64 = 0
        for round in 0..<10_000 where prunedThrough == 0 {
            for number in 0..<20 {
                _ = try peer.ask("EVT errand/\(round)-\(number) type=start")
                _ = try peer.ask("EVT errand/\(round)-\(number) type=end {\"dismissal-date\":1}")
            }
            let info = try RunningProgram(
                program("telltale"), ["journal", "info", folder.appending(path: "data").path, "--json"])
            let text = info.readToEnd().joined()
            #expect(info.waitForExit() == 0, "\(info.standardError)")
            prunedThrough = try JSONParser.parse(text)["pruned_through"]?.integer ?? 0
        }
        #expect(prunedThrough > 0)
        #expect(try peer.ask("EVT errand/last type=start")["verdict"] == "applied")
        daemon.send(SIGTERM)
        #expect(daemon.waitForExit() == 0)
    }

    private func move(_ word: String, _ data: String, in folder: URL) throws {
        let move = try RunningProgram(
            program("telltale"),
            [
                "cluster", word, folder.appending(path: data).path, "--cluster", "shop", "--node", "n1", "--engine",
                "file:\(folder.appending(path: "log").path)",
            ], environment: ["NO_COLOR": "1"])
        _ = move.readToEnd()
        #expect(move.waitForExit() == 0, "\(word): \(move.standardError)")
    }

    private func expectState(at node: ClusterProcess, _ keys: [String]) throws {
        let list = try telltale(["list", "errand/*", "--json"], at: [node])
        let rows = list.readToEnd().joined()
        #expect(list.waitForExit() == 0, "\(list.standardError)")
        for key in keys { #expect(rows.contains("\"\(key)\""), "\(rows)") }
    }

    @Test func `a daemon of which records were pruned becomes a cluster, and its log is begun anew from a copy`()
        async throws
    {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            try fill(folder)
            try move("init", "data", in: folder)
            do {
                let first = try ClusterProcess("n1", in: folder, data: "data")
                _ = first.line("leading")
                let second = try ClusterProcess("n2", in: folder, options: ["--log-level", "info"])
                try second.waitUntilLogged("this node has its base, and follows the log")
                try post("errand/more", at: [first])
                first.program.send(SIGTERM)
                #expect(first.program.waitForExit() == 0, "\(first.program.standardError)")
                _ = second.line("leading")
                try expectState(at: second, ["errand/kept", "errand/last", "errand/more"])
                second.program.send(SIGTERM)
                #expect(second.program.waitForExit() == 0, "\(second.program.standardError)")
            }
            // The log store lost the log. The copy of the second node began with a checkpoint, and that of the first one does
            // not have its last word.
            try FileManager.default.removeItem(at: folder.appending(path: "log"))
            try move("restore", "n2", in: folder)
            let first = try ClusterProcess("n1", in: folder, data: "n2")
            _ = first.line("leading")
            let third = try ClusterProcess("n3", in: folder, options: ["--log-level", "info"])
            try third.waitUntilLogged("this node has its base, and follows the log")
            try expectState(at: first, ["errand/kept", "errand/last", "errand/more"])
        }
    }
}
