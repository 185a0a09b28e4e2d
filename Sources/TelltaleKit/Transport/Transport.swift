/// Opens connections to one server. A client calls it again after each lost connection.
///
/// Built in are ``NetworkTransport`` where Apple's Network framework is, with TLS, and ``SocketTransport`` elsewhere, without.
/// An app may bring one of its own: with another TLS library, through a proxy, or a pipe in a test.
public protocol Transport: Sendable {
    /// Connects. The caller cancels the task when it takes too long.
    ///
    /// - Throws: ``TransportError/untrusted(_:)`` if the server's certificate is not accepted, or
    ///   ``TransportError/unsupported(_:)``, which end the client; any other error is a reason to try again later.
    func connect() async throws -> any TransportConnection
}

/// One connection: a stream of bytes in both directions.
///
/// One task receives and another one sends, at the same time. ``close()`` may come at any time, from any task.
public protocol TransportConnection: Sendable {
    /// Waits for bytes, and returns at most some 64 KiB of them; empty at the end of the stream. Between two calls nothing is
    /// to be read, so that the server notices a reader that is slow.
    func receive() async throws -> [UInt8]
    /// Returns when the bytes are given to the system.
    func send(_ bytes: [UInt8]) async throws
    /// Ends the connection. A waiting ``receive()`` or ``send(_:)`` returns, or throws.
    func close()
}

/// The reason why there is no connection.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's certificate is of an authority that is not trusted, or of another name.
    case untrusted(String)
    /// This transport cannot speak to such a server, now or later.
    case unsupported(String)
    /// Anything else, as a text for people.
    case failed(String)

    public var description: String {
        switch self {
        case .untrusted(let reason), .unsupported(let reason), .failed(let reason): reason
        }
    }
}
