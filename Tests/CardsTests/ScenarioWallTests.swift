import Cards
import TelltaleModel
import Testing

struct ScenarioWallTests {
    private func wall(isAway: Bool = false) throws -> ScenarioWall {
        let body = try #require(
            try JSONParser.parse(
                #"{"presentation":"small","order":1,"lifecycle":"active","view":{"title":"Brewing","progress":0.6}}"#
            ).object)
        let cards = [Card(key: "coffee-order/1", body: body)]
        return ScenarioWall(
            title: "A coffee order", caption: "It is ready",
            displays: [
                .init(.surface(.carplay), label: "car", cards: cards, isAway: isAway),
                .init(.surface(.watch), label: "wrist", cards: cards, isAway: false),
            ], progress: 0.5, progressText: "50 %", foot: "q quits")
    }

    @Test("It fits, and says everything that there is room for", arguments: [40, 80, 160], [12, 40])
    func fits(width: Int, height: Int) throws {
        let block = try wall().draw(at: Timestamp(milliseconds: 0), width: width, height: height)
        #expect(block.height <= height)
        #expect(block.width <= width)
        let text = block.text(color: false)
        #expect(text.first?.hasPrefix("A coffee order  It is ready") == true)
        #expect(text.contains { $0.contains("CarPlay · car") })
        #expect(text.dropLast().last?.contains("50 %") == true)
        #expect(text.last?.hasPrefix("q quits") == true)
    }

    @Test func `screens stand side by side where there is room`() throws {
        let text = try wall().draw(at: Timestamp(milliseconds: 0), width: 120, height: 40).text(color: false)
        #expect(text.contains { $0.contains("CarPlay · car") && $0.contains("Watch · wrist") })
    }

    @Test func `a screen without a connection says so`() throws {
        let text = try wall(isAway: true).draw(at: Timestamp(milliseconds: 0), width: 120, height: 40).text(
            color: false)
        #expect(text.contains { $0.contains("CarPlay · car, away") })
    }
}
