import Hub
import Journal
import TelltaleModel
import Testing

@testable import Hub

/// Records of builds that decided otherwise than this one.
///
/// No release wrote them: a build of before 0.1.0 put the only tile of a stack that was moved behind it one place too early, and
/// of two `do=show` of one millisecond it kept both. A state is no decision: a snapshot of such a build is taken as it is.
struct FormerDecisionTests {
    /// A board of which the only tile of a stack is moved out.
    private static func makeHarness(movedTo position: Int) throws -> HubHarness {
        let harness = try HubHarness(kinds: [WidgetTests.sales])
        let phone = harness.connect(as: "alice")
        for line in [
            "TILE @car/t1 do=add widget=sales/Hoegi stack=left", "TILE @car/t2 do=add widget=sales/Central",
            "TILE @car/t3 do=add widget=sales/Hoegi", "TILE @car/t1 do=move stack=none pos=\(position)",
        ] {
            #expect(WidgetTests.reply(harness, line, phone).first?.hasPrefix("OK verdict=applied") == true, "\(line)")
        }
        return harness
    }

    /// The records of a build by which a request for the second place led to the first one.
    private static func formerRecords() throws -> [JournalRecord] {
        var records = try makeHarness(movedTo: 2).records
        let (last, former) = (records.count - 1, try makeHarness(movedTo: 1).records)
        #expect(former.dropLast() == records.dropLast()[...])
        let hashes = try [records[last], former[last]].map { record -> [UInt8] in
            var writer = BinaryWriter()
            writer.write(try RecordBody(decoding: record.body).stateHash)
            return writer.bytes
        }
        let place = try #require(records[last].body.ranges(of: hashes[0]).first)
        records[last].body.replaceSubrange(place, with: hashes[1])
        return records
    }

    @Test("A recovery refuses a move that was decided otherwise, names it, and says how to go on")
    func refused() throws {
        let records = try Self.formerRecords()
        var hub = Hub(configuration: HubConfiguration(), epoch: 1)
        for record in records.dropLast() { try hub.replay(record) }
        let refusal = #expect(throws: RecoveryError.self) { try hub.replay(try #require(records.last)) }
        guard case .diverged(let sequence, "@car/t1", _, _) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(sequence == records.last?.sequence)
        #expect(
            refusal?.description.contains("start the release that wrote it, stop it in order, then this one") == true)
    }

    @Test("A snapshot behind such a move is taken, and what comes behind it goes on from there")
    func migrated() throws {
        let former = try Self.makeHarness(movedTo: 1)
        var chunks: [[UInt8]] = []
        former.hub.snapshot().forEachChunk { chunks.append($0) }
        var hub = Hub(configuration: HubConfiguration(), epoch: 1)
        for chunk in chunks { try hub.load(chunk) }
        hub.finishLoading()
        let harness = HubHarness(recovered: hub, records: former.records, at: former.time)
        let phone = harness.connect(as: "alice")
        #expect(
            WidgetTests.reply(harness, "TILE @car/t2 do=move pos=1", phone).first?.hasPrefix("OK verdict=applied")
                == true
        )
        let places = harness.send("LIST @car/* view=full", from: phone).filter { $0.contains("SNAP ") }.map { line in
            "\(HubHarness.attribute("key", of: line) ?? "") \(line.contains(#""order":1"#))"
        }
        #expect(places == ["@car/t1 false", "@car/t2 true", "@car/t3 false"])
    }
}
