import Recordings
import TelltaleModel
import Testing

struct TraceTests {
    @Test(
        "Dates are read as ISO 8601 writes them",
        arguments: [
            ("1970-01-01T00:00:00", 0), ("1970-01-01 00:00:01.5Z", 1500), ("2018-06-12T20:07:44", 1_528_834_064_000),
            ("2000-02-29T12:00:00.1239+02:00", 951_818_400_123), ("2013-01-01T07:30:00-0500", 1_357_043_400_000),
            ("1969-12-31T23:59:59Z", -1000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("0000-03-01T00:00:00Z", -62_162_035_200_000), ("2018-06-12", nil), ("2018-6-12T20:07:44", nil),
            ("2018-02-29T00:00:00", nil), ("1900-02-29T00:00:00", nil), ("2018-13-01T00:00:00", nil),
            ("2018-06-12T24:00:00", nil), ("2018-06-12T20:07:44.", nil), ("2018-06-12T20:07:44+", nil),
            ("2018-06-12T20:07:44Zx", nil), ("", nil), ("now", nil), ("+018-06-12T20:07:44", nil),
        ] as [(String, Int64?)])
    func date(text: String, milliseconds: Int64?) {
        #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
    }

    @Test func `columns are found by name, and a case's rows need not stand together`() throws {
        let trace = try Trace(
            csv: Array(
                """
                event,shop,other,case_id,timestamp
                purchased,x,"{""final_status"":""canceled"",""n"":1}",a,2018-06-12T20:07:44
                purchased,x,,b,
                approved,x,"{""final_status"":""canceled""}",a,2018-06-12T20:07:45
                """.utf8))
        #expect(trace.cases.map(\.id) == ["a", "b"])
        #expect(trace.cases.map(\.finalStatus) == ["canceled", nil])
        #expect(trace.cases.map { $0.rows.map(\.event) } == [["purchased", "approved"], ["purchased"]])
        #expect(trace.cases[1].rows[0].time == nil)
        #expect(trace.rowCount == 3)
    }

    @Test(
        "What a daemon would not take is told with its line",
        arguments: [
            ("", 1, "the file is empty"),
            ("case_id,event,timestamp\n", 1, "no column other: case_id,event,timestamp,other are needed"),
            ("case_id,event,timestamp,other\na,b,\n", 2, "3 fields, where the header has 4"),
            ("case_id,event,timestamp,other\na/b,e,,\n", 2, "case_id \"a/b\" cannot be the id of a key"),
            ("case_id,event,timestamp,other\na,e,,\na,e e,,\n", 3, "\"e e\" is no name of an event"),
            ("case_id,event,timestamp,other\na,,,\n", 2, "\"\" is no name of an event"),
            ("case_id,event,timestamp,other\na,e,today,\n", 2, "\"today\" is no date such as 2018-06-12T20:07:44"),
            ("case_id,event,timestamp,other\na,e,,[]\n", 2, "other is no JSON object"),
        ])
    func refused(text: String, line: Int, reason: String) {
        #expect(throws: TraceError(line: line, reason)) { try Trace(csv: Array(text.utf8)) }
    }

    @Test func `JSON that is broken is reported with its line`() {
        #expect {
            try Trace(csv: Array("case_id,event,timestamp,other\na,e,,{\n".utf8))
        } throws: {
            ($0 as? TraceError)?.line == 2
        }
    }
}
