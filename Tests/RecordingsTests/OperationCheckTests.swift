import Recordings
import Testing

struct OperationCheckTests {
    struct Example: CustomTestStringConvertible {
        var name: String
        var hasLeaders = true
        /// The end that the provider gave `o1`; `nil` if it was not asked.
        var expected: OperationCheck.End?
        var isInterrupted = false
        /// The end on the screen; `nil` for none.
        var shown: OperationCheck.End?
        var isClean: Bool

        var testDescription: String { name }
    }

    static let examples = [
        Example(name: "as the provider says", expected: .confirmed, shown: .confirmed, isClean: true),
        Example(name: "failed", expected: .failed, shown: .failed, isClean: true),
        Example(name: "another end", expected: .confirmed, shown: .failed, isClean: false),
        Example(name: "another reason", expected: .failed, shown: .init("reverted", reason: "timeout"), isClean: false),
        Example(name: "no end", expected: .confirmed, isClean: false),
        Example(name: "no end and interrupted", expected: .confirmed, isInterrupted: true, isClean: false),
        Example(name: "confirmed and never asked", shown: .confirmed, isClean: false),
        Example(
            name: "ended with its leader before the provider was asked", isInterrupted: true, shown: .unavailable,
            isClean: true),
        Example(
            name: "ended with its leader", expected: .confirmed, isInterrupted: true, shown: .unavailable,
            isClean: true),
        Example(name: "unavailable, and no leader ended", shown: .unavailable, isClean: false),
        Example(name: "interrupted", expected: .confirmed, isInterrupted: true, shown: .failed, isClean: true),
        Example(name: "one daemon, never asked", hasLeaders: false, shown: .unavailable, isClean: false),
        Example(name: "one daemon", hasLeaders: false, expected: .confirmed, shown: .unavailable, isClean: false),
        Example(
            name: "one daemon, interrupted", hasLeaders: false, expected: .confirmed, isInterrupted: true,
            shown: .failed, isClean: false),
    ]

    @Test(arguments: examples)
    func `an operation ends as its provider said, or with its leader`(_ example: Example) {
        var check = OperationCheck(hasLeaders: example.hasLeaders)
        if let expected = example.expected { check.expect(expected, of: "o1") }
        if example.isInterrupted { check.interrupt() }
        if let shown = example.shown {
            let isFirst = check.show(shown, of: "o1")
            let isFirstAgain = check.show(.confirmed, of: "o1")
            #expect(isFirst && !isFirstAgain, "the first end counts")
            #expect(check.count(of: shown) == 1)
        }
        #expect(check.isClean == example.isClean)
    }

    @Test func `an end that was shown before the connection ended is not interrupted`() {
        var check = OperationCheck(hasLeaders: true)
        check.expect(.confirmed, of: "o1")
        _ = check.show(.failed, of: "o1")
        check.interrupt()
        #expect(!check.isClean)
        #expect(!check.hasInterruptions)
    }
}

struct EndOnScreenTests {
    /// `row N`, `del N` after `LIVE`, `gone N` before it: the case's end is commit 5.
    @Test(arguments: [
        (["row 3", "gone 7"], true),
        (["gone 7"], true),
        (["row 3", "gone 5"], true),
        // It was shown the end, and the row says whether rightly.
        (["row 5", "gone 7"], false),
        (["row 6", "del 7"], false),
        // Its connection was there: the end was due to it.
        (["row 3", "del 7"], false),
        // The end is not reported.
        (["row 3", "gone 4"], false),
        (["row 3"], false),
        ([], false),
        (["gone 7", "row 8"], false),
    ])
    func `a case that left while a screen was away gets its deletion alone`(reported: [String], isExpected: Bool) {
        var end = EndOnScreen()
        for each in reported {
            let words = each.split(separator: " ")
            let commit = Int64(words[1]) ?? 0
            if words[0] == "row" {
                end.wasShown(commit)
            } else {
                end.wasRemoved(commit, isResuming: words[0] == "gone")
            }
        }
        #expect(end.awaitsDeletionAlone(of: 5) == isExpected)
    }
}
