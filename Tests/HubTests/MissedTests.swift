import TelltaleModel
import Testing

/// `missed` says what happened before a row; it is not the key's state.
struct MissedTests {
    private static let race = """
        {"kind":"race","type":"activity","version":1,"app":"com.example.race","title":"Race",
         "machine":{"initial":"even","states":{
           "even":{"milestone":true,"on":{"next":"odd"}},"odd":{"milestone":true,"on":{"next":"even"}}}}}
        """

    @Test func `the row that names missed milestones comes again without them, and else the same`() throws {
        let harness = try HubHarness(kinds: [Self.race])
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("EVT race/1 type=start", from: shop)
        let cursor = try harness.cursor(of: "SUB race/1", from: screen)
        for _ in 0..<80 {
            harness.post("EVT race/1 type=next", from: shop)
            harness.commit()
        }
        harness.flush()
        let reported = try #require(harness.lines(of: screen).last { $0.hasPrefix("UPD ") })
        var body = try #require(try HubHarness.tail(reported).object)
        #expect(body["missed"]?.array?.count == 16)
        body["missed"] = nil
        let again = harness.connect()
        let resumed = harness.send("SUB race/1 from=\(cursor)", from: again).first { $0.hasPrefix("UPD ") }
        #expect(try HubHarness.tail(resumed) == .object(body))
        #expect(resumed.map { HubHarness.attribute("rev", of: $0) } == HubHarness.attribute("rev", of: reported))
        #expect(try HubHarness.tail(harness.send("GET race/1", from: shop).last) == .object(body))
    }
}
