import Recordings
import TelltaleModel
import TelltaleWire
import Testing

/// Recordings: `HISTORY` as offsets, in a file and back.
struct RecordingTests {
    private static let beginning: Int64 = 1_763_719_200_000

    /// As a daemon would say it, 400 ms into a second.
    private static func history(_ lines: [String]) throws -> [ServerLine] {
        try lines.map { line in
            var text = line
            text.makeContiguousUTF8()
            return try ServerLine(text.utf8.span, parser: JSONParser())
        }
    }

    private static func recording() throws -> Recording {
        let now = beginning
        return Recording(
            history: try history([
                #"HIST key=flight/1 rev=3 at=\#(now + 5_400) heard=\#(now + 5_400) type=delayed verdict=applied {"seq":3,"state":"active delayed","src":"atc","eid":"2","content-state":{"eta":\#(now / 1000 + 3_600)}}"#,
                #"HIST key=flight/1 rev=1 at=\#(now - 1_000) heard=\#(now + 400) type=start verdict=applied {"seq":1,"state":"active announced","src":"atc","eid":"1","ver":7,"attributes":{"gate":12},"content-state":{"eta":\#(now + 7_000),"old":0},"stale-date":\#(now / 1000 + 60)}"#,
                #"HIST key=lamp/1 rev=2 at=\#(now + 900) heard=\#(now + 900) type=set verdict=applied {"seq":2,"state":"pending off","value":true,"sender":"account:alice","eid":"t1"}"#,
                #"HIST key=lamp/1 rev=4 at=\#(now + 6_000) heard=\#(now + 6_000) type=done verdict=applied {"seq":4,"state":"settled on","op":"o2","value":true}"#,
                #"HIST key=flight/1 rev=5 at=\#(now + 7_000) heard=\#(now + 7_000) type=deadline verdict=applied {"seq":5,"state":"stale delayed"}"#,
                #"HIST key=flight/1 rev=6 at=\#(now + 8_000) heard=\#(now + 8_000) type=dismissed verdict=applied {"seq":6,"state":"dismissed delayed","account":"bob"}"#,
                #"HIST key=flight/2 rev=7 at=\#(now + 8_000) heard=\#(now + 8_000) type=confirm verdict=applied {"seq":7,"state":"active queued","src":"telltaled","eid":"o9"}"#,
                #"HIST key=flight/2 rev=8 at=\#(now + 8_000) heard=\#(now + 8_000) type=confirm verdict=applied {"seq":8,"state":"active queued","src":"a button","eid":"o10"}"#,
            ]),
            rows: try history([
                #"SNAP sub=0 key=lamp/1 rev=4 {"control":"toggle","value":true,"available":true,"last":{"op":"o2","result":"confirmed"},"ended":[{"op":"o1","result":"superseded"}]}"#,
                #"SNAP sub=0 key=flight/1 rev=6 {"state":"delayed","startedAt":\#(now + 400),"content":{"eta":\#(now / 1000 + 3_600)}}"#,
            ]), now: Timestamp(milliseconds: now + 9_000))
    }

    @Test func `actions are reported in their order as offsets, and no date is left`() throws {
        let recording = try Self.recording()
        #expect(recording.entries.map(\.offset) == [400, 900, 5_400, 6_000, 8_000])
        #expect(recording.end == 9_000)
        #expect(recording.deadlineCount == 1)
        #expect(recording.isTimed)
        #expect(recording.servedKinds == ["lamp"])
        let text = recording.lines.joined(separator: "\n")
        #expect(!text.contains("17637"), "\(text)")
        #expect(text.contains(#""eta":{"@ms":7000}"#))
        #expect(text.contains(#""stale-date":{"@":60000}"#))
        #expect(text.contains(#""happened":-1000"#))
        #expect(text.contains(#""old":0"#) && text.contains(#""gate":12"#))
        #expect(
            recording.views["lamp/1"].map { JSON.object($0) } == [
                "control": "toggle", "last": ["result": "confirmed"], "ended": [["result": "superseded"]],
                "value": true,
            ])
    }

    @Test func `a file gives the same recording back`() throws {
        let recording = try Self.recording()
        let read = try Recording(file: Array(recording.lines.joined(separator: "\n").utf8))
        #expect(read.entries == recording.entries)
        #expect(read.views == recording.views)
        #expect(read.lines == recording.lines)
        #expect(recording.differences(from: read) == [])
    }

    @Test func `a replay's dates are as far from its beginning, and dismissals show the accounts`() throws {
        let later = Self.beginning + 86_400_000
        let commands = try Self.recording().commands(beginning: later)
        #expect(commands.map { $0 != nil } == [true, false, true, false, false])
        let start = try #require(commands[0])
        #expect(start.tail["content-state"] == ["eta": .integer(later + 7_000), "old": 0])
        #expect(start.tail["stale-date"] == .integer(later / 1000 + 60))
        #expect(start.happenedAt == Timestamp(milliseconds: later - 1_000))
        #expect(start.accounts == ["bob"])
        #expect((start.source, start.eid, start.version) == ("atc", "1", 7))
    }

    @Test func `differing outcomes are reported`() throws {
        let recording = try Self.recording()
        var other = recording
        other.entries[2].verdict = "stale"
        other.views["lamp/1"] = nil
        let differences = recording.differences(from: other)
        #expect(
            differences.first
                == "flight/1, deed 2: delayed applied, active delayed, and then delayed stale, active delayed")
        #expect(differences.last?.hasPrefix("lamp/1 was shown as {") == true)
        #expect(differences.last?.hasSuffix("and then as nothing") == true)
    }

    @Test(
        "A broken file is told with its line",
        arguments: [
            ("", "line 1: is not the head of a recording"), ("x", "line 1: is no JSON object"),
            ("{\"recording\":2}", "line 1: is not the head of a recording"),
            ("{\"recording\":1}\n{\"at\":1}", "line 2: needs at, key, verdict, state and one of event"),
            ("{\"recording\":1}\n\n{\"view\":\"a/b\"}", "line 3: is a view without a body"),
            (
                "{\"recording\":1}\n{\"at\":9,\"key\":\"a/b\",\"event\":\"x\",\"verdict\":\"applied\",\"state\":\"\"}\n{\"at\":8,\"key\":\"a/b\",\"event\":\"x\",\"verdict\":\"applied\",\"state\":\"\"}",
                "line 3: is earlier than the line before it"
            ),
        ])
    func fault(file: String, reported: String) {
        do {
            _ = try Recording(file: Array(file.utf8))
            Issue.record("it was read")
        } catch {
            #expect("\(error)".hasPrefix(reported), "\(error)")
        }
    }
}
