import FoundationEssentials
import Journal
import JournalSQLite
import Logging

// Opens the journal at the start.
extension Telltaled {
    /// `TELLTALE_JOURNAL=memory` keeps nothing: for measurements without the disk.
    static func openJournal(_ configuration: Configuration, logger: Logger) throws -> any Journal {
        if ProcessInfo.processInfo.environment["TELLTALE_JOURNAL"] == "memory" {
            logger.warning("the journal is in memory, and ends with this process")
            return InMemoryJournal(epoch: .random(in: 1 ... .max))
        }
        var options = SQLiteJournal.Options()
        options.copiesLogAside = true
        if let byteCount = FailPoint.logByteCount { options.logByteCount = byteCount }
        switch configuration.cluster.isOn ? nil : configuration.sync {
        case .full: options.sync = .full
        case .normal: options.sync = .normal
        case .off: options.sync = .off
        case nil: options.sync = .follower
        }
        options.observer = { step in FailPoint.shared.reached(step.rawValue) }
        return try SQLiteJournal(configuration.data, options)
    }

    /// Refuses to serve a node's local journal outside its cluster: the other nodes would never learn what it adds.
    static func refuseCopy(_ journal: any Journal, _ configuration: Configuration) throws {
        guard journal.mark != nil else { return }
        throw JournalError.unusable(
            what: "could not serve from \(configuration.data)", cause: "it is a copy of the log of a cluster",
            advice: "start with --cluster, or name another folder")
    }
}
