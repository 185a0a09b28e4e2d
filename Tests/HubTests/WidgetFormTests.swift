import Testing

@testable import Hub

/// The cost of a screen that follows everything, where there are many widgets and tiles.
struct WidgetFormTests {
    private static func board(of count: Int) throws -> (house: HubHarness, phone: HubHarness.Client) {
        let house = try TileTests.house()
        let phone = house.connect()
        for number in 0..<count { TileTests.add(house, "@p/t\(number)", by: phone) }
        return (house, phone)
    }

    @Test func `the forms of tiles are found by their hashes, and not by comparing all of them`() throws {
        let (house, phone) = try Self.board(of: 48)
        house.send("SUB @p/* view=phone", from: phone)
        _ = house.lines(of: phone)
        let forms = house.hub.renderer.widgetForms
        #expect(forms.count >= 48)
        #expect(Set(forms.numbers.keys.map(\.hashValue)).count == forms.count)
    }

    @Test func `the forms of widgets whose content is of one moment are found by their hashes`() throws {
        let house = try TileTests.house()
        let shop = house.connect()
        for number in 0..<48 {
            AggregateTests.begin(house, "\(number)", shop: "Shop\(number)", price: "\(number)", shop)
        }
        house.send("HELLO caps=widgets", from: shop)
        house.send("SUB kitchen/* view=phone", from: shop)
        _ = house.lines(of: shop)
        let forms = house.hub.renderer.widgetForms
        #expect(forms.count >= 48)
        #expect(Set(forms.numbers.keys.map(\.hashValue)).count == forms.count)
    }

    @Test func `the row of a widget that a subscriber holds is 56 bytes, and shares its scene`() throws {
        #expect(MemoryLayout<WidgetSent>.stride <= 56)
        let (house, phone) = try Self.board(of: 8)
        house.send("SUB @p/* view=phone", from: phone)
        _ = house.lines(of: phone)
        var scenes: Set<ObjectIdentifier> = []
        var count = 0
        house.hub.subscriptions.forEach { subscription in
            for sent in subscription.backlog?.widgets.values.map({ $0 }) ?? [] {
                if let scene = sent.scene { scenes.insert(ObjectIdentifier(scene)) }
                count += 1
            }
        }
        #expect(count == 8 && scenes.count == 1)
    }
}
