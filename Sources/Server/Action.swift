public import Hub
public import Journal
public import TelltaleModel

/// One thing that the performer has to do. The set is closed: a performer that carries out each of these is a complete
/// daemon.
public enum Action: Sendable {
    /// Give the journal these records. After the last part it answers with ``Server/synced(_:at:)``.
    case append([JournalRecord], isLast: Bool)
    /// Write to every session that ``Server/nextReady(at:)`` names, then say ``Server/flushed(at:)``.
    case flush
    /// Read from this connection again.
    case resumeReading(SessionID)
    /// Read from no connection any more.
    case pauseReading
    /// Close this connection at once.
    case close(SessionID)
    /// Close every connection at once.
    case closeConnections
    /// Accept no connection any more.
    case stopListening
    /// Read a piece of a key's history; answer with ``Server/historyRead(_:for:)``.
    case readHistory(HistoryRequest)
    /// Write ``Server/snapshot()``, and prune with it; answer with ``Server/snapshotWritten(_:)``.
    case writeSnapshot(Pruning)
    /// Close the journal; answer with ``Server/journalClosed(_:)``.
    case closeJournal
    /// Call ``Server/turn(at:)`` at this moment, unless something happens earlier. The last action of a turn.
    case wake(Wake)
    /// Check these signed tokens, not on the loop's thread; answer each with ``Server/tokenChecked(_:)``.
    case checkTokens([TokenCheck])
    /// Faults of machines, for a log.
    case report([String])
    /// Send these bytes to the leader of the cluster: ``Server/linkConnected(at:)``.
    case writeToLeader([UInt8])
    /// The leader does not take the link. Close the connection to it, and try another one.
    case closeLeaderLink
    /// An operator asked this node to stop leading the cluster.
    case handOver(Handover)
    /// End the process with this status. The last action of all.
    case exit(Int32)
}

/// The outcome of a batch.
public enum SyncOutcome: Hashable, Sendable {
    /// It is on the disk.
    ///
    /// - Parameters:
    ///   - duration: Of the sync.
    ///   - wait: From the moment at which the journal had the whole batch until it was durable.
    case durable(duration: Duration, wait: Duration)
    /// The disk has no room for it, and nothing of it was written.
    case full
    /// The disk failed, and whether it has the batch is not known.
    case failed
}

/// When the server needs its next turn, unless something happens earlier.
public struct Wake: Hashable, Sendable {
    /// Within a millisecond or so; `nil` = there is nothing to wait for.
    public var at: MonotonicTime?
    /// As precisely as the machine can: when the pace allows the next flush.
    public var flush: MonotonicTime?
}
