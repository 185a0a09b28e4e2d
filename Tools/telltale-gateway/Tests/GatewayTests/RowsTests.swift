import Gateway
import TelltaleModel
import Testing

/// `GET /v1/rows`: one URL for each question, and one answer of what a stream would bring.
struct RowsTests {
    private static let cursor = "6f3a91c2d0e4b577:41903:b0e4"

    private static func read(_ query: String) throws -> RowsRequest { try RowsRequest(Query(query[...])) }

    // MARK: The request

    @Test(arguments: [
        ("", ""), ("sub=*", ""), ("sub=*,full", ""), ("sub=*,,", ""), ("wait=3", ""),
        ("sub=flight%2F%2A", "sub=flight/*"), ("sub=flight/*,full", "sub=flight/*"),
        ("sub=flight/*,", "sub=flight/*"), ("sub=a/b%2Cphone,lockScreen", "sub=a/b,phone,lockScreen"),
        ("sub=a/b,,menuBar", "sub=a/b,,menuBar"), ("sub=b/*&sub=a/*", "sub=b/*&sub=a/*"),
        ("from=&sub=a/*", "sub=a/*"), ("from=-&sub=a/*", "sub=a/*"), ("sub=a/*&wait=5", "sub=a/*"),
        ("wait=25&from=\(cursor)&sub=a/*", "sub=a/*&from=\(cursor)"),
        ("from=6f3a91c2d0e4b577%3A41903%3Ab0e4&sub=a/*&wait=007", "sub=a/*&from=\(cursor)&wait=7"),
        ("sub=a/*&sub=b/*&from=\(cursor)~-", "sub=a/*&sub=b/*&from=\(cursor)~-"),
        ("sub=a/*&from=not+one", "sub=a/*&from=not%20one"),
        ("surface=phone&sub=*", "sub=*&surface=phone"), ("surface=phone", "surface=phone"),
        ("surface=phone&sub=*,full", "surface=phone"),
        (
            "caps=widgets&trait=luminance%3Areduced&trait=dashboard:hidden&surface=carplay&account=a%26b&sub=*",
            "sub=*&account=a%26b&surface=carplay&trait=dashboard:hidden&trait=luminance:reduced&caps=widgets"
        ),
    ])
    func `each question has one URL`(query: String, canonical: String) throws {
        let target = canonical.isEmpty ? "/v1/rows" : "/v1/rows?" + canonical
        #expect(try Self.read(query).target == target)
        #expect(try Self.read(canonical).target == target, "it leads elsewhere again")
    }

    @Test(arguments: [
        ("wait=31", "bad_attr", "wait="), ("wait=-1", "bad_attr", "wait="), ("wait=x", "bad_attr", "wait="),
        ("wait=1&wait=1", "bad_attr", "wait="), ("from=a&from=b", "bad_attr", "from="),
        ("rate=5", "bad_attr", "rate="), ("form=\(cursor)", "bad_attr", "form="),
        ("lastEventID=\(cursor)", "bad_attr", "lastEventID="), ("access_token=x", "bad_attr", "access_token="),
        ("sub=a/b/c", "bad_pattern", "a/b/c"), ("sub=a/*,car", "bad_attr", "car"),
        ("surface=car", "bad_attr", "car"), ("trait=x", "bad_attr", "trait=x"),
        (Array(repeating: "sub=*", count: 17).joined(separator: "&"), "limit_subs", "16"),
    ])
    func `what is wrong is said with its place`(query: String, code: String, place: String) throws {
        let problem = try #require(throws: Problem.self) { try Self.read(query) }
        #expect(problem.code == code && problem.title.contains(place), "\(problem.title)")
    }

    // MARK: The answer

