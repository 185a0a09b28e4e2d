import FoundationEssentials
import Logging
import TelltaleEventLoop
import TelltaleModel

/// The certificate of the encrypted listeners.
struct Certificate {
    private let certificate: String
    private let key: String
    private(set) var context: TLSContext
    private static let attemptLimit = 60
    private var attempts = 0

    /// `nil` where no certificate is configured.
    init?(_ configuration: Configuration) throws(TLSContext.Failure) {
        guard let certificate = configuration.tlsCertificate, let key = configuration.tlsKey else { return nil }
        self.certificate = certificate
        self.key = key
        context = try Self.load(certificate, key)
    }

    private static func load(_ certificate: String, _ key: String) throws(TLSContext.Failure) -> TLSContext {
        do throws(TLSContext.Failure) {
            return try TLSContext(certificate: certificate, key: key)
        } catch {
            throw TLSContext.Failure(description: "--tls-cert \(certificate) --tls-key \(key): \(error)")
        }
    }

    /// When it expires.
    var expiry: Timestamp { Timestamp(milliseconds: context.expirySeconds * 1_000) }

    /// Reads the files again, for new connections. If they have a fault, the old certificate stays in force.
    ///
    /// A program that renews them may have replaced only one of the two yet, so the files are tried again for a minute.
    mutating func reload(_ logger: Logger) {
        do throws(TLSContext.Failure) {
            try load(logger)
        } catch {
            attempts = Self.attemptLimit
            logger.error("the certificate was not reloaded; the old one stays in force: \(error)")
        }
    }

    /// Call it once a second.
    ///
    /// - Returns: Whether the certificate was replaced.
    mutating func retry(_ logger: Logger) -> Bool {
        guard attempts > 0 else { return false }
        attempts -= 1
        return (try? load(logger)) != nil
    }

    private mutating func load(_ logger: Logger) throws(TLSContext.Failure) {
        context = try Self.load(certificate, key)
        attempts = 0
        logger.info(
            "certificate reloaded",
            metadata: ["until": "\(Date(timeIntervalSince1970: Double(context.expirySeconds)).ISO8601Format())"])
    }
}
