import Hub
import TelltaleModel

/// The rights of a guest, as the operator of a simulated daemon gives them.
struct GuestRights: Equatable {
    /// As in a file of principals: `read:order/*`.
    var scopes: [String]
    /// `nil` = any account.
    var account: String?
    /// The numbers of its tokens, with the real time at which each expires.
    var tokens: [(number: Int, expires: Int64?)]

    static func == (left: GuestRights, right: GuestRights) -> Bool {
        left.scopes == right.scopes && left.account == right.account
            && left.tokens.map(\.number) == right.tokens.map(\.number)
    }

    /// Whether a scope allows `verb` on every key of `range`, by the text of both: a range that ends in `*` includes all that
    /// begins as it does.
    func allows(_ verb: String, _ range: String) -> Bool {
        scopes.contains { scope in
            guard scope.hasPrefix(verb + ":") else { return scope == verb && range.isEmpty }
            let own = scope.dropFirst(verb.utf8.count + 1)
            return own == range || own.hasSuffix("*") && range.hasPrefix(own.dropLast())
        }
    }

    /// Whether everything that `other` allows is allowed, for the same accounts or for any.
    func cover(_ other: GuestRights) -> Bool {
        (account == nil || account == other.account)
            && other.scopes.allSatisfy { scope in
                let parts = scope.split(separator: ":", maxSplits: 1).map(String.init)
                return allows(parts[0], parts.count == 2 ? parts[1] : "")
            }
    }

    /// Whether a connection of this token lost nothing: each of these rights has the token, and covers the one before.
    ///
    /// - Parameter rights: In the order of time. A daemon may have read only some of them.
    static func tookNothing(_ rights: [GuestRights], from token: Int) -> Bool {
        rights.allSatisfy { $0.tokens.contains { $0.number == token } }
            && zip(rights, rights.dropFirst()).allSatisfy { old, new in new.cover(old) }
    }
}

/// The principals of a simulated daemon: one for each client that is not a guest, with every right, and the guests, whose
/// rights the operator changes again and again.
///
/// The operator's file takes a moment until the daemon has read it.
final class SimulatedPrincipals {
    private unowned let world: World
    private var random: SimulationRandom
    private var ordinary: [String] = []
    private(set) var guests: [GuestRights] = []
    /// Rights that a guest had, and until when.
    private var former: [[(rights: GuestRights, until: Int64)]] = []
    /// Requests a second of each guest; `nil` = unlimited.
    let rates: [Int?]
    private var tokenCount = 0
    private let kinds: [String]

    /// The longest time from a change of the file until the last connection has ended for it, in milliseconds.
    static let promptness: Int64 = 3_000

    init(world: World, count: Int, random: SimulationRandom) {
        self.world = world
        self.random = random
        let cast = world.setting.cast.parts.map(\.kind) + world.setting.cast.controlKinds
        kinds = cast.isEmpty ? ["order"] : cast
        rates = (0..<count).map { $0 % 3 == 2 ? 3 : nil }
        for _ in 0..<count {
            guests.append(GuestRights(scopes: [], account: nil, tokens: []))
            former.append([])
        }
        for guest in 0..<count { guests[guest] = freshRights() }
    }

    // MARK: The operator

    private func freshRights() -> GuestRights {
        var rights = GuestRights(scopes: scopes(), account: nil, tokens: [freshToken()])
        if random.chance(700) { rights.account = random.pick(of: ["alice", "bob"]) }
        return rights
    }

    private func freshToken() -> (number: Int, expires: Int64?) {
        tokenCount += 1
        return (tokenCount, random.chance(300) ? world.wall.milliseconds + random.pick(10_000...60_000) : nil)
    }

    private func scopes() -> [String] {
        let kind = random.pick(of: kinds)
        let all = [
            "read:*", "read:\(kind)/*", "read:order/*", "read:order/shared-1", "act:*", "act:\(kind)/*",
            "act:order/shop*",
            "stats", "post:ghost/*",
        ]
        let count = 1 + random.below(3)
        return (0..<count).map { _ in random.pick(of: all) }
    }

