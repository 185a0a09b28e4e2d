/// How the files that a process may open are divided. Together the shares are never more than there are: nobody who connects
/// leaves the process without a file for its disk, for the daemon or for a push service.
package struct DescriptorShares: Equatable, Sendable {
    /// Connections of callers. For each of these there is one more to the daemon, which it may need.
    package var callers: Int
    /// Connections of operators.
    package var operators = 0
    /// Connections of senders of Apple's pushes.
    package var senders = 0
    /// Connections to services, all at once.
    package var services = 0
    /// For the disk, the program itself and its own connections to the daemon.
    package var own: Int

    package var total: Int { 2 * callers + operators + senders + services + own }

    /// - Parameters:
    ///   - count: Of the files that the process may open.
    ///   - callers: The most connections that are wanted.
    package static func gateway(of count: Int, callers: Int, takesPushes: Bool) -> DescriptorShares {
        var shares = DescriptorShares(callers: 0, own: min(384, count * 3 / 8))
        shares.operators = min(256, count / 16)
        shares.senders = takesPushes ? min(500, count / 8) : 0
        shares.callers = min(callers, shares.half(of: count))
        return shares
    }

    /// Those of `telltale-push`.
    package static func push(of count: Int) -> DescriptorShares {
        var shares = DescriptorShares(callers: 0, own: min(128, count / 4))
        shares.services = min(2_000, count / 4)
        shares.callers = min(1_000, shares.half(of: count))
        return shares
    }

    private func half(of count: Int) -> Int { max(0, count - total) / 2 }
}
