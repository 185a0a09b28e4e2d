import Hub
import Testing

/// In which order sessions are written to, and what the shell is told with their bytes.
struct OutputTests {
    @Test func `those who are due more than one write takes are served by turns`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 400
        let house = try House(configuration: configuration)
        let shop = house.connect()
        for number in 1...20 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        let screens = [house.connect(), house.connect()]
        for screen in screens { house.post("SUB coffee-order/* view=full", from: screen) }
        _ = house.hub.decide(at: house.now)
        house.hub.committed(at: house.now)

        #expect(house.hub.readySessionCount == 2)
        var dispositions: [SessionID: [Disposition]] = [:]
        var order: [SessionID] = []
        while let id = house.hub.nextReady() {
            var bytes: [UInt8] = []
            order.append(id)
            dispositions[id, default: []].append(house.hub.appendOutput(for: id, at: house.now, to: &bytes))
        }
        for screen in screens {
            let told = try #require(dispositions[screen.id])
            #expect(told.count > 5)
            #expect(told.dropLast().allSatisfy { $0 == .hasMore })
            #expect(told.last == .keep)
        }
        #expect(zip(order, order.dropFirst()).allSatisfy { $0 != $1 })
    }
}
