import Hub
import Journal
import Kinds
import TelltaleModel
import Testing

/// Kinds that are read again while the disk is full, or while an earlier reading still waits.
struct ReloadTests {
    private static let light = HubHarness.porchLight(version: 1, #""instances":["front","back"]"#)

    @Test func `a reload that a full disk puts off is journaled once, and the journal can be replayed`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee, Self.light])
        let client = house.connect()
        house.isFull = true
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        for number in 0..<5 {
            house.advance(by: .seconds(2))
            #expect(
                house.send("EVT coffee-order/\(number) type=start", from: client).last?.contains("storage_full") == true
            )
        }
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send("GET porch-light/front", from: client).last?.contains("unknown_key") == true)
        #expect(house.records.filter { $0.entity.hasPrefix("porch-light/") }.count == 2 + 2)
        let again = try house.recovered()
        #expect(again.lastRecordSequence == house.hub.lastRecordSequence)
    }

    @Test func `while a reload cannot be written, requests without a record are answered`() throws {
        let instances = (0..<2_000).map { "\"i\($0)\"" }.joined(separator: ",")
        func light(_ version: Int) throws -> Kind {
            try HubHarness.kind(HubHarness.porchLight(version: version, "\"instances\":[\(instances)]"))
        }
        let house = try HubHarness(kinds: [])
        let client = house.connect()
        try house.hub.adopt([try light(1)])
        house.turn()
        house.isFull = true
        try house.hub.adopt([try light(2)])
        house.turn()
        for _ in 0..<6 { #expect(house.send("PING", from: client) == ["PONG"]) }
    }

    @Test func `settings that are in force already are not journaled again`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee])
        let count = house.records.count
        try house.hub.adopt(HubConfiguration().decisions)
        house.turn()
        #expect(house.records.count == count)
    }

    @Test("The kinds in force, read again, take back a reload that still waits", arguments: [false, true])
    func takenBack(isFull: Bool) throws {
        let house = try HubHarness(kinds: [HubHarness.coffee, Self.light])
        let client = house.connect()
        house.isFull = isFull
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        if isFull { house.turn() }
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee), try HubHarness.kind(Self.light)])
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send("GET porch-light/front", from: client).last?.hasPrefix("OK key=porch-light/front") == true)
        #expect(house.send("KINDS", from: client).last == "OK count=2")
    }
}
