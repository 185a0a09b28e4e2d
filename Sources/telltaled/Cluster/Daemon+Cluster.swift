import Hub
import Journal
import Logging
import Server
import TelltaleEventLoop
import TelltaleModel

// What a cluster member needs of the daemon.
extension Daemon {
    /// Writes to the local journal. A full disk stops this node: the others continue, and it catches up later.
    ///
    /// - Returns: Whether the local journal no longer keeps up.
    func keep(_ records: [JournalRecord], mark: [UInt8], epoch: UInt64, _ backlog: LocalJournalBacklog) -> Bool {
        let sender = mailbox.sender
        let count = LocalJournalBacklog.byteCount(of: records)
        let isBehind = backlog.add(count)
        journal.keepRecords(records, mark: mark, epoch: epoch) { result in
            if case .failure(let error) = result {
                _ = sender.post(.failed(error))
            } else if backlog.remove(count) {
                _ = sender.post(.localJournalCaughtUp)
            }
        }
        return isBehind
    }

    /// Handles the end of a batch: the log has stored it, or has no room for it.
    func settleAppend(_ outcome: SyncOutcome) {
        if case .full = outcome { logger.error("the engine has no room for a batch; its senders are told") }
        showsCommit = true
        server.synced(outcome, at: clock.now)
        perform()
    }

    /// Replaces the server. Each connection of the old one gets the farewell line and is closed.
    func serve(with next: consuming Server, _ farewell: [UInt8]) {
        let old = connections.all
        connections = ConnectionTable()
        blocked = []
        tokenThread?.forgetAll()
        server = next
        serverNumber += 1
        if let directory { server.principalsLoaded(directory) }
        if let certificate { server.certificateLoaded(expiry: certificate.expiry) }
        for connection in old {
            // A client that was not greeted yet would take the farewell for another protocol.
            guard connection.isOpen, connection.isWritable, connection.sentByteCount > 0 else {
                connection.close()
                continue
            }
            _ = connection.write(farewell)
            connection.finish(lingerMilliseconds: 2_000)
        }
    }

    /// Continues the kinds' clock from the newest record.
    func beginClock(after times: (record: Timestamp, wall: Timestamp)) {
        clock = Clock(speed: configuration.clockSpeed, lastRecord: times.record, lastWall: times.wall)
    }

    func reportStatus(_ status: ClusterStatus) { server.stands(status) }

    /// Rebuilds the hub from the local journal, after every write already submitted to it.
    func recoverAgain(_ snapshotSequence: @escaping @Sendable (any Journal) -> Int64) {
        let sender = mailbox.sender
        let (hub, logger, manager) = (configuration.hub, logger, manager)
        journal.read { journal in
            do {
                let hub = try Recovery.recover(journal, configuration: hub, logger: logger, manager: manager)
                _ = sender.post(.recovered(RecoveredHub(hub, snapshotSequence: snapshotSequence(journal))))
            } catch {
                _ = sender.post(
                    .failed(error as? JournalError ?? .corrupt(place: "\(error)", advice: JournalAdvice.repair)))
            }
        }
    }

    /// The leader has handed over: stops the server in order.
    func endServing() { server.stopRequested(at: clock.now) }

    /// The log is not the one that this node knows, so it sends nothing more and an operator has to decide. The process
    /// ends once the folder has stored the reason.
    func stopBehindLocalJournal() {
        for connection in connections.all { connection.close() }
        let sender = mailbox.sender
        journal.close { _ in _ = sender.post(.stopped) }
    }

    /// Stops without sending or writing anything more.
    func stopAtOnce(_ status: Int32 = 1) {
        for connection in connections.all { connection.close() }
        exitWith(status)
    }
}
