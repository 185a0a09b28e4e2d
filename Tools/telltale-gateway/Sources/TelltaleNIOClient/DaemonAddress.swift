/// Where a daemon listens: a Unix socket, or TCP with or without TLS.
public enum DaemonAddress: Hashable, Sendable, CustomStringConvertible {
    case unix(path: String)
    case tcp(host: String, port: Int)
    case tls(host: String, port: Int)

    /// Reads `unix:PATH` (or a path that begins with `/`), `HOST:PORT`, `[IPv6]:PORT` or `tls://HOST:PORT`; `nil` for
    /// anything else. A port is 1 to 65535.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") || text.hasPrefix("/") {
            let path = text.hasPrefix("/") ? text : String(text.dropFirst("unix:".count))
            // The longest path that a socket's address holds, without its NUL.
            guard !path.isEmpty, path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        let isTLS = text.hasPrefix("tls://")
        guard let (host, port) = Self.hostAndPort(isTLS ? text.dropFirst("tls://".count) : text[...]), port > 0 else {
            return nil
        }
        self = isTLS ? .tls(host: host, port: port) : .tcp(host: host, port: port)
    }

    /// Cuts `HOST:PORT` and `[IPv6]:PORT`; `nil` for anything else. A port is 0 to 65535.
    public static func hostAndPort(_ text: Substring) -> (host: String, port: Int)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }) else {
            return nil
        }
        return (String(host), Int(port))
    }

    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): "\(Self.bracketed(host)):\(port)"
        case .tls(let host, let port): "tls://\(Self.bracketed(host)):\(port)"
        }
    }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
