import TelltaleModel
import Testing

struct Base64Tests {
    @Test(
        "The vectors of RFC 4648 §10, both ways",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(text: String, encoded: String) {
        let bytes = Array(text.utf8)
        #expect(Base64.text(bytes, .standard) == encoded && Base64.bytes(encoded.utf8, .standard) == bytes)
        let short = String(encoded.prefix { $0 != "=" })
        #expect(Base64.text(bytes, .url) == short && Base64.bytes(short.utf8, .url) == bytes)
    }

    @Test func `the two alphabets differ in two digits`() {
        #expect(Base64.text([0xFB, 0xFF], .url) == "-_8" && Base64.text([0xFB, 0xFF], .standard) == "+/8=")
    }

    @Test(
        "base64url has one form",
        arguments: [
            ("AA", [0]), ("AAA", [0, 0]), ("AQID", [1, 2, 3]), ("-_8", [0xFB, 0xFF]), ("A", nil), ("AB", nil),
            ("AAB", nil), ("AA==", nil), ("A+", nil), ("A/", nil), ("A A", nil), ("AA\n", nil),
        ] as [(String, [UInt8]?)])
    func url(text: String, bytes: [UInt8]?) { #expect(Base64.bytes(text.utf8, .url) == bytes) }

    @Test(
        "base64 has one form",
        arguments: [
            ("AA==", [0]), ("AAA=", [0, 0]), ("+/8=", [0xFB, 0xFF]), ("AA", nil), ("AA=", nil), ("A===", nil),
            ("====", nil), ("AB==", nil), ("-_8=", nil), ("AA==AA==", nil), ("=AAA", nil),
        ] as [(String, [UInt8]?)])
    func standard(text: String, bytes: [UInt8]?) { #expect(Base64.bytes(text.utf8, .standard) == bytes) }
}