    /// The operator changes the rights of one guest. The daemon has read them up to 2 s later.
    func change() {
        guard !guests.isEmpty else { return }
        let guest = random.below(guests.count)
        let old = guests[guest]
        switch random.below(6) {
        case 0: guests[guest].tokens = []
        case 1: guests[guest].tokens = [freshToken()]
        case 2: guests[guest].tokens.append(freshToken())
        case 3: guests[guest].scopes = scopes()
        case 4: guests[guest].scopes += scopes()
        case _: guests[guest] = freshRights()
        }
        if guests[guest].tokens.isEmpty, old.tokens.isEmpty { guests[guest].tokens = [freshToken()] }
        guard guests[guest] != old else { return }
        former[guest].removeAll { $0.until < world.now - 120_000 }
        former[guest].append((old, world.now))
        world.principalsChange(of: guest, readAfter: random.pick(0...1_900))
    }

    /// Every rights that a guest had at some time since `start`: those of now, then the others in the order of time.
    func rights(of guest: Int, since start: Int64) -> [GuestRights] {
        [guests[guest]] + former[guest].filter { $0.until >= start }.map(\.rights)
    }

    // MARK: The file

    static func name(_ guest: Int) -> String { "guest-\(guest)" }

    private static func id(_ number: Int) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
        var (rest, text) = (number, "")
        for _ in 0..<TokenText.idLength {
            text.append(letters[rest % 32])
            rest /= 32
        }
        return text
    }

    static func token(_ number: Int) -> String {
        "tt_\(id(number))_" + String(repeating: "x", count: TokenText.secretLength)
    }

    /// The token of a client that may do everything. Its principal has the client's name.
    func token(of client: String) -> String {
        let place: Int
        if let known = ordinary.firstIndex(of: client) {
            place = known
        } else {
            place = ordinary.count
            ordinary.append(client)
            world.daemon.readPrincipals()
        }
        return Self.token(1_000_000 + place)
    }

    /// The daemon's directory, as it reads the file now; with some bugs it reads what does not stand there.
    ///
    /// - Parameter lacksGrown: Without the tokens of guests whose rights cover those before.
    func directory(isRestarted: Bool, lacksGrown: Bool = false) -> PrincipalDirectory {
        var directory = PrincipalDirectory { Array($0.utf8) }
        for (place, name) in ordinary.enumerated() {
            let scopes: [Scope] = [.post(.all), .read(.all), .act(.all), .serve(nil), .stats]
            directory.insert(
                Principal(name: name, scopes: Set(scopes), accounts: .any), tokens: [token(1_000_000 + place)])
        }
        for (guest, rights) in guests.enumerated() {
            var scopes = Set(rights.scopes.compactMap { Scope($0) })
            if world.bug == .actUnchecked { scopes.insert(.act(.all)) }
            if world.bug == .keyTakenForKind, scopes.contains(.read(.key(kind: "order", id: "shared-1"))) {
                scopes.insert(.read(.kind("order")))
            }
            var principal = Principal(name: Self.name(guest), scopes: scopes, accounts: .any)
            if let account = rights.account, !(world.bug == .accountLostAtRestart && isRestarted) {
                principal.accounts = .one(account)
            }
            if world.bug != .rateForgotten { principal.rate = rates[guest] }
            var tokens = rights.tokens
            if world.bug == .revocationUnread {
                for old in former[guest].flatMap(\.rights.tokens)
                where !tokens.contains(where: { $0.number == old.number }) {
                    tokens.append(old)
                }
            }
            if lacksGrown, let old = former[guest].last, rights.cover(old.rights) { tokens = [] }
            directory.insert(principal, tokens: tokens.map { token($0.number, expires: $0.expires) })
        }
        return directory
    }

    private func token(_ number: Int, expires: Int64? = nil) -> PrincipalDirectory.Token {
        let expires = world.bug == .expiryForgotten ? nil : expires.map { Timestamp(milliseconds: $0) }
        return PrincipalDirectory.Token(id: Self.id(number), digest: Array(Self.token(number).utf8), expires: expires)
    }

    // MARK: Lines of clients that are no guests

    /// The same lines, with the token of the client that `HELLO` names; a client that says no `HELLO` gets one.
    ///
    /// - Returns: The lines, and whether a `HELLO` was put before them.
    func introducing(_ lines: [String]) -> (lines: [String], isAdded: Bool) {
        guard let first = lines.first, first.hasPrefix("HELLO") else {
            return (["HELLO token=\(token(of: "inspector"))"] + lines, true)
        }
        return ([first + " token=\(token(of: Self.client(in: first)))"] + lines.dropFirst(), false)
    }

    private static func client(in hello: String) -> String {
        hello.split(separator: " ").first { $0.hasPrefix("client=") }.map { String($0.dropFirst(7)) } ?? "inspector"
    }
}
