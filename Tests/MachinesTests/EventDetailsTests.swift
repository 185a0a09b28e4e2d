import Machines
import Testing

@testable import TelltaleModel

struct EventDetailsTests {
    @Test func `the members of the tail are named as in Apple's push payload`() throws {
        let details = try EventDetails(
            tail: Self.tail(
                #"{"attributes":{"a":1},"content-state":{},"alert":{"title":"T","body":"B","sound":"S"},"#
                    + #""stale-date":1763719200.5,"dismissal-date":0,"start-date":-1,"relevance-score":75,"future":[1]}"#
            ))
        #expect(details.attributes == ["a": 1])
        #expect(details.content == [:])
        #expect(details.alert == ActivityAlert(title: "T", body: "B", sound: "S"))
        #expect(details.staleDate == Timestamp(milliseconds: 1_763_719_200_500))
        #expect(details.dismissalDate == Timestamp(milliseconds: 0))
        #expect(details.startDate == Timestamp(milliseconds: -1000))
        #expect(details.score == 75)
        #expect(try EventDetails(tail: JSONObject()) == EventDetails())
    }

    @Test(
        "A member of the wrong type is refused by its path",
        arguments: [
            (#"{"attributes":1}"#, "attributes"), (#"{"attributes":null}"#, "attributes"),
            (#"{"content-state":[]}"#, "content-state"), (#"{"alert":"x"}"#, "alert"),
            (#"{"alert":{"title":1}}"#, "alert.title"), (#"{"alert":{"body":{}}}"#, "alert.body"),
            (#"{"alert":{"sound":true}}"#, "alert.sound"), (#"{"stale-date":"2026"}"#, "stale-date"),
            (#"{"dismissal-date":1e300}"#, "dismissal-date"), (#"{"start-date":[]}"#, "start-date"),
            (#"{"relevance-score":"1"}"#, "relevance-score"),
        ])
    func wrongType(text: String, path: String) throws {
        let tail = try Self.tail(text)
        do {
            _ = try EventDetails(tail: tail)
            Issue.record("\(text) was taken")
        } catch ActivityRejection.badTail(let member, _) {
            #expect(member == path)
        }
    }

    @Test func `an activity that keeps a part of a tail does not keep the rest in memory`() throws {
        let tail = try Self.tail(
            #"{"attributes":{"a":1},"content-state":{"n":2},"junk":"\#(String(repeating: "x", count: 60_000))"}"#)
        let details = try EventDetails(tail: tail)
        #expect(details.attributes == ["a": 1])
        #expect(details.content == ["n": 2])
        for kept in [details.attributes, details.content] { #expect(try #require(kept?.object).keptByteCount < 100) }
        // Where it is nearly all of the tail, nothing is copied.
        let large = try EventDetails(
            tail: Self.tail(#"{"content-state":{"n":"\#(String(repeating: "x", count: 200))"}}"#))
        #expect(try #require(large.content?.object).keptByteCount > 210)
    }

    private static func tail(_ text: String) throws -> JSONObject { try #require(try JSONParser.parse(text).object) }
}
