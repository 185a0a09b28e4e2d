import TelltaleModel
import TelltaleWire
import Testing

struct RequestLineTests {
    @Test(
        "What is written reads back as the same line",
        arguments: [
            "HELLO client=head-unit/2.1 surface=carplay account=alice device=d caps=rate,b hb=5000 id=1",
            "HELLO id=1", "PING id=1", "BYE id=1", "HELP id=1", "HELP EVT id=1", "KINDS id=1", "STATS id=1",
            "EVT a/b type=start id=1",
            #"EVT a/b type=ready id=1 src=pos-7 eid=e-1 at=7 ver=3 for=alice,bob {"attributes":{"item":"Flat white ☕️"}}"#,
            "SUB coffee-order/* view=carplay for=alice from=6f3a91c2d0e4b577:41877:b0e4 rate=5 placement=menu id=1",
            "SUB * id=1", "UNSUB sub=3 id=1", "GET a/b id=1", "GET a/b view=full id=1", "LIST * id=1",
            "LIST a/* view=watch id=1", "HISTORY a/b id=1", "TRAIT locked=yes foreground=com.example id=1",
            "DISMISS a/b id=1", "SEEN a/b rev=7 id=1", "OPEN a/b id=1", "SET a/b value=on id=1",
            "SET a/b value=off if=7 eid=e id=1", "PRESS a/b id=1", "PRESS a/b eid=e id=1", "SERVE porch-light id=1",
            "DONE op=o1 id=1", "DONE op=o1 value=off id=1", "FAIL op=o1 id=1",
            #"FAIL op=o1 code=jammed id=1 {"message":"It \"sticks\"\n"}"#, "REPORT a/b id=1",
            "REPORT a/b value=on at=9 id=1",
        ])
    func roundTrip(_ line: String) {
        let request = RequestParser().parse(line.utf8.span)
        var writer = LineWriter()
        if case .refused(let error) = request.command { return #expect(error.message == "", "should be understood") }
        writer.request(request.command, id: request.id)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == line + "\n")
    }

    @Test func `a cursor goes back byte for byte, whatever it looks like`() throws {
        var writer = LineWriter()
        writer.request(.subscribe(SubscribeCommand(pattern: .all)), id: "s", resumingFrom: "NEW:007:form")
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "SUB * from=NEW:007:form id=s\n")
    }
}
