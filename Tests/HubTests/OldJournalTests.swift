import Foundation
import Hub
import Journal
import JournalSQLite
import Machines
import TelltaleModel
import TestSupport
import Testing

/// Journals that earlier builds wrote (Tests/Journals).
struct OldJournalTests {
    private static let journals = repositoryRoot.appending(path: "Tests/Journals")

    private static func folder(of build: String) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["journal.sqlite", "acknowledged"] {
            try FileManager.default.copyItem(
                at: journals.appending(path: "\(build)/\(name)"), to: folder.url.appending(path: name))
        }
        return folder
    }

    private static func lines(_ name: String, of build: String) throws -> [String] {
        try String(contentsOf: journals.appending(path: "\(build)/\(name)"), encoding: .utf8).split(separator: "\n")
            .map(String.init)
    }

    /// - Parameter usesSnapshot: Whether the records before the snapshot are left to it, as in a real start.
    private static func recover(_ journal: SQLiteJournal, usesSnapshot: Bool) throws -> HubHarness {
        var hub = Hub(configuration: HubConfiguration(), epoch: journal.epoch)
        if usesSnapshot {
            let snapshot = try #require(journal.snapshot)
            for index in 0..<snapshot.chunkCount { try hub.load(try journal.readChunk(index)) }
            hub.finishLoading()
        }
        let records = try journal.readRecords(after: 0, limit: 10_000)
        for record in records where record.sequence > hub.lastRecordSequence { try hub.replay(record) }
        // A second later, so that no deadline is due whenever the test runs.
        return HubHarness(recovered: hub, records: records, at: try #require(records.last).time + .seconds(1))
    }

    @Test(
        "A journal of an earlier build is recovered: states, histories, new records, a clean verification",
        arguments: ["a99fc89"], [true, false])
    func recovers(build: String, usesSnapshot: Bool) throws {
        let folder = try Self.folder(of: build)
        try appends(to: folder, build: build, usesSnapshot: usesSnapshot)
        try JournalInspector(folder.url.path).verify { _, _ in }
        let journal = try SQLiteJournal(folder.url.path)
        let hub = try Self.recover(journal, usesSnapshot: usesSnapshot)
        let row = hub.send("GET parcel/x view=full", from: hub.connect()).first
        #expect(row?.contains(#""state":"delivered""#) == true, "\(row ?? "nothing")")
        try journal.close()
    }

    /// Compares, and appends. The journal's lock goes with it.
    private func appends(to folder: TemporaryFolder, build: String, usesSnapshot: Bool) throws {
        let journal = try SQLiteJournal(folder.url.path)
        let hub = try Self.recover(journal, usesSnapshot: usesSnapshot)
        let known = hub.records.count
        let client = hub.connect()
        // That build's rows did not report timers.
        let rows = hub.send("LIST * view=full", from: client).map { $0.replacing(/,"timers":\[[^\]]*\]/, with: "") }
        #expect(rows == (try Self.lines("list.txt", of: build)))

        // That build showed members of a tail that mean nothing; now HISTORY names them.
        let past = try Self.lines("history.txt", of: build).map {
            $0.replacing(#""foo":1}"#, with: #""ignored":["foo"]}"#)
        }
        let keys = past.filter { $0.hasPrefix("HIST ") }.compactMap { HubHarness.attribute("key", of: $0) }
        #expect(Set(keys).sorted().flatMap { hub.send("HISTORY \($0)", from: client) } == past)

        // Event ids are known across the builds, and what is new comes behind the old.
        #expect(hub.send("HELLO client=till", from: client).count == 1)
        #expect(
            hub.send("EVT coffee-order/1 type=brew eid=3 at=1795500000000", from: client) == [
                "OK verdict=duplicate rev=7 state=queued"
            ])
        #expect(
            hub.send("EVT parcel/x type=delivered eid=new", from: client).first?.hasPrefix("OK verdict=applied rev=")
                == true)
        let new = Array(hub.records[known...])
        #expect(new.first?.sequence == Int64(known) + 1)
        try journal.append(new)
        try journal.close()
    }

    /// Deferrals that a parallel state overruled, taps of accounts whose orders are everybody's, and 4,096 marks.
    @Test(
        "A journal of the first rules is recovered, goes on by them, and is moved to the newest",
        arguments: [true, false])
    func firstRules(usesSnapshot: Bool) throws {
        let folder = try Self.folder(of: "7ced3b04")
        let hash = try moves(folder, usesSnapshot: usesSnapshot)
        try JournalInspector(folder.url.path).verify { _, _ in }
        let journal = try SQLiteJournal(folder.url.path)
        #expect(try Self.recover(journal, usesSnapshot: usesSnapshot).hub.stateHash == hash)
        try journal.close()
    }

    /// - Returns: A hash of the state that the journal holds then.
    private func moves(_ folder: TemporaryFolder, usesSnapshot: Bool) throws -> UInt64 {
        let journal = try SQLiteJournal(folder.url.path)
        let hub = try Self.recover(journal, usesSnapshot: usesSnapshot)
        let known = hub.records.count
        #expect(known > 4_096 && hub.hub.rules == 1)
        let client = hub.connect()
        #expect(hub.send("LIST * view=full", from: client) == (try Self.lines("list.txt", of: "7ced3b04")))
        let past = try Self.lines("history.txt", of: "7ced3b04")
        let keys = past.filter { $0.hasPrefix("HIST ") }.compactMap { HubHarness.attribute("key", of: $0) }
        #expect(Set(keys).sorted().flatMap { hub.send("HISTORY \($0)", from: client) } == past)
        for (account, count) in [("a17", 0), ("late", 1)] {
            let reply = hub.send("LIST bowl/all view=phone", from: hub.connect(as: account)).last
            #expect(reply == "OK count=\(count)", "\(account)")
        }

        // A start without --rules changes nothing, and the next decision is as the last one.
        try hub.hub.adopt(DecisionSettings())
        hub.turn()
        #expect(hub.records.count == known)
        #expect(hub.send("EVT bowl/3 type=ready", from: client).first?.contains("verdict=applied") == true)
        let late = hub.connect(as: "late")
        #expect(hub.send("DISMISS bowl/all", from: late).first?.contains("code=limit_activities") == true)

        var newest = DecisionSettings()
        newest.rules = .newest
        try hub.hub.adopt(newest)
        hub.turn()
        for type in ["start", "ask", "ready"] { hub.send("EVT bowl/4 type=\(type)", from: client) }
        #expect(hub.send("GET bowl/4 view=full", from: client).first?.contains("making.question.open") == true)
        #expect(hub.send("DISMISS bowl/all", from: late).first?.contains("verdict=applied") == true)
        for account in ["a17", "late"] {
            #expect(hub.send("LIST bowl/all view=phone", from: hub.connect(as: account)).last == "OK count=0")
        }
        try journal.append(Array(hub.records[known...]))
        let hash = hub.hub.stateHash
        try journal.close()
        return hash
    }
}
