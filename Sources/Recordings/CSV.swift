/// Reads CSV as RFC 4180 has it: fields between commas, quoted where they hold a comma, a quote or a line's end.
///
/// Lines end in CRLF or LF, the last one may lack its end, and a byte order mark in front is dropped: that is how
/// spreadsheets write it.
public enum CSV {
    public struct Record: Hashable, Sendable {
        public var fields: [String]
        /// Where it begins in the file, from 1.
        public var line: Int

        public init(fields: [String], line: Int) {
            self.fields = fields
            self.line = line
        }
    }

    /// All records, the header included. Empty lines are none.
    ///
    /// - Throws: ``TraceError``, with the line.
    public static func records(of bytes: [UInt8]) throws(TraceError) -> [Record] {
        var reader = Reader(bytes: bytes)
        var records: [Record] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private struct Reader {
        let bytes: [UInt8]
        var position: Int
        var line = 1

        init(bytes: [UInt8]) {
            self.bytes = bytes
            position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        }

        /// The next byte that is part of a line, or `nil` at a line's end and at the end of the file.
        private var byte: UInt8? {
            guard position < bytes.count else { return nil }
            switch bytes[position] {
            case UInt8(ascii: "\n"): return nil
            case UInt8(ascii: "\r") where position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "\n"):
                return nil
            default: return bytes[position]
            }
        }

        private mutating func skipLineEnd() {
            if position < bytes.count, bytes[position] == UInt8(ascii: "\r") { position += 1 }
            if position < bytes.count, bytes[position] == UInt8(ascii: "\n") {
                position += 1
                line += 1
            }
        }

        mutating func next() throws(TraceError) -> Record? {
            while byte == nil, position < bytes.count { skipLineEnd() }
            guard position < bytes.count else { return nil }
            var record = Record(fields: [], line: line)
            while true {
                record.fields.append(try field())
                guard byte == UInt8(ascii: ",") else { break }
                position += 1
            }
            guard byte == nil else { throw TraceError(line: line, "text behind a closing quote") }
            skipLineEnd()
            return record
        }

        private mutating func field() throws(TraceError) -> String {
            let start = line
            var field: [UInt8] = []
            if byte == UInt8(ascii: "\"") {
                position += 1
                while true {
                    guard position < bytes.count else { throw TraceError(line: start, "a quote is never closed") }
                    let next = bytes[position]
                    position += 1
                    if next == UInt8(ascii: "\"") {
                        guard byte == UInt8(ascii: "\"") else { break }
                        position += 1
                    }
                    if next == UInt8(ascii: "\n") { line += 1 }
                    field.append(next)
                }
            } else {
                while let next = byte, next != UInt8(ascii: ",") {
                    guard next != UInt8(ascii: "\"") else { throw TraceError(line: line, "a quote inside a field") }
                    field.append(next)
                    position += 1
                }
            }
            guard let text = String(validating: field, as: UTF8.self) else {
                throw TraceError(line: start, "not UTF-8")
            }
            return text
        }
    }
}

/// A fault of a trace file, with its line.
public struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1.
    public var line: Int
    public var reason: String

    public init(line: Int, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    public var description: String { "line \(line): \(reason)" }
}
