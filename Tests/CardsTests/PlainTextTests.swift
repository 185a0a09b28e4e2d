import Cards
import TelltaleModel
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
        #expect("┏━┓┃┗┛ █▌▎░".inASCII == "+=+|++ ##..")
        #expect("☕ 茶 💡✈".inASCII == "*  ?? * *")
        #expect("plain".inASCII == "plain")
    }

    @Test func `JSON stays the same JSON in ASCII`() throws {
        let text = #"{"a":"Café ☕ 💡","b":1}"#
        #expect(text.escapedToASCII == #"{"a":"Caf\u00e9 \u2615 \ud83d\udca1","b":1}"#)
        #expect(try JSONParser.parse(text.escapedToASCII) == JSONParser.parse(text))
    }

    @Test func `a card has the same columns in ASCII`() throws {
        let body = try #require(
            try JSONParser.parse(
                #"{"presentation":"small","lifecycle":"stale","view":{"symbol":"cup.and.saucer","title":"Café 茶","progress":0.55}}"#
            ).object)
        let block = TerminalScreen.draw(
            [Card(key: "a/b", body: body)], view: .surface(.carplay), at: Timestamp(milliseconds: 0), width: 60)
        for line in block.text(color: false) {
            #expect(line.inASCII.utf8.allSatisfy { $0 < 0x80 })
            #expect(line.inASCII.count == line.reduce(0) { $0 + $1.displayWidth }, "\(line)\n\(line.inASCII)")
        }
    }
}
