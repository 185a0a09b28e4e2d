import Hub
import Journal
import TelltaleModel

/// Hubs of journals, beside those that a cluster runs.
enum ClusterRecovery {
    /// The hub of a process that starts on this journal.
    static func hub(of contents: InMemoryJournal.Contents, configuration: HubConfiguration) throws -> Hub {
        var hub = Hub(configuration: configuration, epoch: contents.epoch)
        for record in contents.records { try hub.replay(record) }
        return hub
    }
}
