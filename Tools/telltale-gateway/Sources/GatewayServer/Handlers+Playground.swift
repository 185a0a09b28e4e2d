internal import Gateway
internal import Glibc
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleWire

// The playground: kind files that a request brings. The gateway keeps none of them, and the daemon never sees one.
extension GatewayResponder {
    func lint(_ caller: Caller) async throws(Problem) -> Response {
        try caller.checkEventType()
        let hasDiagram = try caller.query["diagram"] == "yes"
        let file = try await caller.body(upTo: LintReport.byteLimit)
        try await admit(caller)
        return .json(
            try await gateway.lane.run { () throws(Problem) in LintReport.make(of: file, hasDiagram: hasDiagram) })
    }

    func play(_ caller: Caller) async throws(Problem) -> Response {
        try caller.checkEventType()
        let body = try await caller.body(upTo: PlayRequest.byteLimit)
        try await admit(caller)
        let now = SystemClock.now
        return .json(
            try await gateway.lane.run { () throws(Problem) in
                let budget = ThreadBudget()
                return try PlayRequest(body, now: now).play { budget.isLeft }
            })
    }

    /// Where the daemon wants tokens, so does the playground: any that is good. The body has been read by then, since nothing counts
    /// what of it waits in the connection.
    private func admit(_ caller: Caller) async throws(Problem) {
        guard try await !gateway.link.letsEverybodyIn(asking: caller.token) else { return }
        guard caller.token != nil else {
            throw Problem("auth_required", "sign in, or send Authorization: Bearer TOKEN")
        }
        _ = try await gateway.link.ask(.ping, token: caller.token)
    }
}

/// The processor time that one play may take of its thread: the same on a busy machine.
private struct ThreadBudget {
    private static let milliseconds = 250
    private let end = Self.used + Self.milliseconds

    var isLeft: Bool { Self.used < end }

    /// Of the thread that asks.
    private static var used: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }
}
