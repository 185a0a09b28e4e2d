public import TelltaleModel

/// Which of its servers a client connects to next.
///
/// A client knows one address or several. It stays with a server that serves it. A server of a cluster that does not lead
/// names the leader, and the client goes there at once, whether it knows that address or not. Where no leader is named, where
/// the leaders that are named go in a circle, and where a server does not answer, the client goes to the next address of its
/// list, behind a random pause.
///
/// `Protocols/Clients/servers.table` is executed by the tests.
public struct ServerList: Hashable, Sendable {
    /// How to go to the next server.
    public enum Step: Hashable, Sendable {
        case atOnce
        /// Behind a random span of ``ServerList/pause``.
        case behindPause
        /// Behind the ``Backoff`` of the client.
        case behindBackoff
    }

    /// The delay before an attempt at the next address.
    public static let pause = Milliseconds(100)...Milliseconds(2_000)
    /// The most addresses of a list, as programs take it.
    public static let countLimit = 16
    /// Leaders that are gone to without a pause in between.
    private static let hopLimit = 4
    private static let addressLength = 1...256

    private let own: [String]
    private var index = 0
    /// A leader that is not in the list.
    private var named: String?
    /// The servers that were asked since the last pause.
    private var asked: Set<String> = []
    private var hops = 0
    /// Attempts since a server last served.
    private var attempts = 0

    public init(_ addresses: [String]) {
        own = addresses
    }

    /// Where to connect; `nil` for an empty list.
    public var address: String? { named ?? (own.isEmpty ? nil : own[index]) }

    /// Whether each address was tried since a server last served.
    public var isExhausted: Bool { attempts >= max(1, own.count) }

    /// How long an attempt to connect to ``address`` may take, where a single server would get `limit`.
    ///
    /// A machine that is gone answers nothing, so a client of several servers goes on after 2 s, or `limit` where that is less. Each round
    /// through its list gives every server twice as long, up to `limit`: a network that is slow needs it.
    public func dialSpan(limit: Milliseconds) -> Milliseconds {
        guard own.count > 1 || named != nil else { return limit }
        let doublings = min(attempts / max(1, own.count), Self.doublingLimit)
        return min(limit, Self.firstDialSpan.multiplied(by: 1 << Int64(doublings)))
    }

    /// TCP repeats a lost first packet after 1 s.
    private static let firstDialSpan = Milliseconds.seconds(2)
    private static let doublingLimit = 16

    /// The server answered `HELLO`.
    public mutating func served() { (asked, hops, attempts) = ([], 0, 0) }

    /// Another connection of the same client is served at this address.
    public mutating func isServed(at address: String) {
        go(to: address)
        served()
    }

    /// The server did not answer, or the connection was lost.
    public mutating func failed() -> Step {
        attempts += 1
        let isAlone = own.count < 2 && named == nil
        moveOn()
        return isAlone ? .behindBackoff : .behindPause
    }

    /// The server does not lead.
    ///
    /// - Parameter leader: As it names it.
    public mutating func isNotLeader(leader: String?) -> Step {
        if let address { asked.insert(address) }
        if let target = leader.flatMap(address(ofLeader:)), !asked.contains(target), hops < Self.hopLimit {
            hops += 1
            go(to: target)
            return .atOnce
        }
        attempts += 1
        moveOn()
        return .behindPause
    }

    /// The server ends the connection because it does not lead any more: the next one, behind the wait that it asks for.
    ///
    /// - Parameter leader: As it names it.
    public mutating func resigned(leader: String?) {
        if let target = leader.flatMap(address(ofLeader:)) { go(to: target) } else { moveOn() }
        (asked, hops) = ([], 0)
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

    /// The way to a leader is encrypted as that to the others is, whatever a server says.
    private func address(ofLeader leader: String) -> String? {
        guard let first = own.first, Self.addressLength.contains(leader.utf8.count), !leader.hasPrefix("unix:"),
            !leader.hasPrefix("tls://")
        else { return nil }
        return (first.hasPrefix("tls://") ? "tls://" : "") + leader
    }
}
