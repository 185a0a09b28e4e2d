public import ArgumentParser
import Foundation
public import TelltaleEventLoop

extension Endpoint: ExpressibleByArgument {
    /// `HOST:PORT` or `unix:PATH`.
    public init?(argument: String) { self.init(argument) }
}

/// The daemon that a command talks to: `--connect`, else the environment's `TELLTALE_CONNECT`, else 127.0.0.1:7878.
public struct DaemonAddress: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon. Default: TELLTALE_CONNECT, else 127.0.0.1:7878.", valueName: "host:port|unix:path"))
    public var connect: Endpoint?

    public init() {}

    public func validate() throws { _ = try endpoint }

    /// - Throws: A `ValidationError` when the environment holds no address.
    public var endpoint: Endpoint {
        get throws {
            if let connect { return connect }
            let variable = ProcessInfo.processInfo.environment["TELLTALE_CONNECT"] ?? ""
            guard !variable.isEmpty else { return .tcp(host: "127.0.0.1", port: 7878) }
            guard let endpoint = Endpoint(variable) else {
                throw ValidationError("TELLTALE_CONNECT is to be HOST:PORT or unix:PATH, not '\(variable)'.")
            }
            return endpoint
        }
    }
}
