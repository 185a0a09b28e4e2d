import Journal
import JournalSQLite
import TelltaleModel
import Testing

/// The contract of every journal, whatever its storage.
struct JournalContractTests {
    /// A journal, and the way to open the next one on its remains.
    enum Subject: CaseIterable {
        case inMemory
        case sqlite

        func run(_ body: (_ journal: any Journal, _ reopen: (any Journal) throws -> any Journal) throws -> Void) throws
        {
            switch self {
            case .inMemory:
                try body(InMemoryJournal(epoch: 1)) { old in
                    InMemoryJournal(try #require(old as? InMemoryJournal).contents)
                }
            case .sqlite:
                let folder = JournalTestFolder()
                var kept: [Int: any Journal] = [:]
                var image: [String: [UInt8]] = [:]
                let clone = JournalTestFolder()
                let journal = try SQLiteJournal(folder.path)
                try body(journal) { _ in
                    image = folder.image
                    clone.restore(image)
                    let next = try SQLiteJournal(clone.path)
                    kept[kept.count] = next
                    return next
                }
            }
        }
    }

    @Test("Records come back in order, in portions of any size", arguments: Subject.allCases, [1, 7, 1_000])
    func readBack(_ subject: Subject, portion: Int) throws {
        try subject.run { journal, reopen in
            let all = records(1..<41)
            try journal.append(Array(all[..<10]))
            try journal.append(Array(all[10..<11]))
            try journal.append([])
            try journal.append(Array(all[11...]))
            #expect(journal.lastSequence == 40)
            #expect(try journal.readAll(portion: portion) == all)
            #expect(try journal.readAll(after: 25, portion: portion) == Array(all[25...]))
            #expect(try journal.record(at: 17) == all[16])
            #expect(try journal.record(at: 41) == nil)

            let next = try reopen(journal)
            #expect(try next.readAll(portion: portion) == all)
            try next.append(records(41..<43))
            #expect(try next.readAll() == records(1..<43))
        }
    }

    @Test("Long records among short ones, and empty ones, come back as they are", arguments: Subject.allCases)
    func longAmongShort(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            var all = records(1..<101)
            for (place, count) in [(3, 70_000), (20, 40_000), (25, 40_000), (50, 65_536), (70, 0), (99, 200_000)] {
                all[place].body = Array(repeating: UInt8(place), count: count)
            }
            all[60].entity = ""
            try journal.append(all)
            #expect(try journal.readAll() == all)
            #expect(try reopen(journal).readAll() == all)
        }
    }

