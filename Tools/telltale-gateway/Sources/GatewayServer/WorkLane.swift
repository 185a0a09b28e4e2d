internal import Gateway
internal import NIOPosix
internal import Synchronization
internal import TelltaleModel

/// A thread of its own for work that may take long: layouts, kind files and plays that a request brings.
///
/// Everything else of the gateway goes on beside it, however much is asked of the lane: it takes one core at most, and at
/// most ``limit`` pieces of work wait.
final class WorkLane: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let count = Mutex(0)
    private let limit: Int

    init(limit: Int = 16) {
        self.limit = limit
        pool.start()
    }

    /// Does a piece of work behind those that wait.
    ///
    /// - Throws: What the work throws; `busy` where too much waits, `shutting_down`.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws(Problem) -> Result
    ) async throws(Problem) -> Result {
        let isFull = count.withLock { count in
            if count >= limit { return true }
            count += 1
            return false
        }
        guard !isFull else {
            var details = JSONObject()
            details["wait"] = 1_000
            throw Problem("busy", "\(limit) kinds are being drawn or played; ask again in a second", details: details)
        }
        defer { count.withLock { $0 -= 1 } }
        do {
            return try await pool.runIfActive { try work() }
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem("shutting_down", "the gateway goes down; ask again in a moment")
        }
    }

    func close() { pool.shutdownGracefully { _ in } }
}
