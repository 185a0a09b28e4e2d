import TelltaleModel
import TelltaleWire
import Testing

struct ServerLineTests {
    @Test func `a greeting is read`() throws {
        let line = try read(
            "TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=41877 now=1763719200123 hb=20000 max_line=65536 auth=none server=0.1.0"
        )
        #expect(line.verb == "TELLTALE")
        #expect(line.words == ["1"])
        #expect(line["epoch"] == "6f3a91c2d0e4b577")
        #expect(line.integer("seq") == 41877)
        #expect(line.attributes.map(\.name) == ["epoch", "seq", "now", "hb", "max_line", "auth", "server"])
        #expect(line.tail == nil)
    }

    @Test func `a row is read`() throws {
        let line = try read(
            #"UPD sub=1 key=coffee-order/1042 rev=41950 cur=6f3a91c2d0e4b577:41950:b0e4 {"presentation":"small", "n":1}"#
        )
        #expect(line["key"] == "coffee-order/1042")
        #expect(line.cursor == Cursor(epoch: 0x6f3a_91c2_d0e4_b577, sequence: 41950, selection: 0xb0e4))
        #expect(line.tail.map { JSON.object($0) } == ["presentation": "small", "n": 1])
    }

    @Test func `an error is read`() throws {
        let line = try read(#"ERR id=7 code=stale_rev retry=resync {"have":1,"msg":"Out of date = true","want":2}"#)
        #expect(line.errorCode == .staleRev)
        #expect(line.message == "Out of date = true")
        #expect(try read("ERR code=from_the_future").errorCode == nil)
    }

    @Test func `help is read`() throws {
        #expect(try read("# SUB follows a key=x {").words == ["SUB follows a key=x {"])
        #expect(try read("#").words == [""])
    }

    @Test(
        "What a client does not know is no fault",
        arguments: ["NEWVERB", "OK Strange=1 =x 9=1", "OK  two  spaces ", "OK a= b"])
    func unknown(line: String) {
        #expect(throws: Never.self) { try read(line) }
    }

    @Test(
        "A broken line is an error",
        arguments: [("1", ErrorCode.badLine), ("OK {", .badJSON), ("OK {\"a\":1} x", .badJSON), ("", .badLine)])
    func broken(line: String, code: ErrorCode) {
        #expect { try read(line) } throws: { ($0 as? WireError)?.code == code }
    }

    private func read(_ line: String) throws -> ServerLine {
        try ServerLine(Array(line.utf8).span, parser: JSONParser())
    }
}
