import Foundation
import Glibc
import TestSupport

/// A server that sends the lines of a test, for situations in which a real daemon is rarely. Blocking; not for the
/// cooperative pool.
final class ScriptedDaemon {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let listener: LocalListener

    var port: UInt16 { listener.port }

    var address: String { "127.0.0.1:\(port)" }

    init() throws {
        listener = try LocalListener(backlog: 8)
    }

    /// The next connection, to which nothing was said yet.
    func accept() throws -> Peer {
        var wanted = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wanted, 1, CInt(patience * 1_000)) > 0 else { throw Failure(description: "nobody connects") }
        let accepted = Glibc.accept(listener.descriptor, nil, nil)
        guard accepted >= 0 else { throw Failure(description: "nobody can connect: errno \(errno)") }
        return Peer(try RawSocket(accepted: accepted))
    }

    /// The next connection, greeted and introduced.
    ///
    /// - Parameters:
    ///   - now: The time in its greeting.
    ///   - epoch: The lineage of its history.
    func introduce(now: Int64 = 1_763_719_200_123, epoch: String = "00000000000000aa") throws -> Peer {
        let peer = try accept()
        try peer.send("\(Self.greeting.replacing("00000000000000aa", with: epoch)) now=\(now)")
        try peer.answer("HELLO", "OK conn=c1")
        return peer
    }

    static let greeting =
        "TELLTALE 1 epoch=00000000000000aa seq=1 hb=20000 max_line=65536 auth=none server=0.1.0"
}

extension Peer {
    /// The next request, which has to be of this verb. Heartbeats are answered.
    @discardableResult
    func request(_ verb: String) throws -> String {
        while case .line(let line) = next() {
            if line.hasPrefix("PING") {
                try send("PONG\(Self.id(of: line))")
            } else if line.hasPrefix(verb) {
                return line
            } else {
                throw ScriptedDaemon.Failure(description: "\(verb) was due, not: \(line)")
            }
        }
        throw ScriptedDaemon.Failure(description: "\(verb) was due, and nothing came")
    }

    /// Waits for a request of this verb, and answers with a line that is given its id.
    func answer(_ verb: String, _ reply: String) throws {
        let request = try request(verb)
        // Behind the verb, and before a tail.
        let parts = reply.split(separator: " ", maxSplits: 1)
        try send("\(parts[0])\(Self.id(of: request))\(parts.count > 1 ? " \(parts[1])" : "")")
    }

    /// Ends the connection, both ways.
    func close() { shutdown(socket.descriptor, CInt(SHUT_RDWR)) }

    private static func id(of request: String) -> String {
        request.split(separator: " ").last { $0.hasPrefix("id=") }.map { " \($0)" } ?? ""
    }
}
