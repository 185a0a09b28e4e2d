import Hub
import Journal
import Kinds
import TelltaleModel
import Testing

/// Kinds that are read again while the disk is full, or while an earlier reading still waits.
struct ReloadTests {
    private static let light = HubHarness.porchLight(version: 1, #""instances":["front","back"]"#)

    @Test func `a reload that a full disk puts off is journaled once, and the journal can be replayed`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, Self.light])
        let client = harness.connect()
        harness.isFull = true
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        for number in 0..<5 {
            harness.advance(by: .seconds(2))
            #expect(
                harness.send("EVT coffee-order/\(number) type=start", from: client).last?.contains("storage_full")
                    == true
            )
        }
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send("GET porch-light/front", from: client).last?.contains("unknown_key") == true)
        #expect(harness.records.filter { $0.entity.hasPrefix("porch-light/") }.count == 2 + 2)
        let again = try harness.recovered()
        #expect(again.lastRecordSequence == harness.hub.lastRecordSequence)
    }

    @Test func `while a reload cannot be written, requests without a record are answered`() throws {
        let instances = (0..<2_000).map { "\"i\($0)\"" }.joined(separator: ",")
        func light(_ version: Int) throws -> Kind {
            try HubHarness.kind(HubHarness.porchLight(version: version, "\"instances\":[\(instances)]"))
        }
        let harness = try HubHarness(kinds: [])
        let client = harness.connect()
        try harness.hub.adopt([try light(1)])
        harness.turn()
        harness.isFull = true
        try harness.hub.adopt([try light(2)])
        harness.turn()
        for _ in 0..<6 { #expect(harness.send("PING", from: client) == ["PONG"]) }
    }

    @Test func `settings that are in force already are not journaled again`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee])
        let count = harness.records.count
        try harness.hub.adopt(HubConfiguration().decisions)
        harness.turn()
        #expect(harness.records.count == count)
    }

    @Test("The kinds in force, read again, take back a reload that still waits", arguments: [false, true])
    func takenBack(isFull: Bool) throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, Self.light])
        let client = harness.connect()
        harness.isFull = isFull
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        if isFull { harness.turn() }
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee), try HubHarness.kind(Self.light)])
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send("GET porch-light/front", from: client).last?.hasPrefix("OK key=porch-light/front") == true)
        #expect(harness.send("KINDS", from: client).last == "OK count=2")
    }
}
