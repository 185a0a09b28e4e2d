internal import FoundationEssentials
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate of the https listener, which may be replaced while it serves.
final class CertificateReloader: Sendable {
    struct Pair: Sendable {
        var chain: [NIOSSLCertificate]
        var key: NIOSSLPrivateKey
    }

    private let files: (certificate: String, key: String)
    private let current: Mutex<Pair>

    /// - Throws: When a file cannot be read, or the two do not fit.
    init(_ certificate: String, _ key: String) throws {
        files = (certificate, key)
        current = Mutex(try Self.read(certificate, key))
    }

    func read() throws -> Pair { try Self.read(files.certificate, files.key) }

    func use(_ pair: Pair) { current.withLock { $0 = pair } }

    private static func read(_ certificate: String, _ key: String) throws -> Pair {
        let pair = Pair(
            chain: try NIOSSLCertificate.fromPEMFile(certificate), key: try NIOSSLPrivateKey(file: key, format: .pem))
        // Detects the key of another certificate here instead of in every handshake.
        _ = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: pair.chain.map { .certificate($0) }, privateKey: .privateKey(pair.key)))
        return pair
    }

    var chain: [NIOSSLCertificateSource] { current.withLock { $0.chain.map { .certificate($0) } } }

    var privateKey: NIOSSLPrivateKeySource { current.withLock { .privateKey($0.key) } }

    /// When it is no longer good, Unix time in seconds.
    var expiry: Int? { current.withLock { $0.chain.first.map { Int($0.notValidAfter) } } }
}

/// - Throws: When the file cannot be read, or holds more than one word.
func readToken(_ path: String) throws -> String? {
    guard let data = FileManager.default.contents(atPath: path), let text = String(validating: data, as: UTF8.self)
    else {
        throw GatewayServer.StartFault(lines: ["\(path) cannot be read"])
    }
    let words = text.split { $0 == " " || $0 == "\n" || $0 == "\r\n" || $0 == "\t" }
    guard words.count < 2 else { throw GatewayServer.StartFault(lines: ["\(path) is to hold one token"]) }
    return words.first.map(String.init)
}

extension CertificateReloader {
    /// Gives each handshake the newest certificate.
    var callback: NIOSSLContextCallback {
        { [self] _, promise in
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = chain
            override.privateKey = privateKey
            promise.succeed(override)
        }
    }
}
