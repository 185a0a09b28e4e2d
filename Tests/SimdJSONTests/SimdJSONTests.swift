import SimdJSON
import TelltaleModel
import TestSupport
import Testing

/// Two readers of JSON, one of them simdjson: what the daemon takes, a client takes, and nothing else.
struct SimdJSONTests {
    /// One member of the grammar each, or one step beside it.
    static let edges: [String] = [
        "", " ", "null", " null ", "nul", "nulls", "true", "tru", "truefalse", "false", "True", "nan", "Infinity", "-",
        "{}", "{ }", "[]", "[ ]", "{", "}", "[", "]", "[1,]", "[,1]", "[1 2]", "[1,,2]", "{,}", #"{"a"}"#, #"{"a":}"#,
        #"{"a":1,}"#, #"{"a" 1}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":1 "b":2}"#, #"{"a":1}{"#, #"{"a":1} x"#, "[1]]",
        "{}}",
        "[}", "{]", #"{"a":[1}"#, "1 2", "//1", "[1/*x*/]", "\u{FEFF}{}", "\u{FEFF}", "[\u{2028}]", "\u{A0}1",
        "\t\r\n [1]\n",
        "[\u{b}1]", "[1]\0", "\0", #""\0""#, #""\u0000""#, #"{"\u0000":1,"":2}"#,
        // Numbers.
        "0", "-0", "-0.0", "00", "01", "-01", "0.", ".5", "-.5", "1.", "1.e1", "1e", "1e+", "1e-", "1E5", "1e+05",
        "1e5.0",
        "+1", "1+1", "--1", "0x10", "1_000", "0e0", "0e999999999999", "-0e-5", "1e400", "-1e400", "1e308",
        "1.7976931348623157e308",
        "1.7976931348623159e308", "1e-400", "5e-324", "2e-324", "4.9406564584124654e-324", "2.2250738585072011e-308",
        "1e99999999999999999999", "1e-99999999999999999999", "9007199254740991", "9007199254740992",
        "-9007199254740991",
        "-9007199254740992", "9007199254740991.0", "9007199254740993.0", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
        "100000000000000000000", "-100000000000000000000", "100000000000000000000.0", "00000000000000000000001",
        "123456789012345678901234567890", "1.0000000000000000000000000000000000000000000000000000001",
        "0.1", "0.30000000000000004", "123456789.123456789e-30", "1e22", "1e23", "8.5e15", "2.5e-7", "1e1", "1.5e3",
        "3e0",
        // Strings.
        #"""#, #"""""#, #""a"#, #""\""#, #""\\""#, #""\/\b\f\n\r\t""#, #""\a""#, #""\x41""#, #""\u""#, #""\u12""#,
        #""\u12G4""#, #""\u+123""#, #""\u00e9""#, #""\u00E9""#, #""\U00e9""#, #""\ud83d\ude00""#, #""\uD83D\uDE00""#,
        #""\ud83d""#,
        #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u""#, #""\ud83d\u0041""#,
        #""\ude00\ud83d""#,
        #""\uDBFF\uDFFF""#, #""\uFFFF""#, #""\uFFFE\u0001""#, #""\u007f""#, "\"\u{7F}\"", "\"a\nb\"", "\"\u{1F}\"",
        "\"\t\"",
        "\"☕️ é 😀\"", #""12345678\n12345678""#, #""1234567\n12345678\\""#, "\"\u{2028}\"",
        // Names.
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"b":1,"a":{"x":1,"x":2},"b":3}"#, #"{"b":0,"a":0,"c":0}"#,
        #"{"\u0062":1,"a":2}"#, #"{"\n":1,"\t":2,"\n":3}"#, #"{"a":[{"b":18446744073709551615},{"c":1,"c":2}]}"#,
        #"{"a":9007199254740992,"b":}"#, #"{"a":{"c":1,"c":2},"b":9007199254740992}"#, #"[[1,9007199254740992]]"#,
        #"{"z":[0,{"y":9007199254740992}]}"#, #"{"":{"":9007199254740992}}"#, "{\"é\":1,\"e\u{301}\":2}",
        #"{"aa":1,"a":2,"ab":3}"#, #"{"a\n":9007199254740992}"#,
        #"{"b":{"d":1,"c":2},"a":{"d":1,"c":[{"x":1,"x":1}]}}"#,
    ]

    @Test("Both take the same texts, and tell the same of the others", arguments: edges)
    func edge(text: String) { compare(Array(text.utf8)) }

    @Test func `nesting is bounded alike, whatever stands inside`() {
        for levels in 30...34 {
            for inside in ["", "1", "[]", "{}", #"{"a":1}"#, "\"x\"", "1,2"] {
                for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
                    let text = String(repeating: open, count: levels) + inside + String(repeating: close, count: levels)
                    let isJSON = !(inside.isEmpty && open != "[") && !(inside == "1,2" && open != "[")
                    let depth = levels + (inside.hasPrefix("[") || inside.hasPrefix("{") ? 1 : 0)
                    let value = compare(Array(text.utf8))
                    expect((value != nil) == (isJSON && depth <= JSON.depthLimit), "\(levels) \(open) \(inside)")
                }
            }
        }
        compare(Array(String(repeating: "[", count: 1_000_000).utf8))
        compare(Array(String(repeating: #"{"a":"#, count: 100_000).utf8))
    }

    @Test func `as many members and elements are counted as there are`() {
        for count in [0, 1, 2, 126, 127, 128, 129, 16_383, 16_384, 70_000] {
            let numbers = (0..<count).map { "\($0)" }
            let list = compare(Array("[\(numbers.joined(separator: ","))]".utf8))
            expect(list?.array?.count == count, "\(count)")
            // Not in the order of their names.
            let members = numbers.map { "\"\($0)\":\($0)" }
            let object = compare(Array("{\(members.reversed().joined(separator: ","))}".utf8))
            expect(object?.object?.count == count, "\(count)")
        }
    }

    @Test(
        "Bytes that are no UTF-8 are refused, with their place",
        arguments: [
            [0x80], [0xC3], [0xC3, 0x28], [0xC0, 0xAF], [0xC1, 0x81], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82],
            [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func brokenUTF8(bytes: [UInt8]) {
        for length in [0, 5, 8, 61] {
            let text = [0x22] + [UInt8](repeating: 0x78, count: length) + bytes + [0x22]
            #expect(compare(text) == nil)
            #expect(throws: JSONError.malformed("byte \(length + 2) of the JSON text is no UTF-8")) {
                try JSONParser().parse(text.span)
            }
        }
    }

    @Test("Random values, written in many ways", arguments: 0..<40)
    func randomValues(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var text: [UInt8] = []
            RandomText.value(to: &text, depth: 0, &random)
            #expect(compare(text) != nil || RandomText.mayBeRefused(text))
        }
    }

    @Test("Random texts that are nearly JSON", arguments: 0..<40)
    func randomTexts(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 1_000)
        for _ in 0..<400 {
            var text: [UInt8] = []
            RandomText.value(to: &text, depth: 0, &random)
            for _ in 0...random.below(2) { Mutation.change(&text, &random) }
            compare(text)
        }
    }

    @Test("Numbers are rounded to the same bits", arguments: 0..<20)
    func numbers(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 2_000)
        for _ in 0..<2_000 {
            var text: [UInt8] = []
            if random.chance(50) {
                let number = Double(bitPattern: random.next())
                text = Array((number.isFinite ? number : 0.5).description.utf8)
            } else {
                RandomText.number(to: &text, &random)
            }
            compare(text)
        }
    }

    /// Objects with these numbers of names, one within the other, or one after the other.
    private static func text(names counts: [Int], isNested: Bool) -> String {
        var text = isNested ? "{\"x\":0}" : "0"
        for (object, count) in counts.enumerated() {
            // In reverse: an object of so many names would be sorted.
            var members = (0..<count - 1).reversed().map { "\"n\($0)\":9007199254740991" }
            members.append("\"a\(object)\":\(isNested ? text : "1.5")")
            let whole = "{" + members.joined(separator: ",") + "}"
            text = isNested ? whole : object == 0 ? "[" + whole : text + "," + whole
        }
        return isNested ? text : text + "]"
    }

    @Test(arguments: [[100], [50, 50], [1, 98, 1], Array(repeating: 1, count: 30) + [70]], [false, true])
    func `names are counted over all objects, and one more than the limit is refused`(counts: [Int], isNested: Bool)
        throws
    {
        let text = Array(Self.text(names: counts, isNested: isNested).utf8)
        let count = isNested ? 101 : 100
        for parser in [JSONParser(), .withSimdJSON()] {
            #expect(throws: JSONError.tooManyNames(limit: count - 1)) {
                try parser.parse(text.span, nameLimit: count - 1)
            }
            #expect(try parser.parse(text.span, nameLimit: count) == parser.parse(text.span))
        }
    }

    @Test func `too many names are reported before other faults of I-JSON, and behind those of JSON`() {
        let names = (0..<50).map { "\"n\($0)\":0" }.joined(separator: ",")
        for parser in [JSONParser(), .withSimdJSON()] {
            for fault in ["\"n7\":0", "\"m\":9007199254740993", "\"m\":{\"a\":0,\"a\":0}"] {
                for text in ["{\(names),\(fault)}", "{\(fault),\(names)}"] {
                    #expect(throws: JSONError.tooManyNames(limit: 50), "\(fault)") {
                        try parser.parse(Array(text.utf8).span, nameLimit: 50)
                    }
                }
            }
            let error = #expect(throws: JSONError.self) {
                try parser.parse(Array("{\(names),\"m\":0,}".utf8).span, nameLimit: 50)
            }
            guard case .malformed? = error else { return #expect(Bool(false), "\(error as Any)") }
        }
    }

    @Test func `a parser is used again after a fault`() throws {
        for parser in [JSONParser(), .withSimdJSON()] {
            for _ in 0..<3 {
                #expect(throws: JSONError.duplicateName(path: "b[1]")) {
                    try parser.parse(Array(#"{"b":[0,{"z":1,"x":1,"z":2}],"a":0}"#.utf8).span)
                }
                #expect(throws: JSONError.self) { try parser.parse(Array(#"{"a":tru}"#.utf8).span) }
                #expect(try parser.parse(Array(#"{"b":1,"a":[2]}"#.utf8).span).description == #"{"a":[2],"b":1}"#)
            }
        }
    }

    /// Reads `text` with both.
    ///
    /// - Returns: The value; `nil` if both refuse.
    @discardableResult
    private func compare(_ text: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) -> JSON? {
        let own = Result { () throws(JSONError) in try JSONParser().parse(text.span) }
        let other = Result { () throws(JSONError) in try JSONParser.withSimdJSON().parse(text.span) }
        let shown = { String(decoding: text.prefix(200), as: UTF8.self) }
        switch (own, other) {
        case (.success(let own), .success(let other)):
            expect(Self.form(own) == Self.form(other), "\(shown()): \(own), \(other)", sourceLocation: sourceLocation)
            return own
        case (.failure(let own), .failure(let other)):
            expect(own == other, "\(shown()): \(own), \(other)", sourceLocation: sourceLocation)
            // The library alone does not take it either, or takes what I-JSON forbids.
            if case .malformed = own {
                let isTaken = unsafe SimdJSON().tape(of: text.span) != nil
                expect(!isTaken, "\(shown()): simdjson takes it, not: \(own)", sourceLocation: sourceLocation)
            }
            return nil
        default:
            expect(false, "\(shown()): \(own), simdjson \(other)", sourceLocation: sourceLocation)
            return nil
        }
    }

    private static func form(_ json: JSON) -> [UInt8] {
        var writer = BinaryWriter()
        writer.write(json)
        return writer.bytes
    }
}
