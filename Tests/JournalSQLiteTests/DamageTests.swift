import Glibc
import Journal
import JournalSQLite
import TestSupport
import Testing

/// Every byte of a small journal is cut off or flipped: refused with its place, or nothing is lost.
///
/// A few thousand places by default; all of them with TELLTALE_EVERY_BYTE=1, which takes some minutes.
@Suite(.endsOneDay)
struct DamageTests {
    private static let isComplete = unsafe getenv("TELLTALE_EVERY_BYTE") != nil

    /// A journal as a killed process left it, and the records that were written to it.
    private struct Crashed {
        var image: [String: [UInt8]]
        var records: [JournalRecord]
        var snapshot: [[UInt8]]
        var lastBatchCount: Int

        init(_ ending: Ending) throws {
            let folder = JournalTestFolder()
            var options = SQLiteJournal.Options()
            options.logReserveByteCount = 6_000
            options.pageByteCount = 1_024
            options.logByteCount = ending == .killed ? 1 << 30 : 0
            let journal = try SQLiteJournal(folder.path, options)
            records = DamageTests.batches.flatMap(\.self)
            snapshot = [Array(repeating: 5, count: 1_500), [1, 2, 3]]
            lastBatchCount = DamageTests.batches.last?.count ?? 0
            for batch in DamageTests.batches.dropLast(3) { try journal.append(batch) }
            try journal.writeSnapshot(at: 4, chunks: [[0]])
            try journal.writeSnapshot(at: 8, chunks: snapshot)
            try journal.prune(Pruning(chains: [2]))
            try journal.append(DamageTests.batches[2])
            try journal.tidyUp()
            for batch in DamageTests.batches.suffix(2) { try journal.append(batch) }
            if ending != .killed { try journal.tidyUp() }
            if ending == .closed { try journal.close() }
            image = folder.image
            // The lock is of the living.
            image["lock"] = nil
            records.removeAll { $0.sequence == 2 }
        }
    }

    enum Ending: String, CaseIterable {
        /// Everything is in the log.
        case killed
        /// Everything is in the file, and still in the log.
        case copied
        /// Everything is in the file, and the log is empty.
        case closed
    }

    private static let batches = [
        records(1..<2), records(2..<12), records(12..<13), records(13..<20), records(20..<25),
    ]

    enum Damage: CaseIterable {
        case cut
        case flippedLow
        case flippedHigh
        case zeroed

        func apply(to bytes: [UInt8], at place: Int) -> [UInt8] {
            var bytes = bytes
            switch self {
            case .cut: bytes.removeLast(bytes.count - place)
            case .flippedLow: bytes[place] ^= 1
            case .flippedHigh: bytes[place] ^= 0x80
            case .zeroed:
                let sector = place / 512 * 512
                for index in sector..<min(bytes.count, sector + 512) { bytes[index] = 0 }
            }
            return bytes
        }
    }

    private enum Outcome: Hashable {
        case refused
        case whole
        /// The newest batch is missing and everything else is there.
        case withoutLastBatch
        case wrong(String)
    }

    /// The outcome of a recovery.
    private func outcome(
        of image: [String: [UInt8]], _ crashed: Crashed, in folder: JournalTestFolder, _ options: SQLiteJournal.Options
    ) -> Outcome {
        folder.restore(image)
        do {
            let journal = try SQLiteJournal(folder.path, options)
            let records = try journal.readAll()
            let snapshot = try journal.readSnapshot()
            guard snapshot == crashed.snapshot else { return .wrong("the snapshot is another") }
            if records == crashed.records { return .whole }
            if records == crashed.records.dropLast(crashed.lastBatchCount) { return .withoutLastBatch }
            return .wrong("\(records.count) records of \(crashed.records.count), the last \(journal.lastSequence)")
        } catch {
            // swift-format-ignore
            guard let error = error as? JournalError else { return .wrong("\(error)") }
            switch error {
            case .corrupt, .foreign: return .refused
            case .full, .failed, .unusable, .locked: return .wrong("\(error)")
            }
        }
    }

    /// Tries one damage at every place of one file, and counts the outcomes.
    private func tally(
        _ damage: Damage, in file: String, of crashed: Crashed, without missing: Set<String> = []
    ) throws -> [Outcome: Int] {
        // Real syncs would take most of the time, and show nothing.
        let options = try FaultyDisk().options()
        let folder = JournalTestFolder()
        let bytes = crashed.image[file] ?? []
        var tally: [Outcome: Int] = [:]
        var place = 0
        while place < bytes.count {
            var image = crashed.image.filter { !missing.contains($0.key) }
            image[file] = damage.apply(to: bytes, at: place)
            let outcome = outcome(of: image, crashed, in: folder, options)
            if case .wrong(let what) = outcome { Issue.record("\(file), \(damage) at \(place): \(what)") }
            tally[outcome, default: 0] += 1
            // Strides without a common factor with pages, frames and rows.
            let stride = file == "journal.sqlite-shm" ? 1_901 : 149
            place += damage == .zeroed ? 512 : Self.isComplete || bytes.count < 100 ? 1 : stride
        }
        return tally
    }

