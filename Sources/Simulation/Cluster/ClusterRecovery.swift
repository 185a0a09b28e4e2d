import Hub
import Journal
import TelltaleModel

/// Hubs of journals, beside those that a cluster runs.
enum ClusterRecovery {
    /// The hub of a process that starts on this journal: its snapshot, and the records behind that.
    static func hub(of contents: InMemoryJournal.Contents, configuration: HubConfiguration) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: contents.epoch)
        for chunk in contents.snapshotChunks { try hub.load(chunk) }
        if contents.snapshotSequence != nil { hub.finishLoading() }
        let known = contents.snapshotSequence ?? 0
        for record in contents.records where record.sequence > known { try hub.replay(record) }
        return hub
    }
}
