import Hub
import TelltaleModel
import TestSupport
import Testing

/// Principals with every kind of right come and go while events are posted, and a reference says who may be shown what.
///
/// It is notified of every line that a connection gets. None may name a key outside the scope or the account of the
/// connection, and after its token was revoked a connection gets its last word alone.
struct AccessStormTests {
    private static let accounts = ["alice", "bob"]
    private static let reads = ["read:*", "read:coffee-order/*", "read:coffee-order/1"]

    /// The rights of one principal, by rules of this test's own.
    private struct Rights {
        var token: String
        var read: String?
        var account: Principal.Accounts
        var mayPost: Bool

        func covers(_ pattern: String) -> Bool {
            switch read {
            case "read:*": true
            case "read:coffee-order/*": pattern != "*"
            case let read?: read == "read:\(pattern)"
            case nil: false
            }
        }

        func isOwn(_ account: String) -> Bool { self.account == .any || self.account == .one(account) }
    }

    private final class Connection {
        let client: HubHarness.Client
        let name: String
        var account: String?
        /// The account of each subscription, by its number.
        var subscriptions: [String: String?] = [:]
        var isRevoked = false

        init(_ client: HubHarness.Client, _ name: String) {
            self.client = client
            self.name = name
        }
    }

    private struct World {
        let harness: HubHarness
        var random: SeededGenerator
        var principals: [String: Rights] = [:]
        var connections: [Connection] = []
        /// The accounts of each order that was started.
        var audiences: [String: Set<String>] = [:]
        var count = 0
        var shown = 0
        var refused = 0

        init(seed: UInt64) throws {
            harness = try HubHarness()
            random = SeededGenerator(seed: seed)
            load()
        }

        func load() {
            var directory = PrincipalDirectory { Array($0.utf8) }
            for (name, rights) in principals.sorted(by: { $0.key < $1.key }) {
                var scopes: Set<Scope> = []
                for text in [rights.read, rights.mayPost ? "post:*" : nil] {
                    if let scope = text.flatMap({ Scope($0) }) { scopes.insert(scope) }
                }
                directory.insert(
                    Principal(name: name, scopes: scopes, accounts: rights.account),
                    tokens: [.init(id: String(rights.token.dropFirst(3).prefix(8)), digest: Array(rights.token.utf8))])
            }
            harness.hub.principalsLoaded(directory)
        }

        mutating func step() {
            switch Int.random(in: 0..<12, using: &random) {
            case 0, 1: add()
            case 2: revoke()
            case 3, 4: connect()
            case 5, 6: subscribe()
            case 7: read()
            case _: post()
            }
            check()
        }

        private mutating func add() {
            guard principals.count < 6 else { return }
            count += 1
            let letters = Array("abcdefghijklmnopqrstuvwxyz")
            let id = "aaaaaa\(letters[count / 26 % 26])\(letters[count % 26])"
            let read = Int.random(in: 0..<4, using: &random)
            let account: Principal.Accounts =
                [.one("alice"), .one("bob"), .any].randomElement(using: &random) ?? .any
            principals["p\(count)"] = Rights(
                token: "tt_\(id)_" + String(repeating: "x", count: 43), read: read == 3 ? nil : reads[read],
                account: account, mayPost: read == 3 || Bool.random(using: &random))
            load()
        }

        /// In the middle of a turn's requests, or between two.
        private mutating func revoke() {
            guard let name = principals.keys.sorted().randomElement(using: &random) else { return }
            for connection in connections where connection.name == name {
                if Bool.random(using: &random) { harness.post("LIST", from: connection.client) }
                connection.isRevoked = true
            }
            check(isFinal: false)
            principals[name] = nil
            load()
            harness.turn()
        }

        private mutating func connect() {
            guard connections.count < 12, let (name, rights) = anyPrincipal() else { return }
            let connection = Connection(harness.connect(), name)
            let account = Bool.random(using: &random) ? accounts.randomElement(using: &random) : nil
            let reply = harness.send(
                "HELLO token=\(rights.token)" + (account.map { " account=\($0)" } ?? ""), from: connection.client)
            let isAllowed = account.map { rights.isOwn($0) } ?? true
            #expect(reply.first?.hasPrefix(isAllowed ? "OK " : "ERR code=forbidden") == true, "\(reply)")
            guard isAllowed else {
                refused += 1
                return harness.disconnect(connection.client)
            }
            connection.account = account
            if account == nil, case .one(let own) = rights.account { connection.account = own }
            connections.append(connection)
        }