    private static func line(_ event: String, _ data: String, id: String? = nil) -> String {
        "{\"event\":\"\(event)\",\(id.map { "\"id\":\"\($0)\"," } ?? "")\(data)}\n"
    }

    private static func row(_ sub: Int, _ key: String, _ rev: Int, id: String? = nil) -> String {
        line("row", "\"sub\":\(sub),\"key\":\"\(key)\",\"rev\":\(rev),\"row\":{\"n\":\"}\\n\"}", id: id)
    }

    private static func collector(_ query: String, _ events: String) throws -> RowsCollector {
        var collector = RowsCollector(try read(query))
        collector.collect(Array(events.utf8))
        return collector
    }

    private static func body(_ collector: RowsCollector) throws -> String {
        String(decoding: try collector.body(at: 77), as: UTF8.self)
    }

    @Test func `a picture is answered when it is whole`() throws {
        let hello = Self.line("hello", "\"epoch\":\"6f\",\"now\":1,\"subs\":[]")
        let rows = Self.row(1, "a/1", 4) + Self.line("live", "\"sub\":1", id: "x:5:y~-") + Self.row(2, "b/1", 4)
        var collector = try Self.collector("sub=a/*&sub=b/*", hello + rows)
        #expect(!collector.isCurrent && !collector.isAnswered && !collector.isAnswered(isLate: true))
        #expect(throws: Problem.self) { try collector.body(at: 77) }
        collector.collect(Array(Self.line("live", "\"sub\":2", id: "x:5:y~x:5:z").utf8))
        #expect(collector.isAnswered)
        #expect(
            try Self.body(collector) == """
                {"cursor":"x:5:y~x:5:z","rows":[{"sub":1,"key":"a/1","rev":4,"row":{"n":"}\\n"}},\
                {"sub":2,"key":"b/1","rev":4,"row":{"n":"}\\n"}}],"gone":[]}
                """)
    }

    @Test func `each key is there once, as it was last`() throws {
        let query = "sub=a/*&from=\(Self.cursor)"
        var collector = try Self.collector(query, Self.line("live", "\"sub\":1", id: Self.cursor))
        #expect(!collector.isAnswered && !collector.isAnswered(isLate: false) && collector.isAnswered(isLate: true))
        #expect(try Self.body(collector) == #"{"cursor":"\#(Self.cursor).77","rows":[],"gone":[]}"#)
        let gone = #""sub":1,"key":"a/2","rev":6,"why":"ended""#
        collector.collect(
            Array(
                (Self.row(1, "a/1", 4) + Self.row(1, "a/2", 5) + Self.row(1, "a/12", 5)
                    + Self.line("alert", "\"sub\":1,\"key\":\"a/1\",\"rev\":7")
                    + Self.line("gone", gone) + Self.row(1, "a/1", 7, id: "x:7:y")).utf8))
        #expect(!collector.isAnswered && collector.isAnswered(isLate: false))
        #expect(
            try Self.body(collector) == """
                {"cursor":"x:7:y","rows":[{"sub":1,"key":"a/12","rev":5,"row":{"n":"}\\n"}},\
                {"sub":1,"key":"a/1","rev":7,"row":{"n":"}\\n"}}],"gone":[{\(gone)}]}
                """)
    }

    @Test func `a cursor with the time of an answer resumes, and gets another time`() throws {
        let query = "sub=a/*&from=\(Self.cursor).76"
        let read = try Self.read(query)
        #expect(read.target == "/v1/rows?" + query && !read.stream.isMalformed)
        let collector = try Self.collector(query, Self.line("live", "\"sub\":1", id: Self.cursor))
        #expect(try Self.body(collector) == #"{"cursor":"\#(Self.cursor).77","rows":[],"gone":[]}"#)
        #expect(try Self.read("from=\(Self.cursor).").stream.isMalformed)
        #expect(try Self.read("from=.5").stream.isMalformed == false)
    }

    @Test func `a failure that passes is reported beside a cursor that moves on`() throws {
        let query = "sub=a/*&from=\(Self.cursor).76"
        let away = Problem("daemon_unreachable", "")
        let body = try #require(try Self.read(query).body(lost: away, at: 77))
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"cursor":"\#(Self.cursor).77","rows":[],"gone":[],"lost":"daemon_unreachable"}"#)
        #expect(try Self.read("sub=a/*").body(lost: away, at: 77) == nil)
        #expect(try Self.read("from=x").body(lost: away, at: 77) == nil)
        #expect(try Self.read(query).body(lost: Problem("auth_required", ""), at: 77) == nil)
    }

    @Test func `a cursor that moved by itself is another one already`() throws {
        let collector = try Self.collector(
            "sub=a/*&from=\(Self.cursor)", Self.line("live", "\"sub\":1", id: "x:9:y"))
        #expect(try Self.body(collector) == #"{"cursor":"x:9:y","rows":[],"gone":[]}"#)
    }

    @Test func `a reset drops what came before it, and is reported with its whole picture`() throws {
        let live = Self.line("live", "\"sub\":1", id: "x:7:y~x:7:z") + Self.line("live", "\"sub\":2")
        let reset = Self.line("reset", #""sub":1,"why":"epoch""#)
        var collector = try Self.collector(
            "sub=a/*&sub=b/*&from=\(Self.cursor)~\(Self.cursor)",
            live + Self.row(1, "a/1", 4) + Self.row(2, "a/1", 4) + reset + Self.row(1, "a/3", 1))
        #expect(!collector.isAnswered(isLate: true))
        collector.collect(Array(Self.line("live", "\"sub\":1", id: "w:2:y~w:2:z").utf8))
        #expect(collector.isAnswered)
        #expect(
            try Self.body(collector) == """
                {"cursor":"w:2:y~w:2:z","rows":[{"sub":2,"key":"a/1","rev":4,"row":{"n":"}\\n"}},\
                {"sub":1,"key":"a/3","rev":1,"row":{"n":"}\\n"}}],"gone":[],"reset":[{"sub":1,"why":"epoch"}]}
                """)
    }

    @Test func `an end is an answer where everything had come, and a refusal elsewhere`() throws {
        let query = "sub=a/*&from=\(Self.cursor)"
        let bye = Self.line("bye", #""code":"auth_revoked","wait":5"#)
        let early = try Self.collector(query, bye)
        #expect(early.isAnswered)
        #expect(try #require(throws: Problem.self) { try early.body(at: 77) }.code == "auth_revoked")
        let late = try Self.collector(query, Self.line("live", "\"sub\":1", id: Self.cursor) + bye)
        #expect(late.isAnswered)
        #expect(try Self.body(late).contains("\(Self.cursor).77"))
    }

    @Test func `nothing is waited for without a wait`() throws {
        let live = Self.line("live", "\"sub\":1", id: Self.cursor)
        #expect(try Self.collector("sub=a/*&from=\(Self.cursor)&wait=0", live).isAnswered)
    }

    @Test func `many small rows are a long answer too`() throws {
        var collector = try Self.collector("sub=a/*", "")
        for number in 0..<200 { collector.collect(Array(Self.row(1, "a/\(number)", 1).utf8)) }
        #expect(!collector.isLong)
        for number in 200..<250 { collector.collect(Array(Self.row(1, "a/\(number)", 1).utf8)) }
        #expect(collector.isLong)
    }

    @Test func `rows are bounded together, and not those that were replaced`() throws {
        var collector = try Self.collector("sub=a/*&from=\(Self.cursor)", Self.line("live", "\"sub\":1", id: "x:1:y"))
        let text = String(repeating: "x", count: 60_000)
        func row(_ number: Int) -> [UInt8] {
            Array(Self.line("row", #""sub":1,"key":"a/\#(number)","row":{"n":"\#(text)"}"#).utf8)
        }
        for _ in 0..<40 { collector.collect(row(1)) }
        #expect(try collector.body(at: 77).count < 100_000)
        #expect(!collector.isLong)
        collector.collect(row(2))
        #expect(collector.isLong)
        for number in 0..<40 { collector.collect(row(number)) }
        #expect(collector.isAnswered && !collector.isLong)
        #expect(try #require(throws: Problem.self) { try collector.body(at: 77) }.code == "too_large")
    }
}
