import TelltaleEventLoop
import TelltaleWire
import TestSupport

/// A server that answers by a script, over a real socket on the test's own loop.
final class FakeServer {
    final class Session {
        let connection: Connection
        var decoder = LineDecoder()
        private var output: [UInt8] = []

        init(_ connection: Connection) {
            self.connection = connection
        }

        func send(_ line: String) {
            output += Array(line.utf8) + [0x0A]
            flush()
        }

        func flush() {
            guard connection.isWritable else { return }
            let bytes = output
            output = []
            _ = connection.write(bytes)
        }
    }

    let listener: Listener
    private let sessions: Box<[Session]>

    var endpoint: Endpoint { listener.endpoint }
    /// Of all connections so far, the closed ones too.
    var connectionCount: Int { sessions.value.count }

    /// - Parameters:
    ///   - answer: Is given each request but `HELLO`, which is answered.
    ///   - greets: Whether it says anything before it is spoken to.
    init(
        on loop: EventLoop, at endpoint: Endpoint = .tcp(host: "127.0.0.1", port: 0), greets: Bool = true,
        greeting: String = Script.greeting, answer: @escaping (Session, Request) -> Void
    ) throws {
        let parser = RequestParser()
        let sessions = Box<[Session]>([])
        let handlers = ConnectionHandlers(
            onData: { connection, bytes in
                let session = sessions.value[connection.tag]
                try? session.decoder.decode(bytes) { line in
                    let request = parser.parse(line)
                    if case .hello = request.command {
                        session.send("OK id=\(request.id ?? "") conn=c\(connection.tag)")
                    } else if connection.isOpen {
                        answer(session, request)
                    }
                }
            },
            onEnd: { $0.close() }, onWritable: { sessions.value[$0.tag].flush() }, onClosed: { _, _ in })
        listener = try Listener(at: endpoint, on: loop) { connection in
            connection.tag = sessions.value.count
            let session = Session(connection)
            sessions.value.append(session)
            if greets { session.send(greeting) }
            connection.start(handlers)
        }
        self.sessions = sessions
    }
}
