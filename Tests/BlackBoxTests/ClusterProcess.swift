import Foundation
import Glibc
import TestSupport
import Testing

/// A node, which may be killed and started again with the same folder and port.
final class ClusterProcess {
    let name: String
    let port: UInt16
    private let folder: URL
    private let log: URL
    private let advertised: UInt16?
    private let data: String
    private let options: [String]
    private(set) var program: RunningProgram

    /// - Parameters:
    ///   - advertised: The port that it reports as its own; `nil` = the one that it has.
    ///   - data: Its folder; `nil` = one of its name.
    ///   - options: More of them.
    init(
        _ name: String, in folder: URL, advertising advertised: UInt16? = nil, data: String? = nil,
        options: [String] = []
    ) throws {
        self.data = data ?? name
        self.options = options
        self.name = name
        self.advertised = advertised
        self.folder = folder
        log = folder.appending(path: "log")
        // A port that is free now, and that the others can be notified of before it is listened on.
        port = try freePort()
        program = try Self.start(name, port, advertised ?? port, folder, log, self.data, options)
    }

    deinit { program.kill() }

    private static func start(
        _ name: String, _ port: UInt16, _ advertised: UInt16, _ folder: URL, _ log: URL, _ data: String,
        _ options: [String]
    ) throws -> RunningProgram {
        let program = try DaemonProcess.launch(
            [
                "--data", folder.appending(path: data).path, "--kinds", folder.appending(path: "kinds").path,
                "--listen", "127.0.0.1:\(port)", "--cluster", "shop", "--node", name, "--advertise",
                "127.0.0.1:\(advertised)", "--engine", "file:\(log.path)", "--lease", "1500ms", "--give-up", "12s",
            ] + options)
        let ready = program.readLine() ?? program.standardError
        let role = options.contains("observer") ? "observer" : "standby"
        try #require(ready.hasPrefix("ready ") && ready.hasSuffix(" role=\(role)"), "\(ready)")
        return program
    }

    func startAgain() throws { program = try Self.start(name, port, advertised ?? port, folder, log, data, options) }

    /// The next line of its standard output that begins so.
    func line(_ prefix: String) -> String {
        while let line = program.readLine() { if line.hasPrefix(prefix) { return line } }
        return program.standardError
    }

    /// Nothing but the log says when a signal was served.
    func waitUntilLogged(_ text: String) throws {
        let deadline = Date.now.addingTimeInterval(patience)
        while !program.standardError.contains(text), Date.now < deadline { usleep(10_000) }
        try #require(program.standardError.contains(text), "\(program.standardError)")
    }

    /// A connection to a standby that has heard the leader, and the greeting.
    func greetNamingLeader() throws -> (peer: Peer, greeting: String) {
        let deadline = Date.now.addingTimeInterval(patience)
        var (peer, greeting) = try greet()
        while !greeting.contains(" leader="), Date.now < deadline {
            usleep(10_000)
            (peer, greeting) = try greet()
        }
        return (peer, greeting)
    }

    /// A connection, and the greeting.
    func greet() throws -> (peer: Peer, greeting: String) {
        let peer = try Peer(port: port)
        guard case .line(let greeting) = peer.next() else { return (peer, "") }
        return (peer, greeting)
    }
}
