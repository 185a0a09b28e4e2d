import Foundation
import TelltaleModel
import Testing

/// The example of the library `TelltaleStatechart` works as its page describes.
struct ChartExampleTests {
    @Test func `the example takes events, guards them, and fires its timer`() throws {
        let machine = try OrderMachine()
        let start = Timestamp(milliseconds: 0)
        var order = try Order(machine, cups: 2, at: start)
        #expect(order.state == "placed")
        #expect(order.deadline == start + .minutes(5))

        #expect(try order.handle("ready", at: start) == .ignored)
        try order.advance(to: start + .minutes(6))
        #expect(order.state == "late")
        #expect(order.deadline == nil)
        #expect(try order.handle("brew", at: start + .minutes(7)) == .applied)
        #expect(try order.handle("ready", ["cups": 1], at: start + .minutes(8)) == .ignored)
        #expect(try order.handle("ready", ["cups": 2], at: start + .minutes(9)) == .applied)
        #expect(order.state == "ready")
    }

    @Test func `the page shows the example that is tested`() throws {
        let repository = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let example = try String(
            contentsOf: repository.appending(path: "Tests/StatechartTests/Examples/OrderMachine.swift"), encoding: .utf8
        )
        let page = try String(
            contentsOf: repository.appending(
                path: "Sources/TelltaleStatechart/TelltaleStatechart.docc/TelltaleStatechart.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(example)```"))
    }
}
