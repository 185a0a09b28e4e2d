import Gateway
import TelltaleModel
import TelltaleWire
import Testing

/// Answers of many lines, wherever the network cuts the daemon's.
struct ListingTests {
    private static let greeting =
        "TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=41877 now=1763719200123 hb=20000 max_line=65536 auth=token server=0.1.0\n"

    private static let list = ListingRequest(
        .list(.all, view: .full), verb: "SNAP", .object("entities"), Situation(), write: ListingRequest.row)

    /// The lines of the session for the daemon, its body and its outcome.
    private static func pieces(
        _ lines: String, _ request: ListingRequest, in size: Int = .max
    ) -> (said: String, body: String, outcome: ListingSession.Outcome?) {
        var session = ListingSession(request, token: "tt_secret")
        var (said, body): ([UInt8], [UInt8]) = ([], [])
        var rest = Array(lines.utf8)[...]
        while !rest.isEmpty {
            session.receive(Array(rest.prefix(size)).span)
            rest = rest.dropFirst(size)
            said += session.takeOutput()
            body += session.takeBody()
        }
        return (String(decoding: said, as: UTF8.self), String(decoding: body, as: UTF8.self), session.outcome)
    }

    private static func problem(_ outcome: ListingSession.Outcome?) -> Problem? {
        if case .refused(let problem)? = outcome { problem } else { nil }
    }

    @Test(arguments: [1, 7, 64, Int.max])
    func `a list is reported as the daemon's rows are, byte for byte`(size: Int) {
        let reported = Self.pieces(
            Self.greeting + """
                OK conn=c1 hb=20000 principal=car
                SNAP sub=0 key=errand/1 rev=41 {"title":"\\"Ö\\"","n":1.50}
                NEWS of=the/future {}
                SNAP sub=0 key=errand/2 rev=42 {}
                OK count=2
                SNAP sub=0 key=errand/3 rev=43 {}

                """, Self.list, in: size)
        #expect(reported.said == "HELLO client=gateway token=tt_secret\nLIST * view=full\n")
        #expect(
            reported.body == """
                {"entities":[{"key":"errand/1","rev":41,"row":{"title":"\\"Ö\\"","n":1.50}},\
                {"key":"errand/2","rev":42,"row":{}}],"count":2}
                """)
        guard case .whole? = reported.outcome else {
            Issue.record("\(String(describing: reported.outcome))")
            return
        }
    }

    @Test func `nothing at all is a list of nothing`() {
        #expect(
            Self.pieces(Self.greeting + "OK conn=c1\nOK count=0\n", Self.list).body == #"{"entities":[],"count":0}"#)
    }

    @Test func `lines have no frame, and traits have a reply of their own`() throws {
        let key = try #require(Key("errand/1"))
        var situation = Situation()
        situation.surface = .carplay
        situation.traits = [Attribute(name: "dashboard", value: "hidden")]
        let request = ListingRequest(.history(key), verb: "HIST", .lines, situation) { line, _, body in
            body += "\(line.count)".utf8
        }
        let reported = Self.pieces(
            Self.greeting + "OK conn=c1\nOK\nHIST key=errand/1\nHIST key=errand/1 rev=2\nOK count=2\n", request)
        #expect(
            reported.said == """
                HELLO client=gateway surface=carplay token=tt_secret
                TRAIT dashboard=hidden
                HISTORY errand/1

                """)
        #expect(reported.body == "17\n23\n")
    }

    @Test func `each refusal is one, before the first row and behind it`() throws {
        let refusal = "ERR code=internal retry=later {\"msg\":\"pruned\"}\n"
        for lines in ["", "OK conn=c1\n", "OK conn=c1\nSNAP sub=0 key=errand/1 rev=41 {}\n"] {
            let problem = try #require(Self.problem(Self.pieces(Self.greeting + lines + refusal, Self.list).outcome))
            #expect((problem.code, problem.title, problem.retry) == ("internal", "pruned", "later"))
        }
        let leaving = Self.pieces(Self.greeting + "OK conn=c1\nBYE code=auth_revoked wait=1-2\n", Self.list).outcome
        #expect(Self.problem(leaving)?.code == "auth_revoked")
        #expect(Self.problem(Self.pieces("SSH-2.0-OpenSSH_9.2\n", Self.list).outcome)?.code == "version_unsupported")
    }

    @Test func `another daemon may lead`() {
        let follower = Self.greeting.replacing("auth=token", with: "auth=token role=follower leader=10.0.0.2:7878")
        let late = Self.greeting + #"OK conn=c1\#nERR code=not_leader {"msg":"n2 leads","leader":"10.0.0.2:7878"}\#n"#
        let behind = Self.greeting + "BYE code=behind to=10.0.0.2:7878\n"
        for lines in [follower, late, behind, "BYE code=shutting_down wait=0-0 to=10.0.0.2:7878\n"] {
            guard case .elsewhere(to: "10.0.0.2:7878")? = Self.pieces(lines, Self.list).outcome else {
                Issue.record("\(lines)")
                continue
            }
        }
    }

    @Test func `a daemon that follows may answer`() {
        let follower = Self.greeting.replacing("auth=token", with: "auth=token role=standby leader=a:1 serves=1")
        let outcome = Self.pieces(follower + "OK conn=c1\nOK count=0\n", Self.list).outcome
        let isWhole = if case .whole? = outcome { true } else { false }
        #expect(isWhole, "\(String(describing: outcome))")
    }
}
