import Journal
import Server
import Testing

struct SnapshotTurnsTests {
    private var turns = SnapshotTurns<String>()

    /// The snapshot that begins, and the asker that is refused.
    private mutating func ask(_ content: String, for asker: SnapshotTurns<String>.Asker) -> String {
        let (begins, refused) = turns.ask(.init(content, for: asker, pruning: Pruning()))
        return [begins.map { "begin \($0.content)" }, refused.map { "refuse \($0)" }].compactMap(\.self).joined(
            separator: ", ")
    }

    /// The asker that is reported, and the snapshot that begins.
    private mutating func end() -> String {
        let (asker, next) = turns.ended()
        return [asker.map { "tell \($0)" }, next.map { "begin \($0.content)" }].compactMap(\.self).joined(
            separator: ", ")
    }

    @Test mutating func `the end of a snapshot is reported to the server that asked for it, and not to the next one`() {
        #expect(ask("a", for: 1) == "begin a")
        #expect(ask("b", for: 2) == "")
        #expect(end() == "tell 1, begin b")
        #expect(end() == "tell 2")
        #expect(end() == "")
    }

    @Test mutating func `one waits at most, and a newer one takes its place`() {
        #expect(ask("a", for: 1) == "begin a")
        #expect(ask("b", for: 2) == "")
        #expect(ask("c", for: 3) == "refuse 2")
        #expect(end() == "tell 1, begin c")
    }
}
