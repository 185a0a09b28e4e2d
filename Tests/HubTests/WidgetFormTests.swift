import Testing

@testable import Hub

/// The cost of a screen that follows everything, where there are many widgets and tiles.
struct WidgetFormTests {
    private static func board(of count: Int) throws -> (harness: HubHarness, phone: HubHarness.Client) {
        let harness = try TileTests.harness()
        let phone = harness.connect()
        for number in 0..<count { TileTests.add(harness, "@p/t\(number)", by: phone) }
        return (harness, phone)
    }

    @Test func `the forms of tiles are found by their hashes, and not by comparing all of them`() throws {
        let (harness, phone) = try Self.board(of: 48)
        harness.send("SUB @p/* view=phone", from: phone)
        _ = harness.lines(of: phone)
        let forms = harness.hub.renderer.widgetForms
        #expect(forms.count >= 48)
        #expect(Set(forms.numbers.keys.map(\.hashValue)).count == forms.count)
    }

    @Test func `the forms of widgets whose content is of one moment are found by their hashes`() throws {
        let harness = try TileTests.harness()
        let shop = harness.connect()
        for number in 0..<48 {
            AggregateTests.begin(harness, "\(number)", shop: "Shop\(number)", price: "\(number)", shop)
        }
        harness.send("HELLO caps=widgets", from: shop)
        harness.send("SUB kitchen/* view=phone", from: shop)
        _ = harness.lines(of: shop)
        let forms = harness.hub.renderer.widgetForms
        #expect(forms.count >= 48)
        #expect(Set(forms.numbers.keys.map(\.hashValue)).count == forms.count)
    }

    @Test func `the row of a widget that a subscriber holds is 56 bytes, and shares its scene`() throws {
        #expect(MemoryLayout<WidgetSent>.stride <= 56)
        let (harness, phone) = try Self.board(of: 8)
        harness.send("SUB @p/* view=phone", from: phone)
        _ = harness.lines(of: phone)
        var scenes: Set<ObjectIdentifier> = []
        var count = 0
        harness.hub.subscriptions.forEach { subscription in
            for sent in subscription.backlog?.widgets.values.map({ $0 }) ?? [] {
                if let scene = sent.scene { scenes.insert(ObjectIdentifier(scene)) }
                count += 1
            }
        }
        #expect(count == 8 && scenes.count == 1)
    }
}
