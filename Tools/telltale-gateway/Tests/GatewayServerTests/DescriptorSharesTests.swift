import ListenerLimits
import Testing

/// The division of the files that a process may open.
struct DescriptorSharesTests {
    private static let counts = [16, 64, 128, 256, 1_024, 4_096, 20_000, 524_288, 1 << 30]

    @Test(arguments: counts, [true, false])
    func `the shares of the gateway are never more than there are, and each listener has one`(
        _ count: Int, _ takesPushes: Bool
    ) {
        let shares = DescriptorShares.gateway(of: count, callers: 8_192, takesPushes: takesPushes)
        #expect(shares.total <= count)
        #expect(shares.callers > 0 && shares.operators > 0 && shares.own > 0)
        #expect((shares.senders > 0) == takesPushes)
    }

    @Test(arguments: counts)
    func `the shares of telltale-push are never more than there are`(_ count: Int) {
        let shares = DescriptorShares.push(of: count)
        #expect(shares.total <= count)
        #expect(shares.callers > 0 && shares.services > 0 && shares.own > 0)
    }

    @Test func `a machine that allows many files bounds nothing`() {
        let gateway = DescriptorShares.gateway(of: 20_000, callers: 8_192, takesPushes: true)
        #expect((gateway.callers, gateway.operators, gateway.senders) == (8_192, 256, 500))
        let push = DescriptorShares.push(of: 20_000)
        #expect((push.callers, push.services) == (1_000, 2_000))
    }
}
