import Synchronization
import TelltaleEventLoop
import TestSupport

/// The other end of a connection, on a thread of its own.
final class SocketPeer {
    private let outcome = Outcome()
    private let port: UInt16
    private let work: @Sendable (RawSocket) throws -> String

    private final class Outcome: Sendable {
        let value = Mutex<Result<String, any Error>?>(nil)
    }

    init(of listener: Listener, _ work: @escaping @Sendable (RawSocket) throws -> String) throws {
        port = listener.port
        self.work = work
    }

    /// Starts the peer. The returned closure gives its answer once the loop has stopped.
    ///
    /// - Parameter loop: Stopped when the peer is done; `nil` leaves that to the test.
    func result(on loop: EventLoop?, holding held: Any) -> () throws -> String {
        let mailbox = loop.flatMap { loop in
            try? Mailbox<Void>(on: loop) { _ in loop.stop() }
        }
        let sender = mailbox?.sender
        let thread = JoinableThread { [outcome, port, work] in
            let result = Result { try work(RawSocket(port: port)) }
            outcome.value.withLock { $0 = result }
            sender?.post(())
        }
        return { [outcome] in
            thread.join()
            return try withExtendedLifetime((held, mailbox)) {
                try outcome.value.withLock { try $0?.get() ?? "the peer said nothing" }
            }
        }
    }
}

extension Listener {
    var port: UInt16 {
        guard case .tcp(_, let port) = endpoint else { return 0 }
        return port
    }
}

extension ConnectionHandlers {
    /// Sends back its input, pauses the peer while it does not read, and closes at the end.
    static var echo: ConnectionHandlers {
        ConnectionHandlers(
            onData: { connection, bytes in
                if connection.write(bytes) == .pending { connection.pauseReading() }
            },
            onEnd: { connection in
                if connection.isWritable { connection.close() }
            },
            onWritable: { connection in
                if connection.hasEnded { connection.close() } else { connection.resumeReading() }
            },
            onClosed: { _, _ in })
    }
}
