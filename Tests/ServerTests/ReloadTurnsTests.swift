import Server
import Testing

struct ReloadTurnsTests {
    @Test func `fifty that are asked for during one are one more behind it`() {
        var reloads = ReloadTurns()
        var begun = 0
        for _ in 0..<50 where reloads.ask() { begun += 1 }
        #expect(begun == 1)
        // The second one begins, one is asked for during it, and behind that there is none.
        let steps = [reloads.ended(), reloads.ask(), reloads.ended(), reloads.ended(), reloads.ask(), reloads.ended()]
        #expect(steps == [true, false, true, false, true, false])
    }
}
