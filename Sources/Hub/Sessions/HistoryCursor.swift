internal import Journal
internal import TelltaleModel
internal import TelltaleWire

/// A request to the performer to read some records of one key, newest first through `previous`, and return them with
/// ``Hub/historyRead(_:for:)``.
public struct HistoryRequest: Sendable {
    public let session: SessionID
    /// The newest requested record; 0 = there is none.
    public let lastSequence: Int64
    /// The most records to return.
    public let limit: Int
}

/// A `HISTORY` in progress. It is sent oldest record first, but the journal's chain of a key leads from the newest to the oldest.
///
/// So the chain is read twice, in pieces: first back to its beginning, recording where each piece ends; then forward, one piece
/// each time the client has taken the previous one. It needs no other memory, however long the history is.
struct HistoryCursor: Sendable {
    /// Records per piece. An event has a few hundred bytes, and little more than 4 KiB at most.
    static let pieceLimit = 256

    let requestID: String?
    /// Attributes that `HISTORY` does not know.
    let ignored: [String]
    let key: Key
    /// The newest record of each piece that is not sent yet, newest piece first; empty before the start.
    private(set) var ends: [Int64] = []
    /// The backward pass is complete.
    private var isSending = false
    /// Older records are not visible to this reader.
    private var firstSequence: Int64 = 0
    /// The number of records sent.
    private var count = 0
    /// The newest record sent; 0 = none.
    private var lastSent: Int64 = 0
    /// The journal is reading a piece.
    var isAwaited = false

    init(of key: Key, _ request: Request) {
        requestID = request.id
        ignored = request.ignored
        self.key = key
    }

    mutating func begin(at newest: Int64, from firstSequence: Int64) {
        ends = [newest]
        self.firstSequence = firstSequence
    }

    /// Takes a piece, newest record first.
    ///
    /// Records pruned since the backward pass are missing at the beginning, as in any history. But a record pruned after an
    /// earlier piece was sent would leave a gap, so the history ends with a refusal.
    ///
    /// - Returns: What to send now; empty during the backward pass.
    mutating func readPiece(_ piece: [JournalRecord]) -> (lines: [UInt8], isOver: Bool) {
        isAwaited = false
        let own = piece.prefix { $0.sequence >= firstSequence }
        if !isSending, own.count == Self.pieceLimit, let older = own.last?.previous, older >= max(1, firstSequence) {
            ends.append(older)
            return ([], false)
        }
        isSending = true
        ends.removeLast()
        var writer = LineWriter()
        guard count == 0 || own.last?.previous == lastSent else {
            writer.error(
                WireError(.internal, "a part of \(key)'s history was pruned while it was told; ask again"),
                id: requestID)
            return (writer.bytes, true)
        }
        for record in own.reversed() { HistoryLine.write(record, key: key, to: &writer) }
        count += own.count
        lastSent = own.first?.sequence ?? 0
        if ends.isEmpty {
            writer.beginOK(id: requestID)
            writer.attribute("count", count)
            writer.ignored(ignored)
            writer.end()
        }
        return (writer.bytes, ends.isEmpty)
    }
}
