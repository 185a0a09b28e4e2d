import Testing

@testable import Hub

struct ProviderRegistryTests {
    private let first = SessionID(slot: 0, number: 1)
    private let second = SessionID(slot: 1, number: 2)

    @Test func `the first connection that serves a kind acts, and the next in line takes over`() {
        var registry = ProviderRegistry()
        holds(registry.serve("lamp", first))
        holds(registry.takeUnaligned()?.kind == "lamp")
        holds(!registry.serve("lamp", second))
        holds(registry.acting(for: "lamp") == 1 && registry.session(of: 2) == second)
        holds(!registry.hasUnaligned)
        registry.leave("lamp", first)
        holds(registry.acting(for: "lamp") == 2 && registry.session(of: 1) == nil)
        // Its controls are notified in the next batch, once.
        holds(registry.takeUnaligned()?.kind == "lamp")
        holds(registry.takeUnaligned() == nil)
    }

    @Test func `a connection in line that leaves changes nothing for the controls`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", first)
        _ = registry.serve("lamp", second)
        _ = registry.takeUnaligned()
        registry.leave("lamp", second)
        holds(registry.acting(for: "lamp") == 1 && !registry.hasUnaligned)
    }

    @Test func `what is taken back leaves no trace`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", first)
        registry.takeBack("lamp", first, servesOthers: false)
        holds(registry.acting(for: "lamp") == nil && registry.session(of: 1) == nil)
        holds(registry.connectionCount == 0)

        _ = registry.serve("bell", first)
        _ = registry.serve("lamp", first)
        registry.takeBack("lamp", first, servesOthers: true)
        holds(registry.session(of: 1) == first && registry.acting(for: "bell") == 1)
    }

    @Test func `after a batch that was taken back the controls of every kind are reported anew, by name`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", first)
        _ = registry.serve("bell", second)
        while registry.takeUnaligned() != nil {}
        registry.unalignAll()
        holds(registry.takeUnaligned()?.kind == "bell")
        holds(registry.takeUnaligned()?.kind == "lamp")
    }

    @Test func `a kind whose provider changes while its keys are reported begins again behind the last of them`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", first)
        guard var walk = registry.takeUnaligned() else { return holds(false) }
        holds(walk.keys.next(end: 3) == 0 && walk.keys.next(end: 3) == 1)
        registry.putBack(walk)
        registry.leave("lamp", first)
        registry.leave("bell", first)
        guard var rest = registry.takeUnaligned() else { return holds(false) }
        var met: [Int] = []
        while let position = rest.keys.next(end: 3) { met.append(position) }
        holds(met == [2, 0, 1, 2] && rest.keys.isOver(end: 3) && !registry.hasUnaligned)
    }
}
