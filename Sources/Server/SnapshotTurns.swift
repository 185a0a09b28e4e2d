public import Journal

/// The snapshots of a process, one at a time: a journal has one draft, and a node of a cluster runs several servers in
/// turn.
///
/// At most one waits for the snapshot that is being written. A newer request replaces an older one that waits.
public struct SnapshotTurns<Content: Sendable>: Sendable {
    /// One of the servers that the process has in turn, by its number.
    public typealias Asker = Int

    public struct Request: Sendable {
        public var asker: Asker
        public var content: Content
        public var pruning: Pruning

        public init(_ content: Content, for asker: Asker, pruning: Pruning) {
            (self.content, self.asker, self.pruning) = (content, asker, pruning)
        }
    }

    /// The asker of the one that is being written.
    private var current: Asker?
    private var waiting: Request?

    public init() {}

    /// A snapshot is being written.
    public var isWriting: Bool { current != nil }

    /// Asks for a snapshot.
    ///
    /// - Returns: The snapshot to write now; `nil` where it waits or is dropped. And the requester of a dropped one,
    ///   which must be notified that it is not written.
    public mutating func ask(_ request: Request) -> (begins: Request?, refused: Asker?) {
        guard current != nil else {
            current = request.asker
            return (request, nil)
        }
        defer { waiting = request }
        return (nil, waiting?.asker)
    }

    /// The one that was being written is finished or abandoned.
    ///
    /// - Returns: Its asker, and the one to write now; `nil` = none waits.
    public mutating func ended() -> (asker: Asker?, next: Request?) {
        let (asker, next) = (current, waiting.take())
        current = next?.asker
        return (asker, next)
    }
}
