import ApplePush
import TelltaleModel
import TelltaleWire
import Testing

struct OutgoingPushTests {
    private static let start = PushTargetTableTests.start
    private static let form = OutgoingPush.Form(
        bundle: Fixture.bundle, attributesType: "CoffeeAttributes", content: ["shelf"], stateName: "status")
    private static let row: JSON = [
        "state": "ready", "content": ["shelf": "B", "internal": 7], "staleAt": 1_763_719_800_000, "score": 50,
        "removeAt": 1_763_720_000_500,
    ]

    private func attempt(_ state: PushedState) throws -> PushTarget.Attempt {
        var target = PushTarget(at: Self.start)
        _ = target.decide(.registered(Fixture.updateToken), at: Self.start)
        _ = target.decide(.changed(state), at: Self.start)
        return try #require(target.underWay)
    }

    private func push(_ state: PushedState, row: JSON = OutgoingPushTests.row) throws -> OutgoingPush {
        try OutgoingPush(
            try attempt(state), row: row.object, Self.form,
            alert: .init(title: "Ready", body: "Shelf B", sound: "chime"), Fixture.cryptography)
    }

    private func aps(_ push: OutgoingPush) throws -> JSON? {
        try JSONParser.parse(String(decoding: push.body, as: UTF8.self))["aps"]
    }

