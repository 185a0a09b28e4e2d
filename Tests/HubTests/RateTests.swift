import Hub
import Model
import Testing

struct RateTests {
    @Test("At most so many lines a second for each key", arguments: [1, 3, 7, 600, 1_000, 5_000])
    func lines(rate: Int) throws {
        let house = try House()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        var times: [Int64] = []
        let snapshot = house.send("SUB coffee-order/1 rate=\(rate)", from: screen)
        #expect(snapshot.contains { $0.hasPrefix("SNAP ") })
        times.append(house.time.milliseconds)
        for number in 1...2_500 {
            house.time = house.time + Milliseconds(1)
            house.send(#"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            for line in house.lines(of: screen) where line.hasPrefix("UPD ") { times.append(house.time.milliseconds) }
        }
        for (index, time) in times.enumerated() {
            #expect(times[index...].prefix { $0 < time + 1_000 }.count <= rate)
        }
        #expect(times.count >= min(rate, 700) * 2)
    }
}
