import Foundation
import ReplicationNATS

/// Three servers of NATS on this machine, as a cluster asks for them: each message is synced before it is acknowledged.
final class BenchLogStore {
    private let folder: BenchFolder
    private var servers: [ServerProcess] = []
    private let ports: [UInt16]
    private let monitors: [UInt16]

    /// - Parameter sync: As a server is reported: `always`, or a span.
    init(server: String, data: String, sync: String) throws {
        folder = try BenchFolder(data)
        let path = URL(filePath: data).standardizedFileURL.path
        var free: Set<UInt16> = []
        while free.count < 9 { free.insert(try FreePort.find()) }
        let all = Array(free)
        ports = Array(all[..<3])
        monitors = Array(all[3..<6])
        let routes = Array(all[6...])
        let list = routes.map { "nats://127.0.0.1:\($0)" }.joined(separator: ",")
        for index in 0..<3 {
            let text = """
                server_name: s\(index + 1)
                listen: "127.0.0.1:\(ports[index])"
                http: "127.0.0.1:\(monitors[index])"
                jetstream { store_dir: "\(path)/s\(index + 1)", sync_interval: \(sync) }
                cluster { name: bench, listen: "127.0.0.1:\(routes[index])", routes: [\(list)] }

                """
            let file = "\(folder.path)/s\(index + 1).conf"
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            servers.append(
                try ServerProcess(server, ["-c", file], log: "\(folder.path)/s\(index + 1).log", readsOutput: false))
        }
    }

    deinit {
        for server in servers { server.kill() }
    }

    /// - Parameter isProven: Whether the servers have to say that they sync always.
    func configuration(isProven: Bool, library: String?) -> NATSLogConfiguration {
        var configuration = NATSLogConfiguration(
            cluster: "bench", node: "n1", servers: ports.map { "nats://127.0.0.1:\($0)" })
        configuration.monitors = monitors.map { "http://127.0.0.1:\($0)" }
        configuration.isSyncTrusted = !isProven
        configuration.library = library
        return configuration
    }

    /// Processor time of all servers so far, in seconds.
    var cpu: Double { servers.reduce(0) { $0 + $1.cpu.total } }
}
