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

    @Test mutating func `the last snapshot of a node waits for the one that its standby is writing`() {
        #expect(ask("a", for: .standby) == "begin a")
        #expect(ask("b", for: .server(1)) == "")
        #expect(turns.isWriting)
        #expect(end() == "tell standby, begin b")
        #expect(end() == "tell server(1)")
        #expect(!turns.isWriting)
        #expect(ask("c", for: .server(1)) == "begin c")
    }

    @Test mutating func `the end of a snapshot is reported to the server that asked for it, and not to the next one`() {
        #expect(ask("a", for: .server(1)) == "begin a")
        #expect(ask("b", for: .server(2)) == "")
        #expect(end() == "tell server(1), begin b")
        #expect(end() == "tell server(2)")
        #expect(end() == "")
    }

    @Test mutating func `one waits at most, and that of a server comes first`() {
        #expect(ask("a", for: .server(1)) == "begin a")
        #expect(ask("b", for: .standby) == "")
        #expect(ask("c", for: .server(2)) == "refuse standby")
        #expect(ask("d", for: .standby) == "refuse standby")
        #expect(ask("e", for: .server(3)) == "refuse server(2)")
        #expect(end() == "tell server(1), begin e")
    }
}
