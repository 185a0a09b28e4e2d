import Journal
import Replication
import TelltaleModel
import Testing

struct LogReaderMarkTests {
    private func message(_ body: LogMessage.Body, term: Int64, after chain: RecordChain) -> [UInt8] {
        LogMessage(
            cluster: "shop", epoch: 0xAA, term: term, node: "n1", instance: 5, sequence: chain.sequence,
            link: chain.link,
            body: body
        ).encoded()
    }

    private func record(_ sequence: Int64) -> JournalRecord {
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_763_719_200_000 + sequence), entity: "a/b",
            previous: sequence - 1, body: [UInt8(truncatingIfNeeded: sequence)])
    }

    @Test func `a reader is the same behind its mark, at each message`() throws {
        var reader = LogReader(cluster: "shop", epoch: nil)
        #expect(try LogReader(mark: reader.mark) == reader)
        _ = reader.read(message(.term(address: "10.0.0.1:7878", release: "1"), term: 1, after: reader.chain))
        #expect(try LogReader(mark: reader.mark) == reader)
        for sequence in 1...40 as ClosedRange<Int64> {
            let reading = reader.read(message(.batch([record(sequence)]), term: 1, after: reader.chain))
            #expect(reading == .records([record(sequence)]))
            var again = try LogReader(mark: reader.mark)
            #expect(again == reader)
            // And it reads on in the same way.
            let next = message(.batch([record(sequence + 1)]), term: 1, after: reader.chain)
            var copy = reader
            #expect(again.read(next) == copy.read(next) && again == copy)
        }
        _ = reader.read(message(.resign, term: 1, after: reader.chain))
        #expect(try LogReader(mark: reader.mark).hasResigned)
        _ = reader.read([1, 2, 3])
        #expect(try LogReader(mark: reader.mark) == reader)
    }

    @Test func `a seal is remembered`() throws {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(message(.term(address: "a:1", release: "1"), term: 1, after: reader.chain))
        _ = reader.read(message(.seal, term: 1, after: reader.chain))
        #expect(try LogReader(mark: reader.mark).isSealed)
    }

    @Test func `why its node stopped is remembered`() throws {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(message(.term(address: "a:1", release: "1"), term: 1, after: reader.chain))
        #expect(try LogReader(mark: reader.mark).loss == nil)
        let witness = reader.witnessing(String(repeating: "lost ", count: 1_000))
        #expect(try LogReader(mark: witness.mark) == witness)
        #expect(witness.loss?.hasPrefix("lost lost ") == true && witness.mark.count < 1_000)
        #expect(witness != reader && witness.position == reader.position)
    }

    @Test func `the first term of a log follows those of the log before, and none is so high that counting ends`() {
        for (term, isTerm) in [(8, true), (Int64.max / 2, true), (Int64.max / 2 + 1, false), (.max, false)] {
            var reader = LogReader(cluster: "shop", epoch: nil)
            let reading = reader.read(
                message(.term(address: "a:1", release: "1"), term: term, after: reader.chain))
            if isTerm {
                #expect(reading == .term(.init(term: term, node: "n1", instance: 5, address: "a:1")))
            } else if case .broken = reading {
            } else {
                Issue.record("\(reading)")
            }
            // The next one is the next one.
            guard isTerm else { continue }
            if case .broken = reader.read(
                message(.term(address: "a:1", release: "1"), term: term + 2, after: reader.chain))
            {
            } else {
                Issue.record("a term is missing behind \(term)")
            }
        }
    }

    @Test func `no bytes trap, and none that are cut are a mark`() throws {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(message(.term(address: "a:1", release: "1"), term: 1, after: reader.chain))
        _ = reader.read(message(.batch([record(1)]), term: 1, after: reader.chain))
        let mark = reader.mark
        for length in 0..<mark.count {
            #expect(throws: BinaryError.self) { try LogReader(mark: Array(mark.prefix(length))) }
        }
        #expect(throws: BinaryError.self) { try LogReader(mark: mark + [0]) }
        for place in mark.indices {
            for byte in [0, 0x7F, 0xFF] as [UInt8] {
                var broken = mark
                broken[place] = byte
                _ = try? LogReader(mark: broken)
            }
        }
    }
}
