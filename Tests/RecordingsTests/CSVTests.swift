import Recordings
import Testing

struct CSVTests {
    @Test(
        "Records are read as RFC 4180 has them, whatever ends their lines", arguments: ["\n", "\r\n"], [true, false])
    func records(lineEnd: String, endsLast: Bool) throws {
        let lines = ["a,b", "1,", "", ",2", "\"x,y\",\"say \"\"hi\"\"\"", "\"\",\"two\(lineEnd)lines\"", "ü,☕"]
        let text = lines.joined(separator: lineEnd) + (endsLast ? lineEnd : "")
        for prefix in ["", "\u{FEFF}"] {
            let records = try CSV.records(of: Array((prefix + text).utf8))
            #expect(
                records.map(\.fields) == [
                    ["a", "b"], ["1", ""], ["", "2"], ["x,y", "say \"hi\""], ["", "two\(lineEnd)lines"], ["ü", "☕"],
                ])
            #expect(records.map(\.line) == [1, 2, 4, 5, 6, 8])
        }
    }

    @Test(
        "What is not CSV is told with its line",
        arguments: [
            ("a,b\n\"1,2\n3", TraceError(line: 2, "a quote is never closed")),
            ("a,b\n1,2\"\n", TraceError(line: 2, "a quote inside a field")),
            ("a,b\n\n\"1\"x,2\n", TraceError(line: 3, "text behind a closing quote")),
        ])
    func refused(text: String, error: TraceError) {
        #expect(throws: error) { try CSV.records(of: Array(text.utf8)) }
    }

    @Test func `bytes that are no UTF-8 are refused, and a lone CR is text`() throws {
        #expect(throws: TraceError(line: 2, "not UTF-8")) { try CSV.records(of: [0x61, 0x0A, 0xFF]) }
        #expect(try CSV.records(of: Array("a\rb,c".utf8)).map(\.fields) == [["a\rb", "c"]])
        #expect(try CSV.records(of: []) == [])
    }

    @Test func `no cut of a file traps`() {
        let bytes = Array("a,b\r\n\"x,\"\"y\",\"☕\r\n\"\r\n1,2".utf8)
        for end in bytes.indices {
            for start in 0..<end { _ = try? CSV.records(of: Array(bytes[start..<end])) }
        }
    }
}
