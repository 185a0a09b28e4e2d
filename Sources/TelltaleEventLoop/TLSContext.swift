internal import CTelltaleTLS

/// Certificates and settings of TLS, by OpenSSL: TLS 1.2 and 1.3, forward secrecy, no renegotiation, no compression.
///
/// Connections keep the context with which they began.
@safe public final class TLSContext {
    /// Why a certificate, a key or a file of authorities cannot be used.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String

        public init(description: String) {
            self.description = description
        }
    }

    private let raw: OpaquePointer
    /// When a server's certificate expires, in seconds since 1970; 0 if unknown.
    public let expirySeconds: Int64

    /// For a server.
    ///
    /// - Parameters:
    ///   - certificate: The path of the PEM chain, the server's own certificate first.
    ///   - key: The path of its PEM key.
    public init(certificate: String, key: String) throws(Failure) {
        var text = [CChar](repeating: 0, count: 256)
        guard let raw = unsafe telltale_tls_server(certificate, key, &text, text.count) else {
            throw Self.failure(text)
        }
        unsafe self.raw = raw
        expirySeconds = unsafe telltale_tls_expiry(raw)
    }

    /// For a client.
    ///
    /// - Parameter authorities: The path of a PEM file of the trusted authorities; `nil` = the system's.
    public init(authorities: String?) throws(Failure) {
        var text = [CChar](repeating: 0, count: 256)
        guard let raw = unsafe telltale_tls_client(authorities, &text, text.count) else { throw Self.failure(text) }
        unsafe self.raw = raw
        expirySeconds = 0
    }

    deinit {
        unsafe telltale_tls_context_free(raw)
    }

    private static func failure(_ text: [CChar]) -> Failure { Failure(description: TLSSession.text(text)) }

    /// - Parameter host: The name or address that a client requires in the certificate; `nil` for a server.
    func session(expecting host: String?) -> TLSSession? {
        unsafe telltale_tls_new(raw, host).map { unsafe TLSSession($0) }
    }
}

/// TLS of one connection: ciphertext in and out through memory, without IO.
@safe final class TLSSession {
    enum Step {
        case finished, needsMore
        case failed(String)
    }

    enum Plaintext {
        case bytes(Int)
        case none, ended, failed
    }

    private let raw: OpaquePointer

    fileprivate init(_ raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    deinit {
        unsafe telltale_tls_free(raw)
    }

    /// Takes ciphertext from the peer.
    func feed(_ bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { unsafe telltale_tls_feed(raw, $0.baseAddress, $0.count) == 1 }
    }

    func handshake() -> Step {
        switch unsafe telltale_tls_handshake(raw) {
        case 1: return .finished
        case 0: return .needsMore
        case _:
            var text = [CChar](repeating: 0, count: 256)
            unsafe telltale_tls_reason(raw, &text, text.count)
            return .failed(Self.text(text))
        }
    }

    /// Decrypts into `buffer`.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Plaintext {
        let count = unsafe telltale_tls_read(raw, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        return count == 0 ? .none : count == -1 ? .ended : .failed
    }

    /// Encrypts all of `bytes` into `room`.
    ///
    /// - Returns: The number of bytes of ciphertext; 0 = the ciphertext waits, because it does not fit or other
    ///   ciphertext waits before it; `nil` = it cannot be encrypted.
    func encrypt(_ bytes: Span<UInt8>, into room: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let count = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe telltale_tls_encrypt(raw, bytes.baseAddress, bytes.count, room.baseAddress, room.count)
        }
        return count < 0 ? nil : count
    }

    /// Requests new keys from the peer, as TLS 1.3 allows at any time.
    func updateKeys() -> Bool { unsafe telltale_tls_update_keys(raw) == 1 }

    func shutdown() { unsafe telltale_tls_shutdown(raw) }

    /// Whether ciphertext waits for the peer.
    var hasOutput: Bool { unsafe telltale_tls_waiting(raw) > 0 }

    /// Ciphertext for the peer.
    func takeOutput() -> [UInt8] {
        let count = unsafe telltale_tls_waiting(raw)
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, taken in
            unsafe taken = telltale_tls_take(raw, buffer.baseAddress, count)
        }
    }

    static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
