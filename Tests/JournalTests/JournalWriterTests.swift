import Journal
import Synchronization
import TelltaleModel
import TestSupport
import Testing

@Suite(.endsOneDay)
struct JournalWriterTests {
    @Test func `batches become durable in order, and each is answered once`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        let answers = Mutex<[Int64]>([])
        for start in stride(from: Int64(1), to: 301, by: 3) {
            writer.append(records(start..<start + 3)) { result in
                answers.withLock { $0.append((try? result.get())?.lastSequence ?? -1) }
            }
        }
        let history = try await result { writer.readChain(endingAt: 300, limit: 2, completion: $0) }
        try await result { writer.close(completion: $0) }

        #expect(answers.withLock(\.self) == Array(stride(from: 3, through: 300, by: 3)))
        #expect(history.map(\.sequence) == [300, 299])
    }

    @Test func `a batch in parts has one answer, and nothing else is done before it`() async throws {
        let (parts, part) = AsyncStream.makeStream(of: Int.self)
        let writer = JournalWriter(ObservedJournal { part.yield($0.count) }) { Issue.record("\($0)") }
        let order = Mutex<[String]>([])
        writer.write(records(1..<4))
        writer.readChain(endingAt: 5, limit: 9) { result in
            let count = (try? result.get())?.count ?? -1
            order.withLock { $0.append("read \(count)") }
        }
        writer.write(records(4..<5))
        // The thread has seen both, and the read between them.
        for await count in parts where count == 1 { break }
        let receipt = try await result { (done: @escaping JournalWriter.Completion<JournalReceipt>) in
            writer.append(records(5..<6)) { result in
                order.withLock { $0.append("answered") }
                done(result)
            }
        }
        try await result { writer.close(completion: $0) }
        #expect(receipt.lastSequence == 5)
        #expect(order.withLock(\.self) == ["answered", "read 5"])
    }

    @Test func `a batch that was given at once was waited for at least as long as it took`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        let receipt = try await result { writer.append(records(1..<1_000), completion: $0) }
        #expect(receipt.wait >= receipt.duration)
        #expect(receipt.duration > .zero)
    }

    @Test func `a snapshot of records that could not be kept is refused`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        _ = try await result { writer.append(records(1..<4), completion: $0) }
        await #expect(throws: JournalError.self) {
            let _: Void = try await result { writer.writeSnapshot(.begin(at: 4), completion: $0) }
        }
        try await result { writer.writeSnapshot(.begin(at: 3), completion: $0) }
        try await result { writer.close(completion: $0) }
    }

    @Test func `a part that cannot be written refuses its batch, and not the next one`() async throws {
        let isFull = Mutex(true)
        let journal = ObservedJournal { (_) throws(JournalError) in
            guard isFull.withLock(\.self) else { return }
            isFull.withLock { $0 = false }
            throw .full(what: "once", cause: "test")
        }
        let writer = JournalWriter(journal) { Issue.record("\($0)") }
        writer.write(records(1..<3))
        let first = await outcome { writer.append(records(3..<4), completion: $0) }
        #expect(throws: JournalError.full(what: "once", cause: "test")) { try first.get() }
        let second = try await result { writer.append(records(1..<3), completion: $0) }
        #expect(second.lastSequence == 2)
    }

    @Test func `an error is the answer of every batch that waited`() async throws {
        let writer = JournalWriter(fullJournal()) { Issue.record("\($0)") }
        let answer = await outcome { writer.append(records(1..<3), completion: $0) }
        #expect(answer == .failure(.full(what: "could not write 2 records", cause: "test")))
    }

    @Test func `a journal that waits for nothing takes batches at once, and its thread does the rest`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        #expect(writer.isImmediate)
        #expect(try writer.appendAtOnce(records(1..<4)).get().lastSequence == 3)
        try await result { writer.writeSnapshot(.begin(at: 3), completion: $0) }
        #expect(try writer.appendAtOnce(records(4..<6)).get().lastSequence == 5)
        try await result { writer.writeSnapshot(.finish, completion: $0) }
        let history = try await result { writer.readChain(endingAt: 5, limit: 2, completion: $0) }
        #expect(history.map(\.sequence) == [5, 4])
        try await result { writer.close(completion: $0) }

        let full = JournalWriter(fullJournal()) { Issue.record("\($0)") }
        #expect(full.appendAtOnce(records(1..<3)) == .failure(.full(what: "could not write 2 records", cause: "test")))
    }

    @Test func `a journal that does not say so is waited for`() {
        #expect(!JournalWriter(ObservedJournal { _ in }) { Issue.record("\($0)") }.isImmediate)
    }

    @Test func `a snapshot is written step by step between batches`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        _ = try await result { writer.append(records(1..<11), completion: $0) }
        try await result { writer.writeSnapshot(.begin(at: 5), completion: $0) }
        try await result { writer.writeSnapshot(.chunk([1, 2, 3]), completion: $0) }
        _ = try await result { writer.append(records(11..<21), completion: $0) }
        try await result { writer.writeSnapshot(.finish, completion: $0) }
        try await result { writer.writeSnapshot(.begin(at: 5, pruning: Pruning(chains: [3])), completion: $0) }
        try await result { writer.close(completion: $0) }
    }

    @Test func `a base that is given up leaves the journal as it was`() async throws {
        let writer = JournalWriter(InMemoryJournal(epoch: 1)) { Issue.record("\($0)") }
        _ = try await result { writer.append(records(1..<4), completion: $0) }
        for step in [CheckpointStep.begin(at: 9), .chunk([1, 2]), .abandon] {
            try await result { writer.loadCheckpoint(step, completion: $0) }
        }
        let receipt = try await result { writer.append(records(4..<5), completion: $0) }
        #expect(receipt.lastSequence == 4)
        try await result { writer.writeSnapshot(.begin(at: 4), completion: $0) }
        try await result { writer.writeSnapshot(.finish, completion: $0) }
        let snapshot = try await result { (done: @escaping JournalWriter.Completion<JournalSnapshot?>) in
            writer.read { done(.success($0.snapshot)) }
        }
        #expect(snapshot?.sequence == 4 && snapshot?.chunkCount == 0)
        try await result { writer.close(completion: $0) }
    }

    @Test func `a snapshot is not begun when its prunings could not be noted`() async throws {
        let writer = JournalWriter(ObservedJournal(refusesPruning: true) { _ in }) { Issue.record("\($0)") }
        _ = try await result { writer.append(records(1..<11), completion: $0) }
        let pruning = Pruning(through: 2, chains: [3])
        let answer = await outcome { writer.writeSnapshot(.begin(at: 5, pruning: pruning), completion: $0) }
        #expect(throws: JournalError.full(what: "could not note what to prune", cause: "test")) { try answer.get() }
        try await result { writer.writeSnapshot(.begin(at: 5), completion: $0) }
        try await result { writer.writeSnapshot(.finish, completion: $0) }
        try await result { writer.close(completion: $0) }
    }

    private func fullJournal() -> sending InMemoryJournal {
        let journal = InMemoryJournal(epoch: 1)
        journal.fault = .full(what: "", cause: "test")
        return journal
    }
}

/// Waits for one completion.
func outcome<Value: Sendable>(
    _ start: (@escaping JournalWriter.Completion<Value>) -> Void
) async -> Result<Value, JournalError> {
    await withCheckedContinuation { continuation in start { continuation.resume(returning: $0) } }
}

func result<Value: Sendable>(_ start: (@escaping JournalWriter.Completion<Value>) -> Void) async throws -> Value {
    try await outcome(start).get()
}

/// Records of one entity, chained.
func records(_ sequences: Range<Int64>) -> [JournalRecord] {
    sequences.map { sequence in
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: sequence * 10), entity: "parcel/1",
            previous: sequence - 1,
            body: Array("body \(sequence)".utf8))
    }
}
