internal import Gateway
internal import Glibc
internal import Hummingbird
internal import TelltaleWire

// The playground: kind files in requests. The gateway stores none of them, and the daemon never sees them.
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

    /// If the daemon requires tokens, so does the playground: any valid one. The body is read first, because unread
    /// bytes in the connection are not counted.
    private func admit(_ caller: Caller) async throws(Problem) {
        guard try await !gateway.link.letsEverybodyIn(asking: caller.token) else { return }
        guard caller.token != nil else {
            throw Problem("auth_required", "sign in, or send Authorization: Bearer TOKEN")
        }
        _ = try await gateway.link.ask(.ping, token: caller.token)
    }
}

/// The processor time that one play may use on its thread, which does not depend on other load.
private struct ThreadBudget {
    private static let milliseconds = 250
    private let end = Self.used + Self.milliseconds

    var isLeft: Bool { Self.used < end }

    /// The processor time of the calling thread.
    private static var used: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }
}
