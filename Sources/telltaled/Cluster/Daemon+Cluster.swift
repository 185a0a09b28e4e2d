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

    /// Replaces the server, because the history is another one. Each connection of the old one is sent away.
    func serve(with next: consuming Server, _ farewell: [UInt8]) {
        sendAway(farewell)
        server = next
        serverNumber += 1
        cluster?.closeLeaderLink()
        if let directory { server.principalsLoaded(directory) }
        if let certificate { server.certificateLoaded(expiry: certificate.expiry) }
    }

    /// Sends each connection the farewell line and closes it.
    func sendAway(_ farewell: [UInt8]) {
        let old = connections
        connections = ConnectionTable()
        blocked = []
        tokenThread?.forgetAll()
        for id in old.sessions { server.disconnected(id) }
        for connection in old.all {
            // A client that was not greeted yet would take the farewell for another protocol.
            guard connection.isOpen, connection.isWritable, connection.sentByteCount > 0 else {
                connection.close()
                continue
            }
            _ = connection.write(farewell)
            connection.finish(lingerMilliseconds: 2_000)
        }
    }

    func reportStatus(_ status: ClusterStatus) { server.stands(status, at: clock.now) }

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
