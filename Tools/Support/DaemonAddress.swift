public import ArgumentParser
import Foundation
public import TelltaleEventLoop

extension Endpoint: ExpressibleByArgument {
    /// `HOST:PORT` or `unix:PATH`.
    public init?(argument: String) { self.init(argument) }
}

/// The address of a daemon, or of several of which one serves; and whether the connection to it is encrypted.
public struct DaemonPlace: ExpressibleByArgument, Sendable {
    public let endpoint: EndpointList
    public let isEncrypted: Bool
    /// As it was written.
    public let text: String

    /// Where a daemon listens by default.
    public static let usual = DaemonPlace(.tcp(host: "127.0.0.1", port: 7878))

    /// `HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`; or up to 16 of them with commas between, all encrypted or none.
    public init?(argument: String) {
        text = argument
        isEncrypted = argument.hasPrefix("tls://")
        var endpoints: [Endpoint] = []
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            guard part.hasPrefix("tls://") == isEncrypted,
                let endpoint = Endpoint(String(isEncrypted ? part.dropFirst("tls://".count) : part))
            else { return nil }
            endpoints.append(endpoint)
        }
        guard let list = EndpointList(endpoints) else { return nil }
        endpoint = list
    }

    /// The form of an address, for help and errors.
    public static let form = "HOST:PORT, tls://HOST:PORT or unix:PATH, or several with commas between"

    /// The place that `TELLTALE_CONNECT` names; `nil` where it is not set.
    ///
    /// - Throws: A `ValidationError` when it holds no address.
    public static func ofEnvironment() throws -> DaemonPlace? {
        let variable = ProcessInfo.processInfo.environment["TELLTALE_CONNECT"] ?? ""
        guard !variable.isEmpty else { return nil }
        guard let place = DaemonPlace(argument: variable) else {
            throw ValidationError(
                "TELLTALE_CONNECT is to be \(DaemonPlace.form), not '\(variable)'.")
        }
        return place
    }

    private init(_ endpoint: Endpoint) {
        self.endpoint = EndpointList(endpoint)
        text = endpoint.description
        isEncrypted = false
    }
}

/// The daemon that a command talks to: `--connect`, else the environment's `TELLTALE_CONNECT`, else 127.0.0.1:7878.
public struct DaemonAddress: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon, or several with commas between. Default: TELLTALE_CONNECT, else 127.0.0.1:7878.",
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
}
