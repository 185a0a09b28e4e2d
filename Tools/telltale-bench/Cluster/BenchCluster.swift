import Foundation
import TelltaleEventLoop

/// A leader and its followers on this machine, and the log that they share.
final class BenchCluster {
    /// The leader first.
    private(set) var nodes: [BenchDaemon] = []
    private let folder: BenchFolder
    private var logStore: BenchLogStore?
    private let logArguments: [String]

    /// Starts the log and its leader.
    ///
    /// - Parameter server: The nats-server of which three are the log; `nil` = the log is a file, which replicates nothing.
    init(server: String?, data: String) throws {
        folder = try BenchFolder(data)
        if let server {
            let store = try BenchLogStore(server: server, data: data + "/log", sync: "always")
            logArguments = [
                "--engine", store.servers.joined(separator: ","), "--engine-monitor",
                store.monitors.joined(separator: ","),
            ]
            logStore = store
        } else {
            logArguments = ["--engine", "file:" + URL(filePath: data + "/log").standardizedFileURL.path]
        }
        try wait(for: ["\"node\":\"n1\",\"role\":\"leader\""], at: try startNode())
    }

    deinit {
        // Before their folders go.
        for node in nodes { node.process.kill() }
        logStore = nil
    }

    var leader: BenchDaemon { nodes[0] }
    var followers: ArraySlice<BenchDaemon> { nodes.dropFirst() }

    /// Processor time of the log's servers so far, in nanoseconds.
    var logProcessorTime: Double { Double(logStore?.processorNanoseconds ?? 0) }

    /// Starts another follower, and waits until it has read the log to its end.
    func addFollower() throws {
        try wait(for: ["serves=1", "\"lag\":0,"], at: try startNode())
    }

    /// - Throws: Where the first node leads no more: what was measured then says nothing.
    func checkLeader() throws {
        let status = try Self.status(of: leader)
        guard status.contains("\"node\":\"n1\",\"role\":\"leader\"") else {
            throw ServerProcess.StartFailure(description: "another node leads: this machine has too much other work")
        }
    }

    private func startNode() throws -> BenchDaemon {
        let name = "n\(nodes.count + 1)"
        let port = try FreePort.find()
        let node = try BenchDaemon(
            ["--cluster", "bench", "--node", name, "--advertise", "127.0.0.1:\(port)"]
                // Longer than by default: on a machine with other work the leader is to stay.
                + ["--lease", "10s", "--give-up", "30s"] + logArguments,
            in: try BenchFolder(folder.path + "/" + name, kinds: ["tally.json": TelltaleScreens.kind]), port: port)
        nodes.append(node)
        return node
    }

    private func wait(for words: [String], at node: BenchDaemon) throws {
        let end = ContinuousClock.now + .seconds(60)
        var status = ""
        while ContinuousClock.now < end {
            status = try Self.status(of: node)
            if words.allSatisfy({ status.contains($0) }) { return }
            usleep(50_000)
        }
        let log = (try? String(contentsOfFile: node.folder.path + "/log", encoding: .utf8)) ?? ""
        throw ServerProcess.StartFailure(
            description: "a node did not reach \(words.joined(separator: " ")) within a minute: \(status)\n\(log)")
    }

    private static func status(of node: BenchDaemon) throws -> String {
        try Exchange.ask(node.endpoint, "STATS\nPING\n", until: "PONG\n")
    }
}

extension BenchDaemon {
    /// - Throws: Where it listens on a Unix socket.
    var port: UInt16 {
        get throws {
            guard case .tcp(_, let port) = endpoint else {
                throw ServerProcess.StartFailure(description: "telltaled listens on no port")
            }
            return port
        }
    }
}
