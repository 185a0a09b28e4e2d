import Hub
import Journal
import Server
import TelltaleModel

/// Hubs of journals, beside those that a cluster runs.
enum ClusterRecovery {
    /// The hub of a process that starts on this journal.
    static func hub(of contents: InMemoryJournal.Contents, configuration: HubConfiguration) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: contents.epoch)
        for record in contents.records { try hub.replay(record) }
        return hub
    }

    /// The answers of a daemon with this journal to these lines.
    static func answers(
        to lines: [String], after contents: InMemoryJournal.Contents, configuration: HubConfiguration, at now: HubTime
    ) throws -> [UInt8] {
        var settings = ServerConfiguration()
        settings.isJournalImmediate = true
        settings.pace = .fixed(.zero)
        var server = Server(
            try hub(of: contents, configuration: configuration), configuration: settings, snapshotSequence: 0)
        let id = server.connected(at: now)
        _ = server.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        var isOver = false
        for _ in 0..<10_000 where !isOver {
            isOver = true
            server.turn(at: now)
            while let action = server.nextAction(at: now) {
                switch action {
                case .append(_, isLast: true): server.synced(.durable(duration: .zero, wait: .zero), at: now)
                case .flush:
                    while let next = server.nextReady() {
                        isOver = false
                        let output = server.output(for: next, at: now, to: &bytes)
                        bytes += server.sharedRows[output.sharedRange]
                    }
                    server.flushed(at: now)
                default: break
                }
            }
        }
        return bytes
    }
}
