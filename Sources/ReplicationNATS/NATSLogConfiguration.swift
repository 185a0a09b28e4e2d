internal import Glibc
internal import TelltaleModel

/// How a node reaches its log store.
public struct NATSLogConfiguration: Sendable {
    /// The name of the cluster, 1 to 32 letters, digits, hyphens and underscores. Streams and subjects are named after
    /// it.
    public var cluster: String
    /// The name of this node, of the same form.
    public var node: String
    /// `nats://` or `tls://` addresses, 1 to 32; a user and a password in them are never logged.
    public var servers: [String]
    /// A file of credentials (`.creds`).
    public var credentials: String?
    /// Addresses of the servers' monitors, `http://host:port`. Each replica of the log must report there that it always
    /// syncs. May be empty with ``isSyncTrusted``, when an operator vouches for that.
    public var monitors: [String] = []
    public var isSyncTrusted = false
    /// The lineage in the node's folder, which must equal the log's; `nil` for none.
    public var epoch: UInt64?
    /// The time between two checks whether all servers sync.
    var proofInterval = Milliseconds.minutes(1)
    /// The library file; `nil` = the one that the system finds.
    public var library: String?
    /// The number of replicas of the streams that this node creates.
    public static let replicaCount = 3
    /// The message length that a stream created by others must at least accept: the servers' default `max_payload`.
    static let messageByteCount = 1 << 20

    public init(cluster: String, node: String, servers: [String]) {
        self.cluster = cluster
        self.node = node
        self.servers = servers
    }

    /// Its faults, as far as they can be found without connecting to the log store.
    public var faults: [String] {
        var faults: [String] = []
        for (what, name) in [("cluster", cluster), ("node", node)] where !Names.isValid(name) {
            faults.append(
                "the \(what)'s name is \"\(String(name.prefix(64)).harmless)\" (1 to 32 letters, digits, - and _)")
        }
        if servers.isEmpty || servers.count > 32 {
            faults.append("an engine has 1 to 32 addresses, and \(servers.count) are named")
        }
        for (place, server) in servers.enumerated()
        where !["nats://", "tls://"].contains(where: server.hasPrefix) || server.utf8.contains(0) {
            // Not quoted, because it may contain a password.
            faults.append("address \(place + 1) of the engine does not begin with nats:// or tls://")
        }
        for (place, monitor) in monitors.enumerated() where MonitorAddress(monitor) == nil {
            // Not quoted either.
            faults.append("monitor \(place + 1) is no address of a monitor (http://host:port)")
        }
        if monitors.isEmpty, !isSyncTrusted {
            faults.append(
                "the engine's monitors are not named, so it cannot be seen whether it syncs before it acknowledges (name them, or say that the engine is trusted)"
            )
        }
        if let file = credentials, unsafe access(file, R_OK) != 0 {
            faults.append(
                "the engine's credentials \(file.harmless) cannot be read: \(unsafe String(cString: strerror(errno)))")
        }
        return faults
    }
}

/// `http://host:port`
struct MonitorAddress: Hashable, Sendable {
    var host: String
    var port: UInt16

    init?(_ text: String) {
        guard text.hasPrefix("http://"), !text.utf8.contains(0) else { return nil }
        var rest = text.dropFirst(7)
        if rest.hasSuffix("/") { rest.removeLast() }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = rest[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty,
            host.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "@") })
        else { return nil }
        (self.host, self.port) = (String(host), port)
    }
}
