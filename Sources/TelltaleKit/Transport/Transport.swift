/// Opens connections to one server. A client calls it again after each lost connection.
///
/// Two are built in: ``NetworkTransport``, with TLS, where Apple's Network framework exists, and ``SocketTransport``,
/// without TLS. An app may bring its own, for another TLS library, a proxy, or a pipe in a test.
public protocol Transport: Sendable {
    /// Connects. The caller cancels the task when it takes too long.
    ///
    /// - Throws: ``TransportError/untrusted(_:)`` if the server's certificate is not accepted, or
    ///   ``TransportError/unsupported(_:)``, which end the client; any other error is a reason to try again later.
    func connect() async throws -> any TransportConnection
}

/// One connection: a stream of bytes in both directions.
///
/// One task receives while another one sends. ``close()`` may be called at any time, from any task.
public protocol TransportConnection: Sendable {
    /// Waits for bytes, and returns at most some 64 KiB of them; empty at the end of the stream. Do not read ahead
    /// between calls, so that the server notices a slow reader.
    func receive() async throws -> [UInt8]
    /// Returns when the system has taken the bytes.
    func send(_ bytes: [UInt8]) async throws
    /// Ends the connection. A waiting ``receive()`` or ``send(_:)`` returns, or throws.
    func close()
}

/// The reason why there is no connection.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's certificate is of an authority that is not trusted, or of another name.
    case untrusted(String)
    /// This transport can never connect to such a server.
    case unsupported(String)
    /// Anything else, as a text for people.
    case failed(String)

    public var description: String {
        switch self {
        case .untrusted(let reason), .unsupported(let reason), .failed(let reason): reason
        }
    }
}
