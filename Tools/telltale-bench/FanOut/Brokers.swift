import EventLoop
import Foundation

/// NATS core: no persistence, no acknowledgement.
/// Protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol
final class NATSBroker: FanOutTarget {
    let name = "nats"
    let process: ServerProcess
    let port: UInt16
    let message: FanOutMessage
    private let folder: BenchFolder
    private static let connect = #"CONNECT {"verbose":false,"pedantic":false,"headers":false}"# + "\r\n"

    init(server: String, data: String, bytes: Int) throws {
        folder = try BenchFolder(data)
        port = try FreePort.find()
        let configuration = """
            listen: "127.0.0.1:\(port)"
            max_connections: 20000
            ping_interval: "1h"

            """
        try configuration.write(toFile: folder.path + "/nats.conf", atomically: false, encoding: .utf8)
        process = try ServerProcess(
            server, ["-c", folder.path + "/nats.conf"], log: folder.path + "/log", readsOutput: false,
            processor: Processors.server)
        message = FanOutMessage("PUB k.\(FanOutMessage.key) \(bytes)\r\n\(FanOutMessage.body(bytes))\r\n")
        try process.waitUntilListening(port)
    }

    var publisherOpening: [UInt8] { Array((Self.connect + "PING\r\n").utf8) }
    var publisherReadiness: [UInt8] { Array("PONG\r\n".utf8) }
    var readiness: [UInt8] { publisherReadiness }
    var answersEachKey: Bool { false }
    var hasState: Bool { false }

    func opening(_ keys: [Int]) -> [UInt8] {
        let subscriptions = keys.enumerated().map { "SUB k.\(FanOutMessage.digits($1)) \($0 + 1)\r\n" }
        return Array((Self.connect + subscriptions.joined() + "PING\r\n").utf8)
    }
}

/// Redis publish and subscribe, without persistence, and without the limits on slow subscribers.
/// Protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
final class RedisBroker: FanOutTarget {
    let name = "redis"
    let process: ServerProcess
    let port: UInt16
    let message: FanOutMessage
    private let folder: BenchFolder

    init(server: String, data: String, bytes: Int) throws {
        folder = try BenchFolder(data)
        port = try FreePort.find()
        process = try ServerProcess(
            server,
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path,
                "--maxclients", "15000", "--tcp-backlog", "4096", "--client-output-buffer-limit", "pubsub 0 0 0",
                "--daemonize", "no",
            ], log: folder.path + "/log", readsOutput: false, processor: Processors.server)
        message = FanOutMessage(
            "*3\r\n$7\r\nPUBLISH\r\n$9\r\nk.\(FanOutMessage.key)\r\n$\(bytes)\r\n\(FanOutMessage.body(bytes))\r\n")
        try process.waitUntilListening(port)
    }

    var publisherOpening: [UInt8] { Array("PING\r\n".utf8) }
    var publisherReadiness: [UInt8] { Array("+PONG\r\n".utf8) }
    var readiness: [UInt8] { Array("subscribe\r\n".utf8) }
    var answersEachKey: Bool { true }
    var hasState: Bool { false }

    func opening(_ keys: [Int]) -> [UInt8] {
        let channels = keys.map { "$9\r\nk.\(FanOutMessage.digits($0))\r\n" }
        return Array(("*\(keys.count + 1)\r\n$9\r\nSUBSCRIBE\r\n" + channels.joined()).utf8)
    }
}

/// Mosquitto with QoS 0 and without persistence.
/// Protocol: https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html
final class MosquittoBroker: FanOutTarget {
    let name = "mosquitto"
    let process: ServerProcess
    let port: UInt16
    let message: FanOutMessage
    private let folder: BenchFolder

    init(server: String, data: String, bytes: Int) throws {
        folder = try BenchFolder(data)
        port = try FreePort.find()
        // Started by root it would go on as a user of its own, who may not read our folder.
        let configuration = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            persistence false
            set_tcp_nodelay true
            max_queued_messages 0
            max_queued_bytes 0
            log_dest none
            user root

            """
        try configuration.write(toFile: folder.path + "/mosquitto.conf", atomically: false, encoding: .utf8)
        process = try ServerProcess(
            server, ["-c", folder.path + "/mosquitto.conf"], log: folder.path + "/log", readsOutput: false,
            processor: Processors.server)
        message = FanOutMessage(
            Self.packet(0x30, Self.text("k/" + FanOutMessage.key) + Array(FanOutMessage.body(bytes).utf8)))
        try process.waitUntilListening(port)
    }

    /// Version 3.1.1, a clean session, no keep-alive, no name.
    private static let connect = packet(0x10, text("MQTT") + [4, 2, 0, 0] + text(""))

    var publisherOpening: [UInt8] { Self.connect }
    var publisherReadiness: [UInt8] { [0x20, 0x02] }
    /// The acknowledgement of a subscription.
    var readiness: [UInt8] { [0x90] }
    var answersEachKey: Bool { false }
    var hasState: Bool { false }

    func opening(_ keys: [Int]) -> [UInt8] {
        let topics = keys.flatMap { Self.text("k/" + FanOutMessage.digits($0)) + [UInt8(0)] }
        return Self.connect + Self.packet(0x82, [0, 1] + topics)
    }

    private static func text(_ text: String) -> [UInt8] {
        [UInt8(truncatingIfNeeded: text.utf8.count >> 8), UInt8(truncatingIfNeeded: text.utf8.count)] + text.utf8
    }

    private static func packet(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
        var bytes = [type]
        var length = body.count
        repeat {
            bytes.append(UInt8(truncatingIfNeeded: length % 128) | (length >= 128 ? 0x80 : 0))
            length /= 128
        } while length > 0
        return bytes + body
    }
}

/// `telltale-bench relay`: what any server must do, in plain C on epoll and writev.
final class PlainRelay: FanOutTarget {
    let name = "plain C"
    let process: ServerProcess
    let port: UInt16
    let message: FanOutMessage
    private let folder: BenchFolder

    /// - Parameter bytes: Of what it passes on, line end included.
    init(data: String, bytes: Int, pace: Int) throws {
        folder = try BenchFolder(data)
        process = try ServerProcess(
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path, ["relay", "--pace", "\(pace)"],
            log: folder.path + "/log", processor: Processors.server)
        guard let line = process.readLine(), let port = line.split(separator: "=").last.flatMap({ UInt16($0) }) else {
            throw ServerProcess.StartFailure(description: "the relay did not start")
        }
        self.port = port
        message = FanOutMessage("P \(FanOutMessage.key) \(FanOutMessage.body(bytes - 1))\n")
    }

    var publisherOpening: [UInt8] { Array("HELLO\n".utf8) }
    var publisherReadiness: [UInt8] { Array("R\n".utf8) }
    var readiness: [UInt8] { publisherReadiness }
    var answersEachKey: Bool { true }
    var hasState: Bool { false }

    func opening(_ keys: [Int]) -> [UInt8] {
        Array(("S" + keys.map { " " + FanOutMessage.digits($0) }.joined() + "\n").utf8)
    }
}

/// A port that was free a moment ago.
enum FreePort {
    static func find() throws -> UInt16 {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { $0.close() }
        guard case .tcp(_, let port) = listener.endpoint else {
            throw ServerProcess.StartFailure(description: "no free port")
        }
        return port
    }
}

/// A program on the path, or where `Tools/bench-peers` and `pip` put it.
enum PeerProgram {
    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + [".build/python/bin", "/usr/sbin", "/usr/bin"]
        return folders.map { $0 + "/" + name }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
