import Foundation
import Gateway
import TelltaleCrypto
import TelltaleModel
import TelltaleWire
import Testing

/// Signatures, and what rules make of deliveries.
struct WebhookTests {
    static func hook(_ verify: String, _ rules: String = #"[{"on":["*"],"key":"errand/{{body.id}}","type":"start"}]"#)
        throws -> Hook
    {
        var reader = HookReader()
        let hook = reader.read(Array("{\"hook\":\"h\",\"verify\":\(verify),\"rules\":\(rules)}".utf8))
        #expect(reader.faults == [])
        return try #require(hook)
    }

    static func isGood(
        _ hook: Hook, _ headers: [String: String], _ body: String, _ secrets: [String], at seconds: Int64 = 0
    ) -> Bool {
        let secrets = secrets.map { Array($0.utf8) }
        let now = Timestamp(milliseconds: seconds * 1_000)
        // However the body is cut.
        let verdicts = [1, 7, max(1, body.utf8.count)].map { length in
            var check = hook.check(headers, secrets: secrets, now: now)
            var rest = Array(body.utf8)[...]
            while !rest.isEmpty {
                check.digest(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            return (try? check.finish()) != nil
        }
        #expect(Set(verdicts).count == 1)
        return verdicts[0]
    }

    static func event(
        _ hook: Hook, _ body: String, _ headers: [String: String] = [:]
    ) throws(Problem) -> EventCommand? {
        let delivery = Delivery(headers: headers, body: Array(body.utf8))
        guard case .event(let event, _, _) = try hook.outcome(of: delivery) else { return nil }
        return event
    }

    @Test func `standard webhooks: the vector of their specification`() throws {
        let hook = try Self.hook(#"{"scheme":"standard","secrets":["env:X"]}"#)
        let headers = [
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v2,x",
        ]
        let (body, secret) = (#"{"test": 2432232314}"#, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        #expect(Self.isGood(hook, headers, body, [secret], at: 1_614_265_330))
        #expect(Self.isGood(hook, headers, body, ["whsec_AAAA", secret], at: 1_614_265_630))
        #expect(!Self.isGood(hook, headers, body, [secret], at: 1_614_265_631))
        #expect(!Self.isGood(hook, headers, body, [secret], at: 1_614_265_029))
        #expect(!Self.isGood(hook, headers, body + " ", [secret], at: 1_614_265_330))
        #expect(!Self.isGood(hook, headers, body, ["whsec_AAAA"], at: 1_614_265_330))
        #expect(!Self.isGood(hook, [:], body, [secret], at: 1_614_265_330))
    }

    @Test func `more signatures than a sender has secrets are none`() throws {
        let hook = try Self.hook(#"{"scheme":"stripe","secrets":["env:X"]}"#)
        let code = MessageCode.code(of: "300.{}".utf8, key: Array("s".utf8))
        let good = "v1=\(code.map { String(format: "%02x", $0) }.joined())"
        for count in [1, 15, 16, 8_000] {
            let signatures = Array(repeating: "v1=00", count: count) + [good]
            let headers = ["stripe-signature": "t=300,\(signatures.joined(separator: ","))"]
            #expect(Self.isGood(hook, headers, "{}", ["s"], at: 300) == (count < 16), "\(count)")
        }
    }

    @Test func `github: the vector of its documentation`() throws {
        let hook = try Self.hook(#"{"scheme":"github","secrets":["env:X"]}"#)
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        #expect(Self.isGood(hook, ["x-hub-signature-256": signature], "Hello, World!", ["It's a Secret to Everybody"]))
        for other in [signature.dropLast().description, signature + "0", "757107ea", "sha256=", "sha256=zz"] {
            #expect(!Self.isGood(hook, ["x-hub-signature-256": other], "Hello, World!", ["It's a Secret to Everybody"]))
        }
    }

    @Test func `the others, by the construction that each documents`() throws {
        func mac(_ message: String) -> [UInt8] { MessageCode.code(of: message.utf8, key: Array("s".utf8)) }
        func hex(_ message: String) -> String { mac(message).map { String(format: "%02x", $0) }.joined() }
        func base64(_ message: String) -> String { Data(mac(message)).base64EncodedString() }
        let body = #"{"id":1}"#
        for (verify, headers) in [
            (#"{"scheme":"shopify","secrets":["env:X"]}"#, ["x-shopify-hmac-sha256": base64(body)]),
            (#"{"scheme":"woocommerce","secrets":["env:X"]}"#, ["x-wc-webhook-signature": base64(body)]),
            (
                #"{"scheme":"square","url":"https://u","secrets":["env:X"]}"#,
                ["x-square-hmacsha256-signature": base64("https://u" + body)]
            ),
            (#"{"scheme":"stripe","secrets":["env:X"]}"#, ["stripe-signature": "t=300, v1=\(hex("300." + body)),v0=x"]),
            (#"{"scheme":"hmac","header":"X-Sig","secrets":["env:X"]}"#, ["x-sig": hex(body)]),
            (
                #"{"scheme":"hmac","header":"X-Sig","encoding":"base64","prefix":"v=","secrets":["env:X"]}"#,
                ["x-sig": "v=" + base64(body)]
            ),
        ] {
            let hook = try Self.hook(verify)
            #expect(Self.isGood(hook, headers, body, ["s"], at: 300), "\(verify)")
            #expect(Self.isGood(hook, headers, body, ["old", "s"], at: 300))
            #expect(!Self.isGood(hook, headers, body, ["old"], at: 300))
            #expect(!Self.isGood(hook, headers, body + " ", ["s"], at: 300))
            #expect(!Self.isGood(hook, [:], body, ["s"], at: 300) && !Self.isGood(hook, headers, body, [], at: 300))
        }
    }

    @Test func `templates read body and header, and keep the type of a value`() throws {
        let rules = #"""
            [{"on":["a"],"guard":"body.test == true","key":"errand/never","type":"start"},
             {"on":["a","b"],"guard":"not (body.n > 5) and header.x-y in [\"z\", 'w']","key":"errand/{{ body.id }}","type":"{{body.kind | lower}}",
              "at":"{{body.at}}","ver":"{{body.n}}","for":"{{body.who}}",
              "data":{"attributes":{"n":"{{body.n}}","text":"n is {{body.n}}","gone":"{{body.nothing}}","list":["{{body.l.1}}",true]},"stale-date":7}}]
            """#
        let hook = try Self.hook(
            #"{"scheme":"hmac","header":"s","topic":"{{header.t}}","eid":"{{body.id}}","secrets":["env:X"]}"#, rules)
        let body =
            #"{"id":820982911946154508,"kind":"START","n":3,"at":"2026-11-21T10:30:00Z","who":"alice,bob","l":["p","q"],"test":false}"#
        let delivery = Delivery(headers: ["t": "b", "x-y": "z"], body: Array(body.utf8))
        guard case .event(let event, let topic, let rule) = try hook.outcome(of: delivery) else {
            Issue.record("no event")
            return
        }
        #expect((topic, rule) == ("b", 1))
        #expect((event.key.text, event.type) == ("errand/820982911946154508", "start"))
        #expect((event.source, event.eid) == ("hook:h", "820982911946154508"))
        #expect(event.happenedAt == Timestamp(milliseconds: 1_795_257_000_000) && event.version == 3)
        #expect(event.accounts == ["alice", "bob"])
        #expect(
            JSON.object(event.tail) == [
                "attributes": ["n": 3, "text": "n is 3", "list": ["q", true]], "stale-date": 7,
            ])
        guard
            case .unmatched("c") = try hook.outcome(of: Delivery(headers: ["t": "c", "x-y": "z"], body: delivery.body)),
            case .unmatched = try hook.outcome(of: Delivery(headers: ["t": "b"], body: delivery.body))
        else {
            Issue.record("a rule was not to match")
            return
        }
    }

    @Test func `integers beyond those of JSON become texts, and nothing else changes`() throws {
        let hook = try Self.hook(#"{"scheme":"shopify","secrets":["env:X"]}"#)
        for (id, key) in [
            ("820982911946154508", "errand/820982911946154508"), ("9007199254740991", "errand/9007199254740991"),
            ("\"a-1234567890123456789\"", "errand/a-1234567890123456789"), ("12", "errand/12"),
        ] {
            let body = "{\"x\":\"\\\"1234567890123456789\",\"f\":0.1234567890123456789,\"id\":\(id)}"
            guard case .event(let event, _, _) = try hook.outcome(of: Delivery(headers: [:], body: Array(body.utf8)))
            else {
                Issue.record("no event")
                continue
            }
            #expect(event.key.text == key)
            #expect(event.eid?.hasPrefix("sha256:") == true)
        }
    }

    @Test(arguments: [
        #""\ud83d half of an emoji""#, #""\ude00""#, #""\x""#, "\"a tab\t\"", "1e400", "-1e-999", "[1e400]", "NaN",
        #"{"a":1,"a":2}"#,
        String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
        String(repeating: #"{"a":"#, count: 5_000) + "1" + String(repeating: "}", count: 5_000),
    ])
    func `a value that no rule reads loses no delivery`(value: String) throws {
        let hook = try Self.hook(#"{"scheme":"shopify","secrets":["env:X"]}"#)
        for body in [
            "{\"x\":\(value),\"id\":1}", "{\"id\":1,\"x\":\(value)}", "{\"id\":1,\"x\":{\"y\":[0,\(value)]}}",
            "{\"x\":\(value),\"x\":\(value),\"id\":1}",
        ] {
            let event = try Self.event(hook, body)
            #expect(event?.key.text == "errand/1")
        }
    }

    @Test(arguments: [
        (#""\ud83d!""#, #""\ufffd!""#), (#""\ud83d\ude00 \u00e9\n\/""#, #""\ud83d\ude00 \u00e9\n/""#),
        ("1e400", #""1e400""#),
        ("12345678901234567890.5", #""12345678901234567890.5""#), ("0.10", "0.1"), ("-3", "-3"), ("1e3", "1000"),
        (#"{"a":1,"b":[true,null],"a":2}"#, #"{"a":2,"b":[true,null]}"#), ("[[],{}]", "[[],{}]"),
    ])
    func `what is read is mended where its meaning is plain`(value: String, meaning: String) throws {
        let hook = try Self.hook(
            #"{"scheme":"shopify","secrets":["env:X"]}"#,
            #"[{"on":["*"],"key":"errand/1","type":"start","data":{"content-state":{"x":"{{body.l.1.x}}"}}}]"#)
        let event = try Self.event(hook, "{\"l\":[{\"x\":0},{\"y\":{},\"x\":\(value)},1e400]}")
        let expected = try JSONParser.parse("{\"content-state\":{\"x\":\(meaning)}}")
        #expect(event.map { JSON.object($0.tail) } == expected)
    }

    @Test(arguments: [
        #"{"id":1"#, #"{"id":1}}"#, #"{"id":1,}"#, #"{"id" 1}"#, #"{"id":01}"#, #"{"id":1.}"#, #"{"id":tru}"#,
        #"{"id":"\q"}"#, #"{"id":"1}"#,
        #"{"id":1,"x":"#, #"{"id":1,"x":[}"#, #"{"id":1,"x":"\"#, #"{"id":1,"x":,}"#, #"["id":1]"#,
        "{\"id\":" + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
    ])
    func `what is read and cannot be mended is no JSON`(body: String) throws {
        let hook = try Self.hook(#"{"scheme":"shopify","secrets":["env:X"]}"#)
        do throws(Problem) {
            _ = try Self.event(hook, body)
            Issue.record("it was taken")
        } catch {
            #expect(error.code == "bad_json")
        }
    }

    @Test func `woocommerce: an id is of what is delivered, not of the second`() throws {
        let hook = try Self.hook(#"{"scheme":"woocommerce","secrets":["env:X"]}"#)
        func id(_ body: String, topic: String = "order.created", webhook: String = "3", delivery: String = "a") throws
            -> String?
        {
            try Self.event(
                hook, body,
                ["x-wc-webhook-topic": topic, "x-wc-webhook-id": webhook, "x-wc-webhook-delivery-id": delivery])?.eid
        }
        let first = try id(#"{"id":1}"#)
        #expect(try first == id(#"{"id":1}"#, delivery: "b"))
        let others = try [id(#"{"id":2}"#), id(#"{"id":1}"#, topic: "order.updated"), id(#"{"id":1}"#, webhook: "4")]
        #expect(Set(others + [first]).count == 4)
    }

    @Test func `without an id of the sender, deliveries of two topics are two`() throws {
        let hook = try Self.hook(#"{"scheme":"shopify","secrets":["env:X"]}"#)
        let ids = try ["orders/create", "orders/paid", "orders/paid"].map {
            try Self.event(hook, #"{"id":1}"#, ["x-shopify-topic": $0])?.eid
        }
        #expect(ids[0] != ids[1] && ids[1] == ids[2] && ids[0]?.utf8.count == 71)
    }

    @Test(arguments: [
        (#""at":null,"ver":null"#, true), (#""at":"","ver":"""#, true), (#""x":1"#, true), (#""at":"soon""#, false),
        (#""ver":"two""#, false), (#""ver":-1"#, false),
    ])
    func `a time and a version that the sender leaves out are not given`(members: String, isTaken: Bool) throws {
        let hook = try Self.hook(
            #"{"scheme":"shopify","secrets":["env:X"]}"#,
            #"[{"on":["*"],"key":"errand/1","type":"start","at":"{{body.at}}","ver":"{{body.ver}}"}]"#)
        let event = try? Self.event(hook, "{\(members)}")
        #expect((event != nil) == isTaken)
        #expect(event?.happenedAt == nil && event?.version == nil)
    }

    @Test func `accounts that the sender leaves out are a fault: the activity would be everybody's`() throws {
        let hook = try Self.hook(
            #"{"scheme":"shopify","secrets":["env:X"]}"#,
            #"[{"on":["*"],"key":"errand/1","type":"start","for":"{{body.who}}"}]"#)
        #expect(throws: Problem.self) { try Self.event(hook, "{}") }
    }

    @Test(arguments: ["github", "stripe"])
    func `a form says what to change at the sender`(scheme: String) throws {
        let hook = try Self.hook(#"{"scheme":"\#(scheme)","secrets":["env:X"]}"#)
        let headers = ["content-type": "application/x-www-form-urlencoded; charset=utf-8"]
        do throws(Problem) {
            _ = try Self.event(hook, "payload=%7B%22id%22%3A1%7D", headers)
            Issue.record("a form was taken")
        } catch {
            #expect(error.code == "media_type" && error.title.contains("application/json"))
        }
        // curl names that type for whatever it sends.
        #expect(try Self.event(hook, #"{"id":"1"}"#, headers) != nil)
    }

    @Test(arguments: ["", "{", "[]", "null", "\"x\"", "{\"id\":{}}", "{\"id\":\"a b\"}", "{\"id\":\"\"}"])
    func `a delivery of which nothing can be made is a problem, never a trap`(body: String) throws {
        let hook = try Self.hook(#"{"scheme":"shopify","secrets":["env:X"]}"#)
        #expect(throws: Problem.self) { try hook.outcome(of: Delivery(headers: [:], body: Array(body.utf8))) }
    }

    @Test(arguments: [
        ("", "expected"), ("[]", "one JSON object"), ("{}", "hook"),
        (#"{"hook":"h","verify":{"scheme":"x"},"rules":[]}"#, "verify.scheme"),
        (#"{"hook":"h","verify":{"scheme":"square","secrets":["env:X"]},"rules":[1]}"#, "verify.url"),
        (#"{"hook":"h","verify":{"scheme":"stripe","secrets":["credential:../x"]},"rules":[]}"#, "verify.secrets.0"),
        (
            #"{"hook":"h","verify":{"scheme":"stripe","secrets":["env:X"]},"rules":[{"on":["*"],"key":"a/{{state.key}}","type":"t"}]}"#,
            "rules.0.key"
        ),
        (
            #"{"hook":"h","verify":{"scheme":"stripe","secrets":["env:X"]},"rules":[{"on":["*"],"guard":"in(x)","key":"a/b","type":"t"}]}"#,
            "rules.0.guard"
        ),
    ])
    func `the lint says where`(text: String, place: String) {
        var reader = HookReader()
        #expect(reader.read(Array(text.utf8)) == nil)
        #expect(text.isEmpty ? !reader.faults.isEmpty : reader.faults.contains { $0.contains(place) })
    }

    @Test func `the shipped hook files are good`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../../Protocols/HTTP/hooks")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count == 4)
        for file in files {
            var reader = HookReader()
            #expect(reader.read(Array(try Data(contentsOf: file))) != nil, "\(reader.faults)")
        }
    }
}