        private mutating func subscribe() {
            guard let connection = anyConnection(), let rights = principals[connection.name] else { return }
            let pattern = ["*", "coffee-order/*", "coffee-order/1"].randomElement(using: &random) ?? "*"
            let account = Bool.random(using: &random) ? accounts.randomElement(using: &random) : nil
            check()
            let lines = harness.send(
                "SUB \(pattern)" + (account.map { " for=\($0)" } ?? ""), from: connection.client)
            let isAllowed = rights.covers(pattern) && (account.map { rights.isOwn($0) } ?? true)
            guard let first = lines.first, first.hasPrefix(isAllowed ? "OK " : "ERR code=forbidden") else {
                return #expect(Bool(false), "\(rights) \(pattern): \(lines)")
            }
            guard isAllowed, let number = HubHarness.attribute("sub", of: first) else {
                refused += 1
                return
            }
            let own = connection.account
            connection.subscriptions.updateValue(account ?? own, forKey: number)
            for line in lines { check(line, of: connection) }
        }

        private mutating func read() {
            guard let connection = anyConnection(), let rights = principals[connection.name] else { return }
            check()
            for line in harness.send("LIST coffee-order/*", from: connection.client) {
                if line.hasPrefix("SNAP sub=0") {
                    #expect(rights.covers("coffee-order/*"))
                    check(line, account: connection.account)
                }
                if line.hasPrefix("ERR") { #expect(!rights.covers("coffee-order/*"), "\(line)") }
            }
        }

        private mutating func post() {
            guard let connection = anyConnection(), let rights = principals[connection.name] else { return }
            let id = Int.random(in: 1...4, using: &random)
            let isNew = audiences["coffee-order/\(id)"] == nil
            let audience = isNew ? accounts.filter { _ in Bool.random(using: &random) } : []
            let type =
                isNew ? "start" : ["confirm", "brew", "update", "ready"].randomElement(using: &random) ?? "update"
            check()
            harness.post(
                "EVT coffee-order/\(id) type=\(type)"
                    + (audience.isEmpty ? "" : " for=\(audience.joined(separator: ","))"),
                from: connection.client)
            harness.turn()
            if isNew, rights.mayPost { audiences["coffee-order/\(id)"] = Set(audience) }
        }

        private mutating func check(isFinal: Bool = true) {
            for connection in connections {
                let lines = harness.lines(of: connection.client)
                if connection.isRevoked, isFinal {
                    #expect(lines.last == "BYE code=auth_revoked" && connection.client.isFinished, "\(lines)")
                    #expect(!lines.contains { $0.hasPrefix("UPD") || $0.hasPrefix("SNAP") }, "\(lines)")
                    harness.disconnect(connection.client)
                } else {
                    for line in lines { check(line, of: connection) }
                }
            }
            if isFinal { connections.removeAll(where: \.isRevoked) }
        }

        private mutating func check(_ line: String, of connection: Connection) {
            guard let number = HubHarness.attribute("sub", of: line), !line.hasPrefix("OK"), number != "0" else {
                return
            }
            guard let account = connection.subscriptions[number] else {
                return #expect(Bool(false), "no subscription \(number): \(line)")
            }
            check(line, account: account)
        }

        private mutating func check(_ line: String, account: String?) {
            guard let key = HubHarness.attribute("key", of: line) else { return }
            shown += 1
            guard let account, let audience = audiences[key], !audience.isEmpty else { return }
            #expect(audience.contains(account), "\(account) is shown \(line)")
        }

        private mutating func anyPrincipal() -> (String, Rights)? {
            principals.keys.sorted().randomElement(using: &random).flatMap { name in
                principals[name].map { (name, $0) }
            }
        }

        private mutating func anyConnection() -> Connection? { connections.randomElement(using: &random) }
    }

    @Test(arguments: Lane.some(1...20, atEveryChange: 6))
    func `no connection is shown a key outside its scope and its account`(seed: Int) throws {
        var world = try World(seed: UInt64(seed))
        for _ in 1...300 { world.step() }
        #expect(world.shown > 20 && world.refused > 5, "shown \(world.shown), refused \(world.refused)")
    }
}
