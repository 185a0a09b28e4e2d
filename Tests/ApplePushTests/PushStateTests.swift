import ApplePush
import TelltaleModel
import Testing

struct PushStateTests {
    private static let start = PushTargetTableTests.start
    private static let watch = PushState.Watch(account: "alice", kind: "coffee-order")

    private struct Desk {
        var ledger = Desk.emptyLedger
        var now = PushStateTests.start
        var kept: [PushState.LaneID: [UInt8]] = [:]

        private static var emptyLedger: PushState {
            PushState(
                forms: ["coffee-order": OutgoingPushForm.form, "sales": OutgoingPushForm.form], flightLimit: 3,
                Fixture.cryptography)
        }

        mutating func register(_ id: String, _ subject: PushRegistration.Subject, _ token: String) {
            _ = ledger.register(PushRegistration(id: id, subject, account: "alice", token: token), at: now)
        }

        mutating func row(
            _ id: String, _ rev: Int64, _ content: JSON = 1, lifecycle: JSON = "active", startedAt: Int64 = 1
        ) {
            guard let key = Key(kind: "coffee-order", id: id) else { return }
            let row: JSON = [
                "lifecycle": lifecycle, "state": "s", "content": ["n": content], "startedAt": .integer(startedAt),
            ]
            ledger.receive(row: row.object ?? JSONObject(), of: key, rev: rev, in: PushStateTests.watch)
        }

        mutating func alert(_ id: String, _ rev: Int64) {
            guard let key = Key(kind: "coffee-order", id: id) else { return }
            ledger.receive(alert: .init(title: "alert \(rev)", body: ""), of: key, rev: rev, in: PushStateTests.watch)
        }

        mutating func subscribe(_ id: String, to host: String, key: String) throws {
            let subscription: JSON = [
                "endpoint": .string("https://\(host)/\(id)"),
                "keys": [
                    "p256dh": .string("BA" + String(repeating: "A", count: 85)),
                    "auth": .string(String(repeating: "A", count: 22)),
                ],
            ]
            let body: JSON = [
                "type": "webpush", "account": "alice", "key": .string("coffee-order/\(key)"),
                "subscription": subscription,
            ]
            _ = ledger.register(try PushRegistration(id: id, try #require(body.object)), at: now)
        }

        /// The row of a phone.
        mutating func surface(_ id: String, _ rev: Int64) {
            guard let key = Key(kind: "coffee-order", id: id) else { return }
            let row: JSON = ["title": "Coffee", "lockScreen": ["view": ["title": .string("\(rev)")]]]
            ledger.receive(surface: row.object ?? JSONObject(), of: key, rev: rev, in: PushStateTests.watch)
        }

        mutating func delete(_ id: String, _ rev: Int64) {
            guard let key = Key(kind: "coffee-order", id: id) else { return }
            ledger.takeDeletion(of: key, rev: rev, in: PushStateTests.watch, at: now)
        }

        /// Another process begins with what this one had kept.
        mutating func restart() throws {
            var fresh = Self.emptyLedger
            for registration in ledger.registrations.values { fresh.restore(registration, registeredAt: now) }
            for (id, bytes) in kept { try fresh.restore(id, bytes) }
            ledger = fresh
        }

        mutating func turn() -> [PushState.Sending] {
            let turn = ledger.takeTurn(at: now)
            for (id, bytes) in turn.lanes { kept[id] = bytes }
            return turn.sendings
        }

        /// One turn, whose pushes get the answer a second later; what was sent.
        mutating func run(_ answer: PushAnswerClass = .accepted) -> [String] {
            let sendings = turn()
            now = now + .seconds(1)
            for sending in sendings { ledger.receive(answer, to: sending.lane, sending.attempt.number, at: now) }
            return sendings.map { sending in
                let aps = (try? JSONParser.parse(String(decoding: sending.push.body, as: UTF8.self)))?["aps"]
                var words = [aps?["event"]?.string ?? "reload", sending.attempt.token]
                if let number = aps?["content-state"]?["n"] { words.append("\(number)") }
                if let title = aps?["alert"]?["title"]?.string { words.append(title) }
                return words.joined(separator: " ")
            }
        }
    }

    private enum OutgoingPushForm {
        static let form = OutgoingPush.Form(bundle: Fixture.bundle, attributesType: "Coffee")
    }

    private static let key = Key("coffee-order/1")

    @Test func `the newest state goes out, once, and a row that looks the same does not`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 5, 1)
        desk.row("1", 6, 2)
        #expect(desk.run() == ["update aa 2"])
        desk.row("1", 7, 2)
        #expect(desk.run() == [])
        desk.row("1", 8, 2, lifecycle: "stale")
        #expect(desk.run() == [])
        desk.row("1", 9, 3)
        #expect(desk.run() == ["update aa 3"])
        desk.row("2", 10, 3)
        #expect(desk.run() == [])
    }

