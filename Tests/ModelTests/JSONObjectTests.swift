import TelltaleModel
import TestSupport
import Testing

struct JSONObjectTests {
    @Test(
        "Members come one by one, objects among them",
        arguments: [
            "{}", #"{"a":1}"#, #"{"a":{}}"#, #"{"a":{"b":{"c":[]}}}"#, #"{"a":{"b":1},"c":{"d":2}}"#,
            #"{"a":{"b":1},"c":"x","d":[{}]}"#,
        ])
    func members(text: String) throws {
        let object = try #require(try JSONParser.parse(text).object)
        // Behind it, in the same bytes, another one goes on.
        let inner = try #require(try JSONParser.parse("{\"i\":\(text),\"z\":{\"y\":0}}").object?["i"]?.object)
        for object in [object, inner] {
            var members: [String] = []
            object.forEachMember { name, value in members.append("\(String(ascii: name) ?? ""): \(value)") }
            #expect(members == object.map { "\($0.name): \($0.value)" })
        }
    }

    @Test(
        "Members come in the order of their names, however they were written",
        arguments: [
            (#"{"b":{"d":1,"c":[{"f":2,"e":3}]},"a":4}"#, #"{"a":4,"b":{"c":[{"e":3,"f":2}],"d":1}}"#),
            (#"{"ab":1,"a":2,"":3,"é":4,"z":5}"#, #"{"":3,"a":2,"ab":1,"z":5,"é":4}"#),
        ])
    func order(input: String, output: String) throws {
        #expect(try JSONParser.parse(input).description == output)
        #expect(try JSONParser.parse(input) == JSONParser.parse(output))
    }

    @Test("A name that stands twice is found wherever it stands", arguments: [2, 17, 200])
    func duplicates(count: Int) {
        for (first, second) in [(0, 1), (0, count - 1), (count - 2, count - 1)] {
            for isInOrder in [true, false] {
                var names = (0..<count).map { String(1_000 + (isInOrder ? $0 : count - $0)) }
                names[second] = names[first]
                let text = "{\"o\":{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}}"
                #expect(throws: JSONError.duplicateName(path: "o")) { try JSONParser.parse(text) }
            }
        }
    }

    @Test("The place of a number that is too large is told", arguments: [(0, "[0][0]"), (1, "[1].a.b[1]"), (2, "[2]")])
    func place(position: Int, path: String) {
        var numbers = ["1", "1", "1"]
        numbers[position] = "9007199254740992"
        let text = #"[[\#(numbers[0]),"x"],{"c":0.5,"a":{"b":[{},\#(numbers[1])]}},\#(numbers[2])]"#
        #expect(throws: JSONError.integerTooLarge(path: path)) { try JSONParser.parse(text) }
    }

    @Test func `an object in another is equal to one by itself, and changes alone`() throws {
        let whole = try JSONParser.parse(#"{"before":1,"in":{"a":1,"b":{"c":"d"}},"z":2}"#)
        var inner = try #require(whole["in"]?.object)
        #expect(JSON.object(inner) == ["a": 1, "b": ["c": "d"]])
        #expect(Set([JSON.object(inner), ["a": 1, "b": ["c": "d"]]]).count == 1)
        inner["a"] = nil
        inner["e"] = "f"
        #expect(JSON.object(inner).description == #"{"b":{"c":"d"},"e":"f"}"#)
        #expect(whole.description == #"{"before":1,"in":{"a":1,"b":{"c":"d"}},"z":2}"#)
    }

    @Test func `it behaves as a dictionary, in the order of the names`() throws {
        var random = SeededGenerator(seed: 7)
        let values: [JSON] = [
            .null, true, false, 0, -1, 9_007_199_254_740_991, 0.5, "", "é☕", [], [1, ["x": 2]], [:],
            ["y": ["z": .null]],
            .string(String(repeating: "long", count: 100)),
        ]
        var object = JSONObject()
        var model: [String: JSON] = [:]
        for round in 0..<3_000 {
            // Up to more than 127 members, whose count has two bytes.
            let name = String(Int.random(in: 0..<(round < 1_500 ? 6 : 200), using: &random), radix: 36)
            #expect(object[name] == model[name])
            let value = Int.random(in: 0..<3, using: &random) == 0 ? nil : values.randomElement(using: &random)
            object[name] = value
            model[name] = value
            #expect(object.count == model.count)
            guard round % 50 == 0 else { continue }
            #expect(object.map(\.name) == model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            #expect(object.allSatisfy { model[$0.name] == $0.value })
            let json = JSON.object(object)
            #expect(json.textByteCount == json.text.count)
            #expect(try JSONParser.parse(json.description) == json)
            var writer = BinaryWriter()
            writer.write(json)
            var reader = BinaryReader(writer.bytes)
            #expect(try reader.readJSON() == json)
        }
        #expect(object.count > 127)
    }

    @Test func `its hash is that of its parts, as releases before wrote it into journals`() throws {
        var hash = StableHash()
        hash.combine(json: try JSONParser.parse(#"{"b":[null,true,false,-5,0.25],"a":{"long name":"texts é"}}"#))
        var parts = StableHash()
        for part in [7, 2] as [UInt64] { parts.combine(part) }
        parts.combine("a")
        for part in [7, 1] as [UInt64] { parts.combine(part) }
        parts.combine("long name")
        parts.combine(5)
        parts.combine("texts é")
        parts.combine("b")
        for part in [6, 5, 0, 2, 1, 3, UInt64(bitPattern: -5), 4, (0.25).bitPattern] { parts.combine(part) }
        #expect(hash.finalize() == parts.finalize())
    }

    @Test(
        "Bytes that are no value's are refused, and so is a second form of one",
        arguments: [
            ([], "ends early"),
            ([8], "not a JSON value"),
            ([3, 0x80, 0], "number longer than it must be"),
            ([5, 0x81, 0, 0x61], "number longer than it must be"),
            ([4, 0, 0, 0, 0, 0, 0, 0, 0], "not a number of JSON's"),
            ([4, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F], "not a number of JSON's"),
            ([4, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F], "not a number of JSON's"),
            ([5, 1, 0xFF], "not UTF-8"),
            ([7, 1, 1, 0xFF, 0], "not UTF-8"),
            ([7, 2, 1, 0x62, 0, 1, 0x61, 0], "names out of order"),
            ([7, 2, 1, 0x61, 0, 1, 0x61, 0], "names out of order"),
            ([6, 5, 0], "count 5 is past the end"),
            ([5, 5, 0x61], "count 5 is past the end"),
        ] as [([UInt8], String)])
    func refused(bytes: [UInt8], reason: String) {
        var reader = BinaryReader(bytes)
        #expect { try reader.readJSON() } throws: { ($0 as? BinaryError)?.reason == reason }
    }

    @Test func `a value in a journal that is nested too deeply is refused`() {
        var reader = BinaryReader(Array(repeating: [6, 1], count: 40).flatMap { $0 } + [0])
        #expect(throws: BinaryError.self) { try reader.readJSON() }
    }
}