    @Test("A batch written in parts is there as a whole, and not before", arguments: Subject.allCases)
    func parts(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            try journal.append(records(1..<4))
            try journal.write(records(4..<9))
            try journal.write([])
            try journal.write(records(9..<10))
            #expect(journal.lastSequence == 3)
            #expect(try reopen(journal).readAll() == records(1..<4))
            try journal.commit()
            #expect(journal.lastSequence == 9)
            try journal.commit()
            #expect(try journal.readAll() == records(1..<10))
            try journal.append(records(10..<12))
            #expect(try reopen(journal).readAll() == records(1..<12))
        }
    }

    @Test("Bodies and keys of every length come back", arguments: Subject.allCases)
    func lengths(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            let all = [0, 1, 7, 8, 9, 300, 8_191, 70_000].enumerated().map { index, length in
                JournalRecord(
                    sequence: Int64(index + 1), time: Timestamp(milliseconds: index == 0 ? .min : .max),
                    entity: String(repeating: "k", count: index * index), previous: 0,
                    body: (0..<length).map { UInt8(truncatingIfNeeded: $0) })
            }
            try journal.append(all)
            #expect(try reopen(journal).readAll() == all)
        }
    }

    @Test("A history is a chain, read backwards in portions", arguments: Subject.allCases)
    func history(_ subject: Subject) throws {
        try subject.run { journal, _ in
            try journal.append(chain(1..<21))
            #expect(try journal.readChain(endingAt: 20, limit: 3).map(\.sequence) == [20, 19, 18])
            #expect(try journal.readChain(endingAt: 17, limit: 100).map(\.sequence) == (1...17).reversed())
            #expect(try journal.readChain(endingAt: 0, limit: 100).isEmpty)
        }
    }

    @Test("Only a finished snapshot counts, and the newest one", arguments: Subject.allCases)
    func snapshots(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            #expect(journal.snapshot == nil)
            try journal.append(records(1..<11))
            try journal.beginSnapshot(at: 10)
            try journal.appendToSnapshot([1])
            #expect(journal.snapshot == nil)
            #expect(try reopen(journal).snapshot == nil)
            try journal.abandonSnapshot()

            try journal.writeSnapshot(at: 8, chunks: [[1, 2, 3], [], Array(repeating: 7, count: 100_000)])
            #expect(journal.snapshot == JournalSnapshot(sequence: 8, chunkCount: 3, byteCount: 100_003))
            try journal.beginSnapshot(at: 9)
            try journal.append(records(11..<13))
            try journal.appendToSnapshot([9])
            try journal.tidyUp()
            #expect(try reopen(journal).readSnapshot() == [[1, 2, 3], [], Array(repeating: 7, count: 100_000)])
            try journal.finishSnapshot()
            try journal.tidyUp()
            let next = try reopen(journal)
            #expect(try next.readSnapshot() == [[9]])
            #expect(next.snapshot?.sequence == 9)
            #expect(try next.readAll(after: 9) == records(10..<13))
        }
    }

    @Test("Chains that ended are pruned once a snapshot has their end", arguments: Subject.allCases)
    func chains(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            // Two entities in turn.
            try journal.append(
                (1..<41).map { sequence in
                    JournalRecord(
                        sequence: sequence, time: Timestamp(milliseconds: 0), entity: "parcel/\(sequence % 2)",
                        previous: max(0, sequence - 2), body: [1])
                })
            try journal.prune(Pruning(chains: [31]))
            try journal.tidyUp()
            #expect(try journal.readAll().count == 40)
            try journal.writeSnapshot(at: 35, chunks: [[0]])
            try journal.tidyUp()

            let next = try reopen(journal)
            #expect(try next.readAll(after: 35).count == 5)
            #expect(next.prunedThrough == 31)
            #expect(
                try next.readChain(endingAt: 40, limit: 100).map(\.sequence)
                    == stride(from: 40, to: 0, by: -2).map(\.self))
            #expect(try next.readChain(endingAt: 39, limit: 100).map(\.sequence) == [39, 37, 35, 33])
            // Again, as a replay would ask.
            try next.prune(Pruning(chains: [31, 29]))
            try next.tidyUp()
            #expect(try next.readAll().count == 24)
        }
    }

    @Test("Everything up to a record is pruned, as far as a snapshot reaches", arguments: Subject.allCases)
    func ranges(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            try journal.append(chain(1..<3_001))
            try journal.prune(Pruning(through: 2_500))
            try journal.writeSnapshot(at: 2_000, chunks: [[1]])
            try journal.tidyUp()
            #expect(try journal.readAll().map(\.sequence) == Array(2_001...3_000))
            let next = try reopen(journal)
            try next.writeSnapshot(at: 3_000, chunks: [[2]])
            try next.tidyUp()
            #expect(try next.readAll().map(\.sequence) == Array(2_501...3_000))
            #expect(try next.readChain(endingAt: 2_503, limit: 9).map(\.sequence) == [2_503, 2_502, 2_501])
        }
    }

    @Test("A clean end is told from a crash, and the epoch stays", arguments: Subject.allCases)
    func endings(_ subject: Subject) throws {
        try subject.run { journal, reopen in
            #expect(journal.opening.ending == .new)
            try journal.append(records(1..<4))
            let crashed = try reopen(journal)
            #expect(crashed.opening.ending == .unclean)
            #expect(crashed.lastSequence == 3)
            try journal.close()
            let next = try reopen(journal)
            #expect(next.opening.ending == .clean)
            #expect(next.lastSequence == 3)
        }
    }
}
