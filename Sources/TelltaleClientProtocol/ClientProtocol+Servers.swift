internal import TelltaleModel
internal import TelltaleWire

/// Chooses the next server.
extension ClientProtocol {
    /// How long an attempt to connect may take.
    var dialSpan: Milliseconds { servers.dialSpan(limit: configuration.greetingTimeout) }

    /// Leaves a server that does not serve this client.
    ///
    /// - Returns: Whether to stay.
    mutating func isServed(by greeting: ServerGreeting, at now: Timestamp) -> Bool {
        let name = greeting.node ?? "this server"
        guard configuration.nodes != .any else { return true }
        guard greeting.isLeading else {
            if greeting.serves, configuration.nodes == .serving { return true }
            let leader = greeting.leader.map { ", and names \($0)" } ?? ", and names no leader"
            leave(for: Redirection(address: greeting.leader), "\(name) does not lead\(leader)")
            return false
        }
        guard let term = greeting.term else {
            (newestTerm, lowerTermSince) = (nil, nil)
            return true
        }
        if let newest = newestTerm, newest.epoch == greeting.epoch, term < newest.term,
            !isTermStill(lowerSince: now)
        {
            // The server was cut off, and has not noticed yet that another one leads.
            leave(
                for: Redirection(address: nil),
                "\(name) leads no more: it has term \(term), and there is a leader of term \(newest.term)")
            return false
        }
        (newestTerm, lowerTermSince) = ((greeting.epoch, term), nil)
        return true
    }

    /// A deposed leader is gone long before this time. If the answer is still a lower term then, the log was reset.
    private static let lowerTermPatience = Milliseconds.seconds(60)

    /// Handles a leader with a lower term.
    ///
    /// - Returns: Whether only lower terms were seen for so long that this one is accepted.
    private mutating func isTermStill(lowerSince now: Timestamp) -> Bool {
        guard let since = lowerTermSince, since <= now else {
            lowerTermSince = now
            return false
        }
        return now - since >= Self.lowerTermPatience
    }

    mutating func leave(for redirection: Redirection, _ reason: String) {
        self.redirection = redirection
        giveUp(reason)
    }

    /// Chooses the next server.
    ///
    /// - Returns: The delay before the attempt; `nil` if there is none.
    mutating func nextWait(random: UInt64) -> Milliseconds? {
        let wasServed = readySince != nil
        let range = reconnectWait.take()
        let step =
            if let redirection = redirection.take() {
                servers.redirected(to: redirection.address, isDelayed: range != nil)
            } else {
                servers.failed()
            }
        guard configuration.reconnects else {
            // Without reconnects it tries each server once, and stays with the one that has served.
            return wasServed || (step != .atOnce && servers.isExhausted) ? nil : .zero
        }
        defer { failures += step == .atOnce ? 0 : 1 }
        if let range { return Backoff.pick(from: range.lowerBound, to: range.upperBound, random: random) }
        switch step {
        case .atOnce: return .zero
        case .behindPause:
            let longest = configuration.backoff.longest
            return Backoff.pick(
                from: min(ServerList.pause.lowerBound, longest), to: min(ServerList.pause.upperBound, longest),
                random: random)
        case .behindBackoff: return configuration.backoff.wait(afterFailures: failures, random: random)
        }
    }
}
