import Hub
import TelltaleModel

/// Holds everything that the daemon sends to one guest against its rights: no row is outside its scopes and its account, no
/// request beyond them is answered, none within them is refused, and its connection ends when its token does.
final class GuestCheck {
    private unowned let world: World
    private let guest: Int
    private let principals: SimulatedPrincipals
    private var reader = ClientLines()
    private var link: SimulatedLink?
    private var connectedAt: Int64 = 0
    private var token = 0
    private var account: String?
    private var isAdmitted = false
    private var isEnding = false
    private var asked: [Question] = []
    private var followed: [String: String] = [:]
    /// Requests that the daemon of this generation has taken.
    private var taken = (generation: 0, since: Int64(0), count: 0)

    private struct Question {
        let id: String
        let verb: String
        let range: String
        let time: Int64
    }

    init(world: World, guest: Int, principals: SimulatedPrincipals) {
        self.world = world
        self.guest = guest
        self.principals = principals
    }

    private func broken(_ what: String) { world.violated("access", "\(SimulatedPrincipals.name(guest)) \(what)") }

    // MARK: The guest

    func connected(on link: SimulatedLink, token: Int, account: String?) {
        reader.begin()
        self.link = link
        connectedAt = world.now
        self.token = token
        self.account = account
        (isAdmitted, isEnding, asked, followed) = (false, false, [], [:])
    }

    func asked(_ id: String, verb: String, range: String, on link: SimulatedLink) {
        asked.append(Question(id: id, verb: verb, range: range, time: world.now))
    }

    // MARK: The daemon

    func emitted(_ bytes: [UInt8], on link: SimulatedLink) {
        guard link === self.link else { return }
        for line in reader.readHeads(bytes).lines where world.ledger.violations.isEmpty { checkLine(line) }
    }

    private func checkLine(_ line: ClientLine) {
        switch line.verb {
        case "OK", "ERR", "PONG": answered(line)
        case "SNAP", "UPD", "MILE", "ALERT": checkRow(line)
        case "DEL", "HIST": checkKey(line)
        case "BYE": checkFarewell(line)
        case _: break
        }
    }

    /// Rights that may be in force at the daemon, for what it decided since `start`.
    private func rights(since start: Int64) -> [GuestRights] {
        principals.rights(of: guest, since: start - SimulatedPrincipals.promptness)
    }

    private func isGood(_ rights: GuestRights) -> Bool { rights.tokens.contains { $0.number == token } }

    private func answered(_ line: ClientLine) {
        if line["id"] == "hello" { return greeted(line) }
        guard let question = asked.first, line["id"] == question.id else {
            // The last word of a connection that was not admitted in time.
            if line["code"] == "auth_required", line["fatal"] == "1" {
                isEnding = true
                return
            }
            return broken("is answered \(line["id"] ?? "without an id") and waits for \(asked.first?.id ?? "nothing")")
        }
        asked.removeFirst()
        let code = line["code"] ?? ""
        guard isAdmitted else {
            if question.verb.isEmpty || code == "auth_required" { return }
            return broken("is answered \(question.verb):\(question.range) before HELLO: \(line.whole)")
        }
        if code == "limit_rate" { return checkRate(isRefused: true) }
        checkRate(isRefused: false)
        if question.verb.isEmpty { return }
        let rights = rights(since: question.time)
        let mayAllow = rights.contains { $0.allows(question.verb, question.range) }
        let mayRefuse = rights.contains { !$0.allows(question.verb, question.range) }
        let isRefused = code == "forbidden" && line.tail?["need"] != nil
        if isRefused, !mayRefuse { return broken("may \(question.verb):\(question.range), and is refused") }
        if !isRefused, !mayAllow { return broken("may not \(question.verb):\(question.range), and is answered") }
        if let number = line["sub"] { followed[number] = question.range }
        if line["key"] != nil { checkRow(line) }
    }

