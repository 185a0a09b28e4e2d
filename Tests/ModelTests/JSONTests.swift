import TelltaleModel
import Testing

struct JSONTests {
    @Test(
        "JSON is read and written in one canonical form",
        arguments: [
            (#"{"b":1,"a":[true,null,"x"]}"#, #"{"a":[true,null,"x"],"b":1}"#),
            ("{}", "{}"),
            (#"{"n":3.0,"m":-0,"f":0.1,"g":1e300}"#, #"{"f":0.1,"g":1e+300,"m":0,"n":3}"#),
            (#"{"s":"caf\u00e9 \u2615 \n\u007f\/"}"#, #"{"s":"café ☕ \n\u007f/"}"#),
            (#"{"n":9007199254740991}"#, #"{"n":9007199254740991}"#),
            (#"{"n":9007199254740992.0}"#, #"{"n":9007199254740992.0}"#),
            // The least Int64, whose magnitude is none.
            (#"{"n":-9223372036854775808.0}"#, #"{"n":-9.223372036854776e+18}"#),
            (#"{"n":9223372036854775808.0}"#, #"{"n":9.223372036854776e+18}"#),
        ])
    func canonical(input: String, output: String) throws {
        #expect(try JSON.description(of: input) == output)
        #expect(try JSON.description(of: output) == output)
        #expect(try JSONParser.parse(input).textByteCount == output.utf8.count)
    }

    @Test(
        "What is not I-JSON is refused",
        arguments: [
            "", "{", #"{"a":1,}"#, #"{"a":01}"#, #"{"a":1e400}"#, #"{"a":"\#u{1}"}"#, #"{"a":nan}"#,
            #"{"a":{"b":1,"c":2,"b":3}}"#, #"{"n":9007199254740992}"#, #"{"n":18446744073709551615}"#,
            #"{"n":123456789012345678901234567890}"#, #"{"a":+5}"#,
        ])
    func refused(input: String) {
        #expect(throws: JSONError.self) { try JSONParser.parse(input) }
    }

    @Test func `a text of 16 MiB is refused, and as many values are counted as there are`() throws {
        let blank = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 24)
        #expect(throws: JSONError.malformed("16 MiB or more")) { try JSONParser().parse(blank.span) }
        for count in [0, 1, 127, 128, 70_000] {
            let list = "[\(Array(repeating: "0", count: count).joined(separator: ","))]"
            guard case .array(let elements) = try JSONParser.parse(list) else {
                Issue.record("no array")
                continue
            }
            #expect(elements.count == count)
        }
    }

    @Test func `a duplicate name is reported with its place`() {
        #expect(throws: JSONError.duplicateName(path: "a[1].b")) {
            try JSONParser.parse(#"{"a":[0,{"b":{"z":1,"x":1,"z":2}}]}"#)
        }
    }

    @Test func `names that Swift calls equal stay two names`() throws {
        let json = try JSONParser.parse("{\"caf\u{e9}\":1,\"cafe\u{301}\":2}")
        #expect(json.object?.count == 2)
        #expect(json["caf\u{e9}"] == 1)
    }

    @Test func `a member that is not there is no null`() throws {
        let json = try JSONParser.parse(#"{"b":null}"#)
        #expect(json["a"] == JSON?.none)
        #expect(json["b"] == .some(.null))
        #expect(json["c"] == JSON?.none)
    }

    @Test(
        "The length of a text is known without making it",
        arguments: [
            "null", "true", "false", "0", "-1", "10", "-9007199254740991", "0.1", "1e+300", "\"\"", #""\u0001\u007f""#,
            #""a\"\\\n\r\té☕""#, "[]", "[1]", "[1,2]", "{}", #"{"a":1}"#, #"{"a":[],"b\n":{"c":null}}"#,
        ])
    func textByteCount(text: String) throws {
        let json = try JSONParser.parse(text)
        #expect(json.textByteCount == json.text.count)
        // Around that length, where each byte counts, and far from it.
        for limit in -1...json.text.count * 8 { #expect(json.isText(longerThan: limit) == (json.text.count > limit)) }
    }

    @Test("Nesting is bounded", arguments: [(32, true), (33, false), (100_000, false)])
    func depth(levels: Int, isTaken: Bool) {
        let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        #expect(((try? JSONParser.parse(text)) != nil) == isTaken)
    }

    @Test(
        "Merge Patch follows the examples of RFC 7396",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#),
        ])
    func mergePatch(target: String, patch: String, result: String) throws {
        #expect(try JSONParser.parse(target).merging(JSONParser.parse(patch)).description == result)
    }

    @Test func `Merge Patch is the procedure of RFC 7396, for any of three members`() throws {
        let values: [JSON?] = [nil, 1, .some(.null), ["x": 2, "y": .null]]
        var objects: [JSON] = []
        for number in 0..<64 {
            var object = JSONObject()
            for (name, value) in [("a", number), ("b", number / 4), ("c", number / 16)] {
                object[name] = values[value % 4]
            }
            objects.append(.object(object))
        }
        for target in objects {
            for patch in objects { #expect(target.merging(patch) == mergePatch(target, patch)) }
        }
    }

    /// RFC 7396 §2, line by line.
    private func mergePatch(_ target: JSON, _ patch: JSON) -> JSON {
        guard let changes = patch.object else { return patch }
        var target = target.object ?? JSONObject()
        for change in changes {
            target[change.name] = change.value == .null ? nil : mergePatch(target[change.name] ?? .null, change.value)
        }
        return .object(target)
    }

    @Test func `binary coding returns the encoded value, and cuts are errors`() throws {
        let json = try JSONParser.parse(#"{"a":[true,false,null,-5,0.25,"x"],"b":{"c":9007199254740991}}"#)
        var writer = BinaryWriter()
        writer.write(json)
        writer.write(Int64.min)
        writer.write(UInt64.max)
        var reader = BinaryReader(writer.bytes)
        #expect(try reader.readJSON() == json)
        #expect(try reader.readInt64() == .min)
        #expect(try reader.readUInt64() == .max)
        #expect(reader.isAtEnd)
        for cut in 0..<writer.bytes.count {
            var reader = BinaryReader(Array(writer.bytes[..<cut]))
            #expect(throws: BinaryError.self) {
                _ = try reader.readJSON()
                _ = try reader.readInt64()
                _ = try reader.readUInt64()
            }
        }
    }
}

extension JSON {
    fileprivate static func description(of text: String) throws -> String { try JSONParser.parse(text).description }
}
