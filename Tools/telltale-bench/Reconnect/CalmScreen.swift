import Foundation
import Histogram

/// One screen that follows one activity on a thread of its own, while others storm.
final class CalmScreen: @unchecked Sendable {
    private let load: FanOutLoad
    private let isOver = NSLock()
    private var shouldEnd = false
    private let ended = DispatchSemaphore(value: 0)
    private(set) var failure: (any Error)?

    /// Events a second.
    private static let rate = 200.0

    init(_ target: TelltaleScreens) throws {
        load = try target.makeCalmLoad()
    }

    /// Begins to note latencies.
    func begin() {
        let thread = Thread { [self] in
            load.publish(rate: Self.rate, window: 64)
            load.beginCounting()
            do {
                while !isOver.withLock({ shouldEnd }) { try load.run(seconds: 0.05) }
            } catch {
                failure = error
            }
            ended.signal()
        }
        thread.start()
    }

    /// - Returns: From the intended time of each event to its arrival, in nanoseconds.
    func end() throws -> Histogram<UInt64> {
        isOver.withLock { shouldEnd = true }
        ended.wait()
        if let failure { throw failure }
        load.hold()
        try load.run(seconds: 5, untilCurrent: true)
        return load.latency
    }
}
