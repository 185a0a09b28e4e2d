import ArgumentParser
import Foundation
import Journal
import JournalSQLite
import TelltaleModel

/// `telltale-bench journal`: the speed of the journal alone, writing and reading.
struct JournalBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Records a second that the journal writes durably, and reads back.")

    @Option(help: "A folder for the journal; it is removed afterwards.")
    var data = "telltale-bench-journal"

    @Option(help: "Records of each measurement.")
    var records = 200_000

    @Option(help: "Bytes of each record's body.")
    var bytes = 300

    @Option(help: "Records in a batch, each batch one sync.")
    var batch: [Int] = [1, 100, 1_000]

    @Option(help: "full, normal or off.")
    var sync = "full"

    @Option(help: "Bytes of a page of the file.")
    var page = 8_192

    @Option(help: "Bytes of the log before it is copied into the file.")
    var log = 16 << 20

    func run() throws {
        for batch in batch { try measure(batch) }
    }

    private func measure(_ batchCount: Int) throws {
        var options = SQLiteJournal.Options()
        options.sync = SQLiteJournal.Sync(rawValue: sync) ?? .full
        options.pageByteCount = page
        options.logByteCount = log
        defer { try? FileManager.default.removeItem(atPath: data) }
        let journal = try SQLiteJournal(data, options)
        let count = Int64(min(records, batchCount * 20_000))
        let body = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let clock = ContinuousClock()
        var longest = Duration.zero
        var next: Int64 = 1
        var elapsed = Duration.zero
        while next <= count {
            let batch = (next..<min(count + 1, next + Int64(batchCount))).map { sequence in
                JournalRecord(
                    sequence: sequence, time: Timestamp(milliseconds: 1_763_719_200_000 + sequence),
                    entity: "coffee-order/\(sequence % 10_000)", previous: max(0, sequence - 10_000), body: body)
            }
            next += Int64(batch.count)
            let took = try clock.measure {
                try journal.append(batch)
                while try journal.tidy() {}
            }
            longest = max(longest, took)
            elapsed += took
        }
        let written = Double(count) / seconds(elapsed)
        var read = 0
        let reading = try clock.measure {
            var last: Int64 = 0
            while true {
                let portion = try journal.readRecords(after: last, limit: 4_096)
                guard let newest = portion.last else { break }
                read += portion.count
                last = newest.sequence
            }
        }
        let chunk = [UInt8](repeating: 7, count: 256 << 10)
        let snapshot = try clock.measure {
            try journal.writeSnapshot(at: count, chunks: repeatElement(chunk, count: 400))
        }
        let restoring = try clock.measure { for index in 0..<400 { _ = try journal.readChunk(index) } }
        print(
            """
            \(batchCount) a sync: \(Int(written)) records/s, longest \(seconds(longest) * 1_000) ms; \
            read back \(Int(Double(read) / seconds(reading)))/s; \
            snapshot written \(Int(100 / seconds(snapshot))) MiB/s, read \(Int(100 / seconds(restoring))) MiB/s
            """)
    }

    private func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}
