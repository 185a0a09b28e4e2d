import TelltaleModel
import Testing

/// The view of a control: its placements, on a locked device, and the changes that send its row again.
struct ControlViewTests {
    @Test(
        "What each placement is shown",
        arguments: [
            ("placement=actionButton", "hint"), ("placement=controlCenterSmall", "symbol"),
            ("placement=controlCenterMedium", "symbol text title"), ("placement=lockScreen", "symbol"),
            ("placement=menuBar", "symbol"), ("placement=smartStack", "symbol text title"),
            ("placement=gallery", "symbol text title"), ("view=watch", "symbol text title"),
            ("view=carplay", "symbol text title"), ("view=desktop", "symbol"), ("view=phone", "symbol text title"),
            ("view=phone placement=actionButton", "hint"), ("", "hint symbol text title"),
        ])
    func placement(terms: String, parts: String) throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        let row = try HubHarness.tail(
            harness.send(terms.isEmpty ? "SUB *" : "SUB * \(terms)", from: screen).first { $0.hasPrefix("SNAP") })
        let names = ["hint", "symbol", "text", "title"].filter { row[$0] != nil }
        #expect(names.joined(separator: " ") == parts)
    }

    @Test func `an unknown placement is refused with the list of known ones`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let refused = harness.send("SUB * placement=fridge", from: harness.connect())
        #expect(refused.count == 1)
        #expect(refused.first?.contains("code=bad_attr") == true)
        #expect(refused.first?.contains("controlCenterSmall") == true)
    }

    @Test func `a locked device is shown less, may not act, and is shown all again when unlocked`() throws {
        let harness = try HubHarness(
            kinds: [HubHarness.porchLight(#""privacySensitive":true,"requiresAuthentication":true"#)])
        let (lamp, phone) = (harness.connect(), harness.connect())
        harness.serveLight(value: "on", from: lamp)
        harness.send("SUB porch-light/* view=phone placement=controlCenterLarge", from: phone)
        let locked = try HubHarness.tail(harness.send("TRAIT locked=yes", from: phone).last)
        #expect(locked["redacted"] == true && locked["unlock"] == true && locked["value"] == .null)
        #expect(locked["symbol"] == "lightbulb" && locked["title"] == nil)
        #expect(
            harness.send("SET porch-light/front value=off", from: phone).first?.contains("code=auth_required") == true)
        let unlocked = try HubHarness.tail(harness.send("TRAIT locked=no", from: phone).last)
        #expect(unlocked["value"] == true && unlocked["title"] == "Porch light" && unlocked["unlock"] == nil)
        // Other traits draw nothing anew.
        #expect(harness.send("TRAIT focus=on", from: phone) == ["OK"])
    }

    @Test func `controls do not come again when activities beside them change`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let (lamp, phone) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("HELLO account=alice surface=phone", from: phone)
        harness.send("SUB *", from: phone)
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        #expect(harness.lines(of: phone).map { HubHarness.attribute("key", of: $0) } == ["coffee-order/1"])
    }

    @Test func `a person's device is shown the controls that there are`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let lamp = harness.connect()
        harness.serveLight(from: lamp)
        for pattern in ["*", "porch-light/*", "porch-light/front"] {
            let reported = harness.send("SUB \(pattern) view=watch", from: harness.connect(as: "alice"))
            #expect(reported.contains { $0.hasPrefix("SNAP sub=1 key=porch-light/front ") })
        }
    }

    @Test func `one connection is shown a control in two places`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        for place in ["menuBar", "smartStack"] {
            let reported = harness.send("SUB * placement=\(place)", from: screen).first { $0.hasPrefix("SNAP ") }
            #expect(try HubHarness.tail(reported)["placement"] == .string(place))
        }
    }
}
