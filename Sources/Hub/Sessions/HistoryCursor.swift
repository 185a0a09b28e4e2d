internal import Journal
internal import TelltaleModel
internal import TelltaleWire

/// The shell is to read some records of one key, newest first through `previous`, and hand them to
/// ``Hub/historyRead(_:for:)``.
public struct HistoryRequest: Sendable {
    public let session: SessionID
    /// The newest record that is wanted; 0 = there is none.
    public let lastSequence: Int64
    /// The most records that are wanted.
    public let limit: Int
}

/// A `HISTORY` on its way out, oldest record first, while the journal's chain of a key leads from the newest to the oldest.
///
/// So the chain is walked twice, in pieces: back to its beginning, with a note of where each piece ends, and forth again,
/// a piece for each time that the client has taken the one before. That is all the memory that it takes, however long the
/// history is.
struct HistoryCursor: Sendable {
    /// Records of one piece. An event is some hundred bytes, 4 KiB at the most and a little.
    static let pieceLimit = 256

    let requestID: String?
    /// Attributes that `HISTORY` does not know.
    let ignored: [String]
    let key: Key
    /// The newest record of each piece that is not told yet, newest piece first; empty before it has begun.
    private(set) var ends: [Int64] = []
    /// The way back is done.
    private var isTelling = false
    /// Older records are not this reader's.
    private var firstSequence: Int64 = 0
    /// Records told.
    private var count = 0
    /// The newest of them, 0 = there is none.
    private var lastTold: Int64 = 0
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
    /// Records that were pruned since the way back are missing at the beginning, as in any history. But a record that is pruned
    /// behind a piece that was told already would leave a hole, and there is no history that one could call it: it ends
    /// with a refusal.
    ///
    /// - Returns: What is to be told now; empty on the way back.
    mutating func take(_ piece: [JournalRecord]) -> (lines: [UInt8], isOver: Bool) {
        isAwaited = false
        let own = piece.prefix { $0.sequence >= firstSequence }
        if !isTelling, own.count == Self.pieceLimit, let older = own.last?.previous, older >= max(1, firstSequence) {
            ends.append(older)
            return ([], false)
        }
        isTelling = true
        ends.removeLast()
        var writer = LineWriter()
        guard count == 0 || own.last?.previous == lastTold else {
            writer.error(
                WireError(.internal, "a part of \(key)'s history was pruned while it was told; ask again"),
                id: requestID)
            return (writer.bytes, true)
        }
        for record in own.reversed() { HistoryLine.write(record, key: key, to: &writer) }
        count += own.count
        lastTold = own.first?.sequence ?? 0
        if ends.isEmpty {
            writer.beginOK(id: requestID)
            writer.attribute("count", count)
            writer.ignored(ignored)
            writer.end()
        }
        return (writer.bytes, ends.isEmpty)
    }
}
