import Recordings
import TelltaleClient
import TelltaleModel
import TelltaleWire

/// Asks a daemon for the history of every key that it knows, and makes a recording of it.
final class RecordingReader {
    private let client: Client
    private var keys: Set<String>
    private let clock: ServerClock?
    private let beginning: Int64?
    private let onEnd: (Result<Recording, Failure>) -> Void
    private var list: RequestID?
    private var histories: Set<RequestID> = []
    private var rows: [ServerLine] = []
    private var lines: [RequestID: [ServerLine]] = [:]
    private var end = Timestamp(milliseconds: 0)

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - keys: Keys beside the listed ones, such as activities that were dismissed during the recording.
    ///   - beginning: The beginning of the recording; by default the time of the first entry.
    init(
        _ client: Client, keys: Set<String>, beginning: Int64? = nil, clock: ServerClock?,
        onEnd: @escaping (Result<Recording, Failure>) -> Void
    ) {
        (self.client, self.keys, self.clock, self.onEnd) = (client, keys, clock, onEnd)
        self.beginning = beginning
        guard let everything = Pattern("*") else { return }
        list = client.request(.list(everything, view: .full))
    }

    /// Takes every event of the client.
    func heard(_ event: ClientEvent) {
        switch event {
        case .item(let id, let line):
            if id == list { rows.append(line) } else if histories.contains(id) { lines[id, default: []].append(line) }
        case .restarted(let id):
            if id == list { rows = [] }
            lines[id] = nil
        case .reply(let id, let reply):
            if id == list {
                list = nil
                end = clock?.now ?? end
                askHistories()
            } else if histories.remove(id) != nil {
                // A key that was pruned meanwhile has no history any more.
                if !reply.isOK, reply.line["code"] != "unknown_key" {
                    return onEnd(.failure(Failure(description: reply.line.message ?? "HISTORY is refused")))
                }
                if histories.isEmpty { finish() }
            }
        case .lost(let id):
            if id == list || histories.contains(id) {
                onEnd(.failure(Failure(description: "the connection went before the answer")))
            }
        case .ready, .refused, .disconnected, .subscription, .traitsRefused, .serviceRefused, .action, .violation,
            .farewell:
            break
        }
    }

    private func askHistories() {
        keys.formUnion(rows.compactMap { $0["key"] })
        for key in keys.sorted() {
            if let key = Key(key) { histories.insert(client.request(.history(key))) }
        }
        if histories.isEmpty { finish() }
    }

    private func finish() {
        onEnd(.success(Recording(history: lines.values.flatMap { $0 }, rows: rows, now: end, beginning: beginning)))
    }
}
