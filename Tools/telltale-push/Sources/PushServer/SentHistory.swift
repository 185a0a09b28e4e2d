internal import ApplePush
internal import Synchronization
internal import TelltaleModel

/// The last pushes that were sent: to whom, when, and with which answer. It contains only the names of tokens.
final class SentHistory: Sendable {
    struct Record: Sendable {
        var at: Timestamp
        var registration: String
        var key: String?
        /// The name of the token.
        var token: String
        var event: String
        var rev: Int64
        var priority: Int
        var alerts: Bool
        var isThrottled: Bool
        /// In bytes.
        var size: Int
        /// 0 = no answer.
        var status = 0
        var reason: String?
        /// The sender's classification of the answer.
        var answer = PushAnswerClass.unknown
        /// Whether the answer removed the registration.
        var isRetired = false
        /// From the send to the answer.
        var span: Milliseconds?
    }

    private struct State {
        var records: [Record] = []
        var next = 0
        /// Answers since the start, by their reason or status.
        var counts: [String: Int] = [:]
    }

    private let state = Mutex(State())
    static let limit = 1_000
    private static let nameLimit = 100

    func remember(_ record: Record) {
        state.withLock { state in
            // Bounded, because a service may return any reason.
            let name = record.reason ?? String(record.status)
            if state.counts.count < Self.nameLimit || state.counts[name] != nil { state.counts[name, default: 0] += 1 }
            if state.records.count < Self.limit {
                state.records.append(record)
            } else {
                state.records[state.next] = record
                state.next = (state.next + 1) % Self.limit
            }
        }
    }

    /// `{"answers":{…},"sent":[…]}`, the newest first; only those of `key` if it is given.
    func json(ofKey key: String?) -> [UInt8] {
        let (records, counts) = state.withLock { state in
            (Array(state.records[state.next...] + state.records[..<state.next]), state.counts)
        }
        return JSONWriter.object { writer in
            writer.object("answers") { writer in
                for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
                    writer.member(named: name, .integer(Int64(count)))
                }
            }
            let shown = records.reversed().filter { key == nil || $0.key == key }
            writer.objects("sent", of: shown) { record, writer in
                writer.member("at", record.at.milliseconds)
                writer.member("registration", record.registration)
                if let key = record.key { writer.member("key", key) }
                writer.member("token", record.token)
                writer.member("event", record.event)
                writer.member("rev", record.rev)
                writer.member("priority", record.priority)
                if record.alerts { writer.member("alert", true) }
                if record.isThrottled { writer.member("throttled", true) }
                writer.member("bytes", record.size)
                writer.member("status", record.status)
                if let reason = record.reason { writer.member("reason", reason) }
                writer.member("class", record.answer.name)
                if record.isRetired { writer.member("removed", true) }
                if let span = record.span { writer.member("ms", span.count) }
            }
        }
    }
}
