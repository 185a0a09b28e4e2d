import Hub
import Testing

/// What the shell is told with the bytes of a session.
struct OutputTests {
    @Test func `who is due more than one write takes is told to go on, and is the next one ready`() throws {
        var configuration = HubConfiguration()
        configuration.limits.bytesPerFlush = 400
        let house = try House(configuration: configuration)
        let shop = house.connect()
        for number in 1...20 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        let screens = [house.connect(), house.connect()]
        for screen in screens { house.post("SUB coffee-order/* view=full", from: screen) }
        _ = house.hub.decide(at: house.now)
        house.hub.committed(at: house.now)

        var dispositions: [SessionID: [Disposition]] = [:]
        var goesOn: SessionID?
        while let id = house.hub.nextReady() {
            #expect(goesOn == nil || goesOn == id)
            var bytes: [UInt8] = []
            let disposition = house.hub.appendOutput(for: id, at: house.now, to: &bytes)
            goesOn = disposition == .goOn ? id : nil
            dispositions[id, default: []].append(disposition)
        }
        for screen in screens {
            let told = try #require(dispositions[screen.id])
            #expect(told.count > 5)
            #expect(told.dropLast().allSatisfy { $0 == .goOn })
            #expect(told.last == .keep)
        }
    }
}
