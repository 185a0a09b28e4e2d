internal import Gateway
internal import NIOPosix
internal import Synchronization
internal import TelltaleModel

/// A separate thread for work that may take long: layouts, kind files and plays in requests.
///
/// It keeps such work from delaying the rest of the gateway: it uses at most one core, and at most ``limit`` pieces of
/// work are running or waiting.
final class WorkLane: Sendable {
    private struct State {
        var count = 0
        var isStarted = false
        var isClosed = false
    }

    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int = 16) { self.limit = limit }

    /// Does a piece of work after those that are waiting.
    ///
    /// - Throws: What the work throws; `busy` where too much waits, `shutting_down`.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws(Problem) -> Result
    ) async throws(Problem) -> Result {
        try enter()
        defer { state.withLock { $0.count -= 1 } }
        do {
            return try await pool.runIfActive { try work() }
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Self.closed
        }
    }

    private func enter() throws(Problem) {
        let refusal: Problem? = state.withLock { state in
            if state.isClosed { return Self.closed }
            guard state.count < limit else { return busy }
            state.count += 1
            // Started only when there is work, so that a gateway that only checks its configuration has no thread to
            // end.
            if !state.isStarted { pool.start() }
            state.isStarted = true
            return nil
        }
        if let refusal { throw refusal }
    }

    private var busy: Problem {
        var details = JSONObject()
        details["wait"] = 1_000
        return Problem("busy", "\(limit) kinds are being drawn or played; ask again in a second", details: details)
    }

    private static var closed: Problem { Problem("shutting_down", "the gateway goes down; ask again in a moment") }

    func close() {
        let isStarted = state.withLock { state in
            state.isClosed = true
            return state.isStarted
        }
        if isStarted { pool.shutdownGracefully { _ in } }
    }
}
