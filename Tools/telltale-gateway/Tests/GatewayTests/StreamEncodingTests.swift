import Gateway
import TelltaleModel
import Testing

/// The stream of the daemon's lines, wherever the network cuts them.
struct StreamEncodingTests {
    static let conversation = """
        TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=41877 now=1763719200123 hb=20000 max_line=65536 auth=none server=0.1.0
        OK conn=c1 hb=15000
        OK sub=1 view=carplay
        SNAP sub=1 key=coffee-order/1 rev=41 {"title":"\\"Ö\\""}
        OK sub=2 view=full
        LIVE sub=1 cur=6f3a91c2d0e4b577:41903:b0e4
        LIVE sub=2 cur=6f3a91c2d0e4b577:41903:aaaa
        MILE sub=1 key=coffee-order/1 rev=42 state=brewing,"x" at=1763719200456
        ALERT sub=1 key=coffee-order/1 rev=42 {"title":"Ready","style":"banner"}
        UPD sub=1 key=coffee-order/1 rev=42 cur=6f3a91c2d0e4b577:42:b0e4 skip=3 why=slow {}
        NEWS sub=1 of=the/future {}
        DEL sub=2 key=coffee-order/1 rev=43 why=dismissed
        MARK now=1763719215000
        MARK now=1763719230000 sub=2 cur=6f3a91c2d0e4b577:44:aaaa
        RESET sub=1 why=epoch

        """

    static let example = """
        retry: 2000

        event: hello
        data: {"epoch":"6f3a91c2d0e4b577","now":1763719200123,"subs":[{"sub":1,"pattern":"coffee-order/*","view":"carplay"},{"sub":2,"pattern":"*","view":"full"}]}

        event: row
        data: {"sub":1,"key":"coffee-order/1","rev":41,"snap":true,"row":{"title":"\\"Ö\\""}}

        event: live
        id: 6f3a91c2d0e4b577:41903:b0e4~-
        data: {"sub":1}

        event: live
        id: 6f3a91c2d0e4b577:41903:b0e4~6f3a91c2d0e4b577:41903:aaaa
        data: {"sub":2}

        event: milestone
        data: {"sub":1,"key":"coffee-order/1","rev":42,"state":"brewing,\\"x\\"","at":1763719200456}

        event: alert
        data: {"sub":1,"key":"coffee-order/1","rev":42,"title":"Ready","style":"banner"}

        event: row
        id: 6f3a91c2d0e4b577:42:b0e4~6f3a91c2d0e4b577:41903:aaaa
        data: {"sub":1,"key":"coffee-order/1","rev":42,"skip":3,"why":"slow","row":{}}

        event: gone
        data: {"sub":2,"key":"coffee-order/1","rev":43,"why":"dismissed"}

        event: mark
        data: {"now":1763719215000}

        event: mark
        id: 6f3a91c2d0e4b577:42:b0e4~6f3a91c2d0e4b577:44:aaaa
        data: {"now":1763719230000}

        event: reset
        data: {"sub":1,"why":"epoch"}


        """

    static func session(
        _ query: Substring = "sub=coffee-order/*,carplay&sub=*", lastEventID: String? = nil,
        _ format: StreamEncoder.Format = .serverSentEvents
    ) throws -> StreamSession {
        StreamSession(try StreamRequest(try Query(query), lastEventID: lastEventID), token: "tt_secret", format: format)
    }

    @Test func `no event has a name of EventSource's own`() {
        #expect(Set(StreamEncoder.eventNames).isDisjoint(with: ["open", "error", "message"]))
    }

    @Test func `the events of a conversation`() throws {
        var session = try Self.session()
        session.receive(Array(Self.conversation.utf8).span)
        #expect(String(decoding: session.takeEvents(), as: UTF8.self) == Self.example)
        #expect(session.takeCounts().reduce(0) { $0 + $1.count } == 11)
    }

