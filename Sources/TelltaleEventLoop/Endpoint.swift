/// The address that a server listens on or a client connects to: `HOST:PORT` or `unix:PATH`.
public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    /// The longest path of a Unix socket, in bytes: the size of `sun_path` on Linux without the terminating NUL.
    public static let pathLengthLimit = 107

    /// Parses `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`; `nil` for anything else.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst("unix:".count)
            guard !path.isEmpty else { return nil }
            self = .unix(path: String(path))
            return
        }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var host = text[..<colon]
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(where: { ":[]".contains($0) }) {
            return nil  // The end of an IPv6 address without brackets is ambiguous.
        }
        guard !host.isEmpty else { return nil }
        self = .tcp(host: String(host), port: port)
    }

    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Whether only programs on this machine can connect to it.
    public var isLocal: Bool {
        switch self {
        case .tcp(let host, _): host == "localhost" || host == "::1" || (host.hasPrefix("127.") && isLiteral)
        case .unix: true
        }
    }

    private var isLiteral: Bool {
        guard case .tcp(let host, let port) = self else { return false }
        return SocketAddress(literal: host, port: port) != nil
    }
}