    private func greeted(_ line: ClientLine) {
        guard line.verb == "OK" else {
            let rights = rights(since: world.now - 10_000)
            let wasGood = rights.allSatisfy { isGood($0) && ($0.account == nil || $0.account == account) }
            let expires = rights.flatMap(\.tokens).first { $0.number == token }?.expires
            if wasGood, expires == nil, line["code"] != "shutting_down" {
                broken("says HELLO with a good token, and is refused: \(line.whole)")
            }
            return
        }
        let rights = rights(since: world.now - 10_000)
        if !rights.contains(where: isGood) { return broken("is admitted with a token that was revoked") }
        isAdmitted = true
        if line["principal"] != SimulatedPrincipals.name(guest) {
            return broken("is taken for \(line["principal"] ?? "-")")
        }
        if let own = line["account"], own != account, rights.allSatisfy({ $0.account != own }) {
            return broken("is given the account \(own)")
        }
        account = line["account"]
        let expected = rights.map { $0.account }
        if account == nil, !expected.contains(nil) { broken("sees every account, and has one") }
    }

    private func checkFarewell(_ line: ClientLine) {
        isEnding = true
        // A blocked socket takes its last words late.
        let rights = rights(since: connectedAt)
        switch line["code"] {
        case "auth_revoked":
            if GuestRights.tookNothing(Array(rights.dropFirst() + rights.prefix(1)), from: token) {
                broken("is ended as revoked, and nothing was taken from it")
            }
        case "auth_expired":
            let dates = rights.flatMap(\.tokens).filter { $0.number == token }.map(\.expires)
            let latest = dates.compactMap(\.self).max() ?? 0
            if dates.contains(nil) || latest > world.wall.milliseconds + 2_000, !world.hasJustJumped {
                broken("is ended as expired, and its token is good")
            }
        case _: break
        }
    }

    // MARK: Rows

    private func checkKey(_ line: ClientLine) {
        guard let key = line["key"] else { return }
        if isEnding || !isAdmitted { return broken("is told of \(key), and has no rights") }
        let rights = rights(since: world.now).filter(isGood)
        if rights.isEmpty { return broken("is told of \(key) 3 s after its token was revoked") }
        if !rights.contains(where: { $0.allows("read", key) }) {
            return broken("is told of \(key), outside its scopes")
        }
        if let number = line["sub"], number != "0", let pattern = followed[number], !pattern.includes(key: key) {
            return broken("follows \(pattern), and is told of \(key)")
        }
        let expiries = rights.flatMap(\.tokens).filter { $0.number == token }.map(\.expires)
        if let latest = expiries.compactMap(\.self).max(), !expiries.contains(nil), !world.hasJustJumped,
            world.wall.milliseconds > latest + SimulatedPrincipals.promptness
        {
            broken("is told of \(key) 3 s after its token expired")
        }
    }

    private func checkRow(_ line: ClientLine) {
        checkKey(line)
        guard let key = line["key"], let rev = line.integer("rev") else { return }
        for rights in rights(since: world.now) where isGood(rights) && rights.account != nil {
            // The account that the operator gives, and not the one that the daemon says.
            guard rights.account == account || account == nil else { continue }
            if world.records.isFor(rights.account ?? "", key: key, rev: rev) == false {
                return broken("is shown \(key), which is not for \(rights.account ?? "")")
            }
        }
        if let account, world.records.isFor(account, key: key, rev: rev) == false {
            broken("is shown \(key), which is not for \(account)")
        }
    }

    // MARK: Rate, and the promise

    private func checkRate(isRefused: Bool) {
        if taken.generation != world.daemon.generation {
            taken = (world.daemon.generation, world.daemon.startedAt, 0)
        }
        guard let rate = principals.rates[guest] else {
            if isRefused { broken("is refused for its rate, and has no limit") }
            return
        }
        if isRefused { return }
        taken.count += 1
        let limit = 2 * rate + Int((world.now - taken.since) * Int64(rate) / 1_000) + 1
        if taken.count > limit { broken("makes \(taken.count) requests, and may make \(limit) by now") }
    }

    /// Three seconds after a change of rights, a connection whose token is gone has been notified.
    func checkPromise(on link: SimulatedLink?) {
        guard let link, link === self.link, link.session != nil, isAdmitted, !isEnding, link.unsent.isEmpty else {
            return
        }
        if !rights(since: world.now).contains(where: isGood) { broken("is connected 3 s after its token was revoked") }
    }
}
