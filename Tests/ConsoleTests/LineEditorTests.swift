import Console
import Testing

struct LineEditorTests {
    private func edited(_ keys: String, history: [String] = []) -> LineEditor {
        var editor = LineEditor(prompt: "> ", history: history)
        _ = editor.edit(keys.utf8)
        return editor
    }

    @Test(
        "Keys edit as in a shell",
        arguments: [
            ("abc", "abc", 3), ("abc\u{02}\u{02}x", "axbc", 2), ("abc\u{01}x\u{05}y", "xabcy", 5),
            ("ab cd\u{17}", "ab ", 3), ("ab cd\u{15}x", "x", 1), ("ab cd\u{01}\u{0B}", "", 0),
            ("abc\u{7F}\u{08}", "a", 1), ("abc\u{1B}[D\u{1B}[3~", "ab", 2), ("abc\u{1B}[1~\u{04}", "bc", 0),
            ("ab-cd\u{1B}bX", "ab-Xcd", 4), ("ab cd\u{01}\u{1B}fX", "abX cd", 3), ("añ☕\u{7F}é", "añé", 3),
            ("a\u{1B}[200~b", "ab", 2), ("a\u{1B}[99;99;99;99;99;99;99Hb", "a;99Hb", 6), ("\u{1B}[Aa", "a", 1),
        ])
    func editing(keys: String, text: String, cursor: Int) {
        let editor = edited(keys)
        #expect(editor.line == text)
        #expect(editor.cursor == cursor)
    }

    @Test func `bytes come in any pieces, and what would control the terminal is not taken`() {
        var editor = LineEditor(prompt: "> ")
        for byte in "é\u{9B}2J\u{202E}x".utf8 { _ = editor.edit([byte]) }
        #expect(editor.line == "é2Jx")
    }

    @Test func `the history brings back what begins as the line does, and then the line`() {
        var editor = LineEditor(prompt: "> ", history: ["SUB *", "GET a/b", "SUB a/*"])
        _ = editor.edit("SU\u{1B}[A".utf8)
        #expect(editor.line == "SUB a/*")
        _ = editor.edit("\u{1B}[A\u{1B}[A".utf8)
        #expect(editor.line == "SUB *")
        _ = editor.edit("\u{1B}[B\u{1B}[B".utf8)
        #expect(editor.line == "SU")
        #expect(editor.edit("B x\r".utf8) == [.edited, .entered("SUB x")])
        // TAB leaves a blank, which is not sent.
        #expect(editor.edit("SUB x  \r".utf8) == [.edited, .entered("SUB x")])
        #expect(editor.edit("SUB x\r".utf8) == [.edited, .entered("SUB x")])
        #expect(editor.history == ["SUB *", "GET a/b", "SUB a/*", "SUB x"])
    }

    @Test func `control keys are reported to the owner`() {
        var editor = LineEditor(prompt: "> ")
        #expect(editor.edit("a\t".utf8) == [.edited, .completionWanted])
        #expect(editor.edit([3]) == [.interrupted(wasEmpty: false)])
        #expect(editor.edit([3, 4, 12, 26]) == [.interrupted(wasEmpty: true), .ended, .redrawWanted, .suspended])
    }

    @Test func `a line that is longer than the terminal is shown around the cursor`() {
        #expect(edited("abc").drawn(width: 20) == "\r> abc\u{1B}[K\r\u{1B}[5C")
        #expect(edited("abcdefghij").drawn(width: 8) == "\r> fghij\u{1B}[K\r\u{1B}[7C")
        #expect(edited("☕☕☕☕").drawn(width: 8) == "\r> ☕☕\u{1B}[K\r\u{1B}[6C")
        #expect(edited("abcdefghij\u{01}").drawn(width: 8) == "\r> abcde\u{1B}[K\r\u{1B}[2C")
    }

    @Test func `a completed word takes the place of its beginning`() {
        var editor = edited("GET coff x\u{02}\u{02}")
        editor.complete(from: 4, with: "coffee-order/")
        #expect(editor.line == "GET coffee-order/ x" && editor.beforeCursor == "GET coffee-order/")
    }
}
