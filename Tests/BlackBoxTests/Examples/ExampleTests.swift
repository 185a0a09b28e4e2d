import Foundation
import TelltaleEventLoop
import TestSupport
import Testing

/// The example of the library `TelltaleClient` works as its page describes.
struct ExampleTests {
    @Test func `the example orders a coffee, and follows it until it is ready`() async throws {
        let lines = try await onOwnThread {
            let daemon = try DaemonProcess()
            var lines: [String] = []
            try followOrder("1042", at: .tcp(host: "127.0.0.1", port: daemon.port)) { lines.append($0) }
            return lines
        }
        #expect(
            lines.dropFirst() == [
                "coffee-order/1042: In the queue", "coffee-order/1042: Brewing",
                "alert: Flat white is ready, Shelf B", "coffee-order/1042: Ready",
            ])
        #expect(lines.first?.hasPrefix("connected to ") == true)
    }

    @Test func `the page shows the example that is tested`() throws {
        let example = try String(
            contentsOf: repository.appending(path: "Tests/BlackBoxTests/Examples/FollowOrder.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: repository.appending(
                path: "Sources/TelltaleClient/TelltaleClient.docc/TelltaleClient.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(example)```"))
    }
}
