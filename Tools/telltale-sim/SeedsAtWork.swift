import Foundation

/// Says which seeds were being simulated when the process dies of a trap: that is a failure like any other.
enum SeedsAtWork {
    private static let limit = 64
    /// One a worker; 0 where there is none. A signal handler may do nothing but read memory and write bytes.
    nonisolated(unsafe) private static let seeds: UnsafeMutablePointer<UInt64> = {
        let seeds = UnsafeMutablePointer<UInt64>.allocate(capacity: limit)
        unsafe seeds.initialize(repeating: 0, count: limit)
        return unsafe seeds
    }()
    /// The earlier handler of a trap, which prints its place.
    nonisolated(unsafe) private static let before: UnsafeMutablePointer<sigaction> = {
        let before = UnsafeMutablePointer<sigaction>.allocate(capacity: 1)
        unsafe before.initialize(to: sigaction())
        return unsafe before
    }()

    /// `worker` begins with `seed`.
    static func note(_ seed: UInt64, worker: Int) {
        if worker < limit { unsafe seeds[worker] = seed }
    }

    static func watch() {
        unsafe seeds[0] = 0
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in
            SeedsAtWork.report()
            // The trap comes again at once, and goes its usual way.
            unsafe sigaction(SIGILL, SeedsAtWork.before, nil)
        }
        unsafe sigaction(SIGILL, &action, before)
    }

    private static func report() {
        for worker in 0..<limit {
            var rest = unsafe seeds[worker]
            guard rest > 0 else { continue }
            write("\ntrapped, perhaps in this seed: --seed ")
            var divisor: UInt64 = 1
            while rest / divisor >= 10 { divisor *= 10 }
            while divisor > 0 {
                var digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor)
                _ = unsafe Foundation.write(2, &digit, 1)
                rest %= divisor
                divisor /= 10
            }
        }
        write("\n")
    }

    private static func write(_ text: StaticString) {
        _ = unsafe Foundation.write(2, text.utf8Start, text.utf8CodeUnitCount)
    }
}
