import Hub
import Journal
import Logging
import TelltaleEventLoop

/// Rebuilds the hub from its journal.
enum Recovery {
    /// The number of records read at once: enough for speed, few enough for memory.
    private static let portion = FailPoint.recordsPerRecoveryStep ?? 4_096

    static func recover(
        _ journal: any Journal, configuration: HubConfiguration, logger: Logger, manager: ServiceManager
    ) throws -> sending Hub {
        var hub = Hub(configuration: configuration, epoch: journal.epoch)
        var progress = Progress(logger: logger, manager: manager)
        if let snapshot = journal.snapshot {
            let decoder = DecodingThread()
            for index in 0..<snapshot.chunkCount {
                decoder.submit(try journal.readChunk(index))
                while let part = try decoder.next(leaving: DecodingThread.capacity) { try hub.load(part) }
                progress.reached(Int64(index + 1), of: Int64(snapshot.chunkCount), "snapshot", unit: " chunks")
            }
            while let part = try decoder.next(leaving: 0) { try hub.load(part) }
            hub.finishLoading()
        }
        let first = hub.lastRecordSequence
        while true {
            let records = try journal.readRecords(after: hub.lastRecordSequence, limit: portion)
            guard !records.isEmpty else { break }
            for record in records { try hub.replay(record) }
            progress.reached(hub.lastRecordSequence - first, of: journal.lastSequence - first, "records")
        }
        return hub
    }

    /// Reports progress once a second.
    private struct Progress {
        let logger: Logger
        let manager: ServiceManager
        var reported = ContinuousClock.now

        mutating func reached(_ done: Int64, of all: Int64, _ part: String, unit: String = "") {
            let isLong = FailPoint.recordsPerRecoveryStep != nil
            guard isLong || ContinuousClock.now - reported > .seconds(1) else { return }
            reported = ContinuousClock.now
            let percent = 100 * done / max(1, all)
            // Sent only on progress, so that a recovery that hangs gets no further minute.
            manager.notify("EXTEND_TIMEOUT_USEC=60000000", "STATUS=recovering \(part), \(percent) %")
            logger.info("recovering", metadata: [part: "\(done) of \(all)\(unit)", "percent": "\(percent)"])
        }
    }
}
