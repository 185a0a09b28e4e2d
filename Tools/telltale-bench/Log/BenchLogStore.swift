import Foundation
import ReplicationNATS

/// Three servers of NATS on this machine, as a cluster asks for them: each message is synced before it is acknowledged.
final class BenchLogStore {
    private let folder: BenchFolder
    private var processes: [ServerProcess] = []
    private let ports: [UInt16]
    private let monitorPorts: [UInt16]

    /// - Parameter sync: As a server is reported: `always`, or a span.
    init(server: String, data: String, sync: String) throws {
        folder = try BenchFolder(data)
        let path = URL(filePath: data).standardizedFileURL.path
        var free: Set<UInt16> = []
        while free.count < 9 { free.insert(try FreePort.find()) }
        let all = Array(free)
        ports = Array(all[..<3])
        monitorPorts = Array(all[3..<6])
        let routes = Array(all[6...])
        let list = routes.map { "nats://127.0.0.1:\($0)" }.joined(separator: ",")
        for index in 0..<3 {
            let text = """
                server_name: s\(index + 1)
                listen: "127.0.0.1:\(ports[index])"
                http: "127.0.0.1:\(monitorPorts[index])"
                jetstream { store_dir: "\(path)/s\(index + 1)", sync_interval: \(sync) }
                cluster { name: bench, listen: "127.0.0.1:\(routes[index])", routes: [\(list)] }

                """
            let file = "\(folder.path)/s\(index + 1).conf"
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            processes.append(
                try ServerProcess(server, ["-c", file], log: "\(folder.path)/s\(index + 1).log", readsOutput: false))
        }
    }

    deinit {
        for process in processes { process.kill() }
    }

    /// The URLs of the servers, and of their monitors.
    var servers: [String] { ports.map { "nats://127.0.0.1:\($0)" } }
    var monitors: [String] { monitorPorts.map { "http://127.0.0.1:\($0)" } }

    /// - Parameter isProven: Whether the servers have to say that they sync always.
    func configuration(isProven: Bool, library: String?) -> NATSLogConfiguration {
        var configuration = NATSLogConfiguration(
            cluster: "bench", node: "n1", servers: servers)
        configuration.monitors = monitors
        configuration.isSyncTrusted = !isProven
        configuration.library = library
        return configuration
    }

    /// Processor time of all servers so far, in seconds.
    var cpu: Double { Double(processorNanoseconds) / 1e9 }

    /// The same, in nanoseconds.
    var processorNanoseconds: UInt64 { processes.reduce(0) { $0 + $1.processorNanoseconds } }
}
