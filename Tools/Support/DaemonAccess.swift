public import ArgumentParser
import Glibc
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

    /// The token of `--token-file`; `nil` without the flag. Its file is read, which a pipe allows once.
    ///
    /// - Throws: `ExitCode.failure`, with the reason on standard error, when the file cannot be read.
    public func tokenOfFlag() throws -> String? {
        try tokenFile.flatMap { try Self.token(in: $0, named: "--token-file") }
    }

    /// The token of `TELLTALE_TOKEN_FILE`, else `TELLTALE_TOKEN`.
    ///
    /// - Throws: `ExitCode.failure`, with the reason on standard error, when the file cannot be read.
    public static func tokenOfEnvironment() throws -> String? {
        guard let file = Output.variable("TELLTALE_TOKEN_FILE") else { return Output.variable("TELLTALE_TOKEN") }
        return try token(in: file, named: "TELLTALE_TOKEN_FILE")
    }

    /// Far more than a token has.
    private static let fileByteCountLimit = 65_536

    /// The token in a file: never an argument, which every user of the machine could read. `nil` for an empty file.
    public static func token(in file: String, named name: String) throws -> String? {
        // A shell's <(command) is a pipe.
        do throws(NamedFile.Failure) {
            let bytes = try NamedFile.read(file, limit: fileByteCountLimit)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw NamedFile.Failure(description: "\(file) holds no token, which is ASCII")
            }
            return text.trimmed.isEmpty ? nil : text.trimmed
        } catch {
            complain("\(programName): \(name): \(error)".harmless)
            throw ExitCode.failure
        }
    }

    /// The path of the file of authorities that the environment names.
    public static var authoritiesOfEnvironment: String? { Output.variable("TELLTALE_CA") }

    public func link(to place: DaemonPlace) throws -> ToolClient {
        ToolClient(
            endpoint: place.endpoint, isEncrypted: place.isEncrypted,
            authorities: ca ?? Self.authoritiesOfEnvironment,
            token: tokenFile == nil ? try Self.tokenOfEnvironment() : try tokenOfFlag())
    }
}

/// The way to a daemon.
public struct ToolClient: Sendable, CustomStringConvertible {
    /// Of several, one serves.
    public let endpoint: EndpointList
    public let isEncrypted: Bool
    /// The path of a PEM file; `nil` for the authorities of the system.
    public let authorities: String?
    public let token: String?

    /// Without the token.
    public var description: String {
        endpoint.endpoints.map { (isEncrypted ? "tls://" : "") + $0.description }.joined(separator: ",")
    }
}

/// A daemon, as options of a command: `--connect`, `--token-file`, `--ca`.
public struct DaemonLinkOptions: ParsableArguments {
    @OptionGroup public var address: DaemonAddress
    @OptionGroup public var access: DaemonAccess

    public init() {}

    public var link: ToolClient { get throws { try access.link(to: try address.place) } }
}
