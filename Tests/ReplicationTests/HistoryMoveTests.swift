import Journal
import Replication
import TelltaleModel
import Testing

struct HistoryMoveTests {
    private static let epoch: UInt64 = 0xE0

    private static func record(_ sequence: Int64, _ body: String = "body") -> JournalRecord {
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_000 + sequence), entity: "tea/1",
            previous: sequence - 1, body: Array("\(body) \(sequence)".utf8))
    }

    private static func journal(_ count: Int64) throws -> InMemoryJournal {
        let journal = InMemoryJournal(epoch: epoch)
        if count > 0 { try journal.append((1...count).map { record($0) }) }
        return journal
    }

    private static func mark(of journal: InMemoryJournal) throws -> LogReader {
        try LogReader(mark: #require(journal.mark))
    }

    /// The history as a node that joins reads it.
    private static func contents(of log: InMemoryLog) -> (reader: LogReader, records: [JournalRecord]) {
        var reader = LogReader(cluster: "shop", epoch: nil)
        var records: [JournalRecord] = []
        for bytes in log.messages { if case .records(let more) = reader.read(bytes) { records += more } }
        return (reader, records)
    }

    @Test func `an empty log gets the history under its epoch, and the folder is a copy`() throws {
        let (log, journal) = (InMemoryLog(), try Self.journal(10_000))
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        move.run()
        #expect(move.isDone, "\(String(describing: move.refusal))")
        let (reader, records) = Self.contents(of: log)
        #expect(records == journal.contents.records && records.count == 10_000)
        #expect(reader.epoch == Self.epoch && reader.hasResigned)
        #expect(try Self.mark(of: journal) == reader)
        #expect(move.progress == [4_096, 8_192, 10_000])
    }

    @Test func `a move that was interrupted goes on, and does nothing twice`() throws {
        let (log, journal) = (InMemoryLog(), try Self.journal(10_000))
        // A term, a batch, and gone.
        let first = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        first.appendsLeft = 2
        first.run()
        #expect(!first.isDone && journal.mark == nil && log.end == 2)
        let second = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log, instance: 8)
        second.run()
        #expect(second.isDone, "\(String(describing: second.refusal))")
        #expect(Self.contents(of: log).records == journal.contents.records)
        // The log had all of it, and the folder did not know.
        let end = log.end
        var contents = journal.contents
        contents.mark = nil
        let again = InMemoryJournal(contents)
        let third = try HistoryMover(.intoLog(epoch: Self.epoch), again, log, instance: 9)
        third.run()
        #expect(third.isDone && log.end == end)
        #expect(try Self.mark(of: again) == Self.mark(of: journal))
    }

    @Test func `a log that has another history is left alone, and so is the folder`() throws {
        for (name, epoch, count, text) in [
            ("n1", 0xE1, 3, "of another history"), ("n2", Self.epoch, 3, "n2 has led in this log"),
            ("n1", Self.epoch, 9, "the folder ends with record 5"),
        ] {
            let log = InMemoryLog()
            let other = InMemoryJournal(epoch: epoch)
            try other.append((1...Int64(count)).map { Self.record($0) })
            try HistoryMover(.intoLog(epoch: epoch), other, log, node: name).run()
            let (end, journal) = (log.end, try Self.journal(5))
            let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
            move.run()
            #expect(move.refusal?.kind == .configuration)
            #expect(move.refusal?.reason.contains(text) == true, "\(String(describing: move.refusal))")
            #expect(log.end == end && journal.mark == nil)
        }
    }

    @Test func `a log with the same epoch and other records is left alone`() throws {
        let log = InMemoryLog()
        let other = InMemoryJournal(epoch: Self.epoch)
        try other.append([Self.record(1), Self.record(2, "another")])
        try HistoryMover(.intoLog(epoch: Self.epoch), other, log).run()
        let (end, journal) = (log.end, try Self.journal(5))
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log, instance: 8)
        move.run()
        #expect(move.refusal?.reason.hasPrefix("the log has another history") == true)
        #expect(log.end == end && journal.mark == nil)
    }

    @Test func `a log store without room, and one that does not answer`() throws {
        let (log, journal) = (InMemoryLog(), try Self.journal(5))
        log.isFull = true
        let silent = try HistoryMover(.intoLog(epoch: Self.epoch), journal, log)
        silent.run()
        #expect(silent.refusal?.kind == .unavailable && journal.mark == nil)
        let cut = try HistoryMover(.intoLog(epoch: Self.epoch), journal, InMemoryLog())
        cut.log.isCutOff = true
        cut.run()
        #expect(cut.refusal?.kind == .unavailable && cut.now.milliseconds > 30_000)
    }

    /// The log and the folder of a node, as a cluster leaves them that was stopped in order.
    private static func stopped(_ count: Int64) throws -> (log: InMemoryLog, journal: InMemoryJournal) {
        let (log, journal) = (InMemoryLog(), try journal(count))
        try HistoryMover(.intoLog(epoch: epoch), journal, log).run()
        return (log, journal)
    }

    @Test func `a folder leaves with what it did not have, and the log is sealed`() throws {
        let (log, whole) = try Self.stopped(6_000)
        // Of a node that was stopped before the others, behind the first batch.
        let journal = InMemoryJournal(epoch: Self.epoch)
        var reader = LogReader(cluster: "shop", epoch: nil)
        for bytes in log.messages.prefix(2) {
            if case .records(let records) = reader.read(bytes) { try journal.write(records) }
        }
        try journal.write(mark: reader.mark, epoch: Self.epoch)
        try journal.commit()
        #expect(journal.lastSequence == 4_096)
        let move = try HistoryMover(.outOfLog, journal, log, node: "n2")
        move.run()
        #expect(move.isDone, "\(String(describing: move.refusal))")
        #expect(journal.mark == nil && journal.epoch == Self.epoch)
        #expect(journal.contents.records == whole.contents.records)
        #expect(Self.contents(of: log).reader.isSealed)

        // Another folder would be a second one with this history.
        let late = try HistoryMover(.outOfLog, whole, log, node: "n1", instance: 8)
        late.run()
        #expect(late.refusal?.kind == .configuration)
        #expect(late.refusal?.reason.hasPrefix("n2 has left with the history") == true)
        #expect(whole.mark != nil)
    }

    @Test func `a folder that sealed the log and was interrupted leaves when it is asked again`() throws {
        let (log, journal) = try Self.stopped(5)
        let before = journal.contents
        try HistoryMover(.outOfLog, journal, log, node: "n1", instance: 8).run()
        let again = InMemoryJournal(before)
        let move = try HistoryMover(.outOfLog, again, log, node: "n1", instance: 9)
        move.run()
        #expect(move.isDone && again.mark == nil)
    }

    @Test func `a folder does not leave a log that has lost what it had read`() throws {
        let (log, journal) = try Self.stopped(5)
        let end = log.end
        _ = log.lose(1)
        let move = try HistoryMover(.outOfLog, journal, log)
        move.run()
        #expect(move.refusal?.kind == .configuration)
        #expect(
            move.refusal?.reason.hasPrefix("the log ends with message \(end - 1), and this folder has read \(end): ")
                == true)
        #expect(log.end == end - 1 && journal.mark != nil)
    }

    @Test func `a folder does not leave while a node leads`() throws {
        let (log, journal) = try Self.stopped(5)
        let (node, now) = (log.node(), MonotonicTime(milliseconds: 0))
        var leader = Replica(
            node: "n2", address: "n2:1", release: "1", reader: try Self.mark(of: journal), newEpoch: 1, instance: 3,
            at: now)
        var time = now
        node.onEvent = { leader.handleEvent($0, at: time) }
        func perform() {
            while let action = leader.nextAction() {
                switch action {
                case .append(let bytes, let after, let token): node.append(bytes, after: after, token: token)
                case .read(let from): node.read(from: from)
                case .heartbeat(let heartbeat): node.heartbeat(heartbeat)
                case .replay, .lead, .stored, .full, .standDown, .stop, .warn, .refuse, .beginsLater: break
                }
            }
            node.deliver()
        }
        for _ in 0..<20 where leader.role != .leading {
            perform()
            time = time + Milliseconds(100)
            leader.tick(at: time)
        }
        #expect(leader.role == .leading)
        let end = log.end
        let move = try HistoryMover(.outOfLog, journal, log)
        for _ in 0..<400 where !move.isOver {
            move.now = move.now + Milliseconds(100)
            move.move.tick(at: move.now)
            move.step()
            time = time + Milliseconds(100)
            leader.tick(at: time)
            perform()
        }
        #expect(move.refusal?.reason == "n2 still leads: stop every node first")
        #expect(log.end == end && journal.mark != nil)
    }

    @Test func `what cannot be moved is refused before the log store is asked`() throws {
        let log = InMemoryLog()
        #expect(throws: HistoryMove.Refusal.self) { try HistoryMover(.outOfLog, try Self.journal(1), log) }
        let journal = try Self.journal(3)
        try journal.write(
            mark: LogReader(cluster: "bank", epoch: Self.epoch, chain: RecordChain()).mark, epoch: Self.epoch)
        try journal.commit()
        #expect {
            _ = try HistoryMover(.outOfLog, journal, log)
        } throws: { "\($0)".contains("the folder is a copy of the log of bank, not of shop") }
    }

    @Test func `terms count on where a history leaves its log and goes into another one`() throws {
        let (log, journal) = try Self.stopped(5)
        try HistoryMover(.outOfLog, journal, log, instance: 8).run()
        // The term of the move itself counts.
        #expect(journal.mark == nil && Self.contents(of: log).reader.term == 2)
        try journal.append([Self.record(6)])
        let next = InMemoryLog()
        let move = try HistoryMover(.intoLog(epoch: Self.epoch), journal, next, instance: 9)
        move.run()
        #expect(move.isDone, "\(String(describing: move.refusal))")
        let (reader, records) = Self.contents(of: next)
        #expect(reader.term == 3 && reader.epoch == Self.epoch && records.count == 6)
        #expect(try Self.mark(of: journal) == reader)
        // A history that begins anew counts on, too: a provider that has seen a term does not ask for the epoch.
        let anew = InMemoryLog()
        try HistoryMover(.anew(epoch: 0xF0), journal, anew, instance: 10).run()
        #expect(Self.contents(of: anew).reader.term == 4)
    }

    @Test func `a restore that dies at any place goes on when it is run again, under the epoch that it has begun`()
        throws
    {
        for appends in 0..<5 {
            let (_, journal) = try Self.stopped(10_000)
            let before = try Self.mark(of: journal)
            let log = InMemoryLog()
            let first = try HistoryMover(.anew(epoch: 0xF0), journal, log, instance: 8)
            first.appendsLeft = appends
            first.run()
            #expect(!first.isDone)
            #expect(try Self.mark(of: journal) == before, "the folder changes last")
            // Each run draws an epoch of its own.
            let second = try HistoryMover(.anew(epoch: 0xF1), journal, log, instance: 9)
            second.run()
            #expect(second.isDone, "\(appends): \(String(describing: second.refusal))")
            let (reader, records) = Self.contents(of: log)
            #expect(records == journal.contents.records && records.count == 10_000)
            #expect(reader.epoch == (appends == 0 ? 0xF1 : 0xF0) && journal.epoch == reader.epoch)
            #expect(try Self.mark(of: journal) == reader)
        }
    }

    @Test func `a restore that was done already, and one into another history's log, change nothing`() throws {
        let (_, journal) = try Self.stopped(5)
        let log = InMemoryLog()
        try HistoryMover(.anew(epoch: 0xF0), journal, log, instance: 8).run()
        let (end, mark) = (log.end, journal.mark)
        let again = try HistoryMover(.anew(epoch: 0xF1), journal, log, instance: 9)
        again.run()
        #expect(again.refusal?.reason.contains("if it was restored already, start telltaled") == true)
        #expect(again.refusal?.kind == .configuration && log.end == end && journal.mark == mark)

        let other = InMemoryJournal(epoch: 0xE9)
        try other.append([Self.record(1), Self.record(2, "another")])
        let theirs = InMemoryLog()
        try HistoryMover(.intoLog(epoch: 0xE9), other, theirs).run()
        let wrong = try HistoryMover(.anew(epoch: 0xF2), journal, theirs, instance: 9)
        wrong.run()
        #expect(wrong.refusal?.reason.hasPrefix("the log has another history") == true)
        #expect(theirs.end == 3 && journal.mark == mark)
    }

    @Test func `a copy begins another log anew, under another epoch`() throws {
        let (_, journal) = try Self.stopped(5)
        let log = InMemoryLog()
        let move = try HistoryMover(.intoLog(epoch: 0xF0), journal, log, instance: 8)
        move.run()
        #expect(move.isDone && journal.epoch == 0xF0)
        #expect(Self.contents(of: log).reader.epoch == 0xF0)
        #expect(try Self.mark(of: journal).epoch == 0xF0)
    }
}
