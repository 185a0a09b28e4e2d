import TelltaleModel
import Testing

struct KeyTests {
    @Test(
        "A key is two segments of 1 to 64 bytes",
        arguments: [
            ("coffee-order/1042", true), ("a/b", true), ("A.z_0~:@-/x", true), ("", false), ("a", false), ("a/", false),
            ("/b", false), ("a/b/c", false), ("a b/c", false), ("é/b", false), ("a/*", false),
            (String(repeating: "k", count: 64) + "/" + String(repeating: "i", count: 64), true),
            (String(repeating: "k", count: 65) + "/i", false),
        ])
    func grammar(text: String, isKey: Bool) {
        #expect((Key(text) != nil) == isKey)
        #expect(Key(text)?.text == (isKey ? text : nil))
    }

    @Test func `a segment takes the bytes that the grammar names`() {
        let named = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~:@-".utf8)
        for byte in UInt8.min...UInt8.max {
            #expect((Key([0x61, 0x2F, byte, 0x62].span) != nil) == named.contains(byte), "\(byte)")
        }
    }

    @Test(
        "Patterns match what they name",
        arguments: [
            ("*", "a/b", true), ("a/*", "a/b", true), ("a/*", "ab/b", false), ("a/b", "a/b", true),
            ("a/b", "a/c", false),
        ])
    func patterns(pattern: String, key: String, matches: Bool) throws {
        #expect(try #require(Pattern(pattern)).matches(#require(Key(key))) == matches)
    }

    @Test("Texts that are no pattern are refused", arguments: ["", "**", "a", "*/a", "/*", "a/b*", "a/*/"])
    func noPattern(text: String) {
        #expect(Pattern(text) == nil)
    }

}
