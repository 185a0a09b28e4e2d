import Foundation
import TelltaleEventLoop

/// A server that relays events, in a folder of its own: its start, and the words of its protocol.
final class Broker: FanOutTarget {
    let name: String
    let process: ServerProcess
    let port: UInt16
    let hasState = false
    private let folder: BenchFolder
    private let words: Words

    var message: FanOutMessage { words.message }
    var publisherOpening: [UInt8] { words.publisherOpening }
    var publisherReadiness: [UInt8] { words.publisherReadiness }
    var readiness: [UInt8] { words.readiness ?? words.publisherReadiness }
    var answersEachKey: Bool { words.answersEachKey }
    func opening(_ keys: [Int]) -> [UInt8] { words.subscribing(keys) }

    struct Words {
        /// The opening of a publisher, and the end of the answer.
        var publisherOpening: [UInt8]
        var publisherReadiness: [UInt8]
        /// The end of the answer to a subscription, where it is another one.
        var readiness: [UInt8]?
        var answersEachKey = false
        var message: FanOutMessage
        /// The opening of a subscriber of these keys.
        var subscribing: ([Int]) -> [UInt8]
    }

    private init(_ name: String, _ folder: BenchFolder, _ process: ServerProcess, port: UInt16, _ words: Words) {
        self.name = name
        self.folder = folder
        self.process = process
        self.port = port
        self.words = words
    }

    /// Starts `server` on a free port.
    ///
    /// - Parameter arguments: For a port and a folder.
    private static func start(
        _ name: String, _ server: String, data: String, _ words: Words,
        arguments: (UInt16, BenchFolder) throws -> [String]
    ) throws -> Broker {
        let folder = try BenchFolder(data)
        let port = try FreePort.find()
        let process = try ServerProcess(
            server, try arguments(port, folder), log: folder.path + "/log", readsOutput: false,
            processor: Processors.server)
        try process.waitUntilListening(port)
        return Broker(name, folder, process, port: port, words)
    }

    /// A configuration file of that text.
    private static func write(_ configuration: String, in folder: BenchFolder) throws -> String {
        let path = folder.path + "/broker.conf"
        try configuration.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }
}

// MARK: The compared servers

extension Broker {
    /// NATS core: no persistence, no acknowledgement.
    /// Protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol
    static func nats(_ server: String, data: String, bytes: Int) throws -> Broker {
        let connect = #"CONNECT {"verbose":false,"pedantic":false,"headers":false}"# + "\r\n"
        let words = Words(
            publisherOpening: Array((connect + "PING\r\n").utf8), publisherReadiness: Array("PONG\r\n".utf8),
            message: FanOutMessage("PUB k.\(FanOutMessage.key) \(bytes)\r\n\(FanOutMessage.body(bytes))\r\n")
        ) { keys in
            let subscriptions = keys.enumerated().map { "SUB k.\(FanOutMessage.digits($1)) \($0 + 1)\r\n" }
            return Array((connect + subscriptions.joined() + "PING\r\n").utf8)
        }
        return try start("nats", server, data: data, words) { port, folder in
            let configuration = """
                listen: "127.0.0.1:\(port)"
                max_connections: 20000
                ping_interval: "1h"

                """
            return ["-c", try write(configuration, in: folder)]
        }
    }

