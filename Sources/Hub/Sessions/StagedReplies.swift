internal import DequeModule
internal import TelltaleWire

/// The replies to a session's decided requests, in their order; they leave once the commit that carries them is durable.
struct StagedReplies: Sendable {
    private enum Reply: Sendable {
        /// Independent of the commit.
        case bytes([UInt8])
        /// Depends on the commit: if that fails, the refusal goes out in its place. The next so many bytes of ``lines``.
        case committed(length: Int, requestID: String?)
        /// Carried out after the commit, on what is durable by then.
        indirect case read(Request)
    }

    private var replies: Deque<Reply> = []
    /// The replies that depend on the commit, one behind another: a thousand events are answered from one piece of memory.
    private var lines: [UInt8] = []
    /// How much of ``lines`` has been moved away: they are not cut, or events among a thousand pings would copy the rest of
    /// themselves five hundred times.
    private var movedLength = 0

    var isEmpty: Bool { replies.isEmpty }
    var count: Int { replies.count }
    var hasReads: Bool { replies.contains { if case .read = $0 { true } else { false } } }

    mutating func append(_ bytes: [UInt8]) { replies.append(.bytes(bytes)) }

    mutating func append(read request: Request) { replies.append(.read(request)) }

    /// Takes what `writer` holds: the answer to what makes a record, if it is accepted.
    mutating func append(committed writer: inout LineWriter, requestID: String?) {
        replies.append(.committed(length: writer.count, requestID: requestID))
        writer.move(to: &lines)
    }

    /// The request that is to be carried out next; `nil` where a reply comes before it.
    var firstRead: Request? { if case .read(let request)? = replies.first { request } else { nil } }

    mutating func removeFirst() { replies.removeFirst() }

    /// Moves what comes before the next request that is to be carried out.
    ///
    /// - Parameter pieceLength: In bytes. With the reply that makes it so long a piece ends, so that a slow reader takes
    ///   them one by one.
    mutating func moveReplies(to outbox: inout Deque<OutboundItem>, pieceLength: Int) {
        var (movedCount, pieceCount) = (0, 0)
        var (start, end) = (movedLength, movedLength)
        func endPiece() {
            if end > start {
                // Nearly always all of them, which need not be copied.
                let piece = start == 0 && end == lines.count ? lines : Array(lines[start..<end])
                outbox.append(.bytes(piece, replyCount: pieceCount))
            }
            (start, pieceCount) = (end, 0)
        }
        replies: for reply in replies {
            switch reply {
            case .read: break replies
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
        movedLength = end
        if movedLength == lines.count { forgetLines() }
    }

    private mutating func forgetLines() {
        lines = []
        movedLength = 0
    }

    /// Puts `error` in the place of what depended on the commit.
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
