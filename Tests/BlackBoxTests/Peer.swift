import Foundation
import Glibc
import TelltaleModel
import TelltaleWire
import TestSupport

/// A client of a daemon, line by line. Blocking; not for the cooperative pool.
final class Peer {
    enum Incoming: Equatable {
        case line(String)
        /// The server shut its side.
        case end
        /// The connection broke.
        case reset
        case silence
    }

    /// The lines of the connection, in their order.
    struct Line: Sendable {
        var isServer: Bool
        var text: String
    }

    /// Outlives the connection.
    final class Record {
        fileprivate(set) var lines: [Line] = []
        /// Whether bytes were sent that need not be lines.
        fileprivate(set) var hasBytes = false
    }

    let socket: RawSocket
    let record = Record()
    private var buffer: [UInt8] = []
    private var start = 0

    /// - Parameter receiveBufferByteCount: A small one makes a peer that does not read felt early.
    init(port: UInt16, receiveBufferByteCount: CInt? = nil) throws {
        socket = try RawSocket(receiveBufferByteCount: receiveBufferByteCount)
        try socket.connect(port: port)
    }

    init(_ socket: RawSocket) { self.socket = socket }

    func send(bytes: [UInt8]) throws {
        record.hasBytes = true
        try socket.send(bytes)
    }

    func send(_ line: String) throws {
        record.lines += line.split(separator: "\n").map { Line(isServer: false, text: String($0)) }
        try socket.send(line + "\n")
    }

    /// The next line, waited for at most `seconds`.
    func next(seconds: Double = patience) -> Incoming { next(until: Date.now.addingTimeInterval(seconds)) }

    func next(until deadline: Date) -> Incoming {
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[start..<end], as: UTF8.self)
                start = end + 1
                if start == buffer.count {
                    buffer = []
                    start = 0
                }
                record.lines.append(Line(isServer: true, text: line))
                return .line(line)
            }
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = max(0, deadline.timeIntervalSinceNow * 1000)
            guard unsafe poll(&wanted, 1, CInt(milliseconds)) > 0 else { return .silence }
            guard let piece = try? socket.receive() else { return .reset }
            guard !piece.isEmpty else { return .end }
            buffer += piece
        }
    }

    /// The next line that is no `MARK` and no comment, understood. `MARK` lines do not prolong the wait.
    func receive(seconds: Double = patience) throws -> ServerLine {
        let deadline = Date.now.addingTimeInterval(seconds)
        while case .line(let text) = next(until: deadline) {
            let line = try ServerLine(Array(text.utf8).span, parser: JSONParser())
            if line.verb != "MARK", line.verb != "#" { return line }
        }
        throw NoLine()
    }

    struct NoLine: Error {}

    /// Sends a request and returns its reply; pushes in between are dropped.
    func ask(_ line: String) throws -> ServerLine {
        try send(line)
        while true {
            let reply = try receive()
            if ["OK", "ERR", "PONG"].contains(reply.verb) { return reply }
        }
    }

    /// Everything until `last`, which comes with it, or the end of the connection.
    func receive(until last: String) -> [String] {
        let deadline = Date.now.addingTimeInterval(patience)
        var lines: [String] = []
        while lines.last != last, case .line(let line) = next(until: deadline) { lines.append(line) }
        return lines
    }

    /// Everything until the end of the connection.
    func receiveRest() -> [String] {
        let deadline = Date.now.addingTimeInterval(patience)
        var lines: [String] = []
        while case .line(let line) = next(until: deadline) { lines.append(line) }
        return lines
    }
}
