import Hub
import Server
import TelltaleEventLoop
import TelltaleModel

/// The output of several sessions, all rendered before any of it is written.
///
/// Alternating between them would make hub and system evict each other's code and tables from the processor's caches, a
/// thousand times in a broadcast. Batches of some dozens make a delivery a tenth cheaper; larger ones gain nothing.
struct Outgoing {
    struct Item {
        let session: SessionID
        let connection: Connection
        let disposition: Disposition
        fileprivate let range: Range<Int>
        /// Whether the bytes are the server's ``Server/Server/sharedRows``.
        fileprivate let isShared: Bool
    }

    private var items: [Item] = []
    private var bytes: [UInt8] = []

    private static let itemLimit = 32
    private static let byteLimit = 65_536

    /// Whether the batch has to be written now: it is large enough, or its last session has more to render, which must
    /// not happen before its first write.
    var isFull: Bool {
        items.count >= Self.itemLimit || bytes.count >= Self.byteLimit || items.last?.disposition == .hasMore
    }

    /// Adds the pending output of `session`, if any.
    mutating func append(_ session: SessionID, on connection: Connection, of server: inout Server, at now: HubTime) {
        let start = bytes.count
        let output = server.output(for: session, at: now, to: &bytes)
        let isShared = !output.sharedRange.isEmpty
        items.append(
            Item(
                session: session, connection: connection, disposition: output.disposition,
                range: isShared ? output.sharedRange : start..<bytes.count, isShared: isShared))
    }

    /// Passes each session's bytes, which may be none, in the order in which they were added, and empties the batch.
    ///
    /// - Parameter shared: The server's ``Server/Server/sharedRows``.
    mutating func drain(sharing shared: [UInt8], _ body: (Item, Span<UInt8>) -> Void) {
        for item in items {
            if item.isShared {
                body(item, shared.span.extracting(item.range))
            } else {
                body(item, bytes.span.extracting(item.range))
            }
        }
        items.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: bytes.capacity <= ByteBuffer.keptCapacity)
    }
}
