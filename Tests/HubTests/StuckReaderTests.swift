import Hub
import Model
import Testing

/// P7, in turns: over real sockets and with a clock it is the black-box tests' and `telltale-bench`'s.
struct StuckReaderTests {
    @Test func `who reads is sent the same in the same turn, with and without somebody who takes nothing`() throws {
        #expect(try turns(withStuckReader: true) == turns(withStuckReader: false))
    }

    /// What a screen, a slow one and the shop are sent in each of the turns in which something happens.
    private func turns(withStuckReader isThere: Bool) throws -> [[String]] {
        let house = try House()
        let (shop, screen, slow) = (house.connect(), house.connect(), house.connect())
        house.send("SUB * view=carplay", from: screen)
        house.send("SUB coffee-order/*", from: slow)
        var stuck: House.Client?
        if isThere {
            let reader = house.connect()
            house.send("SUB *", from: reader)
            house.hub.becameBlocked(reader.id, at: house.now)
            stuck = reader
        }
        var turns: [[String]] = []
        let road = ["start", "confirm", "brew", "ready", "collect"]
        for number in 0..<300 {
            if number % 7 == 0 { house.hub.becameBlocked(slow.id, at: house.now) }
            if number % 7 == 5 { house.hub.becameWritable(slow.id) }
            let answer = house.send("EVT coffee-order/\(number / 5) type=\(road[number % 5])", from: shop)
            turns.append(answer + ["screen"] + house.lines(of: screen) + ["slow"] + house.lines(of: slow))
            house.advance(by: Milliseconds(150))
            turns.append(house.lines(of: screen) + ["slow"] + house.lines(of: slow))
        }
        // It was cut after 30 s of the 45.
        if let stuck { #expect(stuck.isFinished) }
        return turns
    }
}
