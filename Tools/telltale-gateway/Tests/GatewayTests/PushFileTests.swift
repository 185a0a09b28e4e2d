import ApplePush
import Gateway
import Testing

struct PushFileTests {
    private func read(_ text: String) -> (file: PushFile, faults: [String]) { PushFile.read(Array(text.utf8)) }

    @Test func `a whole file is read`() {
        let (file, faults) = read(
            """
            { "auth": "verify", "keys": [ { "team": "ABCDE12345", "kid": "KEY1234567", "key": "file:AuthKey.p8", "apps": [ "com.example.coffee" ] } ],
              "apps": { "com.example.coffee": { "CoffeeAttributes": {
                "kind": "coffee-order", "id": "attributes.orderNumber", "event": "content-state.status" } } } }
            """)
        #expect(faults == [])
        #expect(file.policy == .verify)
        #expect(file.keys.map(\.id) == ["KEY1234567"])
        #expect(file.keys.map(\.apps) == [["com.example.coffee"]])
        let activity = file.apps["com.example.coffee"]?["CoffeeAttributes"]
        #expect(activity?.idPath == ["attributes", "orderNumber"])
        #expect(activity?.eventPath == ["content-state", "status"])
        #expect(read("{}").file.policy == .shape)
    }

    @Test func `all faults are reported, with their places`() {
        let (_, faults) = read(
            """
            { "auth": "maybe", "tokenWebhook": "x", "keys": [ 7, { "team": "T", "kid": "KEY1234567", "key": "file:a" },
                { "team": "ABCDE12345", "kid": "K", "key": "file:a" }, { "team": "ABCDE12345", "kid": "KEY1234567", "key": "a" },
                { "team": "ABCDE12345", "kid": "KEY7654321", "key": "file:a", "apps": "com.example.coffee" } ],
              "apps": { "a": 1, "b": { "C": { "kind": "no kind" }, "D": { "kind": "k", "id": "orderNumber", "event": "attributes..x" } } } }
            """)
        for place in [
            "auth", "tokenWebhook", "keys[0]", "keys[1].team", "keys[2].kid", "keys[3].key", "keys[4].apps", "apps.a",
            "apps.b.C.kind",
            "apps.b.D.id", "apps.b.D.event",
        ] {
            #expect(faults.contains { $0.hasPrefix(place + ":") }, "\(place)")
        }
        #expect(faults.count == 11, "\(faults)")
        #expect(read("[]").faults == ["holds no JSON object"])
        #expect(read("{").faults.count == 1)
        #expect(read(#"{"auth":"verify"}"#).faults == ["keys: auth verify needs one"])
    }
}