    @Test func `an update has the content that the app knows, and no alert of its own`() throws {
        let push = try push(PushedState(rev: 5))
        #expect(
            try aps(push) == [
                "timestamp": 1_763_719_200, "event": "update", "content-state": ["shelf": "B", "status": "ready"],
                "stale-date": 1_763_719_800, "relevance-score": 50,
            ])
        #expect(push.headers.first { $0.name == "apns-expiration" }?.value == "1763719800")
    }

    @Test func `an alert goes along once, and an end says when the card leaves`() throws {
        let alerting = try aps(try push(PushedState(rev: 5, alert: 5)))
        #expect(alerting?["alert"] == ["title": "Ready", "body": "Shelf B", "sound": "chime"])
        let ending = try aps(try push(PushedState(rev: 5, isEnd: true)))
        #expect(ending?["event"] == "end")
        #expect(ending?["dismissal-date"] == 1_763_720_000)
        #expect(ending?["stale-date"] == nil)
    }

    @Test func `a start reports everything, asks for a token, and has an alert in any case`() throws {
        var target = PushTarget(.start, at: Self.start)
        _ = target.decide(.registered("ab"), at: Self.start)
        _ = target.decide(.changed(PushedState(rev: 5)), at: Self.start)
        let attempt = try #require(target.underWay)
        let row = Self.row.merging(["attributes": ["item": "Flat white"]]).object
        let push = try OutgoingPush(attempt, row: row, Self.form, alert: nil, Fixture.cryptography)
        #expect(
            try aps(push) == [
                "timestamp": 1_763_719_200, "event": "start", "attributes-type": "CoffeeAttributes",
                "attributes": ["item": "Flat white"], "content-state": ["shelf": "B", "status": "ready"],
                "alert": ["title": "CoffeeAttributes", "body": ""], "input-push-token": 1,
                "stale-date": 1_763_719_800, "relevance-score": 50,
            ])
        let channel = try OutgoingPush(
            attempt, row: row, Self.form, alert: nil, channel: "Y2hhbm5lbA==", Fixture.cryptography)
        #expect(try aps(channel)?["input-push-channel"] == "Y2hhbm5lbA==")
        #expect(try aps(channel)?["input-push-token"] == nil)
    }

    @Test func `an end of what is gone leaves at once, and has no content`() throws {
        let push = try OutgoingPush(
            try attempt(PushedState(rev: 5, isEnd: true)), row: nil, Self.form, alert: nil, Fixture.cryptography)
        #expect(
            try aps(push) == ["timestamp": 1_763_719_200, "event": "end", "dismissal-date": 1_763_719_200])
    }

    @Test func `a broadcast names its channel, and has no topic`() throws {
        let push = try OutgoingPush(
            try attempt(PushedState(rev: 5)), row: Self.row.object, Self.form, alert: nil, to: .channel,
            Fixture.cryptography)
        #expect(push.path == "/4/broadcasts/apps/\(Fixture.bundle)")
        #expect(push.headers.first { $0.name == "apns-channel-id" }?.value == Fixture.updateToken)
        #expect(push.headers.first { $0.name == "apns-expiration" }?.value == "0")
        #expect(!push.headers.contains { $0.name == "apns-topic" || $0.name == "apns-id" })
    }

    @Test func `what would be larger than 4,096 bytes is no push`() throws {
        func row(_ count: Int) -> JSON {
            Self.row.merging(["content": ["shelf": .string(String(repeating: "x", count: count))]])
        }
        let room = 4_096 - (try push(PushedState(rev: 5), row: row(0))).body.count
        #expect(try push(PushedState(rev: 5), row: row(room)).body.count == 4_096)
        #expect(throws: OutgoingPush.TooLarge(count: 4_097)) { try push(PushedState(rev: 5), row: row(room + 1)) }
    }

    @Test func `this endpoint takes what goes out, as the event that it stands for`() throws {
        for (state, type) in [(PushedState(rev: 5, alert: 5), "ready"), (PushedState(rev: 6, isEnd: true), "end")] {
            let push = try push(state)
            var connection = ProviderConnection()
            let text = ProviderTokenSchedule.signingInput(team: "TEAM123456", keyID: "KEY1234567", at: Self.start)
            let bearer = ProviderTokenSchedule.token(text, signature: Fixture.signature("KEY1234567", Array(text.utf8)))
            let request = PushRequest(
                method: "POST", path: push.path, headers: push.headers + [("authorization", "bearer \(bearer)")],
                body: push.body)
            let taken = try DevicePush(
                request, Fixture.rules, Fixture.directory, on: &connection, now: Fixture.now, Fixture.cryptography)
            let payload = try JSONParser.parse(String(decoding: push.body, as: UTF8.self))
            guard case .post(let command, let notes) = try Fixture.outcome(payload, taken.token, taken.tokenText) else {
                Issue.record("\(push) is dropped")
                continue
            }
            #expect(command.type == type)
            #expect(notes == [])
            #expect(command.key == Key("coffee-order/7"))
        }
    }

    @Test func `the same attempt has the same id, and another one another`() throws {
        func id(_ push: OutgoingPush) -> String? { push.headers.first { $0.name == "apns-id" }?.value }
        let first = try push(PushedState(rev: 5))
        #expect(try id(push(PushedState(rev: 5))) == id(first))
        var target = PushTarget(at: Self.start)
        _ = target.decide(.registered(Fixture.updateToken), at: Self.start)
        _ = target.decide(.changed(PushedState(rev: 5)), at: Self.start)
        _ = target.decide(.restarted, at: Self.start)
        _ = target.decide(.woke, at: Self.start + .seconds(1))
        let again = try OutgoingPush(
            try #require(target.underWay), row: Self.row.object, Self.form, alert: nil,
            Fixture.cryptography)
        #expect(id(again) != id(first))
    }
}

struct ProviderTokenScheduleTests {
    @Test func `a token is made at most every 20 minutes, and is never an hour old`() {
        let start = PushTargetTableTests.start
        var schedule = ProviderTokenSchedule()
        func renews(_ span: Milliseconds) -> Bool { schedule.renews(at: start + span) }
        #expect(renews(.zero) == true)
        #expect(renews(.minutes(49)) == false)
        #expect(renews(.minutes(50)) == true)
        schedule.refused()
        #expect(renews(.minutes(69)) == false)
        #expect(renews(.minutes(70)) == true)
        #expect(renews(.minutes(91)) == false)
        #expect(renews(.minutes(10)) == true)
    }
}
