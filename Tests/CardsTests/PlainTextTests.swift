import Cards
import Testing

struct PlainTextTests {
    @Test(
        "A locale has UTF-8 by the strongest of its variables",
        arguments: [
            ([:], true), (["LANG": "C"], false), (["LANG": "de_DE.ISO-8859-1"], false), (["LANG": "de_DE.UTF-8"], true),
            (["LANG": "C.utf8", "LC_ALL": "POSIX"], false), (["LANG": "C", "LC_CTYPE": "en_US.UTF-8"], true),
            (["LC_ALL": "", "LANG": "C"], false),
        ] as [([String: String], Bool)])
    func locale(variables: [String: String], hasUTF8: Bool) {
        #expect(localeHasUTF8 { variables[$0] } == hasUTF8)
    }

    @Test func `lines and marks are drawn with ASCII, of the same width`() {
        #expect("├─▶ “placed” → café ★".inASCII == #"|-> "placed" > caf? *"#)
        #expect("plain".inASCII == "plain")
    }
}
