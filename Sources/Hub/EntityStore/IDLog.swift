internal import DequeModule
internal import TelltaleModel

/// The ids of one source in the order in which they came.
///
/// The log consists of chunks, so that it grows, and is copied for a snapshot, without moving existing ids. After a copy, the
/// next id copies only the newest chunk.
struct IDLog: Sendable {
    struct Item: Sendable {
        var eid: String
        var wall: Timestamp
        var entry: EventIDs.Entry
    }

    private var chunks: Deque<[Item]> = []
    /// How many ids preceded the oldest chunk.
    private var base = 0
    /// How many ids of the oldest chunk are already forgotten.
    private var skipped = 0

    /// The length of a full chunk. A full chunk no longer changes, and is one block of a snapshot.
    static let chunkLength = 1_024

    /// - Parameter firstNumber: The number of the first id.
    init(firstNumber: Int = 0) {
        base = firstNumber
    }

    var isEmpty: Bool { count == 0 }

    var count: Int {
        guard let last = chunks.last else { return 0 }
        return (chunks.count - 1) * Self.chunkLength + last.count - skipped
    }

    /// The number of the oldest id.
    var firstNumber: Int { base + skipped }

    var first: Item? { isEmpty ? nil : chunks[0][skipped] }

    /// The id with this number, modulo 2^32: there are never that many at once.
    ///
    /// - Precondition: It was appended and has not been forgotten.
    subscript(number: UInt32) -> Item {
        let position = Int(number &- UInt32(truncatingIfNeeded: base))
        return chunks[position / Self.chunkLength][position % Self.chunkLength]
    }

    /// - Returns: Its number.
    mutating func append(_ item: Item) -> Int {
        let number = firstNumber + count
        if chunks.last.map({ $0.count == Self.chunkLength }) ?? true { beginChunk() }
        chunks[chunks.count - 1].append(item)
        return number
    }

    private mutating func beginChunk() {
        var chunk: [Item] = []
        // Most sources never fill a chunk. A source with a second chunk will fill it, so it need not grow step by step.
        if !chunks.isEmpty { chunk.reserveCapacity(Self.chunkLength) }
        chunks.append(chunk)
    }

    /// Removes the oldest id.
    mutating func popFirst() -> (number: Int, item: Item)? {
        guard let item = first else { return nil }
        let number = firstNumber
        skipped += 1
        if skipped == chunks[0].count {
            // A chunk that is not full is the only one; the next id begins another.
            base += chunks[0].count
            skipped = 0
            chunks.removeFirst()
        }
        return (number, item)
    }

    /// Removes the newest id.
    mutating func popLast() -> (number: Int, item: Item)? {
        guard !isEmpty else { return nil }
        let number = firstNumber + count - 1
        let item = chunks[chunks.count - 1].removeLast()
        if chunks.last?.count ?? 0 <= (chunks.count == 1 ? skipped : 0) {
            if chunks.count == 1 { base += skipped }
            chunks.removeLast()
            if chunks.isEmpty { skipped = 0 }
        }
        return (number, item)
    }

    /// A chunk with its metadata.
    struct Chunk {
        /// The number of its first item, which may already be forgotten.
        var firstNumber: Int
        var items: [Item]
        /// The number of items at the beginning that are forgotten.
        var skipped: Int

        /// Whether it no longer changes.
        var isFull: Bool { items.count == IDLog.chunkLength }
    }

    /// All chunks, oldest first.
    var allChunks: [Chunk] {
        chunks.enumerated().map { position, items in
            Chunk(
                firstNumber: base + position * Self.chunkLength, items: items, skipped: position == 0 ? skipped : 0)
        }
    }

    /// Appends a chunk of a snapshot. In the first chunk, the items before ``firstNumber`` are forgotten.
    ///
    /// - Returns: Whether it follows the chunks before it, and is full.
    mutating func append(chunk items: [Item], firstNumber: Int) -> Bool {
        guard items.count == Self.chunkLength else { return false }
        if chunks.isEmpty {
            let forgotten = self.firstNumber &- firstNumber
            guard (0..<items.count).contains(forgotten) else { return false }
            base = firstNumber
            skipped = forgotten
        } else {
            guard chunks.last?.count == Self.chunkLength, firstNumber == self.firstNumber + count else { return false }
        }
        chunks.append(items)
        return true
    }

    /// Calls `body` with each, oldest first.
    func forEach<Failure: Error>(_ body: (Item) throws(Failure) -> Void) throws(Failure) {
        for (position, chunk) in chunks.enumerated() {
            for item in chunk[(position == 0 ? skipped : 0)...] { try body(item) }
        }
    }
}