    /// Redis publish and subscribe, without persistence, and without the limits on slow subscribers.
    /// Protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
    static func redis(_ server: String, data: String, bytes: Int) throws -> Broker {
        let words = Words(
            publisherOpening: Array("PING\r\n".utf8), publisherReadiness: Array("+PONG\r\n".utf8),
            readiness: Array("subscribe\r\n".utf8), answersEachKey: true,
            message: FanOutMessage(
                "*3\r\n$7\r\nPUBLISH\r\n$9\r\nk.\(FanOutMessage.key)\r\n$\(bytes)\r\n"
                    + "\(FanOutMessage.body(bytes))\r\n")
        ) { keys in
            let channels = keys.map { "$9\r\nk.\(FanOutMessage.digits($0))\r\n" }
            return Array(("*\(keys.count + 1)\r\n$9\r\nSUBSCRIBE\r\n" + channels.joined()).utf8)
        }
        return try start("redis", server, data: data, words) { port, folder in
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path,
                "--maxclients", "15000", "--tcp-backlog", "4096", "--client-output-buffer-limit", "pubsub 0 0 0",
                "--daemonize", "no",
            ]
        }
    }

    /// Mosquitto with QoS 0 and without persistence: MQTT 3.1.1, a clean session, no keep-alive, no name.
    /// Protocol: https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html
    static func mosquitto(_ server: String, data: String, bytes: Int) throws -> Broker {
        let connect = MQTT.packet(0x10, MQTT.text("MQTT") + [4, 2, 0, 0] + MQTT.text(""))
        let words = Words(
            publisherOpening: connect, publisherReadiness: [0x20, 0x02], readiness: [0x90],
            message: FanOutMessage(
                MQTT.packet(0x30, MQTT.text("k/" + FanOutMessage.key) + Array(FanOutMessage.body(bytes).utf8)))
        ) { keys in
            let topics = keys.flatMap { MQTT.text("k/" + FanOutMessage.digits($0)) + [UInt8(0)] }
            return connect + MQTT.packet(0x82, [0, 1] + topics)
        }
        return try start("mosquitto", server, data: data, words) { port, folder in
            // Started by root, mosquitto changes to its own user, which may not read this folder.
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
            return ["-c", try write(configuration, in: folder)]
        }
    }

    /// `telltale-bench relay`: the work that no server can avoid, in plain C on epoll and writev.
    ///
    /// - Parameter bytes: The length of a relayed message, with its line end.
    static func plain(data: String, bytes: Int, pace: Int) throws -> Broker {
        let folder = try BenchFolder(data)
        let process = try ServerProcess(
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path, ["relay", "--pace", "\(pace)"],
            log: folder.path + "/log", processor: Processors.server)
        guard let line = process.readLine(), let port = line.split(separator: "=").last.flatMap({ UInt16($0) }) else {
            throw ServerProcess.StartFailure(description: "the relay did not start")
        }
        let words = Words(
            publisherOpening: Array("HELLO\n".utf8), publisherReadiness: Array("R\n".utf8), answersEachKey: true,
            message: FanOutMessage("P \(FanOutMessage.key) \(FanOutMessage.body(bytes - 1))\n")
        ) { keys in
            Array(("S" + keys.map { " " + FanOutMessage.digits($0) }.joined() + "\n").utf8)
        }
        return Broker("plain C", folder, process, port: port, words)
    }
}

/// The two kinds of packets that the load needs from MQTT 3.1.1.
private enum MQTT {
    static func text(_ text: String) -> [UInt8] {
        [UInt8(truncatingIfNeeded: text.utf8.count >> 8), UInt8(truncatingIfNeeded: text.utf8.count)] + text.utf8
    }

    static func packet(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
        var bytes = [type]
        var length = body.count
        repeat {
            bytes.append(UInt8(truncatingIfNeeded: length % 128) | (length >= 128 ? 0x80 : 0))
            length /= 128
        } while length > 0
        return bytes + body
    }
}

/// A port that was free a moment ago, below those that connections get by themselves.
enum FreePort {
    static func find() throws -> UInt16 {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 10_000..<32_000)
            if (try? Listener(at: .tcp(host: "127.0.0.1", port: port), on: loop, onConnection: { $0.close() })) != nil {
                return port
            }
        }
        throw ServerProcess.StartFailure(description: "no free port")
    }
}

/// A program on the path, or where `Tools/bench/peers` and `pip` put it.
enum PeerProgram {
    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + [".build/python/bin", "/usr/sbin", "/usr/bin"]
        return folders.map { $0 + "/" + name }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
