import TelltaleModel
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

    // MARK: Absent providers

    private static func client(_ process: UInt32, _ counter: Int64) -> SessionID {
        SessionID(slot: Int32(counter), process: process, counter: counter)
    }
    private let remote = client(7, 1)
    private func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: seconds * 1_000) }

    @Test func `an absent connection keeps its place until its time is over`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", remote)
        _ = registry.serve("lamp", second)
        registry.lost(remote)
        holds(registry.acting(for: "lamp") == remote.number && registry.session(of: remote.number) == nil)
        holds(registry.isUndecided("lamp"))
        _ = registry.takeUnaligned()
        registry.expire(at: time(10), after: .seconds(6))
        registry.expire(at: time(16), after: .seconds(6))
        holds(registry.isUndecided("lamp") && !registry.hasUnaligned)
        registry.expire(at: time(17), after: .seconds(6))
        holds(registry.acting(for: "lamp") == 2 && !registry.isUndecided("lamp") && registry.hasUnaligned)
    }

    @Test func `an absent connection that is named again acts on`() {
        var registry = ProviderRegistry()
        _ = registry.serve("lamp", remote)
        _ = registry.serve("lamp", second)
        registry.lost(remote)
        _ = registry.serve("lamp", remote)
        registry.named(allOf: 7)
        registry.expire(at: time(100), after: .seconds(6))
        registry.expire(at: time(200), after: .seconds(6))
        holds(registry.acting(for: "lamp") == remote.number && registry.session(of: remote.number) == remote)
    }

    @Test func `those that a node does not name have left, and no others`() {
        var registry = ProviderRegistry()
        let other = Self.client(8, 1)
        registry.keep("lamp", remote.number)
        registry.keep("bell", other.number)
        registry.named(allOf: 7)
        holds(registry.acting(for: "lamp") == nil && registry.acting(for: "bell") == other.number)
    }

    @Test func `a connection that is kept is present once it serves again`() {
        var registry = ProviderRegistry()
        registry.keep("lamp", remote.number)
        holds(registry.isUndecided("lamp"))
        // Its controls may name another one.
        holds(registry.serve("lamp", remote) && !registry.isUndecided("lamp"))
    }

    @Test func `an older link that ends does not make a connection absent that a newer one has named`() {
        var registry = ProviderRegistry()
        let again = SessionID(slot: 9, number: remote.number)
        _ = registry.serve("lamp", remote)
        _ = registry.serve("lamp", again)
        registry.lost(remote)
        holds(registry.session(of: remote.number) == again && !registry.isUndecided("lamp"))
    }
}
