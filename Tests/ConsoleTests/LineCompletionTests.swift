import Console
import TelltaleModel
import Testing

struct LineCompletionTests {
    private static let completion = {
        var completion = LineCompletion()
        completion.kinds = ["coffee-order", "coffee-tip", "parcel"]
        completion.keys = ["coffee-order/7", "coffee-order/71", "parcel/1"]
        return completion
    }()

    @Test(
        "What may stand at the cursor",
        arguments: [
            ("HI", "HISTORY "), ("hi", "history "), ("S", "S"), ("SUBX", ""), ("GET c", "coffee-"),
            ("GET p", "p"), ("GET pa", "parcel/"),
            ("GET coffee-order/7", "coffee-order/7"), ("GET parcel/", "parcel/1 "), ("GET parcel/1 v", "view="),
            ("GET parcel/1 view=car", "view=carplay "), ("GET parcel/1 view=x", ""), ("SUB parcel/", "parcel/"),
            ("SERVE par", "parcel "), ("SET porch-light/front value=o", "value=o"), ("TRAIT lo", "locked="),
            ("TRAIT locked=y", "locked=yes "), ("EVT parcel/1 type=st", "type=start "), ("HELP un", "unsub "),
            ("EVT parcel/1 type=x {\"a", ""), ("NOPE x", ""), ("EVT parcel/1 type=a t", ""), ("PING i", "id="),
        ])
    func completes(text: String, insertion: String) {
        #expect(Self.completion.answer(to: text).insertion == insertion)
    }

    @Test func `several candidates are sorted, and begin where the word does`() {
        let answer = Self.completion.answer(to: "LIST coffee-order/")
        #expect(answer.start == 5)
        #expect(answer.words == ["coffee-order/*", "coffee-order/7", "coffee-order/71"])
        #expect(Self.completion.answer(to: "SET x/y ").words == ["eid=", "if=", "value="])
    }

    @Test(arguments: [
        ("GET parcel/", "parcel"), ("GET parcel", nil), ("GET nothing/", nil), ("parcel/", nil),
        ("EVT a/b x={parcel/", nil),
    ])
    func `keys are wanted behind the slash of a kind`(text: String, kind: String?) {
        #expect(Self.completion.kindOfWantedKeys(in: text) == kind)
    }
}

struct RowFormatTests {
    private static let object: JSON = [
        "event": "update", "key": "parcel/1", "rev": 7,
        "row": ["state": "on\u{1B}[2J\nits way", "progress": 0.5, "content": ["eta": JSON.null, "a": [1, 2]]],
    ]

    @Test(arguments: [
        ("{{key}} {{rev}}", "parcel/1 7"), ("{{ row.progress }}%", "0.5%"), ("[{{row.content.eta}}{{no.such}}]", "[]"),
        ("{{row.content.a}}", "[1,2]"), (#"a\tb\n\\n\x"#, "a\tb\n\\n\\x"), ("{{row.state}}", "on [2J its way"),
        ("{ {key} }", "{ {key} }"), ("", ""),
    ])
    func `a template is filled with members`(template: String, text: String) throws {
        #expect(try RowFormat(template).filled(with: Self.object) == text)
    }

    @Test(arguments: ["{{key", "{{}}", "{{a..b}}", "{{ }}"])
    func `a template that cannot be read is refused`(template: String) {
        #expect(throws: RowFormat.Fault.self) { try RowFormat(template) }
    }
}
