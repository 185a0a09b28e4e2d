import Hub
import Journal
import Server

extension Hub {
    /// The hub of a process that starts on this journal.
    ///
    /// - Parameter skipped: No record up to this one is replayed.
    static func recovered(
        from journal: InMemoryJournal, _ configuration: HubConfiguration, skipping skipped: Int64 = 0
    ) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: journal.epoch)
        if let snapshot = journal.snapshot {
            for index in 0..<snapshot.chunkCount { try hub.load(try journal.readChunk(index)) }
            hub.finishLoading()
        }
        var position = max(hub.lastRecordSequence, skipped)
        while true {
            let records = try journal.readRecords(after: position, limit: 512)
            guard let last = records.last else { return hub }
            for record in records { try hub.replay(record) }
            position = last.sequence
        }
    }
}

/// A server with one session, whose journal is immediate and whose clock stands still: a question to a recovered hub.
enum LoneServer {
    /// - Parameter lines: What the session says, without line ends.
    /// - Returns: All that the session is sent.
    static func answers(of hub: consuming Hub, to lines: [String], at now: HubTime) -> [UInt8] {
        var server = Server(hub, configuration: .withoutDisk, snapshotSequence: 0)
        let id = server.connected(at: now)
        _ = server.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        var isOver = false
        for _ in 0..<10_000 where !isOver {
            isOver = true
            server.turnWithoutDisk(at: now) { _, own, shared in
                isOver = false
                bytes += own + shared
            }
        }
        return bytes
    }
}
