import ApplePush
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// Executes Protocols/HTTP/apns.table.
struct PushTableTests {
    private static func rows(_ sections: Set<String>) throws -> [TableFile.Row] {
        let rows = try TableFile("HTTP/apns.table").rows.filter { sections.contains($0[0]) }
        try #require(!rows.isEmpty)
        return rows
    }

    @Test func `each fault alone has its reason`() throws {
        for row in try Self.rows(["device", "good", "channel", "broadcast"]) {
            var fixture = Fixture(row[0])
            fixture.apply(row[2])
            #expect(try fixture.answer() == row[1], "\(row)")
        }
    }

    @Test(arguments: ["device", "channel", "broadcast"])
    func `of two faults the first of the table answers`(_ section: String) throws {
        let rows = try Self.rows([section])
        for (index, first) in rows.enumerated() {
            for second in rows[(index + 1)...] where Self.part(first[2]) != Self.part(second[2]) {
                // Other types of pushes may have priority 1.
                if first[2] == "apns-priority 1", Self.part(second[2]) == "apns-push-type" { continue }
                var fixture = Fixture(section)
                fixture.apply(second[2])
                fixture.apply(first[2])
                #expect(try fixture.answer() == first[1], "\(first) and \(second)")
            }
        }
    }

    private static func part(_ fault: String) -> String {
        let word = String(fault.split(separator: " ").first ?? "")
        switch word {
        case "token": return "path"
        case "before": return "provider"
        case "channels": return "body"
        // Adding a field of that name is another change than replacing it.
        case "duplicate": return String(fault.split(separator: " ").last ?? "")
        default: return word
        }
    }

    @Test func `every reason that a request alone decides is in the table`() throws {
        let named = Set(
            try Self.rows(["device", "channel", "broadcast"]).map { String($0[1].split(separator: " ").last ?? "") })
        let elsewhere: Set<PushReason> = [
            .unregistered, .tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown,
        ]
        #expect(named == Set(PushReason.allCases.filter { !elsewhere.contains($0) }.map(\.rawValue)))
    }

    @Test func `each payload becomes its event, or is dropped with its note`() throws {
        for row in try Self.rows(["start", "update", "end", "channel-push"]) {
            #expect(try Self.outcome(row) == row[3], "\(row)")
        }
    }

    private static func outcome(_ row: TableFile.Row) throws -> String {
        var payload = Fixture.aps(row[0] == "channel-push" ? "update" : row[0])
        var account = "alice"
        var release: UInt8 = 0
        for change in row[2].split(separator: "; ").map(String.init) {
            let words = change.split(separator: " ", maxSplits: 1).map(String.init)
            switch words[0] {
            case "account": account = words[1] == "\"\"" ? "" : words[1]
            case "release": release = UInt8(words[1]) ?? 0
            default:
                guard words.count == 2 else { continue }
                let value = words[1] == "none" ? nil : try JSONParser.parse(words[1])
                payload = set(payload, words[0].split(separator: ".").map(String.init)[...], value)
            }
        }
        let key = try #require(Key("coffee-order/7"))
        let token =
            row[0] == "start"
            ? DeviceToken(
                .start(app: Fixture.bundle, kind: "coffee-order"), account: account, release: release)
            : DeviceToken(.update(key), account: account)
        do throws(PushRefusal) {
            let outcome =
                row[0] == "channel-push"
                ? try ActivityPayload.read(
                    payload, to: .channel(key), Fixture.coffee, id: "x", source: "s", token: "", Fixture.cryptography)
                : try Fixture.outcome(payload, token, "70")
            switch outcome {
            case .drop(let note): return note
            case .post(let command, let notes):
                let event =
                    "EVT \(command.key) type=\(command.type) for=\(command.accounts.joined(separator: ",")) at=\(command.happenedAt?.milliseconds ?? 0)"
                return ([event] + notes).joined(separator: "; ").replacing(/ch-[0-9a-f]{16}/, with: "ch-DIGITS")
            }
        } catch {
            return "\(error.reason.status) \(error.reason.rawValue)"
        }
    }

    private static func set(_ json: JSON, _ path: ArraySlice<String>, _ value: JSON?) -> JSON {
        guard let name = path.first, var object = json.object else { return json }
        object[name] = path.count == 1 ? value : object[name].map { set($0, path.dropFirst(), value) }
        return .object(object)
    }
}

