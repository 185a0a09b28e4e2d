internal import Replication
internal import TelltaleModel

/// The requests about checkpoints, and their answers. One request is pending at a time; the number in an answer's subject
/// says which one it answers.
///
/// A list takes three requests: the manifests, the number of pieces of each checkpoint, and the beginning of the log.
struct CheckpointDialogue {
    let names: Names
    private var requests: [NATSRequest] = []
    private var events: [LogEvent] = []
    private var count: Int64 = 0
    private var open = Open.none
    /// The position of a checkpoint's next pieces in the stream.
    private var cursor: (id: String, number: Int, sequence: Int64) = ("", 0, 1)

    private enum Open {
        case none
        case manifests([StoredCheckpoint])
        case pieceCounts([StoredCheckpoint])
        case extent([StoredCheckpoint])
        case store(number: Int, id: String)
        case finish(String)
        case pieces([[UInt8]], id: String, from: Int)
        case message(at: Int64)
    }

    /// The number of pieces requested at a time.
    private static let pieceCount = 8
    private static let checkpointLimit = 256

    init(names: Names) { self.names = names }

    mutating func takeRequests() -> [NATSRequest] {
        defer { requests = [] }
        return requests
    }

    mutating func takeEvents() -> [LogEvent] {
        defer { events = [] }
        return events
    }

    private mutating func ask(_ subject: String, _ bytes: [UInt8], _ next: Open) {
        count += 1
        open = next
        requests.append(
            NATSRequest(lane: .checkpoint, subject: subject, answer: "x\(count)", expected: nil, bytes: bytes))
    }

    mutating func ask(_ request: CheckpointRequest) {
        switch request {
        case .list:
            ask(
                "$JS.API.DIRECT.GET.\(names.checkpoint)",
                Array("{\"multi_last\":[\"\(names.manifestSubjects)\"]}".utf8),
                .manifests([]))
        case .store(let piece, let number, let id):
            ask(names.pieceSubject(of: id), piece, .store(number: number, id: id))
        case .finish(let manifest, let id): ask(names.manifestSubject(of: id), manifest, .finish(id))
        case .read(let id, let from):
            guard Self.isName(id) else { return }
            if cursor.id != id || cursor.number != from { cursor = (id, 0, 1) }
            let text =
                "{\"seq\":\(cursor.sequence),\"next_by_subj\":\"\(names.pieceSubject(of: id))\",\"batch\":\(Self.pieceCount),\"max_bytes\":\(Dialogue.chunkBytes)}"
            ask("$JS.API.DIRECT.GET.\(names.checkpoint)", Array(text.utf8), .pieces([], id: id, from: cursor.number))
        case .message(let position):
            ask("$JS.API.DIRECT.GET.\(names.log)", Array("{\"seq\":\(position)}".utf8), .message(at: position))
        case .remove(let id):
            guard Self.isName(id) else { return }
            remove(names.checkpoint, "{\"filter\":\"\(names.allSubjects(of: id))\"}")
        case .purge(let before): remove(names.log, "{\"seq\":\(before)}")
        }
    }

    private mutating func remove(_ stream: String, _ text: String) {
        requests.append(
            NATSRequest(
                lane: .removal(stream + text), subject: "$JS.API.STREAM.PURGE.\(stream)", answer: nil, expected: nil,
                bytes: Array(text.utf8)))
    }

    /// Whether an id can be part of a subject: digits, letters and hyphens.
    private static func isName(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    // MARK: Answers

    mutating func handleMessage(_ message: Incoming, number: Int64) {
        guard number == count else { return }
        switch open {
        case .none: break
        case .manifests(let checkpoints): takeManifest(message, checkpoints)
        case .pieceCounts(let checkpoints): takeCounts(message, checkpoints)
        case .extent(let checkpoints): takeExtent(message, checkpoints)
        case .store(let piece, let id):
            guard isStored(message) else { return noteRefusal(message) }
            report(.stored(number: piece, of: id))
        case .finish(let id):
            guard isStored(message) else { return noteRefusal(message) }
            report(.finished(id))
        case .pieces(let pieces, let id, let from): collectPiece(message, pieces, id, from)
        case .message(let position):
            let isThere = message.status == 0 && message.sequence == position
            guard isThere || message.status == 404 else { return }
            report(.message(isThere ? message.bytes : nil, at: position))
        }
    }

    private mutating func giveUp() { open = .none }

    private func isStored(_ message: Incoming) -> Bool {
        message.status == 0 && NATSAnswer(message.bytes)?.position(in: names.checkpoint) != nil
    }

    private mutating func noteRefusal(_ message: Incoming) {
        guard message.status == 0, let reason = NATSAnswer(message.bytes)?.anyRefusal else { return }
        events.append(.declined(token: nil, reason: reason))
    }

    private mutating func report(_ answer: CheckpointAnswer) {
        open = .none
        events.append(.checkpoint(answer))
    }

    private mutating func takeManifest(_ message: Incoming, _ checkpoints: [StoredCheckpoint]) {
        guard message.status != 0 else {
            guard checkpoints.count < Self.checkpointLimit, message.sequence > 0 else { return }
            var checkpoints = checkpoints
            // The manifest contains the id; an unreadable one is skipped.
            if let manifest = try? CheckpointManifest(decoding: message.bytes) {
                checkpoints.append(StoredCheckpoint(id: manifest.id, manifest: message.bytes, pieceCount: 0))
            }
            open = .manifests(checkpoints)
            return
        }
        // 204 ends the batch, and 404 means that it is empty.
        guard message.status == 204 || message.status == 404 else { return giveUp() }
        ask(
            "$JS.API.STREAM.INFO.\(names.checkpoint)", Array("{\"subjects_filter\":\"\(names.pieceSubjects)\"}".utf8),
            .pieceCounts(checkpoints))
    }

    private mutating func takeCounts(_ message: Incoming, _ checkpoints: [StoredCheckpoint]) {
        guard message.status == 0, let state = NATSAnswer(message.bytes)?["state"]?.object else { return giveUp() }
        var checkpoints = checkpoints
        for member in state["subjects"]?.object ?? JSONObject() {
            guard let id = names.checkpoint(ofPieces: member.name), let count = member.value.integer else { continue }
            if let place = checkpoints.firstIndex(where: { $0.id == id }) {
                checkpoints[place].pieceCount = Int(clamping: count)
            } else if checkpoints.count < Self.checkpointLimit {
                checkpoints.append(StoredCheckpoint(id: id, manifest: nil, pieceCount: Int(clamping: count)))
            }
        }
        ask("$JS.API.STREAM.INFO.\(names.log)", [], .extent(checkpoints))
    }

    private mutating func takeExtent(_ message: Incoming, _ checkpoints: [StoredCheckpoint]) {
        guard message.status == 0, let state = NATSAnswer(message.bytes)?["state"]?.object,
            let first = state["first_seq"]?.integer, let byteCount = state["bytes"]?.integer
        else { return giveUp() }
        report(.list(checkpoints, LogExtent(first: max(1, first), byteCount: max(0, byteCount))))
    }

    private mutating func collectPiece(_ message: Incoming, _ pieces: [[UInt8]], _ id: String, _ from: Int) {
        switch message.status {
        case 0 where message.sequence >= cursor.sequence && message.sequence < .max:
            cursor = (id, cursor.number + 1, message.sequence + 1)
            open = .pieces(pieces + [message.bytes], id: id, from: from)
        case 204: report(.pieces(pieces, of: id, from: from))
        case 404 where pieces.isEmpty: report(.pieces([], of: id, from: from))
        default:
            open = .none
            cursor = ("", 0, 1)
        }
    }
}
