public import Hub

// For programs that run a server without a disk, sockets and a clock: previews, measurements, questions to a recovered hub.
extension Server {
    /// Takes a turn and performs its actions: each batch counts as durable at once.
    ///
    /// - Parameter deliver: Receives the output of a session: its own bytes, then the rows that it shares with other sessions.
    public mutating func turnWithoutDisk(
        at now: HubTime, deliver: (SessionID, _ own: [UInt8], _ shared: ArraySlice<UInt8>) -> Void
    ) {
        turn(at: now)
        while let action = nextAction(at: now) {
            switch action {
            case .append(_, isLast: true): synced(.durable(duration: .zero, wait: .zero), at: now)
            case .flush:
                while let id = nextReady(at: now) {
                    var bytes: [UInt8] = []
                    let shared = output(for: id, at: now, to: &bytes).sharedRange
                    deliver(id, bytes, sharedRows[shared])
                }
                flushed(at: now)
            default: break
            }
        }
    }
}
