import Hub
import Server
import TelltaleEventLoop
import TelltaleModel

/// The output of some sessions, rendered first and written then.
///
/// One after the other, hub and system push each other's code and tables out of the processor's caches, a thousand times
/// in a broadcast. Some dozens at a time cost a tenth less a delivery; more than that save nothing.
struct Outgoing {
    struct Item {
        let session: SessionID
        let connection: Connection
        let disposition: Disposition
        fileprivate let range: Range<Int>
        /// Whether they are the server's ``Server/Server/sharedRows``.
        fileprivate let isShared: Bool
    }

    private var items: [Item] = []
    private var bytes: [UInt8] = []

    private static let itemLimit = 32
    private static let byteLimit = 65_536

    /// Whether what is there has to be written first: it is enough, or its last session is ready again, and must not be
    /// rendered a second time before its first write.
    var isFull: Bool {
        items.count >= Self.itemLimit || bytes.count >= Self.byteLimit || items.last?.disposition == .hasMore
    }

    /// Adds what `session` is due, if anything.
    mutating func append(_ session: SessionID, on connection: Connection, of server: inout Server, at now: HubTime) {
        let start = bytes.count
        let output = server.output(for: session, at: now, to: &bytes)
        let isShared = !output.sharedRange.isEmpty
        items.append(
            Item(
                session: session, connection: connection, disposition: output.disposition,
                range: isShared ? output.sharedRange : start..<bytes.count, isShared: isShared))
    }

    /// Hands out every session's bytes, which may be none, in the order in which they were added; then it is empty.
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
