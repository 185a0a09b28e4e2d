public import ArgumentParser
import Foundation
public import TelltaleEventLoop

extension Endpoint: ExpressibleByArgument {
    /// `HOST:PORT` or `unix:PATH`.
    public init?(argument: String) { self.init(argument) }
}

/// An address, and whether the connection to it is encrypted.
public struct DaemonPlace: ExpressibleByArgument, Sendable {
    public let endpoint: Endpoint
    public let isEncrypted: Bool
    /// As it was written.
    public let text: String

    /// Where a daemon listens by default.
    public static let usual = DaemonPlace(.tcp(host: "127.0.0.1", port: 7878))

    /// `HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`.
    public init?(argument: String) {
        text = argument
        isEncrypted = argument.hasPrefix("tls://")
        guard let endpoint = Endpoint(isEncrypted ? String(argument.dropFirst("tls://".count)) : argument) else {
            return nil
        }
        self.endpoint = endpoint
    }

    /// The place that `TELLTALE_CONNECT` names; `nil` where it is not set.
    ///
    /// - Throws: A `ValidationError` when it holds no address.
    public static func ofEnvironment() throws -> DaemonPlace? {
        let variable = ProcessInfo.processInfo.environment["TELLTALE_CONNECT"] ?? ""
        guard !variable.isEmpty else { return nil }
        guard let place = DaemonPlace(argument: variable) else {
            throw ValidationError(
                "TELLTALE_CONNECT is to be HOST:PORT, tls://HOST:PORT or unix:PATH, not '\(variable)'.")
        }
        return place
    }

    private init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
        text = endpoint.description
        isEncrypted = false
    }
}

/// The daemon that a command talks to: `--connect`, else the environment's `TELLTALE_CONNECT`, else 127.0.0.1:7878.
public struct DaemonAddress: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon. Default: TELLTALE_CONNECT, else 127.0.0.1:7878.",
            valueName: "host:port|tls://host:port|unix:path"))
    public var connect: DaemonPlace?

    public init() {}

    public func validate() throws { _ = try place }

    /// - Throws: A `ValidationError` when the environment holds no address.
    public var place: DaemonPlace {
        get throws {
            if let connect { return connect }
            return try DaemonPlace.ofEnvironment() ?? .usual
        }
    }

    /// The address for a command that speaks no TLS.
    ///
    /// - Throws: A `ValidationError` when the environment holds no address, or the connection is to be encrypted.
    public var endpoint: Endpoint {
        get throws {
            let place = try place
            guard !place.isEncrypted else {
                throw ValidationError("This command speaks no TLS; give it a plain address of this machine.")
            }
            return place.endpoint
        }
    }
}
