import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

struct RequestParserTests {
    // Outside of the macro and with its type written out: the compiler takes 25 seconds less.
    private static let requests: [(line: String, understood: String)] = [
        ("HELLO", "hello"),
        (
            "HELLO id=1 client=head-unit/2.1 surface=carplay account=alice device=x caps=rate,b hb=5000",
            "hello client=head-unit/2.1 surface=carplay account=alice device=x caps=rate,b hb=5000"
        ),
        ("hello ID=1", "bad_attr"),
        ("HELLO surface=tv", "bad_attr"),
        ("HELLO account=a,b", "bad_attr"),
        // One name for Unicode, and `==` of `String`, in two spellings.
        ("HELLO account=\u{E9}", "bad_attr"),
        ("SUB * for=e\u{301}", "bad_attr"),
        ("HELLO caps=a,,b", "bad_attr"),
        ("HELLO caps=a,a", "bad_attr"),
        ("HELLO hb=0", "bad_attr"),
        ("HELLO hb=1.5", "bad_attr"),
        ("HELLO after=6f3a91c2d0e4b577:41", "hello after=6f3a91c2d0e4b577:41"),
        ("HELLO after=6f3a91c2d0e4b577:0", "hello after=6f3a91c2d0e4b577:0"),
        ("HELLO after=41", "bad_attr"),
        ("HELLO after=6f3a91c2d0e4b577:", "bad_attr"),
        ("HELLO after=6f3a91c2d0e4b577:041", "bad_attr"),
        ("HELLO after=6f3a91c2d0e4b577:41:90ab", "bad_attr"),
        ("HELLO after=6F3A91C2D0E4B577:41", "bad_attr"),
        ("HELLO after=6f3a91c2d0e4b577:9223372036854775808", "bad_attr"),
        ("HELLO hb=86400001", "bad_attr"),
        ("HELLO alice", "bad_attr"),

        ("EVT a/b type=start", "event a/b start {}"),
        ("eVt a/b type=start", "event a/b start {}"),
        ("EVT type=start a/b", "event a/b start {}"),
        (
            #"EVT a/b type=ready src=pos-7 eid=e1 at=1763719200000 ver=3 for=alice,bob {"alert":{"title":"T"}}"#,
            #"event a/b ready src=pos-7 eid=e1 at=1763719200000 ver=3 for=alice,bob {"alert":{"title":"T"}}"#
        ),
        ("EVT a/b type=A.b:c-d_9 {}", "event a/b A.b:c-d_9 {}"),
        ("EVT a/b type=x at=9007199254740991", "event a/b x at=9007199254740991 {}"),
        ("EVT a/b type=x at=9007199254740992", "bad_attr"),
        ("EVT a/b type=x ver=9007199254740992", "bad_attr"),
        ("SET a/b value=on if=9223372036854775807", "bad_attr"),
        ("EVT a/b type=x ver=007", "event a/b x ver=7 {}"),
        ("EVT a/b", "bad_attr"),
        ("EVT type=start", "bad_key"),
        ("EVT ab type=start", "bad_key"),
        ("EVT a/b/c type=start", "bad_key"),
        ("EVT a/é type=start", "bad_key"),
        ("EVT /b type=start", "bad_key"),
        ("EVT a/* type=start", "bad_key"),
        ("EVT a/b c/d type=start", "bad_attr"),
        ("EVT a/b type=", "bad_attr"),
        ("EVT a/b type=caf\u{E9}", "bad_attr"),
        ("EVT a/b type=a/b", "bad_attr"),
        ("EVT a/b type=x type=x", "bad_attr"),
        ("EVT a/b type=done.a", "bad_attr"),
        ("EVT a/b type=x at=+5", "bad_attr"),
        ("EVT a/b type=x at=-5", "bad_attr"),
        ("EVT a/b type=x at=5e3", "bad_attr"),
        ("EVT a/b type=x at=9223372036854775808", "bad_attr"),
        ("EVT a/b type=x ver=99999999999999999999999999", "bad_attr"),
        ("EVT a/b type=x for=alice,,bob", "bad_attr"),
        ("EVT a/b type=x for=,", "bad_attr"),
        ("EVT a/b type=x for=alice,alice", "bad_attr"),
        ("EVT a/b type=x =y", "bad_attr"),
        ("EVT a/b type=x Name=y", "bad_attr"),
        ("EVT a/b type=x a234567890123456=y", "event a/b x {} ignored=a234567890123456"),
        ("EVT a/b type=x a2345678901234567=y", "bad_attr"),
        ("EVT a/b  type=x", "bad_attr"),
        ("EVT a/b type=x  ", "event a/b x {}"),
        ("EVT a/b type=x  {} ", "bad_attr"),
        ("EVT  ", "bad_attr"),
        ("EVT a/b type=x ", "event a/b x {}"),
        ("EVT a/b type=x [1]", "bad_attr"),
        ("EVT a/b type=x {", "bad_json"),
        ("EVT a/b type=x {} y=1", "bad_json"),
        ("EVT a/b type=x {}  ", "event a/b x {}"),
        (#"EVT a/b type=x {"a":1,"a":2}"#, "bad_json"),
        (#"EVT a/b type=x {"n":9007199254740992}"#, "bad_json"),
        (
            #"EVT a/b type=x {"future":[1],"relevance-score":-0.5}"#,
            #"event a/b x {"future":[1],"relevance-score":-0.5}"#
        ),

        ("SUB *", "subscribe *"),
        ("SUB a/*", "subscribe a/*"),
        (
            "SUB a/b view=full for=alice from=6f3a91c2d0e4b577:41877:b0e4 rate=5 placement=medium",
            "subscribe a/b view=full for=alice from=6f3a91c2d0e4b577:41877:b0e4 rate=5 placement=medium"
        ),
        ("SUB", "bad_pattern"),
        ("SUB */b", "bad_pattern"),
        ("SUB a/b*", "bad_pattern"),
        ("SUB a", "bad_pattern"),
        ("SUB * *", "bad_attr"),
        ("SUB * view=tv", "bad_attr"),
        ("SUB * view=Full", "bad_attr"),
        ("SUB * for=a,b", "bad_attr"),
        ("SUB * rate=0", "bad_attr"),
        ("SUB * rate=1000001", "bad_attr"),
        ("SUB * from=x", "bad_cursor"),
        ("SUB * from=6F3A91C2D0E4B577:1:b0e4", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:-1:b0e4", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577::b0e4", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:01:b0e4", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:00:b0e4", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:0:b0e4", "subscribe * from=6f3a91c2d0e4b577:0:b0e4"),
        ("SUB * from=6f3a91c2d0e4b577:1:b0e", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:1:b0e45", "bad_cursor"),
        ("SUB * from=6f3a91c2d0e4b577:99999999999999999999:b0e4", "bad_cursor"),
        ("UNSUB sub=1", "unsubscribe 1"),
        ("UNSUB", "bad_attr"),
        ("UNSUB 1", "bad_attr"),
        ("UNSUB sub=x", "bad_attr"),
        ("GET a/b", "get a/b"),
        ("GET a/b view=watch", "get a/b view=watch"),
        ("GET", "bad_key"),
        ("GET *", "bad_key"),
        ("GET / HTTP/1.1", "bad_attr"),
        ("LIST", "list *"),
        ("LIST a/* view=pad", "list a/* view=pad"),
        ("LIST a", "bad_pattern"),
        ("KINDS", "kinds"),
        ("KINDS x", "bad_attr"),
        ("GALLERY", "gallery"),
        ("GALLERY view=watch placement=smartStack", "gallery view=watch placement=smartStack"),
        ("GALLERY view=tv", "bad_attr"),
        ("GALLERY kitchen", "bad_attr"),
        ("HISTORY a/b", "history a/b"),
        ("HISTORY", "bad_key"),
        ("STATS", "stats"), ("NODE node=n2 token=ab", "node n2 ab"), ("HANDOVER", "handover "),
        ("handover node=n2 id=1", "handover n2"),
        ("DRAIN", "drain 20000"), ("DRAIN over=0", "drain 0"), ("drain do=start over=3600000", "drain 3600000"),
        ("DRAIN do=stop id=1", "drain stop"),
        (
            "TRAIT dashboard=hidden foreground=com.example.maps",
            "traits dashboard=hidden,foreground=com.example.maps"
        ),
        ("TRAIT dashboard=gone", "bad_attr"),
        ("TRAIT locked=yes locked=no", "bad_attr"),
        ("TRAIT id=1 gravity=low", "traits  ignored=gravity"),
        ("TRAIT", "bad_attr"),
        ("OPEN a/b", "open a/b"),
        ("SEEN a/b rev=5", "seen a/b 5"),
        ("SEEN a/b", "bad_attr"),
        ("DISMISS a/b", "dismiss a/b"),
        ("DISMISS", "bad_key"),

        ("SET a/b value=on", "set a/b on"),
        ("SET a/b value=off if=41650 eid=e", "set a/b off if=41650 eid=e"),
        ("SET a/b value=toggle", "bad_attr"),
        ("SET a/b value=On", "bad_attr"),
        ("SET a/b", "bad_attr"),
        ("SET a/b value=on if=-1", "bad_attr"),
        ("PRESS a/b", "press a/b"),
        ("PRESS a/b eid=e", "press a/b eid=e"),
        ("PRESS", "bad_key"),
        ("SERVE a", "serve a"),
        ("SERVE a/b", "bad_key"),
        ("SERVE", "bad_key"),
        ("DONE op=o1", "done o1"),
        ("DONE op=o1 value=off", "done o1 off"),
        ("DONE", "bad_attr"),
        (#"FAIL op=o1 code=jammed {"message":"stuck"}"#, "fail o1 code=jammed message=stuck"),
        ("FAIL op=o1", "fail o1"),
        ("FAIL code=x", "bad_attr"),
        (#"FAIL op=o1 {"message":5}"#, "bad_json"),
        ("REPORT a/b", "report a/b"),
        ("REPORT a/b value=on at=5", "report a/b on at=5"),
        ("REPORT", "bad_key"),

        ("PING", "ping"),
        ("ping", "ping"),
        ("PING x", "bad_attr"),
        ("PING {\"x\":1}", "ping"),
        ("PING ", "ping"),
        ("PING   ", "ping"),
        ("PING {\"x\":1}  ", "ping"),
        ("PING {", "bad_json"),
        ("HELP", "help"),
        ("HELP SUB", "help SUB"),
        ("HELP SUB GET", "bad_attr"),
        ("BYE", "bye"),
        ("BYE now", "bad_attr"),

        ("NOPE", "unknown_verb"),
        ("EV a/b type=x", "unknown_verb"),
        ("EVTX a/b type=x {", "unknown_verb"),
        ("E", "bad_line"),
        ("", "bad_line"),
        ("{}", "bad_line"),
    ]

    @Test("Every verb is understood", arguments: requests)
    func table(line: String, understood: String) {
        #expect(describe(parse(line)) == understood)
    }

    @Test(
        "The id is kept on every refusal",
        arguments: [
            "NOPE id=7", "EVT id=7", "EVT x y id=7 z", "EVT a/b type=x =1 id=7", "EVT a/b type=x id=7 {",
            "SUB * from=x id=7",
            "GET  id=7", "PING id=7 x", #"EVT a/b type=x id=7 {"a":1,"a":2}"#, "PING id=7 id=8",
        ])
    func idOnRefusal(line: String) {
        let request = parse(line)
        #expect(request.id == "7")
        if case .refused = request.command {} else { Issue.record("not refused") }
    }

    @Test func `an id has 1 to 64 visible bytes`() {
        let longest = String(repeating: "~", count: 64)
        #expect(parse("PING id=\(longest)").id == longest)
        #expect(describe(parse("PING id=\(longest)!")) == "bad_attr")
        #expect(describe(parse("PING id=")) == "bad_attr")
    }

    @Test func `values and names end where the grammar says`() {
        let longest = String(repeating: "v", count: 256)
        #expect(describe(parse("EVT a/b type=x src=\(longest)")) == "event a/b x src=\(longest) {}")
        #expect(describe(parse("EVT a/b type=x src=\(longest)v")) == "bad_attr")
        let name = String(repeating: "n", count: 64)
        #expect(describe(parse("EVT a/b type=\(name)")) == "event a/b \(name) {}")
        #expect(describe(parse("EVT a/b type=\(name)n")) == "bad_attr")
        #expect(describe(parse("EVT \(name)/\(name) type=x")) == "event \(name)/\(name) x {}")
        #expect(describe(parse("EVT \(name)/\(name)n type=x")) == "bad_key")
    }

    @Test func `unknown attributes are listed in their order, once, as far as a value can hold`() {
        #expect(parse("PING b=1 a=2 b=3 id=4").ignored == ["b", "a"])
        let many = (0..<10_000).map { " a\($0)=1" }.joined()
        let request = parse("PING id=1\(many)")
        #expect(describe(request).hasPrefix("ping ignored=a0,a1,a2,"))
        #expect(request.ignored.joined(separator: ",").utf8.count <= 256)
        #expect(request.ignored.count > 50)
    }

    @Test func `a fault has its place and advice`() throws {
        #expect(
            message("EVT a/b type=x at=+5")
                == #"EVT: at="+5" is not taken; write at=a whole number: digits alone, at most 9007199254740991"#)
        #expect(message("SUB a").contains("kind/*"))
        #expect(message("GET \(String(repeating: "é", count: 60000))").utf8.count < 200)
        // Of several the first, which may have led to the others.
        #expect(message("EVT a/b type=x at=5 at=6 b/c").contains("at= stands twice"))
    }

    @Test func `quoted text is cut between characters`() {
        for start in ["", "a"] {
            let message = message("GET \(start)\(String(repeating: "é", count: 60))")
            #expect(message.contains("é…") && !message.contains("\u{FFFD}"))
        }
    }

    @Test func `mutated lines never trap, and a refusal always has something to say`() {
        let seeds =
            VerbDescription.all.map(\.example) + [
                #"EVT a/b type=start src=s eid=e at=1763719200000 ver=1 for=a,b {"alert":{"title":"é"},"stale-date":1.5}"#,
                "SUB * view=full from=6f3a91c2d0e4b577:41877:b0e4 rate=9007199254740991",
            ]
        let parser = RequestParser()
        var random = SeededGenerator(seed: 7)
        for round in 0..<40_000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&bytes, &random) }
            let request = parser.parse(bytes.span)
            if case .refused(let error) = request.command { #expect(!error.message.isEmpty) }
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let position = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[position] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes.remove(at: position)
        case 2: bytes.insert(Array(" ={}\"[],:0é".utf8).randomElement(using: &random) ?? 0, at: position)
        case 3: bytes.removeSubrange(position...)
        case 4: bytes.append(contentsOf: bytes[position...])
        case _: bytes.swapAt(position, Int.random(in: 0..<bytes.count, using: &random))
        }
    }

    private func message(_ line: String) -> String {
        guard case .refused(let error) = parse(line).command else { return "" }
        return error.message
    }
}

struct TailLimitTests {
    @Test(arguments: [(2_048, nil), (2_049, ErrorCode.tooLarge), (5_800, .tooLarge)])
    func `a tail with more names than the limit is refused as too large, with its id`(count: Int, code: ErrorCode?) {
        // All names but those of the content itself, the highest first.
        let members = (1..<count).reversed().map { "\"\($0)\":0" }.joined(separator: ",")
        let request = parse("EVT errand/1 id=7 type=go {\"content-state\":{\(members)}}")
        #expect(request.id == "7")
        if case .refused(let error) = request.command {
            #expect(error.code == code)
        } else {
            #expect(code == nil)
        }
    }
}

func parse(_ line: String) -> Request { RequestParser().parse(Array(line.utf8).span) }

/// A request in words that a table can hold.
private func describe(_ request: Request) -> String {
    let ignored = request.ignored.isEmpty ? "" : " ignored=\(request.ignored.joined(separator: ","))"
    return describe(request.command) + ignored
}

private func describe(_ command: Command) -> String {
    func optional(_ name: String, _ value: (some CustomStringConvertible)?) -> String {
        value.map { " \(name)=\($0)" } ?? ""
    }
    func onOff(_ value: Bool?) -> String { value.map { $0 ? " on" : " off" } ?? "" }
    func list(_ name: String, _ values: [String]) -> String {
        values.isEmpty ? "" : " \(name)=\(values.joined(separator: ","))"
    }
    switch command {
    case .hello(let hello):
        return "hello" + optional("client", hello.client) + optional("surface", hello.surface?.rawValue)
            + optional("account", hello.account) + optional("device", hello.device)
            + list("caps", hello.capabilities) + optional("hb", hello.heartbeat)
            + optional("after", hello.after)
    case .ping: return "ping"
    case .bye: return "bye"
    case .help(let verb): return "help" + (verb.map { " \($0)" } ?? "")
    case .event(let event):
        return "event \(event.key) \(event.type)" + optional("src", event.source) + optional("eid", event.eid)
            + optional("at", event.happenedAt?.milliseconds) + optional("ver", event.version)
            + list("for", event.accounts) + " \(JSON.object(event.tail))"
    case .subscribe(let subscribe):
        return "subscribe \(subscribe.pattern)" + optional("view", subscribe.view)
            + optional("for", subscribe.account) + optional("from", subscribe.from) + optional("rate", subscribe.rate)
            + optional("placement", subscribe.placement)
    case .unsubscribe(let number): return "unsubscribe \(number)"
    case .get(let key, let view, _): return "get \(key)" + optional("view", view)
    case .list(let pattern, let view, _): return "list \(pattern)" + optional("view", view)
    case .kinds: return "kinds"
    case .kind(let kind): return "kind \(kind)"
    case .gallery(let view, let place):
        return "gallery" + optional("view", view) + optional("placement", place)
    case .history(let key): return "history \(key)"
    case .stats: return "stats"
    case .traits(let traits): return "traits \(traits.map { "\($0.name)=\($0.value)" }.joined(separator: ","))"
    case .dismiss(let key): return "dismiss \(key)"
    case .seen(let key, let rev): return "seen \(key) \(rev)"
    case .open(let key, _): return "open \(key)"
    case .tap(let command):
        let what = "\(command.tap.name) \(command.key)" + onOff(command.tap.value)
        return what + optional("if", command.seenRev) + optional("eid", command.eid)
    case .tile(let tile):
        return "tile \(tile.key) \(tile.action.rawValue)" + optional("if", tile.seenRev) + optional("eid", tile.eid)
    case .serve(let kind): return "serve \(kind)"
    case .done(let operation, let value): return "done \(operation)" + onOff(value)
    case .supply(let operation, let timeline): return "supply \(operation) \(JSON.object(timeline))"
    case .reload(let pattern): return "reload \(pattern)"
    case .handover(let node): return "handover \(node ?? "")"
    case .drain(.start(let span)): return "drain \(span.count)"
    case .drain(.stop): return "drain stop"
    case .node(let name, let token): return "node \(name) \(token)"
    case .fail(let operation, let code, let message):
        return "fail \(operation)" + optional("code", code) + optional("message", message)
    case .report(let key, let value, let time):
        return "report \(key)" + onOff(value) + optional("at", time?.milliseconds)
    case .refused(let error): return error.code.rawValue
    }
}