struct PushPayloadTests {
    @Test func `an event carries what the push carried, and nothing else`() throws {
        let payload = Fixture.aps("start").merging([
            "aps": [
                "stale-date": 1_763_720_000, "relevance-score": 50, "dismissal-date": 5, "sound": "x",
                "alert": ["title": ["loc-key": "READY", "loc-args": ["B"]], "body": "Come", "sound": "chime"],
            ]
        ])
        let token = DeviceToken(.start(app: Fixture.bundle, kind: "coffee-order"), account: "alice")
        guard case .post(let command, _) = try Fixture.outcome(payload, token, "70") else {
            Issue.record("nothing was posted")
            return
        }
        #expect(command.source == "apns:TEAM123456")
        #expect(command.eid == "ec5e5a3a-8b2f-4b6c-9c7a-0123456789ab")
        #expect(
            Set(command.tail.map(\.name)) == ["attributes", "content-state", "alert", "stale-date", "relevance-score"])
        #expect(command.tail["alert"] == ["title": "READY B", "body": "Come", "sound": "chime"])
        #expect(command.tail["stale-date"] == 1_763_720_000)
    }

    @Test func `a start without a configured id has the same key for the same push, and another for another token`()
        throws
    {
        let payload = Fixture.aps("start").merging(["aps": ["attributes-type": "coffee-orderAttributes"]])
        let token = DeviceToken(.start(app: Fixture.bundle, kind: "coffee-order"), account: "alice")
        let app = PushDirectory.App(kinds: ["coffee-order"])
        func key(_ text: String, _ id: String) throws -> Key? {
            let outcome = try ActivityPayload.read(
                payload, to: .start(app: Fixture.bundle, kind: "coffee-order", account: "", release: 0), app, id: id,
                source: "s", token: text, Fixture.cryptography)
            guard case .post(let command, _) = outcome else { return nil }
            return command.key
        }
        let text = try #require(token.text(Fixture.cryptography))
        let first = try #require(try key(text, "a"))
        #expect(first.id.utf8.count == 16)
        #expect(try key(text.uppercased(), "a") == first)
        #expect(try key(text, "b") != first)
        #expect(try key("70", "a") != first)
    }

    @Test func `an attributes type names a kind without regard to case and hyphens`() {
        let app = PushDirectory.App(kinds: ["coffee-order"])
        for name in ["CoffeeOrderAttributes", "coffee-order", "CoffeeOrder", "COFFEEORDERAttributes"] {
            #expect(app.activity(ofType: name)?.kind == "coffee-order")
        }
        #expect(app.activity(ofType: "Coffee") == nil)
        #expect(app.activity(ofType: "Attributes") == nil)
    }
}

struct DeviceTokenTests {
    @Test func `a token is what was put into it, and any change makes it unknown`() throws {
        let key = try #require(Key("coffee-order/7"))
        for token in [
            DeviceToken(.update(key), account: "alice", release: 18, isFrequent: true),
            DeviceToken(.update(key), account: ""),
            DeviceToken(.start(app: "com.example.coffee", kind: "coffee-order"), account: "bob", release: 17),
        ] {
            let text = try #require(token.text(Fixture.cryptography))
            #expect(DeviceToken(text, Fixture.cryptography) == token)
            #expect(DeviceToken(text.uppercased(), Fixture.cryptography) == token)
            let bytes = Array(text.utf8)
            for index in bytes.indices {
                var changed = bytes
                changed[index] = bytes[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
                #expect(DeviceToken(String(decoding: changed, as: UTF8.self), Fixture.cryptography) == nil)
                #expect(DeviceToken(String(decoding: bytes[..<index], as: UTF8.self), Fixture.cryptography) == nil)
            }
        }
        #expect(
            DeviceToken(.update(key), account: String(repeating: "a", count: 256)).text(Fixture.cryptography) == nil)
    }

    @Test func `another installation's token is unknown`() throws {
        let key = try #require(Key("coffee-order/7"))
        let text = try #require(DeviceToken(.update(key), account: "a").text(Fixture.cryptography))
        var other = Fixture.cryptography
        other.tag = { _ in [1, 2, 3, 4, 5, 6, 7, 8] }
        #expect(DeviceToken(text, other) == nil)
    }
}

struct PushBudgetTests {
    @Test func `a device takes its budget at once, and then what an hour brings`() {
        let start = Timestamp(milliseconds: 1_763_719_200_000)
        var budget = PushBudget(isFrequent: false, at: start)
        #expect(Self.takes(&budget, 25, at: start) == Int(PushBudget.standard))
        #expect(Self.takes(&budget, 2, at: start + .minutes(3)) == 1)
        // A clock that is set back gives nothing, and takes nothing.
        #expect(Self.takes(&budget, 1, at: start + .minutes(-57)) == 0)
        let early = budget.isFull(at: start + .minutes(62))
        let late = budget.isFull(at: start + .hours(3))
        #expect(!early && late)
        var frequent = PushBudget(isFrequent: true, at: start)
        #expect(Self.takes(&frequent, 300, at: start) == Int(PushBudget.frequent))
    }

    private static func takes(_ budget: inout PushBudget, _ count: Int, at now: Timestamp) -> Int {
        var taken = 0
        for _ in 0..<count where budget.spend(at: now) { taken += 1 }
        return taken
    }
}
