import Foundation
import Glibc
import ReplicationNATS
import TestSupport
import Testing

/// A server that ends with this process, however that ends.
private struct LogStoreProcess {
    private let shell = Process()
    private let life = Pipe()
    let identifier: pid_t

    init(_ program: String, _ arguments: String...) throws {
        let output = Pipe()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments =
            ["-c", #""$0" "$@" </dev/null & echo $!; exec >&-; read -r _; kill -9 $!"#, program] + arguments
        shell.standardInput = life
        shell.standardOutput = output
        try shell.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        identifier = try #require(pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// A server that is stopped is killed too.
    func end() {
        kill(identifier, SIGKILL)
        life.fileHandleForWriting.closeFile()
        shell.waitUntilExit()
    }
}

/// Servers of NATS on this machine, that sync before they acknowledge. They end with the last reference.
final class TestLogStore {
    private let folder: TemporaryFolder
    private var servers: [Server] = []
    private let sync: String
    private let hasUsers: Bool

    private struct Server {
        var name: String
        var port: UInt16
        var monitor: UInt16
        var process: LogStoreProcess
    }

    /// The programs, or why there are none: fetched by `Tools/ci/fetch nats-server libnats`, or installed.
    static let server: String? = {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (path + ["\(build)/python/bin"]).map { "\($0)/nats-server" }.first { unsafe access($0, X_OK) == 0 }
    }()
    static let library: String? = libraries("libnats.so.3").first
    static let isThere = server != nil && library != nil
    static let reason: Comment = "nats-server or libnats is missing: Tools/ci/fetch nats-server libnats"

    private static let build = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../.build").standardized.path

    private static func libraries(_ name: String) -> [String] {
        ["/usr/lib", "\(build)/peers/usr/lib"].flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).flatMap { machine in
                ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(machine)")) ?? [])
                    .filter { $0.hasPrefix(name) }.map { "\(folder)/\(machine)/\($0)" }
            }
        }
    }

    /// - Parameters:
    ///   - sync: `always`, or a span.
    ///   - password: Asked of every client.
    ///   - payload: The longest message, in bytes: `max_payload`.
    ///   - permissions: Of all clients, as the configuration has them, until ``permit(_:)``; `nil` = there are no users.
    init(
        count: Int = 3, sync: String = "always", password: String? = nil, payload: Int = 1_048_576,
        permissions: String? = nil
    ) throws {
        // Beside the library, and nothing of the system looks there.
        if let needed = Self.libraries("libprotobuf-c.so.1").first { unsafe dlopen(needed, RTLD_NOW | RTLD_GLOBAL) }
        folder = try TemporaryFolder()
        self.sync = sync
        let ports = try freePorts(3 * count)
        let authorization =
            permissions.map { Self.authorization($0) } ?? password.map {
                "authorization { user: tt, password: \"\($0)\" }"
            }
            ?? ""
        hasUsers = permissions != nil
        let routes = (0..<count).map { "nats://127.0.0.1:\(ports[3 * $0 + 2])" }
        for index in 0..<count {
            let cluster =
                count == 1
                ? ""
                : "cluster { name: test, listen: \"127.0.0.1:\(ports[3 * index + 2])\", routes: [\(routes.joined(separator: ","))] }"
            let text = """
                server_name: s\(index + 1)
                listen: "127.0.0.1:\(ports[3 * index])"
                http: "127.0.0.1:\(ports[3 * index + 1])"
                jetstream { store_dir: "\(folder.path("s\(index + 1)"))", sync_interval: \(sync) }
                \(cluster)
                \(authorization)
                max_payload: \(payload)
                """
            try text.write(toFile: folder.path("s\(index + 1).conf"), atomically: false, encoding: .utf8)
            servers.append(
                Server(
                    name: "s\(index + 1)", port: ports[3 * index], monitor: ports[3 * index + 1],
                    process: try start("s\(index + 1)")))
        }
    }

    deinit {
        for server in servers { server.process.end() }
    }

    private func start(_ name: String) throws -> LogStoreProcess {
        try LogStoreProcess(
            try #require(Self.server), "-c", folder.path("\(name).conf"), "-l", folder.path("\(name).log"))
    }

    var names: [String] { servers.map(\.name) }

    func configuration(_ cluster: String, _ node: String) -> NATSLogConfiguration {
        var configuration = NATSLogConfiguration(
            cluster: cluster, node: node,
            servers: servers.map { "nats://\(hasUsers ? "tt:tt@" : "")127.0.0.1:\($0.port)" })
        configuration.monitors = servers.map { "http://127.0.0.1:\($0.monitor)" }
        configuration.library = Self.library
        return configuration
    }

    func signal(_ name: String, _ signal: CInt) {
        guard let server = servers.first(where: { $0.name == name }) else { return }
        kill(server.process.identifier, signal)
    }

    func restart(_ name: String) throws {
        guard let index = servers.firstIndex(where: { $0.name == name }) else { return }
        servers[index].process = try start(name)
    }

    private static func authorization(_ permissions: String) -> String {
        "authorization { users: [{ user: tt, password: tt, permissions: { \(permissions) } }] }"
    }

    /// The permissions of clients that may publish on all subjects but these.
    static func denying(_ subjects: String...) -> String {
        let subjects = (subjects + ["nobody.needs.this"]).map { "\"\($0)\"" }.joined(separator: ", ")
        return "publish: { deny: [\(subjects)] }"
    }

    /// Lets all servers ask for another password, and send away the clients that gave the one before.
    func setPassword(_ password: String) {
        configure { $0.replacing(#/password: "[^"]*"/#, with: "password: \"\(password)\"") }
    }

    /// Lets all servers take other messages at most.
    func setPayload(_ payload: Int) {
        configure { $0.replacing(#/max_payload: [0-9]+/#, with: "max_payload: \(payload)") }
    }

    /// Gives all clients other permissions.
    func permit(_ permissions: String) {
        configure { $0.replacing(#/authorization .*/#, with: Self.authorization(permissions)) }
    }

    /// All servers read their configuration again.
    private func configure(_ edit: (String) -> String) {
        do {
            for server in servers {
                let file = folder.path("\(server.name).conf")
                let text = try String(contentsOfFile: file, encoding: .utf8)
                try edit(text).write(toFile: file, atomically: false, encoding: .utf8)
                kill(server.process.identifier, SIGHUP)
            }
        } catch {
            Issue.record("the configuration stays as it was: \(error)")
        }
    }

    /// Kills a server and starts it with another `sync_interval`.
    func restart(_ name: String, sync: String) {
        do {
            guard let index = servers.firstIndex(where: { $0.name == name }) else { return }
            servers[index].process.end()
            let file = folder.path("\(name).conf")
            let text = try String(contentsOfFile: file, encoding: .utf8).replacing(
                #/sync_interval: [^ ]+/#, with: "sync_interval: \(sync)")
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            servers[index].process = try start(name)
        } catch {
            Issue.record("\(name) does not start again: \(error)")
        }
    }
}
