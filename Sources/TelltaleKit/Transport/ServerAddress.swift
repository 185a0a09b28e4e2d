internal import TelltaleClientProtocol

/// The address of a server: `HOST:PORT`, `[IPv6]:PORT`, `tls://HOST:PORT` or `unix:PATH`.
public enum ServerAddress: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case tls(host: String, port: UInt16)
    case unix(path: String)

    /// `nil` if `text` is no address. A port is 1 to 65535; the path of a Unix socket has 1 to 103 bytes, the limit
    /// that every system supports.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard (1...103).contains(path.utf8.count), !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
        } else if text.hasPrefix("tls://") {
            guard let (host, port) = Self.hostAndPort(text.dropFirst(6)) else { return nil }
            self = .tls(host: host, port: port)
        } else {
            guard let (host, port) = Self.hostAndPort(text[...]) else { return nil }
            self = .tcp(host: host, port: port)
        }
    }

    private static func hostAndPort(_ text: Substring) -> (String, UInt16)? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let port = UInt16(digits),
            port > 0
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard (1...255).contains(host.utf8.count),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        return (String(host), port)
    }

    /// The addresses of `ADDRESS,ADDRESS,…`. Either all of them use TLS or none does.
    ///
    /// - Throws: ``TelltaleError/invalidRequest(_:)`` with the invalid address.
    static func list(_ text: String) throws(TelltaleError) -> [ServerAddress] {
        var list: [ServerAddress] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let address = ServerAddress(String(part)) else {
                throw .invalidRequest(
                    "the address is none: HOST:PORT, tls://HOST:PORT or unix:PATH is wanted, or several with commas between"
                )
            }
            list.append(address)
        }
        guard list.count <= ServerList.countLimit else {
            throw .invalidRequest("there are \(list.count) addresses; a client takes \(ServerList.countLimit)")
        }
        guard Set(list.map(\.isEncrypted)).count == 1 else {
            throw .invalidRequest("of several addresses all are to be tls://, or none")
        }
        return list
    }

    private var isEncrypted: Bool { if case .tls = self { true } else { false } }

    public var description: String {
        func place(_ host: String, _ port: UInt16) -> String {
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
        return switch self {
        case .tcp(let host, let port): place(host, port)
        case .tls(let host, let port): "tls://\(place(host, port))"
        case .unix(let path): "unix:\(path)"
        }
    }
}