    @Test("A damaged file is refused, or nothing was lost", arguments: Ending.allCases, Damage.allCases)
    func everywhere(ending: Ending, damage: Damage) throws {
        let crashed = try Crashed(ending)
        for file in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "acknowledged"] {
            let tally = try tally(damage, in: file, of: crashed)
            print("damage: \(file) \(damage), \(ending): \(tally.map { "\($0) \($1)" }.sorted())")
            #expect(tally[.withoutLastBatch] == nil)
            if file == "journal.sqlite-wal", ending == .killed, damage != .zeroed {
                #expect(tally[.refused, default: 0] > tally[.whole, default: 0])
            }
        }
    }

    @Test(
        "Without its witness, after a power failure, only the log's last transaction may be taken for unfinished",
        arguments: [Damage.flippedLow, .flippedHigh, .zeroed])
    func withoutWitness(damage: Damage) throws {
        let crashed = try Crashed(.killed)
        let tally = try tally(damage, in: "journal.sqlite-wal", of: crashed, without: ["acknowledged"])
        print("damage without witness: \(damage): \(tally.map { "\($0) \($1)" }.sorted())")
        #expect(tally[.withoutLastBatch, default: 0] > 0)
        #expect(tally[.refused, default: 0] > tally[.withoutLastBatch, default: 0])
    }

    /// The outcome of `telltale journal repair` for a journal that was refused.
    private enum Mending: Hashable {
        /// Everything but old history is there, or the newest batches are missing.
        case mended
        /// There is nothing to begin from, or it is not known as ours any more; the files are as they were.
        case refused
        case wrong(String)
    }

    private func mending(of image: [String: [UInt8]], _ crashed: Crashed) -> Mending {
        let folder = JournalTestFolder()
        folder.restore(image)
        do {
            _ = try JournalRepair.repair(folder.path) { _, _ in }
        } catch {
            guard image.allSatisfy({ $0.key == "journal.sqlite-shm" || folder.read($0.key) == $0.value }) else {
                return .wrong("refused, and changed: \(error)")
            }
            return "\(error)".contains("journal repair") ? .wrong("advises itself: \(error)") : .refused
        }
        do {
            let journal = try SQLiteJournal(folder.path)
            let records = try journal.readAll()
            let base = journal.snapshot?.sequence ?? 0
            guard try journal.readSnapshot() == (base == 8 ? crashed.snapshot : base == 4 ? [[0]] : nil) else {
                return .wrong("the snapshot of \(base) is another")
            }
            // The snapshot is older, so the records that were pruned later are there.
            let known = crashed.records + JournalSQLiteTests.records(2..<3)
            guard records.allSatisfy(known.contains) else { return .wrong("a record is another") }
            let tail = records.map(\.sequence).filter { $0 > base }
            guard tail == Array(base..<journal.lastSequence).map({ $0 + 1 }) else { return .wrong("a gap: \(tail)") }
            return .mended
        } catch {
            return .wrong("repaired, and refused again: \(error)")
        }
    }

    @Test(
        "What was refused is repaired, or left as it is", arguments: Ending.allCases,
        [Damage.cut, .flippedHigh, .zeroed])
    func repaired(ending: Ending, damage: Damage) throws {
        let crashed = try Crashed(ending)
        let options = try FaultyDisk().options()
        let folder = JournalTestFolder()
        var tally: [Mending: Int] = [:]
        for file in ["journal.sqlite", "journal.sqlite-wal"] {
            let bytes = crashed.image[file] ?? []
            for place in stride(from: 0, to: bytes.count, by: Self.isComplete ? 7 : damage == .zeroed ? 512 : 311) {
                var image = crashed.image
                image[file] = damage.apply(to: bytes, at: place)
                guard outcome(of: image, crashed, in: folder, options) == .refused else { continue }
                let mending = mending(of: image, crashed)
                if case .wrong(let what) = mending { Issue.record("\(file), \(damage) at \(place): \(what)") }
                tally[mending, default: 0] += 1
            }
        }
        print("repair: \(damage), \(ending): \(tally.map { "\($0) \($1)" }.sorted())")
        if damage != .cut { #expect(tally[.mended, default: 0] > 3 * tally[.refused, default: 0]) }
    }
}
