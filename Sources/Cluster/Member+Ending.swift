public import Hub
internal import Replication
internal import TelltaleModel

// The ways in which a node leads no more by its own will, and in which its process ends.
extension Member {
    private static let endPatience = Milliseconds.seconds(3)

    /// The leader should stop leading: it decides nothing more, and resigns after the batch in progress. If the log store
    /// has no room for the resignation, it continues to lead.
    ///
    /// - Parameter successor: The node that is to lead next; `nil` = any.
    public mutating func handOver(to successor: String? = nil, at now: HubTime) {
        guard isLeading, handover == .none, end == nil else { return }
        beginHandover(to: successor, at: now)
    }

    private mutating func beginHandover(to successor: String?, at now: HubTime) {
        handover = .wanted
        self.successor = successor
        resign(at: now)
        settle(at: now)
    }

    mutating func resign(at now: HubTime) {
        if appendedAt == nil, replica.resign(to: successor, at: now.monotonic) { handover = .underWay }
    }

    /// The process is to end. A leader hands over, and stands down without the log's knowledge where that takes too long. A
    /// node that does not lead follows the log no more, and never leads.
    ///
    /// - Returns: Whether there is a leadership to wait for: ``Action/standDown(reason:isEnding:)`` ends it.
    public mutating func end(at now: HubTime) -> Bool {
        guard isLeading else {
            leaveCluster()
            return false
        }
        guard end == nil else { return true }
        end = now.monotonic + Self.endPatience
        if handover == .none { beginHandover(to: nil, at: now) }
        return true
    }

    mutating func abandon(at now: HubTime) {
        actions.append(.abandon)
        handover = .underWay
        standDown("it ends", at: now)
    }

    var isEnding: Bool { end != nil }

    mutating func leaveCluster() {
        flushLocalJournal()
        hasStopped = true
    }
}
