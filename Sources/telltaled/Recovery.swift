import Hub
import Journal
import Logging
import TelltaleModel

/// Rebuilds the hub from its journal.
enum Recovery {
    /// Records that are read at once: enough to be quick, little enough to be nothing.
    private static let portion = 4_096

    static func recover(
        _ journal: any Journal, configuration: HubConfiguration, logger: Logger, manager: ServiceManager
    ) throws -> sending Hub {
        var hub = Hub(configuration: configuration, epoch: journal.epoch)
        var told = ContinuousClock.now
        if let snapshot = journal.snapshot {
            for index in 0..<snapshot.chunkCount {
                try hub.load(try journal.readChunk(index))
                if ContinuousClock.now - told > .seconds(1) {
                    told = ContinuousClock.now
                    let percent = 100 * (index + 1) / snapshot.chunkCount
                    tell(manager, "snapshot", percent: Int64(percent))
                    logger.info(
                        "recovering",
                        metadata: [
                            "snapshot": "\(index + 1) of \(snapshot.chunkCount) chunks",
                            "percent": "\(percent)",
                        ])
                }
            }
            hub.finishLoading()
        }
        let first = hub.lastRecordSequence
        while true {
            let records = try journal.readRecords(after: hub.lastRecordSequence, limit: portion)
            guard !records.isEmpty else { break }
            for record in records { try hub.replay(record) }
            if ContinuousClock.now - told > .seconds(1) {
                told = ContinuousClock.now
                let done = hub.lastRecordSequence - first
                let all = max(1, journal.lastSequence - first)
                tell(manager, "records", percent: Int64(100 * done / all))
                logger.info("recovering", metadata: ["records": "\(done) of \(all)", "percent": "\(100 * done / all)"])
            }
        }
        return hub
    }

    /// Asks for a minute more each time that there is progress. Recovery that stands still asks for nothing.
    private static func tell(_ manager: ServiceManager, _ part: String, percent: Int64) {
        manager.tell("EXTEND_TIMEOUT_USEC=60000000", "STATUS=recovering \(part), \(percent) %")
    }
}
