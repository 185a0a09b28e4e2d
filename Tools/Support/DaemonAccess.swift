public import ArgumentParser
import Foundation
public import TelltaleEventLoop
import TelltaleModel

/// The proof of a command's identity, and whom it trusts: for a daemon with `--auth`, and for `tls://`.
public struct DaemonAccess: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file that holds the token for a daemon with --auth. Default: TELLTALE_TOKEN_FILE; else the token is TELLTALE_TOKEN.",
            valueName: "file"))
    public var tokenFile: String?
    @Option(
        help: ArgumentHelp(
            "A PEM file of the authorities that are trusted for tls://. Default: TELLTALE_CA, else those of the system.",
            valueName: "file"))
    public var ca: String?

    public init() {}

    /// The token: never an argument, which every user of the machine could read.
    ///
    /// - Throws: `ExitCode.failure`, with the reason on standard error, when the file cannot be read.
    public func token() throws -> String? {
        guard let file = tokenFile ?? Self.environment("TELLTALE_TOKEN_FILE") else {
            return Self.environment("TELLTALE_TOKEN")
        }
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            complain("--token-file \(file): the file cannot be read".harmless)
            throw ExitCode.failure
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return token.isEmpty ? nil : token
    }

    /// The path of the file of authorities; `nil` for those of the system.
    public var authorities: String? { ca ?? Self.environment("TELLTALE_CA") }

    public func link(to place: DaemonPlace) throws -> DaemonLink {
        DaemonLink(
            endpoint: place.endpoint, isEncrypted: place.isEncrypted, authorities: authorities, token: try token())
    }

    private static func environment(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name] ?? ""
        return value.isEmpty ? nil : value
    }
}

/// The way to a daemon.
public struct DaemonLink: Sendable, CustomStringConvertible {
    public let endpoint: Endpoint
    public let isEncrypted: Bool
    /// The path of a PEM file; `nil` for the authorities of the system.
    public let authorities: String?
    public let token: String?

    /// Without the token.
    public var description: String { (isEncrypted ? "tls://" : "") + endpoint.description }
}

/// A daemon, as options of a command: `--connect`, `--token-file`, `--ca`.
public struct DaemonLinkOptions: ParsableArguments {
    @OptionGroup public var address: DaemonAddress
    @OptionGroup public var access: DaemonAccess

    public init() {}

    public var link: DaemonLink { get throws { try access.link(to: try address.place) } }
}
