internal import Gateway
internal import Synchronization
internal import TelltaleModel

/// The last requests to the endpoint for Apple's pushes, and their outcomes.
final class PushHistory: Sendable {
    struct Record: Sendable {
        var at: Timestamp
        var method: String
        var path: String
        /// Without the provider token.
        var headers: [(name: String, value: String)]
        var payload: [UInt8]
        var id: String
        var status = 200
        var reason: String?
        var verdict: String?
        var notes: [String] = []
        var key: String?
        var type: String?
    }

    static let limit = 500
    private let records = Mutex<[Record]>([])

    func remember(_ record: Record) {
        records.withLock { records in
            if records.count >= Self.limit { records.removeFirst() }
            records.append(record)
        }
    }

    var newestFirst: [Record] { records.withLock { $0.reversed() } }

    /// `{"pushes":[…]}`.
    static func json(_ records: [Record]) -> [UInt8] {
        JSONWriter.object { writer in
            writer.objects("pushes", of: records) { write($0, to: &$1) }
        }
    }

    private static func write(_ record: Record, to writer: inout JSONWriter) {
        writer.member("at", record.at.milliseconds)
        writer.member("id", record.id)
        writer.member("method", record.method)
        writer.member("path", record.path)
        writer.object("headers") { writer in
            var names: Set<String> = []
            for header in record.headers where names.insert(header.name).inserted {
                writer.member(named: header.name, .string(header.value))
            }
        }
        if let payload = try? EventRequest.json(record.payload.span) {
            writer.member(named: "payload", payload)
        } else {
            writer.member("text", String(decoding: record.payload, as: UTF8.self))
        }
        writer.member("status", record.status)
        for (name, value) in [
            ("reason", record.reason), ("verdict", record.verdict), ("key", record.key), ("type", record.type),
        ] {
            if let value { writer.member(named: name, .string(value)) }
        }
        writer.array("notes", of: record.notes) { $1.value($0) }
    }
}
