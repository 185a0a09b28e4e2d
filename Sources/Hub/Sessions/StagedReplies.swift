internal import DequeModule
internal import TelltaleWire

/// The replies to a session's decided requests, in order. They are sent once their commit is durable.
struct StagedReplies: Sendable {
    private enum Reply: Sendable {
        /// Independent of the commit.
        case bytes([UInt8])
        /// Depends on the commit: if that fails, a refusal is sent instead. The next `length` bytes of ``lines``.
        case committed(length: Int, requestID: String?)
        /// The leader's, which has not come yet.
        case awaited
        /// Runs after the commit, on the durable state.
        indirect case read(Request)
    }

    private var replies: Deque<Reply> = []
    /// The replies that depend on the commit, concatenated: a thousand replies share one allocation.
    private var lines: [UInt8] = []
    /// How much of ``lines`` has been moved out. The rest is not shifted: with events among a thousand pings, it would be copied
    /// five hundred times.
    private var movedLength: Int32 = 0
    /// How many of ``replies`` are reads. Counted, because each `TRAIT` asks; with ``movedLength`` it takes one word, because idle
    /// sessions are many.
    private var readCount: Int32 = 0

    var isEmpty: Bool { replies.isEmpty }
    var count: Int { replies.count }
    var hasReads: Bool { readCount > 0 }

    /// Whether a reply of the leader is awaited.
    var hasAwaited: Bool { replies.contains { if case .awaited = $0 { true } else { false } } }
    /// Whether the next reply is the leader's, so that nothing can be sent before.
    var isNextAwaited: Bool { if case .awaited? = replies.first { true } else { false } }

    mutating func append(_ bytes: [UInt8]) { replies.append(.bytes(bytes)) }
    mutating func appendAwaited() { replies.append(.awaited) }

    /// The leader's reply to the oldest request that awaits one.
    ///
    /// - Parameter line: Without a line ending.
    mutating func settle(_ line: [UInt8]) {
        let place = replies.firstIndex { if case .awaited = $0 { true } else { false } }
        if let place { replies[place] = .bytes(line + [UInt8(ascii: "\n")]) }
    }

    mutating func append(read request: Request) {
        replies.append(.read(request))
        readCount += 1
    }

    /// Takes the content of `writer`: the reply to a request that makes a record, if it is accepted.
    mutating func append(committed writer: inout LineWriter, requestID: String?) {
        replies.append(.committed(length: writer.count, requestID: requestID))
        writer.move(to: &lines)
    }

    /// The read to run next; `nil` if a reply precedes it.
    var firstRead: Request? { if case .read(let request)? = replies.first { request } else { nil } }

    mutating func removeFirst() {
        if case .read = replies.removeFirst() { readCount -= 1 }
    }

    /// Moves the replies before the next read.
    ///
    /// - Parameter pieceLength: In bytes. A piece ends with the reply that reaches this length, so that a slow reader takes them
    ///   one by one.
    mutating func moveReplies(to outbox: inout Deque<OutboundItem>, pieceLength: Int) {
        var (movedCount, pieceCount) = (0, 0)
        var (start, end) = (Int(movedLength), Int(movedLength))
        func endPiece() {
            if end > start {
                // Usually all of them, so that no copy is needed.
                let piece = start == 0 && end == lines.count ? lines : Array(lines[start..<end])
                outbox.append(.bytes(piece, replyCount: pieceCount))
            }
            (start, pieceCount) = (end, 0)
        }
        replies: for reply in replies {
            switch reply {
            case .read, .awaited: break replies
            case .bytes(let bytes):
                endPiece()
                if !bytes.isEmpty { outbox.append(.bytes(bytes)) }
            case .committed(let length, _):
                end += length
                pieceCount += 1
                if end - start >= pieceLength { endPiece() }
            }
            movedCount += 1
        }
        endPiece()
        replies.removeFirst(movedCount)
        movedLength = Int32(end)
        if end == lines.count { forgetLines() }
    }

    private mutating func forgetLines() {
        lines = []
        movedLength = 0
    }

    /// Whether a reply depends on the commit.
    var hasCommitted: Bool { replies.contains { if case .committed = $0 { true } else { false } } }

    /// Replaces the replies that depend on the commit with `error`.
    mutating func refuseCommitted(_ error: WireError) {
        for position in replies.indices {
            guard case .committed(_, let requestID) = replies[position] else { continue }
            var writer = LineWriter()
            writer.error(error, id: requestID)
            replies[position] = .bytes(writer.bytes)
        }
        forgetLines()
    }
}
