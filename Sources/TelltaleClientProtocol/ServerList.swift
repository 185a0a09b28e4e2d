public import TelltaleModel

/// Decides which server a client connects to next.
///
/// A client knows one address or several. It begins with the first address, which its owner chooses at random
/// (``beginning(with:random:)``), and stays with a server that serves it. A server may name another one, and the client
/// connects there immediately, whether or not the address is in its list. If none is named, if the named servers form a
/// circle, or if a server does not answer, the client tries the next address in its list after a random pause.
///
/// `Protocols/Clients/servers.table` is executed by the tests.
public struct ServerList: Hashable, Sendable {
    /// When to connect to the next server.
    public enum Step: Hashable, Sendable {
        case atOnce
        /// After a random span of ``ServerList/pause``.
        case behindPause
        /// After the ``Backoff`` of the client.
        case behindBackoff
    }

    /// The delay before an attempt at the next address.
    public static let pause = Milliseconds(100)...Milliseconds(2_000)
    /// The most addresses in a list.
    public static let countLimit = 16
    /// The most redirections without a pause in between.
    private static let hopLimit = 4
    private static let addressLength = 1...256

    private let own: [String]
    private var index = 0
    /// A server that another one named, and that is not in the list.
    private var named: String?
    /// The servers that were tried since the last pause, and since one last served for a while.
    private var asked: Set<String> = []
    private var hops = 0
    /// Attempts since a server last served.
    private var attempts = 0

    public init(_ addresses: [String]) {
        own = addresses
    }

    /// The same circle of addresses from a random one of them, so that the clients of a list spread over it.
    public static func beginning<Address>(with addresses: [Address], random: UInt64) -> [Address] {
        guard addresses.count > 1 else { return addresses }
        let first = Int(random % UInt64(addresses.count))
        return Array(addresses[first...] + addresses[..<first])
    }

    /// The address to connect to; `nil` for an empty list.
    public var address: String? { named ?? (own.isEmpty ? nil : own[index]) }

    /// Whether each address was tried since a server last served.
    public var isExhausted: Bool { attempts >= max(1, own.count) }

    /// The time limit for connecting to ``address``, where a single server would get `limit`.
    ///
    /// A dead machine does not answer, so a client with several servers moves on after 2 s, or `limit` if that is less.
    /// Each round through the list doubles the time, up to `limit`, for the sake of slow networks.
    public func dialSpan(limit: Milliseconds) -> Milliseconds {
        guard own.count > 1 || named != nil else { return limit }
        let doublings = min(attempts / max(1, own.count), Self.doublingLimit)
        return min(limit, Self.firstDialSpan.multiplied(by: 1 << Int64(doublings)))
    }

    /// TCP repeats a lost first packet after 1 s.
    private static let firstDialSpan = Milliseconds.seconds(2)
    private static let doublingLimit = 16

    /// The server answered `HELLO`.
    public mutating func served() { attempts = 0 }

    /// The server has served for a while, so that it counts as no part of a circle.
    public mutating func stayed() { (asked, hops) = ([], 0) }

    /// Another connection of the same client is served at this address.
    public mutating func isServed(at address: String) {
        go(to: address)
        served()
        stayed()
    }

    /// The server did not answer, or the connection was lost.
    public mutating func failed() -> Step {
        attempts += 1
        let isAlone = own.count < 2 && named == nil
        moveOn()
        return isAlone ? .behindBackoff : .behindPause
    }

    /// The server sends the client elsewhere: it does not serve, or ends the connection.
    ///
    /// - Parameters:
    ///   - target: The address that the server named; `nil` = none.
    ///   - isDelayed: Whether the server asked for a wait before the next attempt. Then any server may have changed its role,
    ///     so those that were tried before are tried again.
    public mutating func redirected(to target: String?, isDelayed: Bool = false) -> Step {
        if isDelayed { asked = [] } else if let address { asked.insert(address) }
        if let target = target.flatMap(address(named:)), !asked.contains(target), hops < Self.hopLimit {
            hops += 1
            go(to: target)
            return .atOnce
        }
        attempts += 1
        moveOn()
        return .behindPause
    }

    private mutating func go(to target: String) {
        if let place = own.firstIndex(of: target) {
            (index, named) = (place, nil)
        } else {
            named = target
        }
    }

    private mutating func moveOn() {
        named = nil
        if !own.isEmpty { index = (index + 1) % own.count }
        (asked, hops) = ([], 0)
    }

    /// The connection to a named server uses TLS exactly if those to the listed servers do, whatever a server says.
    private func address(named name: String) -> String? {
        guard let first = own.first, Self.addressLength.contains(name.utf8.count), !name.hasPrefix("unix:"),
            !name.hasPrefix("tls://")
        else { return nil }
        return (first.hasPrefix("tls://") ? "tls://" : "") + name
    }
}
