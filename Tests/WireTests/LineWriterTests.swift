import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

struct LineWriterTests {
    private let key = Key("coffee-order/1042")

    @Test func `a greeting equals the one in line-protocol.md`() {
        var greeting = Greeting(
            epoch: 0x6f3a_91c2_d0e4_b577, sequence: 41877, now: Timestamp(milliseconds: 1_763_719_200_123),
            heartbeat: 20000, server: "0.1.0")
        #expect(
            written { $0.greeting(greeting) }
                == "TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=41877 now=1763719200123 hb=20000 max_line=65536 auth=none "
                + "server=0.1.0\n")
        greeting.node = NodeStatus(name: "n1", role: .leader(term: 7))
        #expect(written { $0.greeting(greeting) }.hasSuffix(" server=0.1.0 node=n1 role=leader term=7\n"))
        greeting.node?.role = .standby(leader: "10.0.0.1:7878")
        #expect(written { $0.greeting(greeting) }.hasSuffix(" node=n1 role=standby leader=10.0.0.1:7878\n"))
        greeting.node?.role = .standby(leader: "10.0.0.1:7878", serves: true)
        #expect(written { $0.greeting(greeting) }.hasSuffix(" role=standby leader=10.0.0.1:7878 serves=1\n"))
        greeting.node?.role = .standby(leader: nil)
        #expect(written { $0.greeting(greeting) }.hasSuffix(" node=n1 role=standby\n"))
        greeting.node = nil
        greeting.speed = 2.5
        #expect(written { $0.greeting(greeting) }.contains(" now=1763719200123 speed=2.5 hb="))
    }

    @Test func `replies are written`() {
        #expect(written { $0.ok(id: "a1", ignored: []) } == "OK id=a1\n")
        #expect(written { $0.ok(id: nil, ignored: ["b", "a"]) } == "OK ignored=b,a\n")
        #expect(
            written { $0.ok(id: "a1", verdict: .applied, rev: 41878, state: "placed", ignored: ["x"]) }
                == "OK id=a1 verdict=applied rev=41878 state=placed ignored=x\n")
        #expect(
            written { $0.ok(id: nil, verdict: .stale, rev: nil, state: nil, isOldEnd: true, ignored: []) }
                == "OK verdict=stale old_end=1\n")
        #expect(written { $0.pong(id: "1") } == "PONG id=1\n")
        #expect(written { $0.bye(.drain, wait: 100...2000) } == "BYE code=shutting_down wait=100-2000\n")
        #expect(
            written { $0.bye(.notLeader, wait: 0...2000, leader: "10.0.0.2:7878") }
                == "BYE code=not_leader wait=0-2000 leader=10.0.0.2:7878\n")
        #expect(written { $0.bye(.drain) } == "BYE code=shutting_down\n")
        #expect(written { $0.comment("one\ntwo\tthree") } == "# one\n# two three\n")
    }

    @Test func `errors have code, retry, fatal and advice`() {
        var details = JSONObject()
        details["want"] = 2
        details["have"] = 1
        #expect(
            written { $0.error(WireError(.staleRev, "say \"when\"", details: details), id: "7") }
                == #"ERR id=7 code=stale_rev retry=resync {"msg":"say \"when\"","have":1,"want":2}"# + "\n")
        // A tail has no name twice.
        details["msg"] = "another"
        #expect(
            written { $0.error(WireError(.staleRev, "this", details: details)) }.hasSuffix(
                #" {"msg":"this","have":1,"want":2}"# + "\n"))
        #expect(
            written { $0.error(WireError(.badUTF8, "x")) } == #"ERR code=bad_utf8 retry=no fatal=1 {"msg":"x"}"# + "\n")
    }

    @Test func `rows are written`() throws {
        var head = RowHead(subscription: 1, key: try #require(key), rev: 41903)
        let body = Array(#"{"a":1}"#.utf8)
        let cursor = Cursor(epoch: 0x0f3a_91c2_d0e4_b577, sequence: 7, selection: 0x00e4)
        #expect(written { $0.snapshot(head, body: body) } == "SNAP sub=1 key=coffee-order/1042 rev=41903 {\"a\":1}\n")
        head.cursor = cursor
        head.skip = 3
        head.why = .slow
        head.missed = ["ready", "brewing"]
        #expect(
            written { $0.update(head, body: body) }
                == "UPD sub=1 key=coffee-order/1042 rev=41903 cur=0f3a91c2d0e4b577:7:00e4 skip=3 why=slow "
                + "{\"missed\":[\"ready\",\"brewing\"],\"a\":1}\n")
        #expect(
            written { $0.update(head, body: Array("{}".utf8)) }.hasSuffix(" {\"missed\":[\"ready\",\"brewing\"]}\n"))
        #expect(
            written { $0.deletion(head, why: .dismissed) }
                == "DEL sub=1 key=coffee-order/1042 rev=41903 cur=0f3a91c2d0e4b577:7:00e4 skip=3 why=dismissed\n")
        #expect(written { $0.live(subscription: 2, cursor: cursor) } == "LIVE sub=2 cur=0f3a91c2d0e4b577:7:00e4\n")
        #expect(written { $0.reset(subscription: 2, why: .epoch) } == "RESET sub=2 why=epoch\n")
        let now = Timestamp(milliseconds: 5)
        #expect(written { $0.mark(now: now) } == "MARK now=5\n")
        #expect(
            written { $0.mark(now: now, subscription: 1, cursor: cursor) }
                == "MARK now=5 sub=1 cur=0f3a91c2d0e4b577:7:00e4\n")
        #expect(
            written { $0.milestone(subscription: 1, key: head.key, rev: 9, state: "ready", at: now) }
                == "MILE sub=1 key=coffee-order/1042 rev=9 state=ready at=5\n")
        #expect(
            written { $0.alert(subscription: 1, key: head.key, rev: 9, body: body) }
                == "ALERT sub=1 key=coffee-order/1042 rev=9 {\"a\":1}\n")
        #expect(
            written {
                $0.history(
                    key: head.key, rev: 9, happenedAt: now, heardAt: Timestamp(milliseconds: 6), type: "ready",
                    verdict: .noop, body: body)
            } == "HIST key=coffee-order/1042 rev=9 at=5 heard=6 type=ready verdict=noop {\"a\":1}\n")
        #expect(
            written { $0.kind(name: "coffee-order", type: "activity", version: 2, body: body) }
                == "KIND name=coffee-order type=activity version=2 {\"a\":1}\n")
        #expect(
            written { $0.action(operation: "o18", key: head.key, value: true, deadline: now) }
                == "DO op=o18 key=coffee-order/1042 action=set value=on deadline=5\n")
        #expect(
            written { $0.action(operation: "o18", key: head.key, value: nil, deadline: now) }
                == "DO op=o18 key=coffee-order/1042 action=press deadline=5\n")
        #expect(
            written { $0.action(operation: "o18", key: head.key, value: nil, deadline: now, term: 7) }
                == "DO op=o18 key=coffee-order/1042 action=press deadline=5 term=7\n")
    }

    @Test(
        "Numbers are written in full",
        arguments: [Int64.min, .min + 1, -100, -10, -1, 0, 9, 10, 99, 100, 101, 999_999, 1_000_000, .max - 1, .max])
    func number(value: Int64) {
        #expect(written { $0.attribute("n", value) } == " n=\(value)")
    }

    @Test func `no value can end a line or begin a word`() {
        #expect(written { $0.attribute("v", "a b\nc\u{7F}é") } == " v=a?b?c???")
        #expect(written { $0.attribute("v", "") } == " v=-")
        #expect(written { $0.attribute("v", joined: []) } == "")
        let long = (0..<100).map { "name\($0)" }
        #expect(written { $0.attribute("v", joined: long) }.utf8.count <= 3 + 256)
    }

    @Test func `a client reads the lines that a server writes`() throws {
        let cursor = Cursor(epoch: .max, sequence: .max, selection: .max)
        var head = RowHead(subscription: 1, key: try #require(key), rev: .max)
        head.cursor = cursor
        head.skip = 2
        head.why = .resume
        var writer = LineWriter()
        writer.update(head, body: Array(#"{"a":"é"}"#.utf8))
        var decoder = LineDecoder()
        var lines: [ServerLine] = []
        let parser = JSONParser()
        try decoder.decode(writer.bytes.span) { line in
            if let line = try? ServerLine(line, parser: parser) { lines.append(line) }
        }
        let line = try #require(lines.first)
        #expect(line.cursor == cursor)
        #expect(line.integer("rev") == .max)
        #expect(line["why"] == "resume")
        #expect(line.tail?["a"] == "é")
    }

    @Test func `a cursor reads back as it was written`() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<1000 {
            let cursor = Cursor(
                epoch: random.next(), sequence: Int64(random.next() >> UInt64.random(in: 1...63, using: &random)),
                selection: UInt16(truncatingIfNeeded: random.next()))
            #expect(Cursor(cursor.description) == cursor)
        }
        #expect(Cursor("00000000000000ff:0:0001")?.description == "00000000000000ff:0:0001")
        #expect(Cursor("") == nil)
        #expect(Cursor("::") == nil)
    }

    private func written(_ write: (inout LineWriter) -> Void) -> String {
        var writer = LineWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
