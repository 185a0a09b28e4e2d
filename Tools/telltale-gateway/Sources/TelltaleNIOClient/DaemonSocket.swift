internal import TelltaleEventLoop

/// The address of a daemon: a Unix socket, or TCP with or without TLS.
public enum DaemonSocket: Hashable, Sendable, CustomStringConvertible {
    case unix(path: String)
    case tcp(host: String, port: Int)
    case tls(host: String, port: Int)

    /// Reads `unix:PATH` (or a path that begins with `/`), `HOST:PORT`, `[IPv6]:PORT` or `tls://HOST:PORT`; `nil` for
    /// anything else. A port is 1 to 65535.
    public init?(_ text: String) {
        let isTLS = text.hasPrefix("tls://")
        let place = isTLS ? String(text.dropFirst("tls://".count)) : text.hasPrefix("/") ? "unix:\(text)" : text
        switch Endpoint(place) {
        case .unix(let path)? where !isTLS && path.utf8.count <= Endpoint.pathLengthLimit && !path.utf8.contains(0):
            self = .unix(path: path)
        case .tcp(let host, let port)? where port > 0 && host.utf8.allSatisfy(Self.isHostByte):
            self = isTLS ? .tls(host: host, port: Int(port)) : .tcp(host: host, port: Int(port))
        case .tcp?, .unix?, nil: return nil
        }
    }

    /// Reads `ADDRESS,ADDRESS,…`, at most 16, all encrypted or none of them; `nil` for anything else.
    public static func list(_ text: String) -> [DaemonSocket]? {
        var list: [DaemonSocket] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let address = DaemonSocket(String(part)) else { return nil }
            list.append(address)
        }
        guard list.count <= EndpointList.countLimit, Set(list.map(\.isEncrypted)).count == 1 else { return nil }
        return list
    }

    /// The form of an address, for errors.
    public static let form = "unix:PATH, HOST:PORT or tls://HOST:PORT, or several with commas between"

    public var isEncrypted: Bool { if case .tls = self { true } else { false } }

    private static func isHostByte(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "/") }

    public var description: String {
        switch self {
        case .unix(let path): Endpoint.unix(path: path).description
        case .tcp(let host, let port): Endpoint.tcp(host: host, port: UInt16(clamping: port)).description
        case .tls(let host, let port): "tls://\(Endpoint.tcp(host: host, port: UInt16(clamping: port)))"
        }
    }
}