    @Test func `cut at every byte, it is the same`() throws {
        let bytes = Array(Self.conversation.utf8)
        for cut in bytes.indices {
            var session = try Self.session()
            session.receive(Array(bytes[..<cut]).span)
            var reported = session.takeEvents()
            session.receive(Array(bytes[cut...]).span)
            reported += session.takeEvents()
            #expect(reported.elementsEqual(Self.example.utf8), "cut at \(cut)")
        }
    }

    @Test func `byte by byte, it is the same`() throws {
        var session = try Self.session()
        var reported: [UInt8] = []
        for byte in Self.conversation.utf8 {
            session.receive([byte].span)
            reported += session.takeEvents()
        }
        #expect(reported.elementsEqual(Self.example.utf8))
    }

    @Test func `as lines, each is one JSON object with its name and id`() throws {
        var session = try Self.session("sub=coffee-order/*,carplay&sub=*", lastEventID: nil, .lines)
        session.receive(Array(Self.conversation.utf8).span)
        let lines = String(decoding: session.takeEvents(), as: UTF8.self).split(separator: "\n")
        let events = try lines.map { try JSONParser.parse(String($0)) }
        #expect(
            events.compactMap { $0["event"]?.string } == [
                "hello", "row", "live", "live", "milestone", "alert", "row", "gone", "mark", "mark", "reset",
            ])
        #expect(events.filter { $0["id"] != nil }.count == 4)
    }

    @Test func `what is asked of the daemon, and no secret of one that wants none`() throws {
        var session = try Self.session("sub=coffee-order/*,carplay&surface=watch&account=alice&trait=locked:yes&rate=5")
        session.receive(Array("TELLTALE 1 epoch=0000000000000001 now=1 auth=none\n".utf8).span)
        #expect(
            String(decoding: session.takeOutput(), as: UTF8.self) == """
                HELLO client=gateway surface=watch account=alice hb=15000
                TRAIT locked=yes
                SUB coffee-order/* view=carplay rate=5

                """)
        var other = try Self.session("")
        other.receive(Array("TELLTALE 1 epoch=0000000000000001 now=1 auth=token\n".utf8).span)
        #expect(
            String(decoding: other.takeOutput(), as: UTF8.self).hasPrefix(
                "HELLO client=gateway hb=15000 token=tt_secret\n"))
    }

    @Test func `a position is sent back part by part`() throws {
        let position = "6f3a91c2d0e4b577:41903:b0e4~-"
        var session = try Self.session(lastEventID: position)
        #expect(session.request.resumedFrom == position)
        session.receive(Array("TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none\n".utf8).span)
        #expect(
            String(decoding: session.takeOutput(), as: UTF8.self).hasSuffix(
                "SUB coffee-order/* view=carplay from=6f3a91c2d0e4b577:41903:b0e4\nSUB *\n"))
    }

    @Test(arguments: ["", "x", "-", "-~-~-", "6f3a91c2d0e4b577:41903:b0e4", "6f3a91c2d0e4b577:41903:b0e4~x"])
    func `a position that is none is reported as a reset`(position: String) throws {
        var session = try Self.session(lastEventID: position)
        session.receive(Array(Self.conversation.utf8).span)
        let reported = String(decoding: session.takeEvents(), as: UTF8.self)
        #expect(reported.contains("\"why\":\"malformed\"") == !position.isEmpty)
        #expect(session.request.resumedFrom == "earliest")
    }

    @Test func `a refusal before the first event is no stream`() throws {
        var session = try Self.session()
        session.receive(
            Array(
                """
                TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none
                OK conn=c1
                OK sub=1 view=full
                ERR code=forbidden retry=no {"msg":"no","need":"read:*"}

                """.utf8
            ).span)
        guard case .refused(let problem)? = session.takeOutcomes().first else {
            Issue.record("it was to be refused")
            return
        }
        #expect((problem.status, problem.code) == (403, "forbidden"))
        #expect(problem.details["need"] == "read:*")
        #expect(session.takeEvents().isEmpty)
    }

    @Test func `a daemon that goes says when to come back`() throws {
        var session = try Self.session()
        session.receive(Array((Self.conversation + "BYE code=shutting_down wait=700-700\n").utf8).span)
        #expect(
            String(decoding: session.takeEvents(), as: UTF8.self).hasSuffix(
                "retry: 700\nevent: bye\ndata: {\"code\":\"shutting_down\",\"wait\":700}\n\n"))
    }

    @Test func `a stream goes to the leader that a standby or a farewell names, and the reader is sent nothing of it`()
        throws
    {
        var standby = try Self.session()
        standby.receive(Array("TELLTALE 1 epoch=1 seq=1 now=1 node=n2 role=standby leader=b:1\n".utf8).span)
        guard case .elsewhere(to: let leader)? = standby.takeOutcomes().first else {
            Issue.record("a standby serves no stream")
            return
        }
        #expect(leader == "b:1" && standby.takeOutput().isEmpty && standby.takeEvents().isEmpty)
        var session = try Self.session()
        session.receive(Array(Self.conversation.utf8).span)
        _ = (session.takeOutcomes(), session.takeEvents())
        session.receive(Array("BYE code=not_leader wait=1-2\n".utf8).span)
        guard case .elsewhere(to: nil)? = session.takeOutcomes().first else {
            Issue.record("a leader that stands down ends no stream")
            return
        }
        #expect(session.takeEvents().isEmpty)
    }

    @Test(
        "A stream is served by a node that follows, and goes where that sends it",
        arguments: ["BYE code=behind to=b:1", "BYE code=shutting_down wait=0-0 to=b:1"], ["", conversationOfFollower])
    func sentAway(farewell: String, before: String) throws {
        var session = try Self.session()
        session.receive(Array((before + farewell + "\n").utf8).span)
        let hasOpened = session.hasOpened
        #expect(hasOpened == !before.isEmpty)
        guard case .elsewhere(to: "b:1")? = session.takeOutcomes().last else {
            Issue.record("it is to go to b:1")
            return
        }
        #expect(!String(decoding: session.takeEvents(), as: UTF8.self).contains("event: bye"))
    }

    private static let conversationOfFollower = conversation.replacing(
        " auth=", with: " node=n2 role=standby leader=a:1 serves=1 auth=")

    @Test func `before its subscriptions are answered the end of a connection is a failed attempt`() throws {
        var session = try Self.session()
        session.receive(
            Array("TELLTALE 1 epoch=1 seq=1 now=1\nOK conn=c1\nBYE code=shutting_down wait=1-2\n".utf8).span)
        #expect(session.takeOutcomes().isEmpty && session.takeEvents().isEmpty)
        session.receive(Array("BYE code=behind to=b:1\n".utf8).span)
        guard case .elsewhere(to: "b:1")? = session.takeOutcomes().last else {
            Issue.record("it waited for the rows that it has seen, and is sent on")
            return
        }
    }

    @Test(
        "A stream that goes on at another node says the newest commit that it has shown",
        arguments: [
            ("node=n2 role=standby serves=1", "6f3a91c2d0e4b577", "after=6f3a91c2d0e4b577:9 "),
            // A daemon by itself, and another history.
            ("", "6f3a91c2d0e4b577", nil), ("node=n2 role=leader term=1", "00000000000000aa", nil),
        ] as [(String, String, String?)])
    func newestCommit(node: String, epoch: String, after: String?) throws {
        var first = try Self.session("sub=*")
        first.receive(
            Array(
                """
                TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 node=n1 role=leader term=1
                OK conn=c1
                OK sub=1 view=full
                LIVE sub=1 cur=6f3a91c2d0e4b577:7:b0e4
                UPD sub=1 key=a/1 rev=9 {}
                UPD sub=1 key=a/2 rev=8 {}

                """.utf8
            ).span)
        let hello = String(decoding: first.takeOutput(), as: UTF8.self)
        #expect(!hello.contains("after="))
        var second = StreamSession(
            first.request, token: nil, format: .serverSentEvents, continuing: first.encoder, unsent: first.unsent)
        second.receive(Array("TELLTALE 1 epoch=\(epoch) now=1 \(node)\n".utf8).span)
        let said = String(decoding: second.takeOutput(), as: UTF8.self)
        #expect(after.map { said.contains($0) } ?? !said.contains("after="), "\(said)")
    }

    @Test func `a connection that is lost is resumed, and the reader is sent nothing of it`() throws {
        var first = try Self.session("sub=*")
        first.receive(
            Array(
                """
                TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none
                OK conn=c1
                OK sub=1 view=full
                LIVE sub=1 cur=6f3a91c2d0e4b577:7:b0e4

                """.utf8
            ).span)
        var second = StreamSession(first.request, token: nil, format: .serverSentEvents, continuing: first.encoder)
        second.receive(Array("TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none\n".utf8).span)
        #expect(String(decoding: second.takeOutput(), as: UTF8.self).hasSuffix("from=6f3a91c2d0e4b577:7:b0e4\n"))
        second.receive(Array("OK conn=c2\nOK sub=1 view=full\n".utf8).span)
        #expect(second.takeEvents().isEmpty && second.takeOutcomes().isEmpty)
    }

    @Test func `a picture that was cut is reported as a reset, and what was not sent comes first`() throws {
        var first = try Self.session("sub=*&sub=errand/*")
        first.receive(
            Array(
                """
                TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none
                OK conn=c1
                OK sub=1 view=full
                LIVE sub=1 cur=6f3a91c2d0e4b577:7:b0e4
                OK sub=2 view=full
                SNAP sub=2 key=errand/1 rev=5 {}

                """.utf8
            ).span)
        let wasTaken = first.hasOpened
        #expect(wasTaken)
        func resumed(_ before: borrowing StreamSession) -> StreamSession {
            StreamSession(
                before.request, token: nil, format: .serverSentEvents, continuing: before.encoder,
                unsent: before.unsent)
        }
        // One that does not even greet loses nothing either.
        let second = resumed(first)
        let isTaken = second.hasOpened
        #expect(!isTaken)
        var third = resumed(second)
        third.receive(
            Array(
                """
                TELLTALE 1 epoch=6f3a91c2d0e4b577 now=1 auth=none
                OK conn=c3
                OK sub=1 view=full
                OK sub=2 view=full
                SNAP sub=2 key=errand/2 rev=9 {}

                """.utf8
            ).span)
        let reported = String(decoding: third.takeEvents(), as: UTF8.self).split(separator: "\n").filter {
            $0.hasPrefix("event: ") || $0.contains("\"why\"")
        }
        #expect(
            reported == [
                "event: hello", "event: live", "event: row", "event: reset", #"data: {"sub":2,"why":"cut"}"#,
                "event: row",
            ])
    }

    @Test func `a stream says what it can show`() throws {
        var session = try Self.session("caps=widgets")
        session.receive(Array("TELLTALE 1 epoch=0000000000000001 now=1 auth=none\n".utf8).span)
        #expect(
            String(decoding: session.takeOutput(), as: UTF8.self).hasPrefix(
                "HELLO client=gateway caps=widgets hb=15000\n"))
    }

    @Test func `what is no daemon is refused`() throws {
        for text in [
            "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-x\n", "ERR code=limit_conns retry=later {}\n", "\u{1}\n",
            "TELLTALE 9 epoch=1\n",
        ] {
            var session = try Self.session()
            session.receive(Array(text.utf8).span)
            guard case .refused? = session.takeOutcomes().first else {
                Issue.record("\(text) was to be refused")
                continue
            }
        }
    }
}
