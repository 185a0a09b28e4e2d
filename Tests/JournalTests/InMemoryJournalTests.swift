import Journal
import Testing

struct InMemoryJournalTests {
    @Test func `a crash keeps the appended records, and only whole snapshots`() throws {
        let journal = InMemoryJournal(epoch: 7)
        try journal.append(records(1..<11))
        try journal.writeSnapshot(at: 4, chunks: [[1], [2]])
        try journal.beginSnapshot(at: 8)
        try journal.appendToSnapshot([9])

        let reopened = InMemoryJournal(journal.contents)
        #expect(reopened.opening.ending == .unclean)
        #expect(reopened.epoch == 7)
        #expect(reopened.snapshot == JournalSnapshot(sequence: 4, chunkCount: 2, byteCount: 2))
        #expect(try reopened.readRecords(after: 4, limit: 100) == records(5..<11))
    }

    @Test func `a full disk passes, another error does not`() throws {
        let journal = InMemoryJournal(epoch: 7)
        journal.fault = .full(what: "", cause: "no space")
        #expect(throws: JournalError.full(what: "could not write 2 records", cause: "no space")) {
            try journal.append(records(1..<3))
        }
        journal.fault = nil
        try journal.append(records(1..<3))

        try journal.write(records(3..<5))
        journal.fault = .full(what: "", cause: "no space")
        #expect(throws: JournalError.full(what: "could not write 3 records", cause: "no space")) {
            try journal.write(records(5..<6))
        }
        journal.fault = nil
        try journal.commit()
        #expect(journal.lastSequence == 2)

        journal.fault = .failed(what: "sync", cause: "gone")
        #expect(throws: JournalError.failed(what: "sync", cause: "gone")) { try journal.append(records(3..<4)) }
        journal.fault = nil
        #expect(throws: JournalError.failed(what: "sync", cause: "gone")) { try journal.append(records(3..<4)) }
        #expect(journal.lastSequence == 2)
    }
}
