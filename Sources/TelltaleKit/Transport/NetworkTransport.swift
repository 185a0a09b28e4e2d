// Only Apple's systems have this framework: this file is not built on Linux, and no test of this repository runs it.
#if canImport(Network)
    internal import Foundation
    internal import Network
    internal import Security
    internal import Synchronization

    /// Connections by Apple's Network framework: TCP, TLS 1.2 and 1.3, Unix sockets. The system follows the device from one
    /// network to another, and its proxies and VPNs apply.
    public struct NetworkTransport: Transport {
        public let address: ServerAddress
        /// Authorities to trust for `tls://`, as DER certificates; empty for those of the system.
        public var authorities: [[UInt8]]

        public init(to address: ServerAddress, authorities: [[UInt8]] = []) {
            self.address = address
            self.authorities = authorities
        }

        public func connect() async throws -> any TransportConnection {
            let connection = NetworkConnection(NWConnection(to: endpoint, using: parameters))
            try await connection.waitUntilReady()
            return connection
        }

        private var endpoint: NWEndpoint {
            switch address {
            case .unix(let path): .unix(path: path)
            case .tcp(let host, let port), .tls(let host, let port):
                .hostPort(host: NWEndpoint.Host(host), port: NWEndpoint.Port(rawValue: port) ?? .any)
            }
        }

        private var parameters: NWParameters {
            let tcp = NWProtocolTCP.Options()
            tcp.noDelay = true
            guard case .tls = address else { return NWParameters(tls: nil, tcp: tcp) }
            let tls = NWProtocolTLS.Options()
            sec_protocol_options_set_min_tls_protocol_version(tls.securityProtocolOptions, .TLSv12)
            let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
            if !anchors.isEmpty {
                // The trust's policy keeps the server's name and checks it with the chain.
                sec_protocol_options_set_verify_block(
                    tls.securityProtocolOptions,
                    { _, trust, complete in
                        let trust = sec_trust_copy_ref(trust).takeRetainedValue()
                        SecTrustSetAnchorCertificates(trust, anchors as CFArray)
                        SecTrustSetAnchorCertificatesOnly(trust, true)
                        complete(SecTrustEvaluateWithError(trust, nil))
                    }, .global())
            }
            return NWParameters(tls: tls, tcp: tcp)
        }
    }

    private final class NetworkConnection: TransportConnection {
        private let connection: NWConnection

        init(_ connection: NWConnection) {
            self.connection = connection
        }

        deinit {
            connection.cancel()
        }

        func waitUntilReady() async throws {
            let connection = connection
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    let isAnswered = Atomic(false)
                    connection.stateUpdateHandler = { state in
                        let result: Result<Void, any Error>
                        switch state {
                        case .setup, .preparing: return
                        case .ready: result = .success(())
                        // Also while waiting for a network, because the client has its own back-off.
                        case .waiting(let error), .failed(let error): result = .failure(Self.reason(error))
                        case .cancelled: result = .failure(TransportError.failed("cancelled"))
                        @unknown default: return
                        }
                        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
                        continuation.resume(with: result)
                    }
                    connection.start(queue: .global())
                }
            } onCancel: {
                connection.cancel()
            }
        }

        func receive() async throws -> [UInt8] {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[UInt8], any Error>) in
                connection.receive(minimumIncompleteLength: 1, maximumLength: 65_536) { data, _, isComplete, error in
                    if let data, !data.isEmpty {
                        continuation.resume(returning: [UInt8](data))
                    } else if let error {
                        continuation.resume(throwing: Self.reason(error))
                    } else {
                        continuation.resume(returning: [])
                    }
                }
            }
        }

        func send(_ bytes: [UInt8]) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                connection.send(
                    content: Data(bytes),
                    completion: .contentProcessed { error in
                        if let error {
                            continuation.resume(throwing: Self.reason(error))
                        } else {
                            continuation.resume()
                        }
                    })
            }
        }

        func close() { connection.cancel() }

        private static func reason(_ error: NWError) -> TransportError {
            if case .tls(let status) = error, isOfCertificate(status) { return .untrusted(error.localizedDescription) }
            return .failed(error.localizedDescription)
        }

        /// Secure Transport has a status for each fault of a handshake. A connection closed in the middle is not a
        /// fault of the certificate.
        private static func isOfCertificate(_ status: OSStatus) -> Bool {
            // errSSLXCertChainInvalid, errSSLBadCert, errSSLUnknownRootCert to errSSLCertNotYetValid, errSSLPeerBadCert to
            // errSSLPeerUnknownCA, errSSLHostNameMismatch.
            switch status {
            case -9807, -9808, -9815 ... -9812, -9831 ... -9825, -9843: true
            default: false
            }
        }
    }
#endif
