/// Divides the file descriptors of the process. The shares never exceed the limit, so incoming connections cannot take
/// the descriptors for the disk, the daemon or a push service.
package struct DescriptorShares: Equatable, Sendable {
    /// Connections of callers. Each may need another one to the daemon, which is reserved too.
    package var callers: Int
    /// Connections of operators.
    package var operators = 0
    /// Connections of senders of Apple's pushes.
    package var senders = 0
    /// Connections to push services, in all.
    package var services = 0
    /// For the disk, the program itself and its own connections to the daemon.
    package var own: Int

    package var total: Int { 2 * callers + operators + senders + services + own }

    /// - Parameters:
    ///   - count: The limit of open files.
    ///   - callers: The most connections requested.
    package static func gateway(of count: Int, callers: Int, takesPushes: Bool) -> DescriptorShares {
        var shares = DescriptorShares(callers: 0, own: min(384, count * 3 / 8))
        shares.operators = min(256, count / 16)
        shares.senders = takesPushes ? min(500, count / 8) : 0
        shares.callers = min(callers, shares.half(of: count))
        return shares
    }

    /// The shares of `telltale-push`.
    package static func push(of count: Int) -> DescriptorShares {
        var shares = DescriptorShares(callers: 0, own: min(128, count / 4))
        shares.services = min(2_000, count / 4)
        shares.callers = min(1_000, shares.half(of: count))
        return shares
    }

    private func half(of count: Int) -> Int { max(0, count - total) / 2 }
}
