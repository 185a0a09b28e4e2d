public import TelltaleModel

/// Real cases from a CSV file of `case_id,event,timestamp,other`.
public struct Trace: Sendable {
    public struct Case: Sendable {
        public var id: String
        /// In the file's order, which is the source's own.
        public var rows: [Row]
        /// The final status that the source itself gives: `other.final_status` of the last row.
        public var finalStatus: String?
    }

    public struct Row: Sendable {
        public var event: String
        /// `nil` where the source knows none.
        public var time: Timestamp?
        public var other: JSONObject
        /// In the file, from 1.
        public var line: Int
    }

    /// In the order of their first rows.
    public private(set) var cases: [Case] = []

    /// Forgets all but its first cases.
    public mutating func keep(_ count: Int) { cases = Array(cases.prefix(count)) }

    public var rowCount: Int { cases.reduce(0) { $0 + $1.rows.count } }

    /// Reads a file's bytes.
    ///
    /// The columns may stand in any order and beside others; rows of a case need not stand together.
    ///
    /// - Throws: ``TraceError`` with the line, at the first thing that a daemon would not take either.
    public init(csv bytes: [UInt8]) throws(TraceError) {
        let records = try CSV.records(of: bytes)
        guard let header = records.first else { throw TraceError(line: 1, "the file is empty") }
        func column(_ name: String) throws(TraceError) -> Int {
            guard let index = header.fields.firstIndex(of: name) else {
                throw TraceError(line: header.line, "no column \(name): case_id,event,timestamp,other are needed")
            }
            return index
        }
        let (id, event, time, other) = (
            try column("case_id"), try column("event"), try column("timestamp"), try column("other")
        )
        var indices: [String: Int] = [:]
        let parser = JSONParser()
        for record in records.dropFirst() {
            guard record.fields.count == header.fields.count else {
                throw TraceError(
                    line: record.line, "\(record.fields.count) fields, where the header has \(header.fields.count)")
            }
            let caseID = record.fields[id]
            guard Key.isSegment(caseID.utf8) else {
                throw TraceError(line: record.line, "case_id \"\(caseID)\" cannot be the id of a key")
            }
            let row = Row(
                event: try Self.event(record.fields[event], line: record.line),
                time: try Self.time(record.fields[time], line: record.line),
                other: try Self.other(record.fields[other], parser: parser, line: record.line), line: record.line)
            let index = indices[caseID] ?? cases.count
            if index == cases.count {
                indices[caseID] = index
                cases.append(Case(id: caseID, rows: []))
            }
            cases[index].rows.append(row)
            cases[index].finalStatus = row.other["final_status"]?.string
        }
    }

    private static func event(_ text: String, line: Int) throws(TraceError) -> String {
        guard text.isName(with: "_.:-") else {
            throw TraceError(line: line, "\"\(text)\" is no name of an event")
        }
        return text
    }

    private static func time(_ text: String, line: Int) throws(TraceError) -> Timestamp? {
        if text.isEmpty { return nil }
        guard let time = Timestamp(iso8601: text) else {
            throw TraceError(line: line, "\"\(text)\" is no date such as 2018-06-12T20:07:44")
        }
        return time
    }

    private static func other(_ text: String, parser: JSONParser, line: Int) throws(TraceError) -> JSONObject {
        if text.isEmpty { return JSONObject() }
        var text = text
        text.makeContiguousUTF8()
        let json: JSON
        do throws(JSONError) {
            json = try parser.parse(text.utf8.span)
        } catch {
            throw TraceError(line: line, "other is no JSON: \(error)")
        }
        guard let object = json.object else { throw TraceError(line: line, "other is no JSON object") }
        return object
    }
}