    @Test func `an alert goes with its row, whichever comes first, and once`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 5, 1)
        #expect(desk.run() == ["update aa 1"])
        desk.alert("1", 6)
        #expect(desk.run() == [])
        desk.row("1", 6, 2)
        #expect(desk.run() == ["update aa 2 alert 6"])
        desk.row("1", 7, 3)
        #expect(desk.run() == ["update aa 3"])
        desk.alert("1", 7)
        #expect(desk.run() == ["update aa 3 alert 7"])
        // The content is the same; the alert is another.
        desk.row("1", 8, 3)
        desk.alert("1", 8)
        #expect(desk.run() == ["update aa 3 alert 8"])
        #expect(desk.run() == [])
    }

    @Test func `a start goes out once for each activity, and never for one whose card is there`() throws {
        var desk = Desk()
        desk.register("s", .start(kind: "coffee-order"), "55")
        desk.row("1", 5, 1)
        desk.row("2", 6, 1, lifecycle: "pending")
        desk.row("3", 7, 1, lifecycle: "ended")
        #expect(desk.run() == ["start 55 1 Coffee"])
        desk.row("1", 8, 2)
        desk.row("2", 9, 2)
        #expect(desk.run() == ["start 55 2 Coffee"])
        desk.register("u", .update(try #require(Self.key)), "aa")
        #expect(desk.run() == ["update aa 2"])
        desk.register("v", .update(try #require(Key("coffee-order/4"))), "bb")
        desk.row("4", 10, 1)
        #expect(desk.run() == ["update bb 1"])
        // The key begins another activity.
        desk.delete("2", 11)
        #expect(desk.run() == [])
        desk.row("2", 12, 1, startedAt: 2)
        #expect(desk.run() == ["start 55 1 Coffee"])
        desk.row("2", 13, 1, startedAt: 3)
        #expect(desk.run() == ["start 55 1 Coffee"])
    }

    @Test func `the alert of a start is not reported again to the card's own token`() throws {
        var desk = Desk()
        desk.register("s", .start(kind: "coffee-order"), "55")
        desk.alert("1", 5)
        desk.row("1", 5, 1)
        #expect(desk.run() == ["start 55 1 alert 5"])
        desk.register("u", .update(try #require(Self.key)), "aa")
        #expect(desk.run() == ["update aa 1"])
    }

    @Test func `a card whose old token was refused before its new one came is not alerted again`() throws {
        var desk = Desk()
        desk.register("s", .start(kind: "coffee-order"), "55")
        desk.row("1", 5, 1)
        #expect(desk.run() == ["start 55 1 Coffee"])
        desk.register("u", .update(try #require(Self.key)), "aa")
        desk.alert("1", 6)
        desk.row("1", 6, 2)
        #expect(desk.run() == ["update aa 2 alert 6"])
        desk.row("1", 7, 3)
        #expect(desk.run(.unregistered(since: .distantFuture)) == ["update aa 3"])
        #expect(desk.ledger.registrations.keys.sorted() == ["s"])
        desk.register("u", .update(try #require(Self.key)), "bb")
        #expect(desk.run() == ["update bb 3"])
    }

    @Test func `an activity that is gone ends on the device, and its token is forgotten`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 5, 1)
        #expect(desk.run() == ["update aa 1"])
        desk.delete("1", 6)
        #expect(desk.run() == ["end aa 1"])
        #expect(desk.run() == [])
        #expect(desk.ledger.registrations.isEmpty)
        #expect(desk.kept.isEmpty)
    }

    @Test func `a token that is no good is forgotten with everything that was to go to it`() {
        var desk = Desk()
        desk.register("s", .start(kind: "coffee-order"), "55")
        desk.row("1", 5, 1)
        desk.row("2", 6, 1)
        #expect(desk.run(.badToken).count == 2)
        #expect(desk.run() == [])
        #expect(desk.ledger.registrations.isEmpty)
        #expect(desk.kept.isEmpty)
    }

    @Test func `no more pushes are under way at once than may be, and what waits is sent in its newest state`() throws {
        var desk = Desk()
        for id in 1...5 { desk.register("r\(id)", .update(try #require(Key("coffee-order/\(id)"))), "a\(id)") }
        for id in 1...5 { desk.row("\(id)", Int64(id), 1) }
        let sendings = desk.turn()
        #expect(sendings.count == 3)
        for id in 1...5 { desk.row("\(id)", Int64(id + 10), 2) }
        #expect(desk.turn().isEmpty)
        desk.now = desk.now + .seconds(1)
        for sending in sendings {
            desk.ledger.receive(.accepted, to: sending.lane, sending.attempt.number, at: desk.now)
        }
        var sent: [String] = []
        while desk.ledger.nextWake ?? .distantFuture <= desk.now { sent += desk.run() }
        #expect(sent.sorted() == ["update a1 2", "update a2 2", "update a3 2", "update a4 2", "update a5 2"])
    }

    @Test func `a service that gives no answers holds up no other`() throws {
        var desk = Desk()
        for id in 1...5 { try desk.subscribe("w\(id)", to: "slow.example.com", key: "\(id)") }
        try desk.subscribe("x", to: "quick.example.com", key: "1")
        desk.register("a", .update(try #require(Self.key)), "aa")
        for id in 1...5 { desk.row("\(id)", Int64(id), 1) }
        for id in 1...5 { desk.surface("\(id)", Int64(id)) }
        let sendings = desk.turn()
        #expect(
            sendings.map { $0.web?.host ?? "apple" }.sorted() == [
                "apple", "quick.example.com", "slow.example.com", "slow.example.com", "slow.example.com",
            ])
        // The ways to the slow service ask for no turn.
        for sending in sendings where sending.web?.host != "slow.example.com" {
            desk.ledger.receive(.accepted, to: sending.lane, sending.attempt.number, at: desk.now)
        }
        _ = desk.turn()
        #expect(desk.ledger.nextWake == nil)
        let slow = try #require(sendings.first { $0.web?.host == "slow.example.com" })
        desk.ledger.receive(.accepted, to: slow.lane, slow.attempt.number, at: desk.now)
        #expect(desk.turn().map { $0.web?.host } == ["slow.example.com"])
    }

    @Test func `widgets and controls are loaded again after a change, and not for each row`() {
        var desk = Desk()
        desk.register("w", .reload(.widgets, kind: "coffee-order"), "77")
        desk.row("1", 5)
        desk.row("2", 6)
        #expect(desk.run() == [])
        desk.ledger.takeLive(Self.watch)
        #expect(desk.run() == ["reload 77"])
        desk.row("1", 7)
        desk.row("2", 8)
        #expect(desk.run() == ["reload 77"])
        desk.delete("2", 9)
        #expect(desk.run() == ["reload 77"])
    }

    @Test func `a push that is too large is not sent, and the next state is`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 5, .string(String(repeating: "x", count: 5_000)))
        let turn = desk.ledger.takeTurn(at: desk.now)
        #expect(turn.sendings.isEmpty)
        #expect(turn.refusals.map { $0.count > 4_096 } == [true])
        desk.now = desk.now + .seconds(1)
        desk.row("1", 6, 1)
        #expect(desk.run() == ["update aa 1"])
    }

    @Test(arguments: [0, 7] as [Int64])
    func `a card of the process before ends, though only an alert of its activity was heard`(_ rev: Int64) throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 5, 1)
        #expect(desk.run() == ["update aa 1"])
        #expect(desk.run() == [])
        try desk.restart()
        desk.alert("1", 6)
        #expect(desk.run() == [])
        // The rev of what is missing in a picture is not known.
        desk.delete("1", rev)
        desk.ledger.takeLive(Self.watch)
        #expect(desk.run() == ["end aa"])
        #expect(desk.run() == [])
        #expect(desk.ledger.registrations.isEmpty)
    }

    @Test func `what has left while the rows were not followed ends, and what is as it was is no push`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.register("b", .update(try #require(Key("coffee-order/2"))), "bb")
        desk.row("1", 5, 1)
        desk.row("2", 6, 2)
        desk.ledger.takeLive(Self.watch)
        #expect(desk.run() == ["update aa 1", "update bb 2"])
        desk.ledger.forgetRows()
        desk.row("2", 6, 2)
        #expect(desk.run() == [])
        desk.ledger.takeLive(Self.watch)
        #expect(desk.run() == ["end aa"])
        #expect(desk.run() == [])
    }

    @Test func `another history begins anew`() throws {
        var desk = Desk()
        desk.register("a", .update(try #require(Self.key)), "aa")
        desk.row("1", 500, 1)
        #expect(desk.run() == ["update aa 1"])
        desk.ledger.newHistory(at: desk.now)
        desk.row("1", 3, 2)
        #expect(desk.run() == ["update aa 2"])
    }
}
